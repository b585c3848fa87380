//! Occupancy: the resources of a block, the number of blocks that fit an SM, and their limit.

use crate::spec::{DeviceSpec, SmSpec};
use warploom_state::Value;

/// Resource that limits the number of blocks on an SM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OccupancyLimit {
    /// Hardware threads, and with them warp slots.
    Threads,
    /// Shared memory of the SM.
    SharedMemory,
    /// Registers of the SM.
    Registers,
    /// Block slots of the SM.
    Blocks,
    /// The cap of the user, `gpu.max_blocks_per_sm`.
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

    /// Finds the limit with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// Name of the limit in results (`occupancy_limit`).
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

/// Resources that one block needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct BlockNeeds {
    /// Number of threads, rounded up to whole warps.
    pub threads: u32,
    /// Number of registers of all threads.
    pub registers: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
}

impl BlockNeeds {
    /// Computes the needs of a block of `threads` threads (docs/model/machine.md, Occupancy).
    pub fn new(threads: u32, registers_per_thread: u32, shared_bytes: u32, spec: &SmSpec) -> Self {
        let threads = threads.next_multiple_of(32);
        let granted = registers_per_thread.next_multiple_of(spec.register_granularity.max(1));
        Self {
            threads,
            registers: threads * granted,
            shared_bytes,
        }
    }

    /// Number of blocks for which each resource of an empty SM suffices; `u32::MAX` if it sets no
    /// limit.
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

    /// Number of blocks that fit an empty SM, and their limit. If `grid_blocks` is less than all
    /// SMs could hold, the number is lower, as in GPGPU-Sim. The number is 0 if no block fits.
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
