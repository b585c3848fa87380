//! Runs a program and shows its progress.

use crate::failure::Failure;
use crate::progress::Display;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::Duration;
use warploom_config::GpuSpec;
use warploom_run::{HostProgram, Options, Printer, Progress, RunError, Session};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Runs a program to its end. With an interval in `watch`, progress is printed as lines.
pub fn simulate(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
    watch: Option<Duration>,
) -> Result<RunReport, Failure> {
    let session = Session::new(gpu, printing(options));
    shown(watch, |progress| session.run(program, progress))
}

/// Runs a program to its end, and records a timeline of every warp.
pub fn simulate_traced(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
    watch: Option<Duration>,
) -> Result<(RunReport, Trace), Failure> {
    let session = Session::new(gpu, printing(options));
    shown(watch, |progress| session.run_traced(program, progress))
}

/// Prints the output of kernels to standard error at each kernel's end, because standard output is
/// for the report. On a terminal it replaces the progress bar, which is then drawn again.
pub fn printing(options: Options) -> Options {
    let erase: &[u8] = if std::io::stderr().is_terminal() {
        b"\r\x1b[2K"
    } else {
        b""
    };
    let printer = Printer::new(move |text| {
        // If standard error is closed, nothing can be reported.
        let _ = std::io::stderr().write_all(&[erase, text].concat());
    });
    Options { printer, ..options }
}

/// Shows the progress of the run that `run` makes.
pub fn shown<T>(
    watch: Option<Duration>,
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<T, RunError>,
) -> Result<T, Failure> {
    let mut display = Display::new(watch);
    let result = run(&mut |progress| {
        display.update(progress);
        ControlFlow::Continue(())
    });
    display.finish();
    Ok(result?)
}
