//! Host programs without timing: what the outputs are, block after block.

use crate::device::Device;
use crate::host::{Check, HostAction, HostProgram};
use crate::session::{RunError, Session, fault_outcome};
use std::time::{Duration, Instant};
use warploom_exec::{FunctionalOptions, run_grid};
use warploom_stats::result::Outcome;

/// Blocks in flight: programs whose blocks wait for others need a few.
const RESIDENT_BLOCKS: usize = 64;

/// What a run without timing came to.
#[derive(Clone, Debug)]
pub struct FunctionalReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Launches made.
    pub launches: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Thread instructions.
    pub thread_instructions: u64,
    /// Time that the grids took; the host program's time is not in it.
    pub wall: Duration,
    /// Comparisons of outputs with references; none if the run did not finish.
    pub checks: Vec<Check>,
}

impl Session {
    /// Runs a host program to its end without timing, and checks its outputs.
    ///
    /// # Errors
    /// As [`Session::run`]: the user's input.
    pub fn run_functional(
        &self,
        program: &mut dyn HostProgram,
    ) -> Result<FunctionalReport, RunError> {
        let mut device = self.device();
        let mut report = FunctionalReport {
            outcome: Outcome::Finished,
            launches: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            wall: Duration::ZERO,
            checks: Vec::new(),
        };
        while let HostAction::Launch(launch) = program.next(&mut device)? {
            let prepared = self.prepare(&mut device, &launch, report.launches)?;
            report.launches += 1;
            if !run_launch(&prepared.launch.context, &mut device, &mut report) {
                return Ok(report);
            }
        }
        report.checks = program.checks(&device)?;
        Ok(report)
    }
}

/// Runs one grid; false if the program cannot go on after it.
fn run_launch(
    context: &warploom_exec::LaunchContext,
    device: &mut Device,
    report: &mut FunctionalReport,
) -> bool {
    let options = FunctionalOptions {
        resident_blocks: RESIDENT_BLOCKS,
        ..FunctionalOptions::default()
    };
    let started = Instant::now();
    let result = run_grid(context, &mut device.memory, options);
    report.wall += started.elapsed();
    match result {
        Ok(stats) => {
            report.warp_instructions += stats.warp_instructions;
            report.thread_instructions += stats.thread_instructions;
            true
        }
        Err(warploom_exec::RunError::Fault(fault)) => {
            report.outcome = fault_outcome(&fault);
            false
        }
        Err(stuck) => {
            report.outcome = Outcome::Deadlock {
                message: stuck.to_string(),
            };
            false
        }
    }
}
