//! Runs without timing: what a program computes, and how many instructions that takes.

use crate::device::Device;
use crate::host::{Check, HostAction, HostProgram};
use crate::result::{Summary, functional_report};
use crate::session::{LIVELOCK, Prepared, RunError, Session, fault_outcome};
use warploom_base::Digest;
use warploom_exec::{FunctionalOptions, FunctionalStats, run_grid};
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
        let mut device = Device::new(self.options().memory_bytes, 0);
        let mut launches = Vec::new();
        let outcome = self.each_launch(program, &mut device, |prepared, stats| {
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
        self.each_launch(program, device, |prepared, stats| {
            summary.add_functional(functional_report(prepared, &stats), stats);
        })
    }

    fn each_launch(
        &self,
        program: &mut dyn HostProgram,
        device: &mut Device,
        mut done: impl FnMut(&Prepared, FunctionalStats),
    ) -> Result<Outcome, RunError> {
        let mut number = 0;
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
                // Everything is done as soon as it is asked for.
                HostAction::Synchronize | HostAction::SynchronizeStream(_) => continue,
            };
            let prepared = self.prepare(device, &launch, number)?;
            number += 1;
            match self.execute_prepared(&prepared, device) {
                Ok(stats) => done(&prepared, stats),
                Err(outcome) => return Ok(outcome),
            }
        }
    }

    /// Executes a launch without timing. The error is how it ended the run.
    pub(crate) fn execute_prepared(
        &self,
        prepared: &Prepared,
        device: &mut Device,
    ) -> Result<FunctionalStats, Outcome> {
        let options = FunctionalOptions {
            resident_blocks: self.resident_blocks(prepared),
            ..FunctionalOptions::default()
        };
        let context = &prepared.launch.context;
        run_grid(context, &mut device.memory, options).map_err(outcome_of)
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
