//! A run with its progress shown.

use crate::failure::Failure;
use crate::progress::Display;
use std::ops::ControlFlow;
use warploom_config::GpuSpec;
use warploom_run::{HostProgram, Options, Session};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Runs a program to its end.
pub fn simulate(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
) -> Result<RunReport, Failure> {
    let mut display = Display::new();
    let result = Session::new(gpu, options).run(program, &mut |progress| {
        display.update(progress);
        ControlFlow::Continue(())
    });
    display.finish();
    Ok(result?)
}

/// The same, with a timeline of every warp.
pub fn simulate_traced(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
) -> Result<(RunReport, Trace), Failure> {
    let mut display = Display::new();
    let result = Session::new(gpu, options).run_traced(program, &mut |progress| {
        display.update(progress);
        ControlFlow::Continue(())
    });
    display.finish();
    Ok(result?)
}
