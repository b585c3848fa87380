//! `warploom sweep worker`: makes runs of a sweep, on any machine that shares its folder.

use super::begin::start;
use super::programs::RunningProgram;
use super::runs::Finder;
use crate::experiment::{RunnerArgs, own_digest};
use crate::failure::Failure;
use crate::output::{note, print};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use warploom_base::Digest;
use warploom_report::grouped;
use warploom_sweep::{Folder, Job, Stopped, Sweep, WorkOptions, serve, slurm, work};

/// Time before the end of a job of Slurm at which a worker stops.
const MARGIN: Duration = Duration::from_secs(20);

/// Options of a worker.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the sweep: DIR/sweep/NAME
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    runner: RunnerArgs,
    /// Wait for runs that other workers make, in case these die
    #[arg(long)]
    wait: bool,
    /// Stop after this time, for example 50m, with exit status 75 if runs remain [default in a job
    /// of Slurm: shortly before its end]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Time that the job of Slurm has left, as `squeue -o %L` prints it
    #[arg(long, value_name = "TIME", hide = true, default_value = "")]
    time_left: String,
    /// Be a process that a worker started, with this folder for incomplete files
    #[arg(long, value_name = "FOLDER", hide = true)]
    process: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let folder = Folder::of_state(&args.folder).ok_or_else(|| {
        let shown = args.folder.display();
        Failure::Input(format!(
            "{shown} is not the folder of a sweep; give DIR/sweep/NAME"
        ))
    })?;
    if let Some(temporary) = &args.process {
        let running = RunningProgram::default();
        let served = serve(
            &folder,
            temporary,
            &mut Finder::serving(temporary, running.clone()),
            std::io::BufReader::new(std::io::stdin()),
            std::io::stdout(),
            move || quit(&running),
        );
        return match served {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(Failure::Output(format!("the worker is gone: {error}"))),
        };
    }
    let sweep = Sweep::read(&folder)?;
    check_build(&folder, &sweep)?;
    let job = job();
    let options = WorkOptions {
        jobs: args.runner.threads(),
        wait: args.wait,
        until: args
            .time
            .or_else(|| time_of_job(&args.time_left))
            .map(|time| Instant::now() + time),
        start: job
            .as_ref()
            .map_or(0, |job| Digest::new().str(&job.id).finish()),
        job,
    };
    let (stopped, progress) = work(
        &folder,
        &sweep,
        &options,
        &start(&folder, &sweep),
        &mut |_| (),
    )?;
    print(&format!(
        "{} runs finished, {} failed\n",
        grouped(progress.finished as u64),
        grouped(progress.failed as u64)
    ))?;
    Ok(match stopped {
        Stopped::Done | Stopped::Cancelled => ExitCode::SUCCESS,
        Stopped::Time => ExitCode::from(slurm::START_AGAIN),
    })
}

/// Ends this process in the middle of a run, and the program that it has started.
#[allow(
    clippy::exit,
    reason = "the worker that reads the result is gone, and its run is made again"
)]
fn quit(running: &RunningProgram) {
    running.end();
    std::process::exit(0);
}

/// Runs of a sweep are made by the program that began it, of which the folder has a copy.
fn check_build(folder: &Folder, sweep: &Sweep) -> Result<(), Failure> {
    if own_digest()? != sweep.build {
        note(&format!(
            "note: runs are made by {}, which began the sweep\n",
            folder.program(&sweep.build).display()
        ));
    }
    Ok(())
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Job of Slurm in which this process runs.
fn job() -> Option<Job> {
    let id = |variable: &str| std::env::var(variable).ok();
    let array = id("SLURM_ARRAY_JOB_ID").zip(id("SLURM_ARRAY_TASK_ID"));
    let array = array.map(|(job, task)| format!("{job}_{task}"));
    Some(Job {
        id: array.or_else(|| id("SLURM_JOB_ID"))?,
        restart: number("SLURM_RESTART_COUNT").unwrap_or(0) as u32,
    })
}

/// Time until shortly before the end of this job of Slurm, if it has one. Newer releases of Slurm
/// tell the end in the environment; others only if they are asked.
fn time_of_job(time_left: &str) -> Option<Duration> {
    let end = || {
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(number("SLURM_JOB_END_TIME")?);
        Some(end.duration_since(SystemTime::now()).unwrap_or_default())
    };
    let left = slurm::time_left(time_left).or_else(end)?;
    Some(left.saturating_sub(MARGIN.min(left / 4)))
}
