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
use crate::recorder::{Recorder, Recording};
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

/// All observers of a machine: the recorder of windows, and others.
#[derive(Default)]
pub(crate) struct Observers {
    recorder: Option<Recorder>,
    others: Vec<Box<dyn MachineObserver>>,
    /// First cycle in which one of them wants to see the counters.
    next_sample: Option<Cycle>,
}

impl Observers {
    /// Adds an observer.
    pub fn add(&mut self, observer: Box<dyn MachineObserver>) {
        self.others.push(observer);
        self.note_next_sample();
    }

    /// Records windows from now on, instead of earlier windows.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
        self.note_next_sample();
    }

    /// True if nobody follows the run.
    pub fn is_empty(&self) -> bool {
        self.recorder.is_none() && self.others.is_empty()
    }

    /// First cycle in which an observer wants to see the counters.
    #[inline]
    pub fn next_sample(&self) -> Cycle {
        self.next_sample.unwrap_or(Cycle::MAX)
    }

    /// Shows the counters to the observers that want to see them.
    pub fn sample(&mut self, view: &MachineView<'_>) {
        self.each(|observer| {
            if observer.next_sample() <= view.now {
                observer.sample(view);
            }
        });
    }

    /// Tells all observers of a launch.
    pub fn kernel_launched(&mut self, kernel: &LaunchedKernel<'_>) {
        self.each(|observer| observer.kernel_launched(kernel));
    }

    /// Tells all observers of a kernel's end.
    pub fn kernel_ended(&mut self, end: &KernelEnd) {
        self.each(|observer| observer.kernel_ended(end));
    }

    /// Tells all observers that the run is over and drops them. Returns the windows recorded.
    pub fn finish(&mut self, view: &MachineView<'_>) -> Option<Recording> {
        self.each(|observer| observer.run_ended(view));
        self.others.clear();
        let recorder = self.recorder.take();
        self.note_next_sample();
        recorder.map(Recorder::finish)
    }

    fn each(&mut self, mut f: impl FnMut(&mut dyn MachineObserver)) {
        if let Some(recorder) = &mut self.recorder {
            f(recorder);
        }
        for observer in &mut self.others {
            f(observer.as_mut());
        }
        self.note_next_sample();
    }

    fn note_next_sample(&mut self) {
        let recorder = self.recorder.as_ref().map(MachineObserver::next_sample);
        let others = self.others.iter().map(|observer| observer.next_sample());
        self.next_sample = others.chain(recorder).min();
    }
}
