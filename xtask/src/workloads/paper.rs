//! Checks outputs at size paper, of as many blocks as a budget of instructions allows, into
//! `docs/generated/paper-outputs.md`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use warploom_config::GpuSpec;
use warploom_run::{FirstBlocks, Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, Times};

use super::variants::{Variant, variants};

const PAGE: &str = "docs/generated/paper-outputs.md";
/// Warp instructions after which a program is cut. All programs then take a quarter of an hour.
const ENOUGH: u64 = 40_000_000;
/// Seed of the workloads' inputs.
const SEED: u64 = 1;

const INTRODUCTION: &str = "\
# Outputs at size paper

Written by `cargo xtask workloads --check --paper`. Every variant of every workload runs with the
inputs and the launches of the papers, without timing on `gtx480`, and its outputs are compared
with its reference.

A program is cut after MILLIONS million warp instructions. Blocks that have started run to their
end, and no launch follows theirs. The comparison then covers only elements of outputs that were
written: by any launch, or by the last launch if launches overwrite each other's results. The
inputs of the last launch are complete, because all launches before it were. Results of all blocks
together (sums by atomics) and results of later launches are not compared. If a program of several
kernels is cut, its kernels that can be launched on their own are also checked on their own. A
program without comparable results is executed whole.

";

/// Result of a target's run.
struct Row {
    target: String,
    run: FirstBlocks,
    /// Launches and blocks of the whole program, if they are known in advance.
    all: Option<[u64; 2]>,
}

/// Checks, and writes the page. The page keeps the rows of targets that `only` does not name.
pub fn run(only: &[String], gpu: &GpuSpec, root: &Path) -> Result<()> {
    let path = root.join(PAGE);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let (mut text, mut failed) = (header(), Vec::new());
    for variant in variants() {
        if !variant.is_in(only) {
            let kept = variant.rows_of(&old);
            kept.for_each(|line| text += &format!("{line}\n"));
            continue;
        }
        let rows = rows(&variant, gpu)?;
        rows.iter().for_each(|row| text += &row.line());
        let compared = rows.iter().any(|row| row.compared() > 0);
        if !compared || rows.iter().any(|row| row.wrong().is_some()) {
            failed.push(variant.name);
        }
    }
    super::write(&path, &text)?;
    ensure!(
        failed.is_empty(),
        "wrong or not checked: {}",
        failed.join(", ")
    );
    Ok(())
}

/// The whole program and, if it is cut, each of its kernels on its own.
fn rows(variant: &Variant, gpu: &GpuSpec) -> Result<Vec<Row>> {
    let Variant { workload, name } = variant;
    let mut rows = vec![Row::of(name, gpu)?];
    if workload.kernels.len() > 1 && !rows[0].run.whole {
        for kernel in workload.kernels.iter().filter(|kernel| kernel.alone) {
            rows.push(Row::of(&format!("{name}:{}", kernel.name), gpu)?);
        }
    }
    Ok(rows)
}

fn header() -> String {
    let millions = (ENOUGH / 1_000_000).to_string();
    INTRODUCTION.replace("MILLIONS", &millions)
        + "| target | launches | of | blocks | of | warp instructions | values compared | verdict |\n\
           |---|--:|--:|--:|--:|--:|--:|---|\n"
}

impl Row {
    fn of(name: &str, gpu: &GpuSpec) -> Result<Self> {
        let started = Instant::now();
        let options = Options {
            memory_bytes: 16 << 30,
            ..Options::default()
        };
        let target = Target::resolve(name)?;
        let session = Session::new(gpu.clone(), options);
        let run = |enough| {
            let mut program = target.program(Size::Paper, SEED);
            let run = session.run_first_blocks(program.as_mut(), enough);
            run.with_context(|| name.to_owned())
        };
        let mut row = Self {
            target: name.to_owned(),
            run: run(ENOUGH)?,
            all: announced(&target),
        };
        if row.compared() == 0 {
            row.run = run(u64::MAX)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        write!(io::stdout(), "{seconds:5.1} s {}", row.line())?;
        Ok(row)
    }

    fn compared(&self) -> u64 {
        self.run.checks.iter().map(|check| check.compared).sum()
    }

    /// Description of the first error, if there is one.
    fn wrong(&self) -> Option<String> {
        if self.run.outcome != Outcome::Finished {
            return Some(format!("{:?}", self.run.outcome));
        }
        let mut checks = self.run.checks.iter();
        let wrong = checks.find(|check| check.compared > 0 && !check.passed);
        wrong.map(|check| format!("{}: {}", check.name, check.detail))
    }

    fn verdict(&self) -> String {
        let missing = self.run.checks.iter().filter(|check| check.compared == 0);
        let missing: Vec<_> = missing.map(|check| check.name.as_str()).collect();
        match (self.wrong(), self.compared(), missing.as_slice()) {
            (Some(wrong), ..) => format!("wrong: {wrong}"),
            (None, 0, _) => "not checked".to_owned(),
            (None, _, []) => "passed".to_owned(),
            (None, _, [one]) => format!("passed, without `{one}`"),
            (None, _, [first, rest @ ..]) => {
                format!("passed, without `{first}` and {} others", rest.len())
            }
        }
    }

    fn line(&self) -> String {
        let counts = self.run.launches.iter().map(|(_, counts)| counts);
        let instructions: u64 = counts.clone().map(|c| c.warp_instructions).sum();
        let (launches, blocks) = (counts.len() as u64, counts.map(|c| c.blocks).sum());
        let all = if self.run.whole {
            [launches, blocks].map(|count: u64| count.to_string())
        } else {
            [0, 1].map(|at| match self.all {
                Some(all) => all[at].to_string(),
                None => "-".to_owned(),
            })
        };
        let mut line = format!("| `{}` | {launches} | {}", self.target, all[0]);
        let _ = writeln!(
            line,
            " | {blocks} | {} | {instructions} | {} | {} |",
            all[1],
            self.compared(),
            self.verdict()
        );
        line
    }
}

/// Number of launches and of blocks of a whole program.
fn announced(target: &Target) -> Option<[u64; 2]> {
    let mut all = [0; 2];
    for shape in target.launches(Size::Paper) {
        let Times::Fixed(times) = shape.times else {
            return None;
        };
        all[0] += u64::from(times);
        all[1] += u64::from(times) * shape.grid.count();
    }
    Some(all)
}
