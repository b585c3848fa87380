//! Beginning and continuation of a sweep.

use super::display::SweepDisplay;
use super::runs::{Finder, check, resolve, rooted};
use super::sources::Sources;
use super::{Begin, Engine, absolute, collect, name, slurm};
use crate::cuda_source::no_such_file;
use crate::experiment::{copy_own, own_digest};
use crate::failure::Failure;
use crate::interrupt::KeptRuns;
use crate::output::{command_line, error_style, note, print, width};
use crate::verbs::app::library;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use warploom_app::stub::LIBRARY;
use warploom_config::UnreadKeys;
use warploom_report::{grouped, listing, seconds};
use warploom_run::io_reason;
use warploom_run::launch_file::read as read_text;
use warploom_sweep::{
    Begun, Expanded, Folder, Known, NewFile, PlannedRun, Record, Spec, Stopped, Sweep, Times,
    WorkOptions, Worker, begin, expand, read, setting, work, write_whole,
};
use warploom_workloads::Target;

/// Number of problems of runs that are shown.
const SHOWN: usize = 5;

pub fn run(args: &Begin) -> Result<ExitCode, Failure> {
    let path = args.spec.as_deref().expect("clap asked for one");
    let folder = Folder::new(&absolute(&args.output)?, &name(path));
    let build = own_digest()?;
    if let Some(status) = other_build(args, &folder, &build)? {
        return Ok(status);
    }
    let spec = spec(path)?;
    let expanded = expand(&spec).map_err(|error| Failure::Input(error.to_string()))?;
    let version = env!("CARGO_PKG_VERSION");
    let sweep = Sweep::new(&spec, &expanded, &build, version, &command_line());
    let runs = plan(args, &folder, &sweep, &expanded, &absolute(path)?)?;
    if args.dry_run {
        return dry_run(&folder, &expanded, &runs);
    }
    let worker = Worker::register(&folder, None)?;
    keep_program(&folder, &worker, &build)?;
    if runs
        .iter()
        .any(|run| setting(&run.settings, "app").is_some())
    {
        keep_library(&folder, &worker, &build)?;
    }
    let begun = begin(&folder, &worker, &sweep, &runs)?;
    worker.leave()?;
    let opening = opening(&folder, &sweep, &begun);
    match args.engine {
        Engine::Slurm => {
            note(&opening);
            slurm::submit(&folder, &sweep, &begun, args.workers)
        }
        Engine::Local => {
            let kept = KeptRuns::new();
            kept.set(begun.finished, sweep.runs);
            note(&opening);
            local(args, &folder, &sweep, &mut |ended| {
                kept.set(begun.finished + ended, sweep.runs);
            })
        }
    }
}

/// Reads the file of a sweep.
fn spec(path: &Path) -> Result<Spec, Failure> {
    if !path.exists() && path.as_os_str() != "-" {
        return Err(Failure::Input(no_spec(path)));
    }
    let source = read_text(path)?;
    let keys = warploom_config::keys();
    let counters = warploom_gpu::MachineCounters::default().named();
    let known = Known {
        check: &|name, value| check(&keys, name, value),
        keys: &keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(),
        statistics: &counters
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
    };
    read(&source, known).map_err(|errors| Failure::Input(errors.render(error_style())))
}

/// Message about a file of a sweep that does not exist. A workload is a target of one.
fn no_spec(path: &Path) -> String {
    let name = path.to_string_lossy();
    match Target::resolve(&name) {
        Ok(_) => format!(
            "`{name}` is a workload, and a sweep is described by a file\n  = help: `warploom compare \
             {name} --vary sm.warp_scheduler=lrr,gto` needs none\n  = help: docs/sweeps.md describes the file"
        ),
        Err(_) => no_such_file(path),
    }
}

/// Tells that another build began the sweep, or goes on with that build if this was requested.
fn other_build(args: &Begin, folder: &Folder, build: &str) -> Result<Option<ExitCode>, Failure> {
    let Ok(sweep) = Sweep::read(folder) else {
        if args.resume {
            let shown = folder.state().display();
            let message = format!("there is no sweep in {shown}; leave --resume out to begin it");
            return Err(Failure::Input(message));
        }
        return Ok(None);
    };
    if sweep.build == build {
        return Ok(None);
    }
    if !args.resume {
        note(
            "note: another build of Warploom began this sweep, and its runs are not used; --resume \
             goes on with that build\n",
        );
        return Ok(None);
    }
    let program = folder.program(&sweep.build);
    let status = Command::new(&program)
        .args(std::env::args_os().skip(1))
        .status();
    let status = status.map_err(|error| {
        Failure::Input(format!(
            "cannot start {}, which began the sweep: {error}; leave --resume out",
            program.display()
        ))
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Some(ExitCode::from(code.unwrap_or(1))))
}

/// The runs with their keys. All problems are collected, and the first of each kind are shown.
fn plan(
    args: &Begin,
    folder: &Folder,
    sweep: &Sweep,
    expanded: &Expanded,
    spec: &Path,
) -> Result<Vec<PlannedRun>, Failure> {
    let own = spec.parent().unwrap_or(Path::new("/"));
    let mut sources = Sources::new(folder, args.dry_run);
    let mut finder = Finder::default();
    let mut runs = Vec::with_capacity(expanded.points.len());
    let mut problems: Vec<(String, String)> = Vec::new();
    let mut refused = 0;
    let mut unread = UnreadKeys::new();
    for point in &expanded.points {
        let mut point = point.clone();
        point.settings = rooted(&point.settings, own);
        let compiled = sources.compile(&mut point.settings, &mut finder.compiled);
        match compiled.and_then(|()| resolve(&mut finder, &point.settings)) {
            Ok(resolved) => {
                finder.tell_keys(&point.settings, &mut unread);
                runs.push(sweep.plan(point, resolved));
            }
            Err(reason) => {
                refused += 1;
                if problems.len() < SHOWN && !problems.iter().any(|(_, known)| *known == reason) {
                    problems.push((point.name, reason));
                }
            }
        }
    }
    for (told, _) in unread.told() {
        note(&format!("note: {told} in all runs\n"));
    }
    match refused {
        0 => Ok(runs),
        _ => Err(Failure::Input(refusal(
            refused,
            expanded.points.len(),
            &problems,
        ))),
    }
}

fn refusal(refused: usize, all: usize, problems: &[(String, String)]) -> String {
    let mut text = format!("{refused} of {all} runs cannot be made");
    for (name, reason) in problems {
        text += &format!("\n  {name}: {}", reason.replace('\n', "\n  "));
    }
    text + "\n  = help: correct the file, or leave these runs out with [[skip]]"
}

fn opening(folder: &Folder, sweep: &Sweep, begun: &Begun) -> String {
    let failed = match begun.failed {
        0 => String::new(),
        failed => format!(
            ", {} failed earlier (`warploom sweep retry`)",
            grouped(failed as u64)
        ),
    };
    format!(
        "{}: {} runs, {} finished already{failed}\n",
        folder.state().display(),
        grouped(sweep.runs as u64),
        grouped(begun.finished as u64)
    )
}

/// Copies the library that CUDA programs load beside the copy of this program.
fn keep_library(folder: &Folder, worker: &Worker, build: &str) -> Result<(), Failure> {
    let path = folder.program(build).with_file_name(LIBRARY);
    let own = library()?;
    let bytes = std::fs::read(&own).map_err(|error| {
        Failure::Input(format!(
            "cannot read {}: {}",
            own.display(),
            io_reason(&error)
        ))
    })?;
    if std::fs::read(&path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    Ok(write_whole(&worker.temporary(), &path, |out| {
        out.write_all(&bytes)
    })?)
}

/// Copies this program into the folder of results. Several commands may do so at once: the copy is
/// executable before it has its name, and one that is there is not replaced.
pub fn keep_program(folder: &Folder, worker: &Worker, build: &str) -> Result<(), Failure> {
    let path = folder.program(build);
    if path.exists() {
        return Ok(());
    }
    let mut copy = NewFile::create(&worker.temporary(), &path)?;
    if copy_own(&mut copy).map_err(|error| copy.failed(error))? != build {
        let problem = "the program's own file was replaced meanwhile; call it again";
        return Err(copy.failed(std::io::Error::other(problem)).into());
    }
    copy.make_executable()?;
    if !path.exists() {
        copy.finish()?;
    }
    Ok(())
}

/// Makes the runs on this machine, then collects them. `kept` learns the number of runs that have
/// finished here.
fn local(
    args: &Begin,
    folder: &Folder,
    sweep: &Sweep,
    kept: &mut dyn FnMut(usize),
) -> Result<ExitCode, Failure> {
    let options = WorkOptions {
        jobs: args.runner.threads(),
        wait: true,
        until: None,
        job: None,
        start: 0,
    };
    let mut display = SweepDisplay::new(sweep.runs, args.runner.watch());
    let worked = work(
        folder,
        sweep,
        &options,
        &start(folder, sweep),
        &mut |progress| {
            kept(progress.finished);
            display.tell(progress);
        },
    );
    display.finish();
    let (stopped, _) = worked?;
    if stopped == Stopped::Cancelled {
        note("the sweep was cancelled; the same command goes on\n");
    }
    collect::collect(folder, sweep)
}

/// The command of a process for runs.
pub fn start<'a>(folder: &'a Folder, sweep: &'a Sweep) -> impl Fn(&Path) -> Command + 'a {
    let program: PathBuf = folder.program(&sweep.build);
    move |temporary| {
        let mut command = Command::new(&program);
        command.args(["sweep", "worker"]).arg(folder.state());
        command.arg("--process").arg(temporary);
        command
    }
}

fn dry_run(folder: &Folder, expanded: &Expanded, runs: &[PlannedRun]) -> Result<ExitCode, Failure> {
    let times = Times::read(folder)?;
    let mut rows = Vec::new();
    let (mut open, mut unknown, mut sum) = (0, 0, 0.0);
    for run in runs {
        let time = match (Record::open(folder, &run.key)?, times.of(&run.subject)) {
            (Some(_), _) => "finished".to_owned(),
            (None, Some(mean)) => {
                (open, sum) = (open + 1, sum + mean);
                seconds(mean)
            }
            (None, None) => {
                (open, unknown) = (open + 1, unknown + 1);
                "unknown".to_owned()
            }
        };
        rows.push(vec![run.name.clone(), time, run.command.clone()]);
    }
    let estimate = match open - unknown {
        0 if open == 0 => String::new(),
        0 => {
            ": their time is not known, as no run of the same target, size and limits has finished"
                .to_owned()
        }
        known => format!(
            ": about {} of one core for {}{}",
            seconds(sum),
            grouped(known as u64),
            match unknown {
                0 => String::new(),
                unknown => format!(
                    "; the time of {} is not known, as no run of the same target, size and limits \
                     has finished",
                    grouped(unknown as u64)
                ),
            }
        ),
    };
    let excluded = match expanded.skipped {
        0 => String::new(),
        skipped => format!(", {} excluded by filters", grouped(skipped as u64)),
    };
    let mut header = vec!["run", "time", "command"];
    if unknown == runs.len() {
        header.remove(1);
        rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    print(&format!(
        "{}\n{} runs{excluded}, {} to be made{estimate}\n",
        listing(&header, &rows, width()),
        grouped(runs.len() as u64),
        grouped(open as u64),
    ))?;
    Ok(ExitCode::SUCCESS)
}
