//! Occupancy: what a block takes of an SM, how many fit, and what limits them.

use crate::spec::{DeviceSpec, SmSpec};

/// What limits the number of blocks on an SM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OccupancyLimit {
    /// Hardware threads (warp slots).
    Threads,
    /// Shared memory.
    SharedMemory,
    /// Registers.
    Registers,
    /// Block slots.
    Blocks,
    /// `gpu.max_blocks_per_sm`.
    Cap,
    /// The grid has fewer blocks than would fit.
    Grid,
}

impl OccupancyLimit {
    const ALL: [Self; 6] = [
        Self::Threads,
        Self::SharedMemory,
        Self::Registers,
        Self::Blocks,
        Self::Cap,
        Self::Grid,
    ];

    /// The limit of that word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// Its word in results (`occupancy_limit`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::SharedMemory => "shared-memory",
            Self::Registers => "registers",
            Self::Blocks => "block-slots",
            Self::Cap => "cap",
            Self::Grid => "grid",
        }
    }
}

/// What one block needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockNeeds {
    /// Threads, rounded up to whole warps.
    pub threads: u32,
    /// Registers of all its threads.
    pub registers: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
}

impl BlockNeeds {
    /// Needs of a block of `threads` threads (docs/model/machine.md, Occupancy).
    pub fn new(threads: u32, registers_per_thread: u32, shared_bytes: u32, spec: &SmSpec) -> Self {
        let threads = threads.next_multiple_of(32);
        let granted = registers_per_thread.next_multiple_of(spec.register_granularity.max(1));
        Self {
            threads,
            registers: threads * granted,
            shared_bytes,
        }
    }

    /// Blocks that each resource of an empty SM has room for; `u32::MAX` where it sets no limit.
    pub fn limits(&self, sm: &SmSpec, gpu: &DeviceSpec) -> [(u32, OccupancyLimit); 5] {
        let share = |total: u32, each: u32| total.checked_div(each).unwrap_or(u32::MAX);
        [
            (share(sm.max_threads, self.threads), OccupancyLimit::Threads),
            (
                share(sm.shared_bytes, self.shared_bytes),
                OccupancyLimit::SharedMemory,
            ),
            (
                share(sm.registers, self.registers),
                OccupancyLimit::Registers,
            ),
            (sm.max_blocks, OccupancyLimit::Blocks),
            (
                gpu.max_blocks_per_sm.unwrap_or(u32::MAX),
                OccupancyLimit::Cap,
            ),
        ]
    }

    /// Blocks that fit an empty SM, and what limits them. A grid of `grid_blocks` smaller than
    /// that on all SMs lowers the number, as in GPGPU-Sim. Zero if not even one fits.
    pub fn blocks_per_sm(
        &self,
        grid_blocks: u64,
        sm: &SmSpec,
        gpu: &DeviceSpec,
    ) -> (u32, OccupancyLimit) {
        let limits = self.limits(sm, gpu).into_iter();
        let (fit, limit) = limits.min().expect("five limits");
        let spread = grid_blocks.div_ceil(u64::from(gpu.sms));
        if spread < u64::from(fit) {
            (spread as u32, OccupancyLimit::Grid)
        } else {
            (fit, limit)
        }
    }
}
