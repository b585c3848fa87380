//! `cargo xtask workloads`: measures every workload as the papers ran it, into `docs/workloads.md`
//! and the table behind `warploom list workloads`; or checks all outputs where tests would take too
//! long.

mod check;
mod contexts;
mod measure;
mod mixes;
mod page;
mod paper;
mod variants;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use warploom_workloads::{COLUMNS, aliases, all};

use measure::{Measured, Run};

const TABLE: &str = "crates/workloads/src/character.csv";
const PAGE: &str = "docs/workloads.md";
/// Columns of the table before [`COLUMNS`].
const FIRST: &str = "target,gpu,kernel,block threads,registers,shared bytes,blocks per SM,limited \
                     by,category";

/// Settings of `cargo xtask workloads`.
#[derive(clap::Args)]
pub struct Args {
    /// Measure only these targets and keep the other rows: PAPER/ABBREVIATION, or a workload
    #[arg(value_name = "TARGET")]
    only: Vec<String>,

    /// Cut runs after this many core cycles
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    cycles: u64,

    /// Measure nothing; compare the outputs of every variant with its reference, timed at size
    /// small under six pairs of warp and block schedulers
    #[arg(long)]
    check: bool,

    /// With --check: of first blocks at size paper without timing, into
    /// docs/generated/paper-outputs.md, which takes a quarter of an hour and gigabytes
    #[arg(long, requires = "check")]
    paper: bool,

    /// With --check: under context switching with every number of extra blocks and drawn latencies,
    /// into docs/generated/context-outputs.md
    #[arg(long, requires = "check", conflicts_with = "paper")]
    contexts: bool,

    /// With --check: of every pair and triple of Warped-Slicer under every multiprogramming policy,
    /// at size small, into docs/generated/mix-outputs.md
    #[arg(long, requires = "check", conflicts_with_all = ["paper", "contexts", "only"])]
    mixes: bool,

    /// With --mixes: so many runs at a time; none: one a core
    #[arg(long, value_name = "N", requires = "mixes")]
    threads: Option<usize>,
}

/// Measures or checks.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if args.mixes {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        return mixes::run(args.threads.unwrap_or_else(cores), root);
    }
    if args.check {
        return match (args.paper, args.contexts) {
            (true, _) => paper::run(&args.only, &check::plain()?, root),
            (_, true) => contexts::run(&args.only, root),
            _ => check::run(&args.only),
        };
    }
    let path = root.join(TABLE);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let mut rows = Vec::new();
    for run in runs(args.cycles) {
        if args.only.is_empty() || args.only.contains(&run.target) {
            let measured = run.measure()?;
            writeln!(io::stdout(), "{}", measured.line())?;
            rows.push(measured.line());
        } else if let Some(line) = line_of(&old, &run.target) {
            rows.push(line.to_owned());
        }
    }
    let header = format!("{FIRST},{}", COLUMNS.join(","));
    write(&path, &format!("{header}\n{}\n", rows.join("\n")))?;
    let rows: Vec<_> = rows
        .iter()
        .filter_map(|line| Measured::read(line))
        .collect();
    write(&root.join(PAGE), &page::page(&rows, args.cycles))
}

/// Every workload by itself, then every benchmark of a paper.
fn runs(cycles: u64) -> impl Iterator<Item = Run> {
    let plain = all()
        .iter()
        .map(move |workload| Run::plain(workload.name, cycles));
    let papers = aliases().map(move |alias| Run::of_paper(alias, cycles));
    plain.chain(papers)
}

fn line_of<'a>(table: &'a str, target: &str) -> Option<&'a str> {
    table
        .lines()
        .find(|line| line.split(',').next() == Some(target))
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
