//! Early ends of a run: by the machine, at a limit, or because the caller stops it.

use super::Mix;
use crate::host::Stopped;
use crate::progress::Progress;
use crate::result::Summary;
use crate::session::{outcome_of, stopped_by};
use crate::told;
use warploom_base::Cycle;
use warploom_gpu::{KernelEnd, Stop};
use warploom_stats::result::Outcome;

impl Mix<'_, '_> {
    /// Tells all programs that the run ends early, after the output of their kernels so far.
    pub(super) fn stopped(&mut self, why: Stopped) {
        for at in 0..self.processes.len() {
            self.print(at);
        }
        let programs = self.processes.iter_mut();
        programs.for_each(|process| process.program.stopped(why));
    }

    /// Ends the run because of what the machine reports.
    pub(super) fn ended_by(&mut self, stop: Stop, summary: &mut Summary) -> Outcome {
        self.cut_short(summary);
        self.stopped(stopped_by(&stop));
        self.outcome(stop)
    }

    /// Ends the run at its limit of cycles. A fault that has happened by then is its outcome,
    /// although the machine would have reported it some cycles later.
    pub(super) fn at_limit(&mut self, cycles: Cycle, summary: &mut Summary) -> Outcome {
        if let Some(stop) = self.gpu.fault() {
            return self.ended_by(stop, summary);
        }
        self.cut_short(summary);
        self.stopped(Stopped::CycleLimit);
        Outcome::CycleLimit { cycles }
    }

    /// Ends the run before a launch beyond its limit. No kernel is in flight.
    pub(super) fn at_launch_limit(&mut self) -> Outcome {
        self.stopped(Stopped::CycleLimit);
        Outcome::LaunchLimit {
            launches: self.launched,
        }
    }

    /// Outcome of a run that the machine ended.
    fn outcome(&self, stop: Stop) -> Outcome {
        let culprit = match &stop {
            Stop::Fault(fault) => Some(usize::from(fault.place.asid)),
            Stop::Deadlock { .. } | Stop::Livelock { .. } => None,
        };
        let outcome = outcome_of(stop);
        match culprit {
            Some(at) => self.of_process(outcome, at),
            None => outcome,
        }
    }

    /// Adds the name of the process to an outcome, if there are several.
    pub(super) fn of_process(&self, outcome: Outcome, at: usize) -> Outcome {
        match self.processes.as_slice() {
            [_] => outcome,
            several => outcome.of_program(&several[at].name),
        }
    }

    /// Reports kernels in flight with their progress so far.
    pub(super) fn cut_short(&mut self, summary: &mut Summary) {
        for end in self.gpu.cut_short() {
            let Some(kernel) = &self.in_flight[end.slot.index()] else {
                continue;
            };
            // The last process to reach its target is halted together with the run.
            if self.processes[kernel.process].reached.is_some() {
                let end = KernelEnd {
                    halted: true,
                    ..end
                };
                self.kernel_ended(&end, summary);
            } else if let Some(kernel) = self.in_flight[end.slot.index()].take() {
                self.processes[kernel.process].counted(&end);
                self.report(&kernel, &end, summary);
            }
        }
    }
}

/// Most warps whose places the outcome of an interrupted run states.
const MOST_PLACES: usize = 64;

/// Outcome of a run that the caller stopped, with the places of unfinished warps.
pub(crate) fn interrupted(reached: Progress, mut places: Vec<String>) -> Outcome {
    let (blocks_ended, blocks) = reached.blocks;
    places.truncate(MOST_PLACES);
    Outcome::Interrupted {
        kernel: reached.kernel,
        blocks_ended,
        blocks,
        waits: places.iter().map(|place| told::plain(place)).collect(),
    }
}

/// Outcome of blocks that were executed between timed blocks. Timed blocks wait while they run; if
/// they wait for timed blocks, this is a deadlock.
pub(super) fn in_a_gap(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Livelock { message } => Outcome::Livelock {
            message: format!(
                "{message}\n  = note: these blocks are executed between blocks that are timed, which \
                 stand still meanwhile\n  = help: where blocks wait for earlier ones, time all: \
                 leave out --blocks and --sample"
            ),
        },
        other => other,
    }
}
