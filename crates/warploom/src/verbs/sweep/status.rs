//! `warploom sweep status`, `retry` and `cancel`.

use super::{Place, slurm};
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;
use warploom_report::{bar, grouped, seconds};
use warploom_sweep::{Folder, Status, StatusReader, Sweep, Worker};

/// Time between two looks of the live view.
const REFRESH: Duration = Duration::from_secs(2);

/// Options of `warploom sweep status`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    /// Show the state again and again until all runs have ended
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
}

/// Options of `warploom sweep retry`.
#[derive(clap::Args)]
pub struct RetryArgs {
    #[command(flatten)]
    place: Place,
    /// Only failures of this kind: failed, time, memory or crashed
    #[arg(long, value_name = "KIND", value_parser = ["failed", "time", "memory", "crashed"])]
    kind: Option<String>,
    /// Only the run of this name
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
}

/// Options of `warploom sweep cancel`.
#[derive(clap::Args)]
pub struct CancelArgs {
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let folder = args.place.folder()?;
    Sweep::read(&folder)?;
    let mut reader = StatusReader::default();
    loop {
        let status = reader.read(&folder, None)?;
        if args.json {
            print_json(&status)?;
        } else {
            let clear = match args.watch && std::io::stdout().is_terminal() {
                true => "\x1b[2J\x1b[H",
                false => "",
            };
            print(&format!("{clear}{}", shown(&folder, &status)))?;
        }
        if !args.watch || status.remaining() == 0 {
            return Ok(ExitCode::from(u8::from(status.failures() > 0)));
        }
        std::thread::sleep(REFRESH);
    }
}

fn shown(folder: &Folder, status: &Status) -> String {
    let count = |number: usize| grouped(number as u64);
    let ended = status.finished + status.failures();
    let share = ended as f64 / status.runs.max(1) as f64;
    let mut text = format!(
        "{}\n{} {:.1}%\n",
        folder.state().display(),
        bar(share, 40),
        100.0 * share
    );
    let mut line = |name: &str, number: usize, about: &str| {
        if number > 0 {
            text += &format!("{:>12}  {name}{about}\n", count(number));
        }
    };
    line("runs", status.runs, "");
    line("finished", status.finished, "");
    for (kind, number) in &status.failed {
        line(
            kind,
            *number,
            ": `warploom sweep collect` names them, `retry` runs them again",
        );
    }
    let hosts = format!(
        " by {} workers on {}",
        status.workers,
        status.hosts.join(", ")
    );
    line("running", status.running, &hosts);
    line("waiting", status.waiting, "");
    line(
        "lost",
        status.lost,
        ": their workers were stopped or died; the next worker makes them",
    );
    line(
        "not asked for",
        status.unrequested,
        ": the same `warploom sweep` command asks for them",
    );
    if status.finished > 0 {
        let mean = status.seconds / status.finished as f64;
        text += &format!("{:>12}  a run on average\n", seconds(mean));
    }
    if let Some(left) = status.seconds_left().filter(|_| status.remaining() > 0) {
        let without = match status.unknown {
            0 => String::new(),
            unknown => format!(
                ", without {} runs: none of their target, size and limits has finished",
                count(unknown)
            ),
        };
        text += &format!("{:>12}  left, about{without}\n", seconds(left));
    }
    if status.is_cancelled {
        text += "The sweep is cancelled; the same `warploom sweep` command goes on.\n";
    } else if status.remaining() > 0 && status.running == 0 {
        text += &slurm::outlook(folder);
    }
    text
}

pub fn retry(args: &RetryArgs) -> Result<ExitCode, Failure> {
    let folder = args.place.folder()?;
    Sweep::read(&folder)?;
    let worker = Worker::register(&folder, None)?;
    let number = warploom_sweep::retry(&folder, &worker, &|run, failure| {
        let kind = args
            .kind
            .as_ref()
            .is_none_or(|kind| kind == failure.kind.name());
        kind && args.run.as_ref().is_none_or(|name| *name == run.name)
    });
    worker.leave()?;
    print(&format!(
        "{} runs wait again; the same `warploom sweep` command makes them\n",
        grouped(number? as u64)
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub fn cancel(args: &CancelArgs) -> Result<ExitCode, Failure> {
    let folder = args.place.folder()?;
    Sweep::read(&folder)?;
    let worker = Worker::register(&folder, None)?;
    let cancelled = warploom_sweep::cancel(&folder, &worker);
    worker.leave()?;
    cancelled?;
    slurm::cancel(&folder)?;
    note("workers stop when they notice; finished runs stay, and the same command goes on\n");
    Ok(ExitCode::SUCCESS)
}
