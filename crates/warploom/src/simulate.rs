//! Runs a program and shows its progress.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Display;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::Duration;
use warploom_config::GpuSpec;
use warploom_run::{HostProgram, Options, Printer, Progress, RunError, Session};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Runs a program to its end or to an interruption. With an interval in `watch`, progress is
/// printed as lines.
pub fn simulate(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
    watch: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<RunReport, Failure> {
    let session = Session::new(gpu, printing(options));
    shown(watch, interrupt, |progress| session.run(program, progress))
}

/// Runs a program as [`simulate`] does, and records a timeline of every warp.
pub fn simulate_traced(
    gpu: GpuSpec,
    options: Options,
    program: &mut dyn HostProgram,
    watch: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<(RunReport, Trace), Failure> {
    let session = Session::new(gpu, printing(options));
    shown(watch, interrupt, |progress| {
        session.run_traced(program, progress)
    })
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

/// Shows the progress of the run that `run` makes, and stops it after a signal.
pub fn shown<T>(
    watch: Option<Duration>,
    interrupt: &Interrupt,
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<T, RunError>,
) -> Result<T, Failure> {
    let mut display = Display::new(watch);
    let result = run(&mut |progress| {
        display.update(progress);
        interrupt.go_on()
    });
    display.finish();
    Ok(result?)
}
