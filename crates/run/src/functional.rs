//! Runs without timing: results of a program, and numbers of instructions.

use crate::device::Device;
use crate::host::{Check, HostAction, HostProgram, Stopped};
use crate::progress::{Before, Executed, OnProgress, Progress};
use crate::result::{Summary, functional_report};
use crate::session::{LIVELOCK, Prepared, RunError, Session, fault_outcome};
use crate::sharing::BlockSharing;
use crate::told;
use crate::transactions::Transactions;
use crate::written::Written;
use std::cell::Cell;
use std::ops::ControlFlow;
use warploom_base::Digest;
use warploom_exec::{FunctionalOptions, FunctionalStats, Observer, Poll, run_grid_polled};
use warploom_stats::result::Outcome;

/// Outcome of a program that is ended while no kernel runs.
const BETWEEN_LAUNCHES: Outcome = Outcome::Interrupted {
    kernel: String::new(),
    blocks_ended: 0,
    blocks: 0,
    waits: Vec::new(),
};

/// Numbers of warp instructions after which a program is cut.
#[derive(Clone, Copy)]
struct Budget {
    /// Number after which no further block starts.
    start: u64,
    /// Number after which blocks that have started do not go on either.
    whole: u64,
}

impl Budget {
    const ALL: Self = Self::until(u64::MAX);

    const fn until(start: u64) -> Self {
        let whole = u64::MAX;
        Self { start, whole }
    }
}

/// Work of a run without timing.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Number of warp instructions.
    pub instructions: u64,
    /// Number of transactions with global memory. The lanes of a warp instruction in one line of
    /// 128 bytes make one, if they follow each other.
    pub transactions: u64,
}

/// Result of a run without timing.
#[derive(Debug)]
pub struct FunctionalRun {
    /// Reason why it ended.
    pub outcome: Outcome,
    /// Name and counts of every launch that ended, in order.
    pub launches: Vec<(String, FunctionalStats)>,
    /// Comparisons of outputs. Empty unless the program finished.
    pub checks: Vec<Check>,
    /// Digest of device memory at the end.
    pub memory: String,
}

/// Result of a run of a program's first blocks.
#[derive(Debug)]
pub struct FirstBlocks {
    /// Reason why it ended. A run that was cut counts as finished.
    pub outcome: Outcome,
    /// Name and counts of every launch, in order.
    pub launches: Vec<(String, FunctionalStats)>,
    /// True if the program ran to its end and was not cut.
    pub whole: bool,
    /// Comparisons of outputs. After a run that was cut, they cover only elements that were
    /// written.
    pub checks: Vec<Check>,
}

/// End of a program.
struct Ended {
    outcome: Outcome,
    /// True if the run ended before or within the program's last launch.
    cut: bool,
}

impl Ended {
    const CUT: Self = Self {
        outcome: Outcome::Finished,
        cut: true,
    };

    fn by(outcome: Outcome) -> Self {
        let cut = false;
        Self { outcome, cut }
    }
}

impl Session {
    /// Runs a host program to its end without timing and checks its outputs. Launches run one after
    /// the other. The GPU only decides which launches are refused.
    pub fn run_functional(&self, program: &mut dyn HostProgram) -> Result<FunctionalRun, RunError> {
        self.run_watched(program, None)
    }

    /// Runs a program as `run_functional` does, with an observer of every launch and every
    /// instruction.
    pub fn run_observed(
        &self,
        program: &mut dyn HostProgram,
        observer: &mut dyn Observer,
    ) -> Result<FunctionalRun, RunError> {
        self.run_watched(program, Some(observer))
    }

    /// Runs a host program without timing until `enough` warp instructions have been executed. No
    /// block starts after that, and the launch in progress is the last one. Outputs are checked
    /// where blocks stored them. Results that blocks combine by atomics are not checked.
    pub fn run_first_blocks(
        &self,
        program: &mut dyn HostProgram,
        enough: u64,
    ) -> Result<FirstBlocks, RunError> {
        let mut device = Device::new(self.options().memory_bytes, 0);
        let (mut launches, mut written) = (Vec::new(), Written::default());
        let observer = Some(&mut written as &mut dyn Observer);
        let done = |prepared: &Prepared, stats| {
            launches.push((prepared.launch.program.name.clone(), stats));
        };
        let budget = Budget::until(enough);
        let ended = self.each_launch(program, &mut device, observer, budget, &mut go_on, done)?;
        if ended.cut {
            device.cut(launches.len() as u64, written);
        }
        let outcome = ended.outcome;
        let checks = match outcome {
            Outcome::Finished => program.checks(&device)?,
            _ => Vec::new(),
        };
        Ok(FirstBlocks {
            outcome,
            launches,
            whole: !ended.cut,
            checks,
        })
    }

    /// Runs a host program without timing if that takes no more than `most`, and returns why it
    /// ended; `None` if it takes more. Outputs are not checked. Where the session checks bounds,
    /// buffers lie apart, so that an overrun of one is a fault.
    ///
    /// # Errors
    /// Fails as [`run_functional`](Self::run_functional) does.
    pub fn run_at_most(
        &self,
        program: &mut dyn HostProgram,
        most: Work,
    ) -> Result<Option<Outcome>, RunError> {
        let mut device = Device::new(self.options().memory_bytes, 0);
        if self.options().checks.bounds {
            device.memory.place_apart();
        }
        let budget = Budget {
            start: most.instructions,
            whole: most.instructions,
        };
        let made = Cell::new(0);
        let mut observer = Transactions::new(&made);
        let observer = Some(&mut observer as &mut dyn Observer);
        let mut progress = |_: &Progress| match made.get() > most.transactions {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let done = |_: &Prepared, _| {};
        let ended =
            self.each_launch(program, &mut device, observer, budget, &mut progress, done)?;
        let more = ended.cut || made.get() > most.transactions;
        Ok((!more).then_some(ended.outcome))
    }

    fn run_watched(
        &self,
        program: &mut dyn HostProgram,
        observer: Option<&mut dyn Observer>,
    ) -> Result<FunctionalRun, RunError> {
        let mut device = Device::new(self.options().memory_bytes, 0);
        let mut launches = Vec::new();
        let ended = self.each_launch(
            program,
            &mut device,
            observer,
            Budget::ALL,
            &mut go_on,
            |prepared, stats| {
                launches.push((prepared.launch.program.name.clone(), stats));
            },
        )?;
        let outcome = ended.outcome;
        let checks = match outcome {
            Outcome::Finished => program.checks(&device)?,
            _ => Vec::new(),
        };
        let mut memory = Digest::new();
        device.memory.digest(&mut memory);
        Ok(FunctionalRun {
            outcome,
            launches,
            checks,
            memory: memory.hex(),
        })
    }

    /// Runs a program without timing and adds its launches to a summary.
    pub(crate) fn execute(
        &self,
        program: &mut dyn HostProgram,
        device: &mut Device,
        summary: &mut Summary,
        progress: OnProgress<'_>,
    ) -> Result<Outcome, RunError> {
        let mut sharing = self.options().sharing.then(BlockSharing::default);
        let observer = sharing.as_mut().map(|sharing| sharing as &mut dyn Observer);
        let all = Budget::ALL;
        let done = |prepared: &Prepared, stats| {
            summary.add_functional(functional_report(prepared, &stats), stats);
        };
        let mut executed = 0;
        let mut noted = |now: &Progress| {
            executed = now.executed;
            progress(now)
        };
        let ended = self.each_launch(program, device, observer, all, &mut noted, done)?;
        if matches!(ended.outcome, Outcome::Interrupted { .. }) {
            summary.interrupted_after(executed);
        }
        summary.shared(sharing.map(BlockSharing::counts));
        Ok(ended.outcome)
    }

    fn each_launch(
        &self,
        program: &mut dyn HostProgram,
        device: &mut Device,
        mut observer: Option<&mut dyn Observer>,
        budget: Budget,
        progress: OnProgress<'_>,
        mut done: impl FnMut(&Prepared, FunctionalStats),
    ) -> Result<Ended, RunError> {
        let (mut number, mut executed) = (0, Executed::default());
        loop {
            let action = program.next(device)?;
            device.take_copies();
            let launch = match action {
                HostAction::Done => return Ok(Ended::by(Outcome::Finished)),
                HostAction::Interrupt => {
                    program.stopped(Stopped::Interrupted);
                    return Ok(Ended::by(BETWEEN_LAUNCHES));
                }
                HostAction::Launch(launch) => launch,
                HostAction::Write { to, bytes, .. } => {
                    device.write(to, &bytes)?;
                    continue;
                }
                HostAction::Copy {
                    from, to, bytes, ..
                } => {
                    device.copy(from, to, bytes)?;
                    continue;
                }
                HostAction::Mark { mark, .. } => {
                    program.reached(mark, device, executed.instructions)?;
                    continue;
                }
                // Every operation is complete when it is requested.
                HostAction::WaitFor { .. }
                | HostAction::Synchronize
                | HostAction::Nothing
                | HostAction::SynchronizeStream(_) => continue,
            };
            if executed.instructions >= budget.start {
                return Ok(Ended::CUT);
            }
            let prepared = self.prepare(device, &launch, number)?;
            let watched = observer.as_mut().map(|observer| &mut **observer as _);
            let extent = FunctionalOptions {
                start_budget: budget.start - executed.instructions,
                budget: budget.whole.saturating_sub(executed.instructions),
                ..FunctionalOptions::default()
            };
            let ended = self.execute_prepared(
                &prepared,
                device,
                watched,
                extent,
                &mut executed.poll(&prepared, Before::default(), &mut *progress),
            );
            number += 1;
            match ended {
                Ok(stats) => {
                    let cut = stats.blocks < prepared.grid.count();
                    executed.add_launch(&stats);
                    done(&prepared, stats);
                    if cut {
                        return Ok(Ended::CUT);
                    }
                }
                Err((_, Stopped::CycleLimit)) => return Ok(Ended::CUT),
                Err((outcome, why)) => {
                    program.stopped(why);
                    return Ok(Ended::by(outcome));
                }
            }
        }
    }

    /// Executes a launch without timing, up to the given `extent`, unless `poll` stops it. The
    /// error is the outcome that ends the run.
    pub(crate) fn execute_prepared<O: Observer + ?Sized>(
        &self,
        prepared: &Prepared,
        device: &mut Device,
        observer: Option<&mut O>,
        extent: FunctionalOptions,
        poll: Poll<'_>,
    ) -> Result<FunctionalStats, (Outcome, Stopped)> {
        let ended = self.execute_quietly(prepared, device, observer, extent, poll);
        self.print(&mut device.memory, device.asid);
        ended
    }

    /// Executes a launch as `execute_prepared` does, but does not pass on its printed text.
    pub(crate) fn execute_quietly<O: Observer + ?Sized>(
        &self,
        prepared: &Prepared,
        device: &mut Device,
        observer: Option<&mut O>,
        extent: FunctionalOptions,
        poll: Poll<'_>,
    ) -> Result<FunctionalStats, (Outcome, Stopped)> {
        let options = FunctionalOptions {
            resident_blocks: self.resident_blocks(prepared),
            ..extent
        };
        let context = &prepared.launch.context;
        let ended = run_grid_polled(context, &mut device.memory, options, observer, poll);
        ended.map_err(|error| {
            let why = match &error {
                warploom_exec::RunError::Fault(fault) => Stopped::Fault(fault.kind),
                warploom_exec::RunError::OutOfBudget { .. } => Stopped::CycleLimit,
                warploom_exec::RunError::Interrupted { .. } => Stopped::Interrupted,
                _ => Stopped::Stuck,
            };
            (outcome_of(error, prepared), why)
        })
    }
}

/// Progress function that never stops a run.
fn go_on(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn outcome_of(error: warploom_exec::RunError, prepared: &Prepared) -> Outcome {
    use warploom_exec::RunError as E;
    match error {
        E::Fault(fault) => fault_outcome(&fault),
        E::Livelock(report) => Outcome::Livelock {
            message: told::plain(&format!("{LIVELOCK}: {report}")),
        },
        E::Interrupted { blocks } => Outcome::Interrupted {
            kernel: prepared.launch.program.name.clone(),
            blocks_ended: blocks,
            blocks: prepared.grid.count(),
            waits: Vec::new(),
        },
        other => Outcome::Deadlock {
            message: told::plain(&other.to_string()),
        },
    }
}
