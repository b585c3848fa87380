//! Runs without timing: what a program computes, and how many instructions that takes.

use crate::device::Device;
use crate::host::{Check, HostAction, HostProgram, Stopped};
use crate::result::{Summary, functional_report};
use crate::session::{LIVELOCK, Prepared, RunError, Session, fault_outcome};
use crate::sharing::BlockSharing;
use warploom_base::Digest;
use warploom_exec::{FunctionalOptions, FunctionalStats, Observer, run_grid, run_grid_observed};
use warploom_stats::result::Outcome;

/// What a run without timing did.
#[derive(Debug)]
pub struct FunctionalRun {
    /// How it ended.
    pub outcome: Outcome,
    /// Kernel and counts of every launch that ended, in order.
    pub launches: Vec<(String, FunctionalStats)>,
    /// Comparisons of outputs; none unless the program finished.
    pub checks: Vec<Check>,
    /// Digest of device memory at the end.
    pub memory: String,
}

impl Session {
    /// Runs a host program to its end without timing and checks its outputs. Launches run one
    /// after the other; the GPU matters only for what it refuses to launch.
    pub fn run_functional(&self, program: &mut dyn HostProgram) -> Result<FunctionalRun, RunError> {
        self.run_watched(program, None)
    }

    /// The same, with an observer who sees every launch and every instruction.
    pub fn run_observed(
        &self,
        program: &mut dyn HostProgram,
        observer: &mut dyn Observer,
    ) -> Result<FunctionalRun, RunError> {
        self.run_watched(program, Some(observer))
    }

    fn run_watched(
        &self,
        program: &mut dyn HostProgram,
        observer: Option<&mut dyn Observer>,
    ) -> Result<FunctionalRun, RunError> {
        let mut device = Device::new(self.options().memory_bytes, 0);
        let mut launches = Vec::new();
        let outcome = self.each_launch(program, &mut device, observer, |prepared, stats| {
            launches.push((prepared.launch.program.name.clone(), stats));
        })?;
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

    /// The same, into a summary.
    pub(crate) fn execute(
        &self,
        program: &mut dyn HostProgram,
        device: &mut Device,
        summary: &mut Summary,
    ) -> Result<Outcome, RunError> {
        let mut sharing = self.options().sharing.then(BlockSharing::default);
        let observer = sharing.as_mut().map(|sharing| sharing as &mut dyn Observer);
        let outcome = self.each_launch(program, device, observer, |prepared, stats| {
            summary.add_functional(functional_report(prepared, &stats), stats);
        })?;
        summary.shared(sharing.map(BlockSharing::counts));
        Ok(outcome)
    }

    fn each_launch(
        &self,
        program: &mut dyn HostProgram,
        device: &mut Device,
        mut observer: Option<&mut dyn Observer>,
        mut done: impl FnMut(&Prepared, FunctionalStats),
    ) -> Result<Outcome, RunError> {
        let (mut number, mut instructions) = (0, 0);
        loop {
            let action = program.next(device)?;
            device.take_copies();
            let launch = match action {
                HostAction::Done => return Ok(Outcome::Finished),
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
                    program.reached(mark, device, instructions)?;
                    continue;
                }
                // Everything is done as soon as it is asked for.
                HostAction::WaitFor { .. }
                | HostAction::Synchronize
                | HostAction::SynchronizeStream(_) => continue,
            };
            let prepared = self.prepare(device, &launch, number)?;
            number += 1;
            let watched = observer.as_mut().map(|observer| &mut **observer as _);
            match self.execute_prepared(&prepared, device, watched) {
                Ok(stats) => {
                    instructions += stats.warp_instructions;
                    done(&prepared, stats);
                }
                Err((outcome, why)) => {
                    program.stopped(why);
                    return Ok(outcome);
                }
            }
        }
    }

    /// Executes a launch without timing. The error is how it ended the run.
    pub(crate) fn execute_prepared(
        &self,
        prepared: &Prepared,
        device: &mut Device,
        observer: Option<&mut dyn Observer>,
    ) -> Result<FunctionalStats, (Outcome, Stopped)> {
        let options = FunctionalOptions {
            resident_blocks: self.resident_blocks(prepared),
            ..FunctionalOptions::default()
        };
        let context = &prepared.launch.context;
        let memory = &mut device.memory;
        let ended = match observer {
            Some(observer) => run_grid_observed(context, memory, options, observer),
            None => run_grid(context, memory, options),
        };
        self.print(memory, device.asid);
        ended.map_err(|error| {
            let why = match &error {
                warploom_exec::RunError::Fault(fault) => Stopped::Fault(fault.kind),
                _ => Stopped::Stuck,
            };
            (outcome_of(error), why)
        })
    }
}

fn outcome_of(error: warploom_exec::RunError) -> Outcome {
    use warploom_exec::RunError as E;
    match error {
        E::Fault(fault) => fault_outcome(&fault),
        E::Livelock(report) => Outcome::Livelock {
            message: format!("{LIVELOCK}: {report}"),
        },
        other => Outcome::Deadlock {
            message: other.to_string(),
        },
    }
}
