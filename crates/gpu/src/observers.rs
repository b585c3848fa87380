//! All observers of a machine.

use crate::dispatch::KernelEnd;
use crate::observer::{LaunchedKernel, MachineObserver, MachineView};
use crate::recorder::{Recorder, Recording};
use warploom_base::Cycle;
use warploom_state::{Io, State, StateError, each};

/// The recorder of windows and all other observers of a machine.
#[derive(Default)]
pub(crate) struct Observers {
    recorder: Option<Recorder>,
    others: Vec<Box<dyn MachineObserver>>,
    /// First cycle in which an observer wants to see the counters.
    next_sample: Option<Cycle>,
}

/// The time series. Other observers see what follows.
impl State for Observers {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        each(self.recorder.iter_mut(), io)?;
        self.note_next_sample();
        Ok(())
    }
}

impl Observers {
    /// Adds an observer of the run.
    pub fn add(&mut self, observer: Box<dyn MachineObserver>) {
        self.others.push(observer);
        self.note_next_sample();
    }

    /// Records windows from now on, instead of earlier windows.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
        self.note_next_sample();
    }

    /// True if there is no observer.
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

    /// Calls `f` with every observer.
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
