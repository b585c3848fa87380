//! Block slots of an SM and the resources that blocks take: threads, registers, shared memory,
//! slots. Several kernels may share an SM.

use warploom_base::KernelSlot;
use warploom_config::{BlockNeeds, SmSpec};
use warploom_exec::BlockState;
use warploom_policy::WarpMask;

/// What is left of an SM's resources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resources {
    /// Threads, in whole warps.
    pub threads: u32,
    /// Registers.
    pub registers: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Block slots.
    pub blocks: u32,
}

impl Resources {
    /// All of an SM.
    pub fn of(spec: &SmSpec) -> Self {
        Self {
            threads: spec.max_threads,
            registers: spec.registers,
            shared_bytes: spec.shared_bytes,
            blocks: spec.max_blocks,
        }
    }

    /// A block fits.
    #[inline]
    pub fn fits(&self, needs: &BlockNeeds) -> bool {
        self.blocks > 0
            && needs.threads <= self.threads
            && needs.registers <= self.registers
            && needs.shared_bytes <= self.shared_bytes
    }

    /// Takes a block's needs. Requires `fits`.
    pub fn take(&mut self, needs: &BlockNeeds) {
        self.blocks -= 1;
        self.threads -= needs.threads;
        self.registers -= needs.registers;
        self.shared_bytes -= needs.shared_bytes;
    }

    /// Gives them back.
    pub fn give(&mut self, needs: &BlockNeeds) {
        self.blocks += 1;
        self.threads += needs.threads;
        self.registers += needs.registers;
        self.shared_bytes += needs.shared_bytes;
    }
}

/// A block slot.
pub struct BlockSlot {
    /// What executes.
    pub state: BlockState,
    /// Kernel of the block.
    pub kernel: KernelSlot,
    /// Its rank in the grid, x fastest.
    pub rank: u64,
    /// First warp slot; the block's warps follow each other.
    pub first_warp: u32,
    /// Warps that have not been reclaimed; 0: the slot is free.
    pub live_warps: u32,
}

/// `warps` slots in a row from `first`.
pub fn warp_run(first: u32, warps: u32) -> WarpMask {
    let run = if warps >= 64 { !0 } else { (1u64 << warps) - 1 };
    run << first
}

/// Finds `warps` free slots in a row at a multiple of `warps` (GPGPU-Sim's thread base of a
/// block), of `slots` slots of which `used` are taken.
pub fn free_run(used: WarpMask, warps: u32, slots: u32) -> Option<u32> {
    (0..slots / warps)
        .map(|i| i * warps)
        .find(|&first| used & warp_run(first, warps) == 0)
}

impl BlockSlot {
    /// A free slot.
    pub fn free() -> Self {
        Self {
            state: BlockState::new(),
            kernel: KernelSlot(0),
            rank: 0,
            first_warp: 0,
            live_warps: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::free_run;

    #[test]
    fn runs_start_at_multiples_of_their_length() {
        assert_eq!(free_run(0, 8, 48), Some(0));
        assert_eq!(free_run(0x01, 8, 48), Some(8));
        assert_eq!(free_run(0xff00_ff01, 8, 48), Some(16));
        assert_eq!(free_run(0xffff_ffff_ffff, 8, 48), None);
        assert_eq!(free_run(0, 32, 48), Some(0));
        assert_eq!(
            free_run(1, 32, 48),
            None,
            "16 slots are left at the end, too few"
        );
        assert_eq!(free_run(0, 64, 64), Some(0));
    }
}
