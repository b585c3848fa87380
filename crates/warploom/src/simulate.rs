//! A run with its progress shown.

use crate::failure::Failure;
use crate::progress::Display;
use std::ops::ControlFlow;
use warploom_config::GpuSpec;
use warploom_run::{HostProgram, Options, Progress, RunError, Session};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Runs a program to its end.
pub fn simulate(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
) -> Result<RunReport, Failure> {
    let session = Session::new(gpu, options);
    shown(|progress| session.run(program, progress))
}

/// The same, with a timeline of every warp.
pub fn simulate_traced(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
) -> Result<(RunReport, Trace), Failure> {
    let session = Session::new(gpu, options);
    shown(|progress| session.run_traced(program, progress))
}

/// Shows the progress of what `run` does.
pub fn shown<T>(
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<T, RunError>,
) -> Result<T, Failure> {
    let mut display = Display::new();
    let result = run(&mut |progress| {
        display.update(progress);
        ControlFlow::Continue(())
    });
    display.finish();
    Ok(result?)
}
