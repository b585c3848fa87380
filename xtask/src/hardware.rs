//! `cargo xtask hardware`: compares the functional executor with a GPU, for every instruction form
//! without side effects and bit by bit.
//!
//! Forms come from the table of `warploom-ptx` ([`table`]), operands from a seeded generator
//! ([`operands`]). Each form is a small kernel of its own ([`case`]), which Warploom
//! ([`simulated`]) and a GPU ([`driver`]) run ([`machine`]). Of CUDA, only the GPU's driver is
//! needed. The results of the GPU are stored as digests ([`record`]), so that a test compares
//! Warploom with them without a GPU. `docs/hardware.md` describes how the two compare ([`page`]).

mod accuracy;
mod atomic;
mod case;
mod compare;
pub(crate) mod driver;
mod format;
pub(crate) mod machine;
mod matrix;
mod operands;
mod page;
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
use record::{Record, Verdict};
use simulated::Simulated;

/// Newest architecture on which forms are compared.
const ARCHITECTURE: u32 = 90;
/// Version of PTX that modules declare.
const VERSION: &str = "8.6";
/// File with the results of a GPU.
const RECORD: &str = "xtask/data/hardware.tsv";
const PAGE: &str = "docs/hardware.md";
/// Number of forms in a module.
const MODULE: usize = 32;

/// Settings of `cargo xtask hardware`.
#[derive(clap::Args)]
pub struct Args {
    /// Compare only forms whose names contain one of these, such as cvt.rn or .f16x2
    #[arg(value_name = "PART")]
    only: Vec<String>,

    /// Renew the record of the GPU's results and docs/hardware.md
    #[arg(long, conflicts_with = "only")]
    record: bool,

    /// Compare Warploom with the record, and docs/hardware.md with both; needs no GPU
    #[arg(long, conflicts_with_all = ["record", "only", "out"])]
    check: bool,

    /// Write docs/hardware.md from the record; needs no GPU
    #[arg(long, conflicts_with_all = ["check", "record", "only", "out"])]
    page: bool,

    /// Write the report, and the tuples with different results, into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Seconds after which to stop; the report lists the forms that are left
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,

    /// Number of threads that load modules [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Version of PTX that modules declare
    #[arg(long, value_name = "X.Y", default_value = VERSION)]
    ptx_version: String,

    /// Write the modules into this folder and compare nothing; needs no GPU
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
}

/// Result of comparing one form.
pub enum Outcome {
    /// The time limit was reached.
    Late,
    /// The form needs a newer architecture.
    TooNew,
    /// The GPU's driver refuses the form, for this reason.
    Refused(String),
    /// Warploom did not execute the form, for this reason; the GPU's results.
    Alone(String, Vec<u8>),
    /// Both executed the form; the comparison, and the GPU's results.
    Compared(Comparison, Vec<u8>),
}

/// Compares everything and reports.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let wanted = |case: &Case| {
        args.only.is_empty()
            || args
                .only
                .iter()
                .any(|part| case.name.contains(part.as_str()))
    };
    let cases: Vec<Case> = table::cases().into_iter().filter(wanted).collect();
    ensure!(
        !cases.is_empty(),
        "no form's name contains {}: names are like cvt.rn.f16.f32; `--modules` writes all of them",
        args.only.join(" or ")
    );
    if let Some(folder) = &args.modules {
        return write_modules(folder, &cases, &args.ptx_version);
    }
    if args.check || args.page {
        return hold(&cases, root, args.page);
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
    if args.record {
        let late = outcomes
            .iter()
            .any(|outcome| matches!(outcome, Outcome::Late));
        ensure!(!late, "a record needs every form: give it more time");
        let record = record::record(&cases, &outcomes, &gpu.description);
        write(&root.join(RECORD), &record)?;
        return hold(&cases, root, true);
    }
    Ok(())
}

/// Reports differences from the record, and writes the page or checks that it is current.
fn hold(cases: &[Case], root: &Path, renew: bool) -> Result<()> {
    let (page, wrong) = judged(cases, root)?;
    let path = root.join(PAGE);
    if renew {
        write(&path, &page)?;
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    ensure!(
        wrong.is_empty(),
        "{} forms:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    ensure!(
        current == page,
        "{PAGE} is old: run `cargo xtask hardware --page`"
    );
    Ok(())
}

/// The page, and all differences of Warploom from the record.
fn judged(cases: &[Case], root: &Path) -> Result<(String, Vec<String>)> {
    let path = root.join(RECORD);
    let text = fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let record = Record::new(&text);
    let verdicts = verdicts(cases, &record);
    let both = cases.iter().zip(&verdicts);
    let wrong = both.filter_map(|(case, verdict)| match verdict {
        Verdict::Wrong(why) => Some(format!("{}: {why}", case.name)),
        _ => None,
    });
    let gone = record.without_case(cases).into_iter();
    let gone = gone.map(|name| format!("{name}: recorded, but no longer a form"));
    let wrong = wrong.chain(gone).collect();
    Ok((page::page(cases, &verdicts, record.gpu), wrong))
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

/// Verdicts of all cases against a record, computed by two threads.
fn verdicts(cases: &[Case], record: &Record<'_>) -> Vec<Verdict> {
    let judge = |cases: &[Case]| -> Vec<Verdict> {
        let mut machine = Simulated::default();
        let of_module = |some: &[Case]| judge_module(some, record, &mut machine);
        cases.chunks(MODULE).flat_map(of_module).collect()
    };
    // Each thread gets every second module, because neighbouring modules take equally long.
    let modules: Vec<&[Case]> = cases.chunks(MODULE).collect();
    let share = |first: usize| -> Vec<Case> {
        let mine = modules.iter().skip(first).step_by(2);
        mine.flat_map(|module| module.iter().cloned()).collect()
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| judge(&share(1)));
        let even = judge(&share(0));
        let odd = other.join().expect("no panic");
        let [mut even, mut odd] = [even, odd].map(|verdicts| verdicts.into_iter());
        let of_module = |number| match number % 2 {
            0 => even.by_ref().take(MODULE).collect::<Vec<_>>(),
            _ => odd.by_ref().take(MODULE).collect(),
        };
        (0..modules.len()).flat_map(of_module).collect()
    })
}

fn judge_module(cases: &[Case], record: &Record<'_>, machine: &mut Simulated) -> Vec<Verdict> {
    let inputs: Vec<Vec<u8>> = cases.iter().map(operands::bytes).collect();
    let all = cases.iter().zip(&inputs);
    let runnable = all.clone().filter(|(case, _)| case.since <= ARCHITECTURE);
    let jobs: Vec<Job<'_>> = runnable.map(|(case, input)| Job { case, input }).collect();
    let mut results = answers(machine, &jobs, VERSION).into_iter();
    let mut verdict = |(case, input): (&Case, &Vec<u8>)| {
        let runnable = case.since <= ARCHITECTURE;
        let result = runnable.then(|| results.next()).flatten();
        result.map_or(Verdict::TooNew, |result| record.judge(case, input, &result))
    };
    all.map(&mut verdict).collect()
}

/// Outcomes of all cases in their order, computed by several threads.
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
            let outcomes = if Instant::now() < deadline {
                outcomes(some, &mut ours, &mut theirs, &args.ptx_version)
            } else {
                late(some)
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

/// Outcomes of the cases in one module.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PAGE, judged, table};

    /// `cargo xtask hardware --page` or `WARPLOOM_BLESS=1` renews the page. The record needs a GPU.
    #[test]
    fn warploom_does_what_a_gpu_did() {
        let root = crate::root();
        let (page, wrong) = judged(&table::cases(), &root).unwrap();
        assert_eq!(wrong, [""; 0], "{} forms", wrong.len());
        let path = root.join(PAGE);
        if std::env::var_os("WARPLOOM_BLESS").is_some() {
            fs::write(&path, &page).unwrap();
        }
        let current = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            current == page,
            "{PAGE} is old: run `cargo xtask hardware --page`"
        );
    }
}
