//! Observers: code that follows a run and cannot change it.
//!
//! A policy answers questions and thereby changes what the machine does. An observer answers
//! nothing: it sees kernels start and end, and the counters of every part whenever it asks for
//! them. The machine calls observers between two of its steps, on the thread that steps it, so they
//! see the same on any number of threads, and results are the same with and without them.
//!
//! An observer does no I/O of its own accord: its creator gives it a place for its findings, such
//! as a file or a shared vector.

use crate::counters::PartCounters;
use crate::dispatch::KernelEnd;
use warploom_base::{Cycle, KernelSlot};
use warploom_config::GpuSpec;
use warploom_ir::Program;

/// A kernel that was launched.
#[derive(Clone, Copy, Debug)]
pub struct LaunchedKernel<'a> {
    /// Core cycle of the launch.
    pub at: Cycle,
    /// Place of the kernel among those in flight, free again when the kernel has ended.
    pub slot: KernelSlot,
    /// Process that launched the kernel.
    pub process: u8,
    /// Code of the kernel, with its name.
    pub program: &'a Program,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub block_threads: u32,
    /// Most blocks of the kernel on one SM.
    pub blocks_per_sm: u32,
}

/// The machine between two steps.
#[derive(Clone, Copy, Debug)]
pub struct MachineView<'a> {
    /// Core cycle that comes next; all earlier cycles are counted.
    pub now: Cycle,
    /// Specification of the machine.
    pub spec: &'a GpuSpec,
    /// Counters of every part since the run began.
    pub counters: &'a PartCounters,
}

/// Follows a run. Every method does nothing by default.
pub trait MachineObserver: Send {
    /// First cycle in which the observer wants to see the counters. `sample` follows in the first
    /// step of the machine that ends at or after this cycle; it must then return a later one. Asked
    /// after each call of another method.
    fn next_sample(&self) -> Cycle {
        Cycle::MAX
    }

    /// Shows the counters, as `next_sample` asked. One sample copies the counters of all parts.
    fn sample(&mut self, _view: &MachineView<'_>) {}

    /// Notes that a kernel was launched.
    fn kernel_launched(&mut self, _kernel: &LaunchedKernel<'_>) {}

    /// Notes that a kernel has ended, with all that was counted of it.
    fn kernel_ended(&mut self, _end: &KernelEnd) {}

    /// Notes that the run is over: no call follows. Runs that a fault or a limit ended are over
    /// too.
    fn run_ended(&mut self, _view: &MachineView<'_>) {}
}
