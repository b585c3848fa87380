//! The verb `warploom sweep`.

mod begin;
mod collect;
mod display;
mod figures;
mod programs;
mod runs;
mod slurm;
mod sources;
mod status;
mod worker;

use crate::experiment::RunnerArgs;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_sweep::Folder;

pub use figures::{EngineArgs, make_figures};

const EXAMPLES: &str = "\
Examples:
  warploom sweep study.toml                      run it on all cores; again, it goes on
  warploom sweep study.toml --dry-run            list the runs, with estimates of their times
  warploom sweep study.toml --engine slurm       let Slurm run it
  warploom sweep status study.toml               how far it is, and the time left
  warploom sweep collect study.toml              write the table of what is finished now
  warploom sweep retry study.toml                run again what failed
  warploom sweep cancel study.toml               stop all workers
  warploom sweep worker results/sweep/study      a worker for ssh, HTCondor and others
A sweep may be stopped at any moment, and the same command goes on. Its file:
  name = \"{target}-{warp_scheduler}-{sms}\"
  [axes]
  target = [\"spmv\", \"bfs\"]
  size = \"test\"
  \"sm.warp_scheduler\" = [\"lrr\", \"gto\"]
  \"gpu.sms\" = [4, 8, 15]";

/// Make many runs, described by a file: on all cores, on Slurm, or by workers anywhere
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    begin: Begin,
}

/// Options of a sweep that begins or goes on.
#[derive(clap::Args)]
struct Begin {
    /// File of the sweep
    #[arg(value_name = "SPEC.toml", required = true)]
    spec: Option<PathBuf>,
    /// Folder for tables, runs and the state of the sweep
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Where the runs are made
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    engine: Engine,
    /// Go on with the program that began the sweep, although this one is another build
    #[arg(long)]
    resume: bool,
    /// List the runs, with estimates of their times where finished runs of the same target, size
    /// and limits tell them, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// With --engine slurm: number of workers [default: one for each run, at most 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    #[command(flatten)]
    runner: RunnerArgs,
}

/// Where runs are made.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// All cores of this machine
    Local,
    /// Array jobs of Slurm
    Slurm,
}

/// Action on a sweep that was begun.
#[derive(clap::Subcommand)]
enum Action {
    /// Show how many runs wait, run, are finished or failed
    Status(status::Args),
    /// Write the tables and the page of the runs that are finished
    Collect(collect::Args),
    /// Run again what failed
    Retry(status::RetryArgs),
    /// Stop all workers of the sweep; finished runs stay
    Cancel(status::CancelArgs),
    /// Make runs of a sweep until none waits
    Worker(worker::Args),
}

/// A sweep that was begun.
#[derive(clap::Args)]
pub struct Place {
    /// File of the sweep, or its folder DIR/sweep/NAME
    #[arg(value_name = "SPEC.toml|FOLDER")]
    sweep: PathBuf,
    /// Folder of results, with a file of the sweep
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

impl Place {
    /// Folder of the sweep.
    fn folder(&self) -> Result<Folder, Failure> {
        if !self.sweep.is_dir() {
            return Ok(Folder::new(&absolute(&self.output)?, &name(&self.sweep)));
        }
        Folder::of_state(&self.sweep).ok_or_else(|| {
            Failure::Input(format!(
                "{} is not the folder of a sweep; give DIR/sweep/NAME",
                self.sweep.display()
            ))
        })
    }
}

/// Name of the sweep that a file describes.
fn name(spec: &Path) -> String {
    let stem = spec.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::Input(format!("there is no current folder: {error}")))
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => begin::run(&args.begin),
        Some(Action::Status(args)) => status::run(args),
        Some(Action::Collect(args)) => collect::run(args),
        Some(Action::Retry(args)) => status::retry(args),
        Some(Action::Cancel(args)) => status::cancel(args),
        Some(Action::Worker(args)) => worker::run(args),
    }
}
