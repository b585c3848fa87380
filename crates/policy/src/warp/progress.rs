//! Place of a warp in its kernel, as warp schedulers see it.

use warploom_base::{KernelSlot, LaneMask, Pc};

/// Place of a warp in its kernel, after its instructions of a cycle have issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Kernel of the warp.
    pub kernel: KernelSlot,
    /// Number of instructions that the warp issued in the cycle, which follow each other in the
    /// program.
    pub issued: u32,
    /// Next instruction of the warp; `None` if it has exited.
    pub next: Option<Pc>,
    /// Distance of the next instruction from the end of the kernel, in instructions in program
    /// order and itself included; 0 for a warp that has exited.
    pub left: u32,
    /// Lanes that execute the next instruction.
    pub lanes: LaneMask,
}
