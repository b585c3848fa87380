//! Checks outputs under context switching, into `docs/generated/context-outputs.md`: every variant
//! with every number of extra blocks, with random latencies.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use warploom_base::Rng;
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target};

use super::check::machine;
use super::variants::variants;

const PAGE: &str = "docs/generated/context-outputs.md";
/// Seed of the inputs, and of the random latencies.
const SEED: u64 = 1;
/// Hardware threads of the only SM: half of Maxwell's, so that small grids fill it.
const THREADS: u64 = 1024;
/// Settings of context switching without a fixed number of extra blocks.
const ADAPTIVE: [&[&str]; 4] = [
    &["sm.context=duet", "duet.extra_blocks=30", "duet.l1d=always"],
    &[
        "sm.context=duet",
        "duet.warm_up_cycles=2000",
        "duet.window_cycles=1000",
    ],
    &["sm.context=virtual-thread"],
    &["sm.context=finereg"],
];
/// Systems of context switching with a fixed number of extra blocks. Every number is tried.
const FIXED: [&str; 2] = ["duet", "duet-tb"];

const INTRODUCTION: &str = "\
# Outputs under context switching

Written by `cargo xtask workloads --check --contexts`. Every variant of every workload runs on one
SM of `maxwell-duet`, and its outputs are compared with its reference. The runs use GPUDuet and
GPUDuet_TB with every number of extra blocks, from one to the number that storage permits and with
one more; GPUDuet with L1D as storage for contexts; GPUDuet with its monitor in windows of 1,000
cycles; Virtual Thread; and FineReg. In each run, the latency of L2 is a random number from 50 to
849 cycles. The SM has 1,024 threads. If size `test` has too few blocks for any to leave, it has as
many threads as the largest block. If that is still too few, the runs use size `small` on that
machine.

| target | size | threads | runs | with switches | most extra blocks: duet | duet-tb | verdict |
|---|---|--:|--:|--:|--:|--:|---|
";

/// Results of a target's runs.
struct Row {
    target: String,
    size: Size,
    /// Number of hardware threads of the SM.
    threads: u64,
    runs: u32,
    switched: u32,
    /// Largest number of extra blocks for which any kernel had space, by the order of [`FIXED`].
    most: [u32; 2],
    wrong: Vec<String>,
}

/// Checks, and writes the page. The page keeps the rows of targets that `only` does not name.
pub fn run(only: &[String], root: &Path) -> Result<()> {
    let path = root.join(PAGE);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let all = variants();
    let wanted: Vec<_> = all.iter().filter(|variant| variant.is_in(only)).collect();
    let names: Vec<_> = wanted.iter().map(|variant| variant.name.as_str()).collect();
    ensure!(!names.is_empty(), "no workload or variant has this name");
    let rows = on_all_cores(&names, |name| {
        let row = Row::of(name)?;
        write!(io::stdout(), "{}", row.line())?;
        Ok(row)
    })?;
    let mut made = rows.iter();
    let mut text = INTRODUCTION.to_owned();
    for variant in &all {
        if variant.is_in(only) {
            text += &made.next().map_or_else(String::new, Row::line);
        } else {
            let kept = variant.rows_of(&old);
            kept.for_each(|line| text += &format!("{line}\n"));
        }
    }
    super::write(&path, &text)?;
    let wrong = rows.iter().filter(|row| !row.wrong.is_empty());
    let wrong: Vec<_> = wrong.map(|row| row.target.as_str()).collect();
    ensure!(wrong.is_empty(), "wrong outputs: {}", wrong.join(", "));
    Ok(())
}

/// Applies `work` to each of `items`, on all cores. Results are in the order of the items.
fn on_all_cores<T: Send>(
    items: &[&str],
    work: impl Fn(&str) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let some = || {
        let mut done = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(nth) else {
                return done;
            };
            done.push((nth, work(item)));
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(some)).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.flat_map(|done| done.expect("no panic")).collect()
    });
    done.sort_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, result)| result).collect()
}

impl Row {
    /// Row for the first machine and size with which any context is switched, or for the last.
    fn of(name: &str) -> Result<Self> {
        let shapes = Target::resolve(name)?.launches(Size::Test);
        let largest = shapes.iter().map(|shape| shape.block.count()).max();
        // Each of the four schedulers has at least one warp.
        let one_block = largest.unwrap_or(THREADS).next_multiple_of(32).max(128);
        let first = Self::of_machine(name, Size::Test, THREADS)?;
        if first.switched > 0 {
            return Ok(first);
        }
        let second = Self::of_machine(name, Size::Test, one_block)?;
        if second.switched > 0 {
            return Ok(second);
        }
        Self::of_machine(name, Size::Small, one_block)
    }

    fn of_machine(name: &str, size: Size, threads: u64) -> Result<Self> {
        let mut row = Self {
            target: name.to_owned(),
            size,
            threads,
            runs: 0,
            switched: 0,
            most: [0; 2],
            wrong: Vec::new(),
        };
        let mut rng = Rng::new(SEED);
        for settings in ADAPTIVE {
            row.check(settings, &mut rng)?;
        }
        for (nth, system) in FIXED.iter().enumerate() {
            let context = format!("sm.context={system}");
            let mut blocks = 1;
            loop {
                let extra = format!("{system}.extra_blocks={blocks}");
                row.most[nth] = row.check(&[&context, &extra], &mut rng)?;
                if blocks > row.most[nth] {
                    break;
                }
                blocks += 1;
            }
        }
        Ok(row)
    }

    /// Makes one run. Returns the largest number of extra blocks for which any of its kernels had
    /// space.
    fn check(&mut self, settings: &[&str], rng: &mut Rng) -> Result<u32> {
        let latency = format!("partition.rop_cycles={}", 50 + rng.below(800));
        let threads = format!("sm.max_threads={}", self.threads);
        let machine_of = ["gpu.sms=1", threads.as_str(), latency.as_str()];
        let settings = [&machine_of, settings].concat();
        let gpu = machine("maxwell-duet", &settings)?;
        let mut program = Target::resolve(&self.target)?.program(self.size, SEED);
        let session = Session::new(gpu, Options::default());
        let report = session.run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
        self.runs += 1;
        let moved = report.totals.figures.statistics.get("context.bytes");
        self.switched += u32::from(moved.is_some_and(|bytes| *bytes > 0));
        let right = report.outcome == Outcome::Finished && !report.checks.is_empty();
        let wrong = report.checks.iter().find(|check| !check.passed);
        match wrong {
            Some(check) => self
                .wrong
                .push(format!("{}: {}", settings.join(" "), check.name)),
            None if right => {}
            None => {
                // Only the first line: the others list single warps.
                let what = format!("{:?}", report.outcome);
                let what = what.split("\\n").next().unwrap_or_default();
                self.wrong.push(format!("{}: {what}", settings.join(" ")));
            }
        }
        let contexts = report.kernels.iter().filter_map(|k| k.context.as_ref());
        Ok(contexts.map(|c| c.extra_blocks).max().unwrap_or(0))
    }

    fn line(&self) -> String {
        let verdict = match self.wrong.as_slice() {
            [] => "passed".to_owned(),
            wrong => format!("wrong: {}", wrong.join("; ")),
        };
        let [duet, tb] = self.most;
        let (size, threads) = (self.size.name(), self.threads);
        let mut line = format!("| `{}` | {size} | {threads} | {}", self.target, self.runs);
        let _ = writeln!(line, " | {} | {duet} | {tb} | {verdict} |", self.switched);
        line
    }
}
