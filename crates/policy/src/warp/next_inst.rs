//! The instruction that a warp would issue next, as a gate sees it.

use warploom_base::{KernelSlot, Pc, WarpSlot};

/// The next instruction of a warp that could issue it in this cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextInst {
    /// Slot of the warp.
    pub slot: WarpSlot,
    /// Kernel of the warp.
    pub kernel: KernelSlot,
    /// Program counter of the instruction.
    pub pc: Pc,
    /// Memory access of the instruction; `None` for every other instruction.
    pub access: Option<MemoryAccess>,
}

/// A memory access, as far as the instruction alone determines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryAccess {
    /// Operation of the access.
    pub op: MemoryOp,
    /// State space that the instruction names.
    pub space: MemorySpace,
}

impl MemoryAccess {
    /// True for a load that may use the data cache: one from global, local or generic addresses.
    pub const fn may_load_from_l1d(self) -> bool {
        matches!(self.op, MemoryOp::Load)
            && matches!(
                self.space,
                MemorySpace::Generic | MemorySpace::Global | MemorySpace::Local
            )
    }
}

/// Operation of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryOp {
    /// A load, or a read of a texture.
    Load,
    /// A store or a reduction without a result.
    Store,
    /// An atomic operation with a result.
    Atomic,
    /// An asynchronous copy from global to shared memory.
    Copy,
}

/// State space of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemorySpace {
    /// Generic addresses, whose space is known only at execution.
    Generic,
    /// Global memory of the device.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Local memory of the thread.
    Local,
    /// Constant memory of the module.
    Constant,
    /// Parameters of the kernel.
    Parameter,
    /// Textures, read through L1T.
    Texture,
}
