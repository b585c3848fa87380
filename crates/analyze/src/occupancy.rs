//! Limits of the number of blocks of a kernel on an SM.

use serde::Serialize;
use warploom_config::{BlockNeeds, GpuSpec, OccupancyLimit};
use warploom_stats::result::{Figures, KernelReport};

/// Room that one resource of an SM has for a kernel's blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Name of the resource, as in `occupancy_limit`.
    pub resource: &'static str,
    /// Number of blocks for which this resource has room; `None` if it sets no limit.
    pub blocks: Option<u32>,
    /// Amount that a block takes, in threads, registers, bytes or slots.
    pub each: u32,
    /// Amount that an SM has.
    pub total: u32,
}

/// Occupancy of the SMs by a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Occupancy {
    /// Blocks of the grid.
    pub grid_blocks: u64,
    /// Threads of a block.
    pub block_threads: u32,
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Warps of a block.
    pub warps_per_block: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Most blocks on an SM at a time.
    pub blocks_per_sm: u32,
    /// Warp slots of an SM.
    pub warp_slots: u32,
    /// Warps of these blocks divided by warp slots.
    pub theoretical: f64,
    /// Warps that were resident, on average over the SMs' active cycles.
    pub resident_warps: f64,
    /// Room of each resource.
    pub rooms: Vec<Room>,
}

impl Occupancy {
    /// Occupancy of a launch; `figures` are those of all launches of its kernel.
    pub(crate) fn new(spec: &GpuSpec, launch: &KernelReport, figures: &Figures) -> Self {
        let sm = &spec.sm;
        let grid = launch.grid.0.map(u64::from).iter().product();
        let threads: u32 = launch.block.0.iter().product();
        let (registers, shared) = (launch.registers_per_thread, launch.shared_bytes);
        let needs = BlockNeeds::new(threads, registers, shared, sm);
        let warps = needs.threads / WARP;
        let warp_slots = sm.max_threads / WARP;
        let get = |name: &str| figures.statistics.get(name).copied().unwrap_or(0) as f64;
        let active = get("sm.active_cycles");
        Self {
            grid_blocks: grid,
            block_threads: threads,
            block: launch.block.0,
            warps_per_block: warps,
            registers_per_thread: registers,
            shared_bytes: shared,
            blocks_per_sm: launch.blocks_per_sm,
            warp_slots,
            theoretical: f64::from(launch.blocks_per_sm * warps) / f64::from(warp_slots),
            resident_warps: if active > 0.0 {
                get("sm.resident_warp_cycles") / active
            } else {
                0.0
            },
            rooms: rooms(&needs, spec),
        }
    }

    /// True if the blocks of an SM take all of its warp slots.
    pub(crate) fn is_full(&self) -> bool {
        self.blocks_per_sm * self.warps_per_block >= self.warp_slots
    }

    /// Room of one resource.
    pub(crate) fn room(&self, limit: OccupancyLimit) -> Option<&Room> {
        self.rooms.iter().find(|room| room.resource == limit.name())
    }

    /// The resource with the least room among those other than `limit`.
    pub(crate) fn next_limit(&self, limit: &str) -> Option<&Room> {
        let others = self.rooms.iter().filter(|room| room.resource != limit);
        others
            .filter(|room| room.blocks.is_some())
            .min_by_key(|room| room.blocks)
    }
}

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;

/// Room that each resource has for blocks of these needs.
fn rooms(needs: &BlockNeeds, spec: &GpuSpec) -> Vec<Room> {
    let (sm, cap) = (&spec.sm, spec.gpu.max_blocks_per_sm);
    let room = |(blocks, limit): (u32, OccupancyLimit)| {
        let (each, total) = match limit {
            OccupancyLimit::Threads => (needs.threads, sm.max_threads),
            OccupancyLimit::SharedMemory => (needs.shared_bytes, sm.shared_bytes),
            OccupancyLimit::Registers => (needs.registers, sm.registers),
            OccupancyLimit::Blocks => (1, sm.max_blocks),
            OccupancyLimit::Cap => (1, cap?),
            OccupancyLimit::Grid => return None,
        };
        Some(Room {
            resource: limit.name(),
            blocks: (blocks < u32::MAX).then_some(blocks),
            each,
            total,
        })
    };
    let limits = needs.limits(sm, &spec.gpu);
    limits.into_iter().filter_map(room).collect()
}
