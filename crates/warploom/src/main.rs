//! The command line. This crate alone prints, exits and reads the environment. The libraries
//! provide the data and texts that it shows.
//!
//! Exit status: 0 success, 1 the run failed (wrong output, deadlock, a fault in the kernel), 2
//! invalid usage or input, 130 the run was interrupted (Ctrl-C, SIGTERM). A bug of Warploom itself
//! ends with 101 and a message that asks for a report.

mod allocate_args;
mod argument;
mod checkpoint_args;
mod cli;
mod cuda_source;
mod energy_args;
mod experiment;
mod failure;
mod gpu;
mod guessed;
mod html_page;
mod interrupt;
mod kept;
mod launch_args;
mod lines;
mod names;
mod output;
mod panic;
mod places;
mod progress;
mod simulate;
mod stats_args;
mod target;
mod timed_args;
mod verbs;
mod watch_args;

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// An allocator that uses large pages where the system supports them. The state of a simulated GPU
/// is scattered over tens of megabytes, which exceeds the reach of the host's TLB with small pages.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    panic::install();
    match cli::parse().run() {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
