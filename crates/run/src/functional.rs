//! Runs without timing: what a program computes, and how many instructions that takes.

use crate::device::Device;
use crate::host::{Check, HostAction, HostProgram};
use crate::session::{RunError, Session, fault_outcome};
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
}

impl Session {
    /// Runs a host program to its end without timing and checks its outputs. Launches run one
    /// after the other; the GPU matters only for what it refuses to launch.
    pub fn run_functional(&self, program: &mut dyn HostProgram) -> Result<FunctionalRun, RunError> {
        let mut device = Device::new(self.options().memory_bytes, 0);
        let mut launches = Vec::new();
        while let HostAction::Launch(launch) = program.next(&mut device)? {
            let prepared = self.prepare(&mut device, &launch, launches.len() as u64)?;
            let context = &prepared.launch.context;
            match run_grid(context, &mut device.memory, FunctionalOptions::default()) {
                Ok(stats) => launches.push((launch.kernel, stats)),
                Err(error) => {
                    let outcome = outcome_of(error);
                    return Ok(FunctionalRun {
                        outcome,
                        launches,
                        checks: Vec::new(),
                    });
                }
            }
        }
        let checks = program.checks(&device)?;
        Ok(FunctionalRun {
            outcome: Outcome::Finished,
            launches,
            checks,
        })
    }
}

fn outcome_of(error: warploom_exec::RunError) -> Outcome {
    match error {
        warploom_exec::RunError::Fault(fault) => fault_outcome(&fault),
        other => Outcome::Deadlock {
            message: other.to_string(),
        },
    }
}
