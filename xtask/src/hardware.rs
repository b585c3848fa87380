//! `cargo xtask hardware`: what the functional executor does for every pure instruction form,
//! beside what a GPU does, bit by bit.
//!
//! Forms come from `warploom-ptx`'s table ([`table`]), operands from a seeded generator
//! ([`operands`]). Each form is a small kernel of its own ([`case`]), which Warploom
//! ([`simulated`]) and a GPU ([`driver`]) run ([`machine`]). The GPU's answers can be recorded as
//! digests ([`record`]). No file is read but a record, and of CUDA nothing is needed but the GPU's
//! driver.

mod accuracy;
mod case;
mod compare;
mod driver;
mod machine;
mod operands;
mod record;
mod report;
mod simulated;
mod table;
mod video;
mod warp;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use case::{Case, module};
use compare::{Comparison, compare};
use driver::Gpu;
use machine::{Job, Machine, answers};
use record::Record;
use simulated::Simulated;

/// The newest architecture that forms are compared on.
const ARCHITECTURE: u32 = 90;
/// Forms that share a module.
const MODULE: usize = 32;

/// Settings of `cargo xtask hardware`.
#[derive(clap::Args)]
pub struct Args {
    /// Compare only forms whose names contain one of these, such as cvt.rn or .f16x2
    #[arg(value_name = "PART")]
    only: Vec<String>,

    /// Write the hardware's answers to this file, as digests
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Hold Warploom to the answers recorded in this file: needs no GPU
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "out"])]
    check: Option<PathBuf>,

    /// Write the report, and tuples that differ, into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Stop after so many seconds, and say what was left out
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,

    /// Threads that load modules; as many as the machine has unless given
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// The version that modules say they are written for
    #[arg(long, value_name = "X.Y", default_value = "8.6")]
    ptx_version: String,

    /// Write the modules into this folder and compare nothing: needs no GPU
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
}

/// What became of one form.
pub enum Outcome {
    /// The time was up.
    Late,
    /// It needs a newer architecture.
    TooNew,
    /// The GPU's driver refuses it, and why.
    Refused(String),
    /// The hardware's answers without ours, and why we have none.
    Alone(String, Vec<u8>),
    /// Both ran it; the hardware's answers.
    Compared(Comparison, Vec<u8>),
}

/// Compares everything and reports.
pub fn run(args: &Args) -> Result<()> {
    let wanted = |case: &Case| {
        args.only.is_empty()
            || args
                .only
                .iter()
                .any(|part| case.name.contains(part.as_str()))
    };
    let cases: Vec<Case> = table::cases().into_iter().filter(wanted).collect();
    ensure!(!cases.is_empty(), "no form is called so");
    if let Some(folder) = &args.modules {
        return write_modules(folder, &cases, &args.ptx_version);
    }
    if let Some(path) = &args.check {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let wrong = check(&cases, &text, &args.ptx_version);
        ensure!(
            wrong.is_empty(),
            "{} forms:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        return Ok(());
    }
    let gpu = Gpu::open()?;
    let outcomes = compare_all(args, &cases, &gpu)?;
    let report = report::report(&cases, &outcomes, &gpu.description);
    io::stdout().write_all(report.as_bytes())?;
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder)?;
        write(&folder.join("report.txt"), &report)?;
        write(
            &folder.join("differences.txt"),
            &report::tuples(&cases, &outcomes),
        )?;
    }
    if let Some(path) = &args.record {
        write(path, &record::record(&cases, &outcomes, &gpu.description))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn write_modules(folder: &Path, cases: &[Case], version: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    let runnable: Vec<&Case> = cases
        .iter()
        .filter(|case| case.since <= ARCHITECTURE)
        .collect();
    for (number, some) in runnable.chunks(MODULE).enumerate() {
        let names = some.iter().enumerate();
        let names = names.map(|(k, case)| format!("// k{k}: {}\n", case.name));
        let text = module(some, version).0 + &names.collect::<String>();
        write(&folder.join(format!("{number}.ptx")), &text)?;
    }
    writeln!(io::stdout(), "{} forms", runnable.len())?;
    Ok(())
}

/// What is wrong with Warploom's answers, given a record of the hardware's; by two threads.
fn check(cases: &[Case], record: &str, version: &str) -> Vec<String> {
    let record = Record::new(record);
    let runnable: Vec<Case> = cases
        .iter()
        .filter(|case| case.since <= ARCHITECTURE)
        .cloned()
        .collect();
    let judge = |cases: &[Case]| {
        let mut machine = Simulated::default();
        let modules = cases.chunks(MODULE).flat_map(|some| {
            let inputs: Vec<Vec<u8>> = some.iter().map(operands::bytes).collect();
            let jobs = some.iter().zip(&inputs);
            let jobs: Vec<Job<'_>> = jobs.map(|(case, input)| Job { case, input }).collect();
            let results = answers(&mut machine, &jobs, version);
            let judged = some.iter().zip(&results);
            judged
                .filter_map(|(case, result)| record.judge(case, result))
                .collect::<Vec<_>>()
        });
        modules.collect::<Vec<String>>()
    };
    let (first, second) = runnable.split_at(runnable.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| judge(second));
        let mut wrong = judge(first);
        wrong.extend(other.join().expect("no panic"));
        wrong
    })
}

/// All forms, by as many threads as there are; in the order of the cases.
fn compare_all(args: &Args, cases: &[Case], gpu: &Gpu) -> Result<Vec<Outcome>> {
    let deadline = Instant::now() + Duration::from_secs(args.time_limit);
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        let (mut theirs, mut ours) = (gpu.machine()?, Simulated::default());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(some) = cases.chunks(MODULE).nth(number) else {
                return Ok(());
            };
            let outcomes = match Instant::now() < deadline {
                true => outcomes(some, &mut ours, &mut theirs, &args.ptx_version),
                false => late(some),
            };
            let mut done = done.lock().expect("no thread panics with it");
            done.push((number, outcomes));
        }
    };
    thread::scope(|scope| {
        let spawn = |_| scope.spawn(work);
        let threads: Vec<_> = (0..args.threads.unwrap_or(cores)).map(spawn).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        ended.collect::<Result<()>>()
    })?;
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by_key(|(number, _)| *number);
    Ok(done
        .into_iter()
        .flat_map(|(_, outcomes)| outcomes)
        .collect())
}

fn late(cases: &[Case]) -> Vec<Outcome> {
    cases.iter().map(|_| Outcome::Late).collect()
}

/// One module's forms.
fn outcomes(
    cases: &[Case],
    ours: &mut dyn Machine,
    theirs: &mut dyn Machine,
    version: &str,
) -> Vec<Outcome> {
    let inputs: Vec<Vec<u8>> = cases.iter().map(operands::bytes).collect();
    let jobs = cases.iter().zip(&inputs);
    let jobs = jobs.filter(|(case, _)| case.since <= ARCHITECTURE);
    let jobs: Vec<Job<'_>> = jobs.map(|(case, input)| Job { case, input }).collect();
    let ours = answers(ours, &jobs, version);
    let theirs = answers(theirs, &jobs, version);
    let mut both = ours.into_iter().zip(theirs);
    let mut outcome = |(case, input): (&Case, &Vec<u8>)| {
        let both = (case.since <= ARCHITECTURE).then(|| both.next()).flatten();
        both.map_or(Outcome::TooNew, |both| of_both(case, input, both))
    };
    cases.iter().zip(&inputs).map(&mut outcome).collect()
}

fn of_both(
    case: &Case,
    input: &[u8],
    both: (Result<Vec<u8>, String>, Result<Vec<u8>, String>),
) -> Outcome {
    match both {
        (Ok(ours), Ok(theirs)) => Outcome::Compared(compare(case, input, &ours, &theirs), theirs),
        (Err(why), Ok(theirs)) => Outcome::Alone(why, theirs),
        (_, Err(why)) => Outcome::Refused(why),
    }
}
