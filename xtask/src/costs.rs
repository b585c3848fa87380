//! `cargo xtask costs STORE...`: what the stored figures cost, into `crates/lab/data/costs.csv`.
//!
//! The processor time of a run is computed as a time for each core cycle plus a time for each
//! thread instruction. Both are fitted to the runs of a paper in stores (`runs.redb`), so that a
//! tenth of them were faster: most recorded times are of a computer that had other work, too.
//! Papers without a store get the times that are fitted to all runs.
//!
//! For figures of one program that costs more for a cycle than the others of its paper, this does
//! not hold. `cargo xtask costs --measure FIGURE` makes the runs of a figure in one thread, and
//! replaces its row alone by the processor time of this process. Other figures of no further
//! programs then cost at least as much for a cycle. Without stores nothing else changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use warploom_lab::{
    CostBasis, FigureJob, FigureOutcome, Request, Runner, Scale, Store, find, make,
};
use warploom_report::page::{Page, RunLine};

use crate::results::stored;

const TABLE: &str = "crates/lab/data/costs.csv";
/// Share of the runs that were faster than computed.
const FASTER: f64 = 0.1;
/// Steps of the fitted times in seconds, for a cycle and for a thread instruction.
const STEPS: [f64; 2] = [1e-7, 5e-10];
/// Number of steps that are tried.
const TRIED: u32 = 60;
/// Runs with fewer cycles are mostly start-up.
const FEWEST_CYCLES: u64 = 20_000;

/// Settings of `cargo xtask costs`.
#[derive(clap::Args)]
pub struct Args {
    /// Stores of runs (`runs.redb`) that figures of scale `paper` are made of
    stores: Vec<PathBuf>,
    /// Make the runs of this figure, such as crat/fig3, and replace its row alone (in a release
    /// build)
    #[arg(long, value_name = "PAPER/FIGURE", conflicts_with = "stores")]
    measure: Option<String>,
}

/// Writes the table of costs of the workspace at `root`.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let pages = stored(&root.join("docs/results"))?;
    let old = fs::read_to_string(root.join(TABLE))?;
    let table = match &args.measure {
        Some(figure) => with_row(&old, figure, &measured(figure)?),
        None if args.stores.is_empty() => old,
        None => with_measured(table(&pages, &times(&args.stores)?), &old),
    };
    fs::write(root.join(TABLE), with_scaled(table, &pages))?;
    Ok(writeln!(io::stdout(), "{TABLE}")?)
}

/// Times of the runs in stores.
fn times(stores: &[PathBuf]) -> Result<Times> {
    let mut times = BTreeMap::new();
    for path in stores {
        ensure!(path.is_file(), "there is no store {}", path.display());
        Store::open(path, "")?.each(&mut |report| {
            times.insert((report.input_digest, report.digest), report.wall_seconds);
        })?;
    }
    Ok(times)
}

/// Seconds of runs, by the digests of their inputs and results.
type Times = BTreeMap<(String, String), f64>;

/// Cycles and thread instructions of a run.
type Work = [f64; 2];

fn work(run: &RunLine) -> Work {
    let cycles = run.cycles as f64;
    [cycles, cycles * run.ipc]
}

fn seconds(speed: [f64; 2], work: Work) -> f64 {
    speed[0] * work[0] + speed[1] * work[1]
}

/// Seconds for a cycle and for a thread instruction with which a tenth of the runs were faster, if
/// there are runs: the smallest sum of weighted logarithms of recorded over computed times.
fn fit(runs: &[(f64, Work)]) -> Option<[f64; 2]> {
    let loss = |speed: [f64; 2]| -> f64 {
        let ratios = runs
            .iter()
            .map(|(time, work)| (time / seconds(speed, *work)).ln());
        let weighted = |ratio: f64| ratio * if ratio >= 0.0 { FASTER } else { FASTER - 1.0 };
        ratios.map(weighted).sum()
    };
    let tried = (0..TRIED).flat_map(|cycle| (1..TRIED).map(move |inst| [cycle, inst]));
    let speeds =
        tried.map(|[cycle, inst]| [f64::from(cycle) * STEPS[0], f64::from(inst) * STEPS[1]]);
    let best = speeds.min_by(|a, b| loss(*a).total_cmp(&loss(*b)));
    best.filter(|_| !runs.is_empty())
}

/// Recorded times and work of the runs of pages, each run once.
fn recorded<'p>(pages: impl Iterator<Item = &'p Page>, times: &Times) -> Vec<(f64, Work)> {
    let mut runs = BTreeMap::new();
    for run in pages.flat_map(|page| &page.runs) {
        let key = (run.input_digest.clone(), run.digest.clone());
        if let Some(time) = times.get(&key).filter(|_| run.cycles >= FEWEST_CYCLES) {
            runs.insert(key, (*time, work(run)));
        }
    }
    runs.into_values().collect()
}

/// Table of the figures at scale `paper` that have runs.
fn table(pages: &[Page], times: &Times) -> String {
    let mut text = String::from("figure,runs,minutes,basis\n");
    let of_all = fit(&recorded(pages.iter(), times));
    let mut speeds = BTreeMap::new();
    let of_paper = |page: &&Page| page.scale == "paper" && !page.runs.is_empty();
    for page in pages.iter().filter(of_paper) {
        let speed = speeds.entry(&page.paper).or_insert_with(|| {
            let own = pages.iter().filter(|other| other.paper == page.paper);
            fit(&recorded(own, times)).or(of_all)
        });
        if let Some(speed) = speed {
            let all: f64 = page.runs.iter().map(|run| seconds(*speed, work(run))).sum();
            let name = page.full_name();
            let row = row(&name, page.runs.len(), all / 60.0, CostBasis::Computed);
            let _ = writeln!(text, "{row}");
        }
    }
    text
}

/// Row of a figure at scale `paper` whose runs are made now.
fn measured(figure: &str) -> Result<String> {
    let found = find(figure)?;
    let [info] = found.as_slice() else {
        bail!("{figure} is not one figure");
    };
    let request = Request {
        scale: Scale::Paper,
    };
    let runner = Runner {
        store: None,
        threads: 1,
        observer: &|_| (),
        interrupted: &|| false,
    };
    let before = processor_seconds()?;
    let made = make(&[FigureJob::figure(info, &request)], &runner)?;
    let seconds = processor_seconds()? - before;
    let [FigureOutcome::Page(page)] = made.as_slice() else {
        bail!("{figure} was not made: {made:?}");
    };
    let runs = page.runs.len();
    Ok(row(figure, runs, seconds / 60.0, CostBasis::Measured))
}

/// Processor time of this process in seconds, without that of the system.
fn processor_seconds() -> Result<f64> {
    // Linux counts in hundredths of a second, whatever its own clock is (proc_pid_stat(5)).
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let user = after_name.split_whitespace().nth(11);
    let ticks: f64 = user.context("/proc/self/stat has no user time")?.parse()?;
    Ok(ticks / TICKS)
}

/// The table with the row of a figure replaced, or added.
fn with_row(old: &str, figure: &str, row: &str) -> String {
    let start = format!("{figure},");
    let kept = |line: &str| if line.starts_with(&start) { row } else { line }.to_owned();
    let mut lines: Vec<String> = old.lines().map(kept).collect();
    if !old.lines().any(|line| line.starts_with(&start)) {
        lines.push(row.to_owned());
    }
    lines.join("\n") + "\n"
}

/// Rows of a table, as figure, minutes and basis.
fn rows(table: &str) -> impl Iterator<Item = (&str, f64, &str)> {
    table.lines().filter_map(|row| {
        let mut cells = row.split(',');
        let (figure, _, minutes) = (cells.next()?, cells.next()?, cells.next()?);
        Some((figure, minutes.parse().ok()?, cells.next()?))
    })
}

/// The table with the rows of `old` whose costs were measured.
fn with_measured(table: String, old: &str) -> String {
    let is_measured = |(_, _, basis): &(&str, f64, &str)| *basis == CostBasis::Measured.name();
    let names = rows(old).filter(is_measured).map(|(figure, ..)| figure);
    names.fold(table, |table, figure| {
        let start = format!("{figure},");
        let row = old.lines().find(|line| line.starts_with(&start));
        with_row(&table, figure, row.unwrap_or_default())
    })
}

/// The table in which a figure of no further programs than a measured one of its paper costs at
/// least as much for a cycle. A figure of runs without timing tells nothing about cycles.
fn with_scaled(table: String, pages: &[Page]) -> String {
    let mut scaled = table.clone();
    let cycles = |page: &Page| page.runs.iter().map(|run| run.cycles as f64).sum::<f64>();
    let inputs = |page: &Page| -> BTreeSet<String> {
        page.runs.iter().map(|run| run.input.clone()).collect()
    };
    let of_paper = |page: &&Page| page.scale == "paper" && !page.runs.is_empty();
    for (name, minutes, basis) in rows(&table) {
        let is_measured = basis == CostBasis::Measured.name();
        let measured = pages.iter().filter(of_paper);
        let mut measured =
            measured.filter(|page| is_measured && page.full_name() == name && cycles(page) > 0.0);
        let Some(measured) = measured.next() else {
            continue;
        };
        let programs = inputs(measured);
        for page in pages.iter().filter(of_paper) {
            let other = page.full_name();
            let row_of = rows(&table).find(|(figure, ..)| *figure == other);
            let own = row_of.filter(|(.., basis)| *basis != CostBasis::Measured.name());
            let least = minutes * cycles(page) / cycles(measured);
            let is_part = page.paper == measured.paper && inputs(page).is_subset(&programs);
            if is_part && own.is_some_and(|(_, own, _)| own < least) {
                let row = row(&other, page.runs.len(), least, CostBasis::Scaled);
                scaled = with_row(&scaled, &other, &row);
            }
        }
    }
    scaled
}

/// Row of a figure whose runs take some minutes together.
fn row(name: &str, runs: usize, minutes: f64, basis: CostBasis) -> String {
    format!("{name},{runs},{minutes:.1},{}", basis.name())
}

#[cfg(test)]
mod tests {
    use super::{
        Times, fit, processor_seconds, row, seconds, table, with_measured, with_row, with_scaled,
    };
    use warploom_lab::CostBasis;
    use warploom_report::page::{Page, RunLine};

    /// Two microseconds for a cycle and ten nanoseconds for an instruction.
    const SPEED: [f64; 2] = [2e-6, 1e-8];

    /// Every third run had the computer to itself.
    #[test]
    fn the_fastest_runs_tell_the_speed() {
        let run = |at: u32| {
            let work = [1e6 * f64::from(at), 1e8 * f64::from(at * at % 7)];
            let other_work = f64::from(at % 3);
            (seconds(SPEED, work) * (1.0 + other_work), work)
        };
        let runs: Vec<_> = (1..40).map(run).collect();
        let found = fit(&runs).unwrap();
        for (found, expected) in found.into_iter().zip(SPEED) {
            assert!((found / expected - 1.0).abs() < 0.01, "{found}");
        }
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn measured_figures_stay() {
        let old = "p/a,2,9.0,computed\np/b,0,0.3,measured\np/c,10,0.0,scaled\np/d,1,7.0,measured\n";
        let new = "p/a,3,1.0,computed\np/d,1,2.0,computed\n";
        let expected = "p/a,3,1.0,computed\np/d,1,7.0,measured\np/b,0,0.3,measured\n";
        assert_eq!(with_measured(new.to_owned(), old), expected);
    }

    fn run(input: &str, digest: &str, cycles: u64) -> RunLine {
        RunLine {
            input: input.to_owned(),
            configuration: String::new(),
            command: String::new(),
            cycles,
            ipc: 200.0,
            ended: String::new(),
            input_digest: "in".to_owned(),
            digest: digest.to_owned(),
            energy: None,
        }
    }

    fn page(name: [&str; 3], runs: Vec<RunLine>) -> Page {
        Page {
            paper: name[0].to_owned(),
            figure: name[1].to_owned(),
            scale: name[2].to_owned(),
            runs,
            ..serde_json::from_str(include_str!("../../docs/results/duet/fig3b.json")).unwrap()
        }
    }

    #[test]
    fn figures_of_a_measured_program_cost_as_much_for_a_cycle() {
        let pages = [
            page(["p", "part", "paper"], vec![run("CFD", "1", 10)]),
            page(
                ["p", "whole", "paper"],
                vec![run("CFD", "1", 10), run("CFD", "2", 20)],
            ),
            page(["p", "dear", "paper"], vec![run("CFD", "1", 10)]),
            page(
                ["p", "more", "paper"],
                vec![run("CFD", "1", 10), run("BLK", "3", 90)],
            ),
            page(["q", "other", "paper"], vec![run("CFD", "1", 90)]),
        ];
        let rest = "p/dear,1,5.0,computed\np/more,2,1.0,computed\nq/other,1,1.0,computed\n";
        let table = format!("p/part,1,1.5,measured\np/whole,2,1.0,computed\n{rest}");
        let expected = format!("p/part,1,1.5,measured\np/whole,2,4.5,scaled\n{rest}");
        let scaled = with_scaled(table, &pages);
        assert_eq!(scaled, expected);
        assert_eq!(with_scaled(scaled, &pages), expected);
    }

    #[test]
    fn figures_without_timing_tell_nothing_about_a_cycle() {
        let untimed = page(["p", "untimed", "paper"], vec![run("CFD", "1", 0)]);
        let timed = page(["p", "timed", "paper"], vec![run("CFD", "2", 20)]);
        let table = "p/untimed,1,0.5,measured\np/timed,1,1.0,computed\n";
        assert_eq!(with_scaled(table.to_owned(), &[untimed, timed]), table);
    }

    #[test]
    fn costs_are_those_of_all_runs_of_a_figure() {
        let run = |digest: &str, cycles| run("", digest, cycles);
        let pages = [
            page(
                ["p", "a", "paper"],
                vec![run("1", 15_000_000), run("2", 30_000_000)],
            ),
            page(["q", "b", "paper"], vec![run("3", 15_000_000)]),
            page(["p", "c", "small"], vec![run("1", 15_000_000)]),
            page(["p", "d", "paper"], vec![]),
        ];
        // Four microseconds for a cycle and its 200 instructions.
        let time = |digest: &str, seconds| (("in".to_owned(), digest.to_owned()), seconds);
        let times = Times::from([time("1", 60.0), time("2", 120.0)]);
        let head = "figure,runs,minutes,basis\n";
        let expected = format!("{head}p/a,2,3.0,computed\nq/b,1,1.0,computed\n");
        assert_eq!(table(&pages, &times), expected);
        assert_eq!(table(&pages, &Times::new()), head);
        // A figure that is measured alone leaves the others as they were.
        let measured = with_row(&expected, "p/a", &row("p/a", 2, 4.0, CostBasis::Measured));
        assert_eq!(
            measured,
            format!("{head}p/a,2,4.0,measured\nq/b,1,1.0,computed\n")
        );
        let added = with_row(&expected, "p/z", &row("p/z", 1, 0.1, CostBasis::Measured));
        assert_eq!(added, format!("{expected}p/z,1,0.1,measured\n"));
        assert!(processor_seconds().unwrap() >= 0.0);
    }
}
