//! What a memory instruction does.

use warploom_ir::{CacheOp, MemSpace};

/// What a memory instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Atomic,
    /// Reads through the texture path.
    Texture,
}

/// A memory access of a warp; addresses per lane are in [`StepOut::addrs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemEffect {
    /// Space that the address was resolved to. Should lanes differ: that of the lowest, but of an
    /// atomic global memory, if any is there.
    pub space: MemSpace,
    /// What it does.
    pub kind: MemKind,
    /// Bytes per lane: all elements of a vector.
    pub bytes: u8,
    /// Cache operator.
    pub cache_op: CacheOp,
    /// An atomic returns its old value (`atom`, not `red`).
    pub returns: bool,
    /// Lanes' addresses may lie in several spaces: in global memory those from
    /// [`GLOBAL_BASE`](warploom_ir::GLOBAL_BASE) on.
    pub mixed: bool,
}
