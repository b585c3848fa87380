//! A run with its progress shown.

use crate::failure::Failure;
use crate::progress::Display;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use warploom_config::GpuSpec;
use warploom_run::{HostProgram, Options, Printer, Progress, RunError, Session};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Runs a program to its end.
pub fn simulate(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
) -> Result<RunReport, Failure> {
    let session = Session::new(gpu, printing(options));
    shown(|progress| session.run(program, progress))
}

/// The same, with a timeline of every warp.
pub fn simulate_traced(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
) -> Result<(RunReport, Trace), Failure> {
    let session = Session::new(gpu, printing(options));
    shown(|progress| session.run_traced(program, progress))
}

/// What kernels print goes to standard error, when each of them has ended: standard output is the
/// report's. On a terminal it takes the place of the progress bar, which is drawn anew.
pub fn printing(options: Options) -> Options {
    let erase: &[u8] = match std::io::stderr().is_terminal() {
        true => b"\r\x1b[2K",
        false => b"",
    };
    let printer = Printer::new(move |text| {
        // Nothing is left to tell if standard error is gone.
        let _ = std::io::stderr().write_all(&[erase, text].concat());
    });
    Options { printer, ..options }
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
