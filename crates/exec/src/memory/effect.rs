//! Memory access that an instruction reports to the timing.

use warploom_ir::{CacheOp, MemSpace};

/// Kind of access that a memory instruction makes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemKind {
    /// The instruction reads memory.
    Load,
    /// The instruction writes memory.
    Store,
    /// The instruction reads and writes memory in one indivisible step.
    Atomic,
    /// The instruction reads memory through the texture path.
    Texture,
}

/// A memory access of a warp. The address of each lane is in
/// [`StepOut::addrs`](crate::StepOut::addrs).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemEffect {
    /// State space of the access. If the lanes of a generic access differ, the space is that of the
    /// lowest lane; for an atomic operation it is global memory if any lane accesses global memory.
    pub space: MemSpace,
    /// Kind of the access.
    pub kind: MemKind,
    /// Bytes accessed by each lane, including all elements of a vector.
    pub bytes: u8,
    /// Cache operator of the instruction.
    pub cache_op: CacheOp,
    /// True if the instruction returns a value to registers. False for stores and for `red`.
    pub returns: bool,
    /// True if lanes may access different state spaces. Addresses from
    /// [`GLOBAL_BASE`](warploom_ir::GLOBAL_BASE) on are then in global memory.
    pub mixed: bool,
    /// True if lanes on the same bytes act one after the other: for `atom` and `red`, not for
    /// operations on barrier objects.
    pub serial: bool,
}
