//! A run with its progress shown.

use crate::failure::Failure;
use crate::progress::Display;
use std::ops::ControlFlow;
use warploom_config::GpuSpec;
use warploom_run::{HostProgram, Options, Session};
use warploom_stats::result::RunReport;

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
