//! The instructions that warps would issue next, as a gate sees them.

use super::WarpMask;
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

/// Warps of a scheduler that could issue in this cycle, by what their next instructions are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReadyWarps {
    /// All warps that could issue.
    pub all: WarpMask,
    /// Warps whose next instruction accesses memory that can lie behind the data cache: global,
    /// local or generic addresses.
    pub accesses: WarpMask,
    /// Warps of `accesses` whose next instruction is a load.
    pub loads: WarpMask,
}

/// Decision of a gate on several warps. It decides nothing on warps that neither mask holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Screened {
    /// Warps that may issue.
    pub admitted: WarpMask,
    /// Warps that are held back.
    pub held: WarpMask,
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
    /// True for an access to memory that can lie behind the data cache: global, local or generic
    /// addresses.
    pub const fn may_go_to_memory(self) -> bool {
        matches!(
            self.space,
            MemorySpace::Generic | MemorySpace::Global | MemorySpace::Local
        )
    }

    /// True for a load that may use the data cache: one from global, local or generic addresses.
    pub const fn may_load_from_l1d(self) -> bool {
        matches!(self.op, MemoryOp::Load) && self.may_go_to_memory()
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
