//! The command line. This crate alone prints, exits and reads the environment; what it shows
//! comes from the libraries as data or text.
//!
//! Exit status: 0 success, 1 the run failed (wrong output, deadlock, a fault in the kernel), 2 bad
//! usage or input. A bug of Warploom itself ends with 101 and a message that asks for a report.

mod allocate_args;
mod cli;
mod energy_args;
mod experiment;
mod failure;
mod gpu;
mod kept;
mod launch_args;
mod output;
mod panic;
mod progress;
mod simulate;
mod stats_args;
mod target;
mod timed_args;
mod verbs;

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Takes memory in large pages where the system has them: a simulated GPU's state lies all over
/// tens of megabytes, which the host's tables of small pages do not reach.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    panic::install();
    match cli::Cli::parse().run() {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
