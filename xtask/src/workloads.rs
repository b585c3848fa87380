//! `cargo xtask workloads`: measures every workload as the papers ran it, into `docs/workloads.md`
//! and the table of `warploom list workloads`. It can also check all outputs, where tests would
//! take too long.

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
/// Columns of the table that come before [`COLUMNS`].
const FIRST: &str = "target,gpu,kernel,block threads,registers,shared bytes,blocks per SM,limited \
                     by,category";

/// Settings of `cargo xtask workloads`.
#[derive(clap::Args)]
pub struct Args {
    /// Measure only these targets (PAPER/ABBREVIATION or a workload) and keep the other rows
    #[arg(value_name = "TARGET")]
    only: Vec<String>,

    /// Core cycles after which runs are cut
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    cycles: u64,

    /// Instead of measuring, compare the outputs of every variant with its reference, timed at size
    /// small under six pairs of warp and block schedulers
    #[arg(long)]
    check: bool,

    /// With --check: check the first blocks at size paper without timing, into
    /// docs/generated/paper-outputs.md; takes a quarter of an hour and gigabytes
    #[arg(long, requires = "check")]
    paper: bool,

    /// With --check: check under context switching with every number of extra blocks and random
    /// latencies, into docs/generated/context-outputs.md
    #[arg(long, requires = "check", conflicts_with = "paper")]
    contexts: bool,

    /// With --check: check every pair and triple of Warped-Slicer under every multiprogramming
    /// policy at size small, into docs/generated/mix-outputs.md
    #[arg(long, requires = "check", conflicts_with_all = ["paper", "contexts", "only"])]
    mixes: bool,

    /// With --mixes: number of simultaneous runs [default: one per core]
    #[arg(long, value_name = "N", requires = "mixes")]
    threads: Option<usize>,
}

/// Measures or checks, as the arguments request.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if args.mixes {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        return mixes::run(args.threads.unwrap_or_else(cores), root);
    }
    if args.check {
        return if args.paper {
            paper::run(&args.only, &check::plain()?, root)
        } else if args.contexts {
            contexts::run(&args.only, root)
        } else {
            check::run(&args.only)
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

/// All workloads on their own, then all benchmarks of the papers.
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

/// Writes a file atomically: whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{TABLE, line_of, runs};
    use std::fs;

    /// Targets that end early: a workload, and a benchmark of a paper.
    const SHORT: [&str; 2] = ["nn", "cooperative/VectorAddition"];

    #[test]
    fn short_rows_are_those_of_this_build() {
        let table = fs::read_to_string(crate::root().join(TABLE)).unwrap();
        let short: Vec<_> = runs(200_000)
            .filter(|run| SHORT.contains(&run.target.as_str()))
            .collect();
        assert_eq!(short.len(), SHORT.len());
        for run in short {
            let measured = run.measure().unwrap().line();
            let row = line_of(&table, &run.target);
            assert_eq!(row, Some(measured.as_str()), "`cargo xtask workloads`");
        }
    }
}
