//! `cargo xtask sampling`: compares estimates of sampled runs with full runs, and counts how often
//! the true value is in the interval. The table is in `docs/sampling.md`.

mod blocks;
mod launches;

use std::fs;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use warploom_config::GpuSpec;
use warploom_run::{Options, Session};
use warploom_stats::result::RunReport;
use warploom_stats::sampling::Interval;
use warploom_workloads::{Size, Target};

const PAGE: &str = "docs/sampling.md";
/// Lines around a table in the page.
const MARKS: [&str; 2] = [
    "<!-- table: cargo xtask sampling NAME -->",
    "<!-- end: NAME -->",
];

/// Settings of `cargo xtask sampling`.
#[derive(clap::Args)]
pub struct Args {
    /// Compare only these workloads, and print instead of writing the page
    #[arg(long, value_name = "WORKLOAD")]
    only: Vec<String>,

    /// Bound of the relative error in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    bound: f64,

    /// Draws of the launches that are checked: plans for each program
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    draws: u64,

    /// Compare estimates within launches instead: of drawn kernels, and of the workloads
    #[arg(long, conflicts_with = "only")]
    blocks: bool,

    /// Drawn kernels of --blocks
    #[arg(long, value_name = "N", default_value_t = 220)]
    cases: u64,

    /// Number of the first of these kernels, by which it is drawn. Other kernels than the default
    /// ones are printed only
    #[arg(long, value_name = "N", default_value_t = FIRST_CASE)]
    first: u64,

    /// Bound of --until-stable in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    stable: f64,
}

/// Number of the first kernel of the page. The constants of the estimates were chosen with earlier
/// ones.
const FIRST_CASE: u64 = 1000;

/// Compares the workloads, and writes the table or prints it.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    match args.blocks {
        true => put(args, root, "blocks", &blocks::table(args)?),
        false => put(args, root, "launches", &launches::table(args)?),
    }
}

/// Prints a table, and writes it into the page if it is of all workloads, or of the page's kernels.
fn put(args: &Args, root: &Path, name: &str, table: &str) -> Result<()> {
    write!(io::stdout(), "{table}")?;
    if !args.only.is_empty() || args.first != FIRST_CASE {
        return Ok(());
    }
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let page = with_table(&page, name, table)?;
    fs::write(&path, page).with_context(|| format!("cannot write {PAGE}"))
}

/// The page with another table between its marks.
fn with_table(page: &str, name: &str, table: &str) -> Result<String> {
    let [begin, end] = MARKS.map(|mark| mark.replace("NAME", name));
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some(format!("{before}{begin}\n\n{table}\n{end}{after}"))
    });
    parts.with_context(|| format!("{PAGE} lacks the line {begin} or {end}"))
}

/// Runs a workload at size small.
fn simulate(name: &str, gpu: &GpuSpec, options: Options) -> Result<RunReport> {
    let mut program = Target::resolve(name)?.program(Size::Small, 1);
    let session = Session::new(gpu.clone(), options);
    let report = session.run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
    ensure!(report.succeeded(), "{name} has wrong outputs");
    Ok(report)
}

/// Errors of estimates beside the true values.
#[derive(Default)]
struct Errors {
    count: u64,
    covered: u64,
    sum: f64,
    worst: f64,
    margins: f64,
}

impl Errors {
    fn add(&mut self, estimate: f64, margin: f64, truth: f64) {
        let error = (estimate / truth - 1.0).abs();
        self.count += 1;
        self.covered += u64::from((estimate - truth).abs() <= margin);
        self.sum += error;
        self.worst = self.worst.max(error);
        self.margins += margin / truth;
    }

    fn add_interval(&mut self, of: &Interval, truth: f64) {
        self.add(of.value, of.margin, truth);
    }

    /// Mean of the relative errors.
    fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.covered += other.covered;
        self.sum += other.sum;
        self.worst = self.worst.max(other.worst);
        self.margins += other.margins;
    }

    /// Cells: mean and largest error, mean margin, and how many intervals contain the true value.
    fn cells(&self) -> String {
        let mean = |sum: f64| percent(sum / self.count.max(1) as f64);
        format!(
            "{} | {} | {} | {} of {}",
            mean(self.sum),
            percent(self.worst),
            mean(self.margins),
            self.covered,
            self.count
        )
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

#[cfg(test)]
mod tests {
    use super::{Errors, MARKS, with_table};

    #[test]
    fn a_table_is_replaced_between_its_marks() {
        let [begin, end] = MARKS.map(|mark| mark.replace("NAME", "blocks"));
        let page = format!("a\n{begin}\nold\n{end}\nb\n");
        let new = with_table(&page, "blocks", "| new |\n").expect("it has marks");
        assert_eq!(new, format!("a\n{begin}\n\n| new |\n\n{end}\nb\n"));
        assert_eq!(with_table(&new, "blocks", "| new |\n").expect("marks"), new);
        assert!(with_table(&page, "launches", "b").is_err());
    }

    #[test]
    fn errors_are_counted() {
        let mut errors = Errors::default();
        errors.add(101.0, 2.0, 100.0);
        errors.add(97.0, 2.0, 100.0);
        assert_eq!(errors.cells(), "2.00 % | 3.00 % | 2.00 % | 1 of 2");
    }
}
