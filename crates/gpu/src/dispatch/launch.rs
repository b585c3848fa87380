//! Launch and end of a kernel, as the caller sees them.

use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot};
use warploom_config::ContextPlan;
use warploom_ir::Program;
use warploom_sm::{KernelCounters, OccupancyLimit};
use warploom_stats::result::{BlockTimes, ContextDecline, HotBanks};

use crate::counters::{MachineCounters, PartCounters};
use crate::stretches::Timing;
use warploom_state::Value;

/// Request to launch a kernel.
#[derive(Clone)]
pub struct KernelLaunch {
    /// Data and decoded code of the launch.
    pub context: warploom_exec::LaunchContext,
    /// Code of the kernel.
    pub program: Arc<Program>,
    /// Registers per thread, which limit the number of blocks on an SM.
    pub registers_per_thread: u32,
}

/// A kernel that has ended.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    /// Slot that the kernel had.
    pub slot: KernelSlot,
    /// Core cycle of the launch.
    pub launched_at: Cycle,
    /// Core cycle in which the first block started; that of the launch if none did.
    pub started_at: Cycle,
    /// Core cycle after the one in which the last block ended.
    pub ended_at: Cycle,
    /// Most blocks on one SM.
    pub blocks_per_sm: u32,
    /// Resource that limits this number.
    pub limit: OccupancyLimit,
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Units of a warp's registers while the warp is absent; `None` where it never is.
    pub context_registers: Option<u32>,
    /// Plan of context switching, if `sm.context` switches contexts.
    pub contexts: Option<ContextPlan>,
    /// Reason why the kernel got no extra blocks, if contexts are switched and it got none.
    pub declined: Option<ContextDecline>,
    /// Counters of the machine from launch to end. Only counters by kernel, if other kernels were
    /// in flight meanwhile.
    pub counters: MachineCounters,
    /// The same by part, if it was requested ([`Gpu::count_parts`](crate::Gpu::count_parts)).
    pub parts: Option<Box<PartCounters>>,
    /// L2 banks for which requests waited longest meanwhile; `None` if other kernels were in
    /// flight.
    pub hot_banks: Option<HotBanks>,
    /// Times of its blocks; `None` if none started, or if other kernels were in flight.
    pub block_times: Option<BlockTimes>,
    /// True if other kernels were in flight meanwhile.
    pub shared: bool,
    /// Counters by kernel, of all SMs.
    pub own: KernelCounters,
    /// Resources that blocks held, times the cycles for which they held them.
    pub held: Held,
    /// True if the kernel was halted.
    pub halted: bool,
    /// Timing, if not all blocks were timed.
    pub timing: Option<Timing>,
}

/// Use of SMs by a kernel's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub struct Held {
    /// 32-bit registers times core cycles.
    pub register_cycles: u64,
    /// Bytes of shared memory times core cycles.
    pub shared_byte_cycles: u64,
    /// Number of blocks that an SM took while it held a block of another process.
    pub joined_blocks: u64,
}

impl Held {
    /// Adds the use by another kernel.
    pub fn add(&mut self, other: Self) {
        self.register_cycles += other.register_cycles;
        self.shared_byte_cycles += other.shared_byte_cycles;
        self.joined_blocks += other.joined_blocks;
    }
}
