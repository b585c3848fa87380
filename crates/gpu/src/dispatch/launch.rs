//! What goes into a launch, and what comes of it.

use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot};
use warploom_config::ContextPlan;
use warploom_ir::Program;
use warploom_sm::{KernelCounters, OccupancyLimit};

use crate::counters::PartCounters;
use crate::stretches::Timing;

/// What a launch asks of the machine.
#[derive(Clone)]
pub struct KernelLaunch {
    /// What executes.
    pub context: warploom_exec::LaunchContext,
    /// Its code.
    pub program: Arc<Program>,
    /// Registers per thread, which decide how many blocks fit.
    pub registers_per_thread: u32,
}

/// A kernel that has ended.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    /// Which one.
    pub slot: KernelSlot,
    /// Core cycle of its launch.
    pub launched_at: Cycle,
    /// Core cycle in which its first block started; that of its launch if none did.
    pub started_at: Cycle,
    /// Core cycle after that in which its last block ended.
    pub ended_at: Cycle,
    /// Most of its blocks on one SM.
    pub blocks_per_sm: u32,
    /// What limits that number.
    pub limit: OccupancyLimit,
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Units of a warp's registers while it is out; none where it never is.
    pub context_registers: Option<u32>,
    /// How its contexts could be switched, where `sm.context` says so.
    pub contexts: Option<ContextPlan>,
    /// What the machine counted from launch to end; what was counted of this kernel alone, and no
    /// more, if others were in flight meanwhile.
    pub counters: PartCounters,
    /// Others were in flight meanwhile.
    pub shared: bool,
    /// What SMs counted of it.
    pub own: KernelCounters,
    /// What its blocks held, times the cycles for which they held it.
    pub held: Held,
    /// It was halted.
    pub halted: bool,
    /// Which blocks were timed, if not all.
    pub timing: Option<Timing>,
}

/// What a kernel's blocks had of SMs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// 32-bit registers times core cycles.
    pub register_cycles: u64,
    /// Bytes of shared memory times core cycles.
    pub shared_byte_cycles: u64,
    /// Blocks that an SM took while it held a block of another process.
    pub joined_blocks: u64,
}

impl Held {
    /// Adds what another kernel held.
    pub fn add(&mut self, other: Self) {
        self.register_cycles += other.register_cycles;
        self.shared_byte_cycles += other.shared_byte_cycles;
        self.joined_blocks += other.joined_blocks;
    }
}
