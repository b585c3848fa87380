//! The engine `slurm`: asks Slurm for workers, and tells what it says about them.

use crate::failure::Failure;
use crate::output::{print, write_file};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use warploom_report::grouped;
use warploom_sweep::slurm::{arrays, job, max_array_size, script, states, workers};
use warploom_sweep::{Begun, Folder, Sweep};

/// Asks Slurm for workers, and tells what happens now.
pub fn submit(
    folder: &Folder,
    sweep: &Sweep,
    begun: &Begun,
    asked: Option<u32>,
) -> Result<ExitCode, Failure> {
    let told = request(folder, sweep, begun.open, asked)?;
    let state = folder.state().display();
    print(&match told {
        None => "no worker is missing\n".to_owned(),
        Some(told) => format!(
            "{told}`warploom sweep status {state}` shows how far they are, and `warploom sweep collect \
             {state}` writes the tables\n"
        ),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Asks Slurm for the workers that are missing for a number of open runs, in arrays that it
/// accepts. Tells their number, or `None` if none is missing.
pub fn request(
    folder: &Folder,
    sweep: &Sweep,
    open: usize,
    asked: Option<u32>,
) -> Result<Option<String>, Failure> {
    let waiting: usize = queue(folder).map_or(0, |states| states.values().sum());
    let wanted = workers(sweep, asked, open);
    let missing = wanted.saturating_sub(u32::try_from(waiting).unwrap_or(u32::MAX));
    if missing == 0 {
        return Ok(None);
    }
    let logs = folder.state().join("logs");
    crate::experiment::make_folder(&logs)?;
    let path = folder.state().join("worker.sh");
    write_file(&path, &script(folder, sweep, &folder.program(&sweep.build)))?;
    let largest = max_array_size(&ask("scontrol", &["show", "config"])?);
    let mut jobs = jobs(folder);
    for size in arrays(missing, largest) {
        let array = format!("--array=0-{}", size - 1);
        let path = path.to_string_lossy();
        let printed = ask("sbatch", &["--parsable", &array, &path])?;
        let job = job(&printed)
            .ok_or_else(|| Failure::Output(format!("sbatch printed `{}`", printed.trim())))?;
        jobs.push(job.to_owned());
        write_file(&jobs_path(folder), &format!("{}\n", jobs.join("\n")))?;
    }
    Ok(Some(format!(
        "asked Slurm for {} workers\n",
        grouped(missing.into())
    )))
}

fn jobs_path(folder: &Folder) -> PathBuf {
    folder.state().join("jobs")
}

/// Numbers of the jobs that were submitted.
fn jobs(folder: &Folder) -> Vec<String> {
    let text = std::fs::read_to_string(jobs_path(folder)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Standard output of a command of Slurm.
fn ask(program: &str, args: &[&str]) -> Result<String, Failure> {
    let output = Command::new(program).args(args).output().map_err(|error| {
        Failure::Input(format!(
            "cannot start `{program}`: {error}\n  = help: call this on a computer from which jobs are \
             submitted, or use --engine local"
        ))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failure::Input(format!(
        "`{program} {}` failed: {}\n  = help: `options` under [slurm] of the sweep are passed to sbatch",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

/// Workers in Slurm's queue by their state; `None` if the sweep has no jobs or Slurm does not
/// answer.
fn queue(folder: &Folder) -> Option<std::collections::BTreeMap<String, usize>> {
    let jobs = jobs(folder);
    if jobs.is_empty() {
        return None;
    }
    let user = ask("squeue", &["-h", "-r", "-o", "%F %T", "--me"]).ok()?;
    let own = user.lines().filter_map(|line| line.trim().split_once(' '));
    let own = own.filter(|(job, _)| jobs.iter().any(|own| own == job));
    let own: Vec<&str> = own.map(|(_, state)| state).collect();
    Some(states(&own.join("\n")))
}

/// Description of the workers that Slurm will start, for a sweep on which nobody works now.
pub fn outlook(folder: &Folder) -> String {
    if jobs(folder).is_empty() {
        return "Nobody works on the sweep; the same `warploom sweep` command goes on.\n"
            .to_owned();
    }
    match queue(folder) {
        None => "Slurm does not answer; `squeue` tells more.\n".to_owned(),
        Some(states) if states.is_empty() => {
            "No worker is in Slurm's queue; the same `warploom sweep` \
             command asks for workers.\n"
                .to_owned()
        }
        Some(states) => {
            let state = |(state, number): (&String, &usize)| format!("{number} {state}");
            let states: Vec<String> = states.iter().map(state).collect();
            format!("Workers in Slurm's queue: {}\n", states.join(", "))
        }
    }
}

/// Cancels the jobs of a sweep.
pub fn cancel(folder: &Folder) -> Result<(), Failure> {
    let jobs = jobs(folder);
    if !jobs.is_empty() && queue(folder).is_some_and(|states| !states.is_empty()) {
        let words: Vec<&str> = jobs.iter().map(String::as_str).collect();
        ask("scancel", &words)?;
    }
    Ok(())
}
