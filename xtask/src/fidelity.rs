//! `cargo xtask fidelity`: the reference kernels beside what GPGPU-Sim itself reported for them.
//!
//! Writes `docs/fidelity.md`, whose text depends on nothing but the program. GPGPU-Sim's figures
//! are data of this crate ([`counts`]); the kernels are the workloads of the suite `reference`.

mod compare;
mod counts;
mod page;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use warploom_config::GpuSpec;
use warploom_run::{Options, Session};
use warploom_workloads::{Size, Target};

use compare::Comparison;
use counts::{Counts, RecordedRun};

const PAGE: &str = "docs/fidelity.md";
/// Seed of the inputs; the reference kernels have none that depend on it.
const SEED: u64 = 0;

/// GPGPU-Sim's configurations and our presets of them.
const CONFIGURATIONS: &[(&str, &str)] = &[
    ("SM2_GTX480", "gtx480-gpgpusim4"),
    ("SM7_QV100", "qv100-volta"),
];

/// Settings of `cargo xtask fidelity`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  cargo xtask fidelity                                  write docs/fidelity.md
  cargo xtask fidelity --kernel ref-gather --config SM7_QV100
  cargo xtask fidelity --json > fidelity.json")]
pub struct Args {
    /// Only these kernels; the page is printed then and not written
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,

    /// Only these configurations of GPGPU-Sim; the page is printed then and not written
    #[arg(long, value_name = "NAME")]
    config: Vec<String>,

    /// Runs at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,

    /// Print JSON; nothing is written
    #[arg(long)]
    json: bool,
}

#[cfg(test)]
impl Args {
    /// Every kernel on every configuration.
    fn all() -> Self {
        Self {
            kernel: Vec::new(),
            config: Vec::new(),
            jobs: 1,
            json: false,
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    version: &'a str,
    source: &'a str,
    mean_cycle_error: Option<f64>,
    comparisons: &'a [Comparison],
}

/// A run to be made.
struct Case<'a> {
    recorded: &'a RecordedRun,
    machine: &'static str,
    spec: GpuSpec,
    target: Target,
}

/// Runs the kernels and writes or prints what came of them.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if cfg!(debug_assertions) {
        return crate::run_optimised(root);
    }
    let recorded = counts::recorded()?;
    let cases = cases(args, &recorded.runs)?;
    let comparisons = compare_all(&cases, args.jobs)?;
    let version = env!("CARGO_PKG_VERSION");
    let source = &recorded.source;
    let page = page::page(&page::Heading { version, source }, &comparisons);
    if args.json {
        let report = Report {
            version,
            source,
            mean_cycle_error: compare::mean_cycle_error(&comparisons.iter().collect::<Vec<_>>()),
            comparisons: &comparisons,
        };
        let json = serde_json::to_string_pretty(&report)? + "\n";
        io::stdout().write_all(json.as_bytes())?;
    } else if args.kernel.is_empty() && args.config.is_empty() {
        write_page(&root.join(PAGE), &page)?;
        writeln!(io::stdout(), "{PAGE}")?;
    } else {
        io::stdout().write_all(page.as_bytes())?;
    }
    Ok(())
}

/// Beside its place, then in it, so that a crash leaves no half of it.
fn write_page(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("md.tmp");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn cases<'a>(args: &Args, runs: &'a [RecordedRun]) -> Result<Vec<Case<'a>>> {
    let configurations: Vec<_> = runs.iter().map(|run| run.configuration.as_str()).collect();
    let kernels: Vec<_> = runs.iter().map(|run| run.workload.as_str()).collect();
    known("--config", &args.config, &configurations)?;
    known("--kernel", &args.kernel, &kernels)?;
    let wanted = |names: &[String], name: &String| names.is_empty() || names.contains(name);
    let runs = runs.iter().filter(|run| {
        wanted(&args.config, &run.configuration) && wanted(&args.kernel, &run.workload)
    });
    runs.map(Case::new).collect()
}

fn known(flag: &str, names: &[String], known: &[&str]) -> Result<()> {
    for name in names {
        let mut there: Vec<_> = known.to_vec();
        there.sort_unstable();
        there.dedup();
        ensure!(
            there.contains(&name.as_str()),
            "{flag}: nothing was recorded for `{name}`; there are: {}",
            there.join(", ")
        );
    }
    Ok(())
}

impl<'a> Case<'a> {
    fn new(recorded: &'a RecordedRun) -> Result<Self> {
        let configuration = recorded.configuration.as_str();
        let of = CONFIGURATIONS
            .iter()
            .find(|(name, _)| *name == configuration);
        let (_, machine) = of.with_context(|| format!("no preset is {configuration}"))?;
        Ok(Self {
            recorded,
            machine,
            spec: warploom_config::preset(machine)?,
            target: Target::resolve(&recorded.workload)?,
        })
    }

    fn session(&self, max_cycles: Option<u64>) -> Session {
        let options = Options {
            max_cycles,
            ..Options::default()
        };
        Session::new(self.spec.clone(), options)
    }

    fn compare(&self) -> Result<Comparison> {
        let mut program = self.target.program(Size::Paper, SEED);
        let report = self
            .session(None)
            .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
        let ours = Counts::of(&report)
            .with_context(|| format!("{} on {}", self.recorded.workload, self.machine))?;
        Ok(self.comparison(&ours, report.digest))
    }

    fn comparison(&self, ours: &Counts, digest: String) -> Comparison {
        Comparison {
            configuration: self.recorded.configuration.clone(),
            machine: self.machine.to_owned(),
            workload: self.recorded.workload.clone(),
            digest,
            figures: compare::figures(&self.theirs(), ours),
        }
    }

    /// What was recorded, but for the blocks an SM: GPGPU-Sim prints how many fit before it takes
    /// the grid into account (`shader_core_config::max_cta`), and then spreads a small grid.
    fn theirs(&self) -> Counts {
        let launches = self.target.launches(Size::Paper);
        let blocks: u64 = launches.iter().map(|launch| launch.grid.count()).sum();
        let share = blocks.div_ceil(self.spec.gpu.sms.into());
        let recorded = self.recorded.counts.clone();
        Counts {
            blocks_per_sm: recorded.blocks_per_sm.min(share),
            ..recorded
        }
    }
}

/// Every case's comparison in the order of the cases, `jobs` at a time.
fn compare_all(cases: &[Case<'_>], jobs: usize) -> Result<Vec<Comparison>> {
    let waiting = Mutex::new(cases.iter().enumerate());
    let worker = || -> Result<Vec<(usize, Comparison)>> {
        let mut done = Vec::new();
        loop {
            let next = waiting.lock().expect("no worker panics here").next();
            let Some((index, case)) = next else {
                return Ok(done);
            };
            show_progress(case)?;
            done.push((index, case.compare()?));
        }
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<_>> {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        let mut done = Vec::new();
        for worker in workers {
            done.extend(worker.join().expect("a simulation does not panic")?);
        }
        Ok(done)
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, comparison)| comparison).collect())
}

fn show_progress(case: &Case<'_>) -> Result<()> {
    let mut err = io::stderr();
    if err.is_terminal() {
        writeln!(err, "{} on {}", case.recorded.workload, case.machine)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Args, Case, SEED, cases, counts};
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;
    use warploom_workloads::{Size, Suite, all};

    fn args(kernel: &[&str], config: &[&str]) -> Args {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Args {
            kernel: owned(kernel),
            config: owned(config),
            ..Args::all()
        }
    }

    fn names(cases: &[Case<'_>]) -> Vec<String> {
        let name = |case: &Case<'_>| format!("{} {}", case.machine, case.recorded.workload);
        cases.iter().map(name).collect()
    }

    #[test]
    fn every_reference_workload_is_compared_and_may_be_chosen() {
        let recorded = counts::recorded().unwrap();
        let all_cases = cases(&Args::all(), &recorded.runs).unwrap();
        let compared: BTreeSet<_> = all_cases.iter().map(|c| c.target.workload.name).collect();
        let reference = all().iter().filter(|w| w.suite == Suite::Reference);
        assert_eq!(compared, reference.map(|w| w.name).collect());
        let one = cases(&args(&["ref-gather"], &["SM7_QV100"]), &recorded.runs).unwrap();
        assert_eq!(names(&one), ["qv100-volta ref-gather"]);
    }

    #[test]
    fn unknown_names_are_refused_with_those_there_are() {
        let recorded = counts::recorded().unwrap();
        let refused = |kernel: &[&str], config: &[&str]| {
            let Err(error) = cases(&args(kernel, config), &recorded.runs) else {
                panic!("accepted");
            };
            error.to_string()
        };
        assert_eq!(
            refused(&[], &["SM3"]),
            "--config: nothing was recorded for `SM3`; there are: SM2_GTX480, SM7_QV100"
        );
        assert!(refused(&["gather"], &[]).starts_with("--kernel: nothing was recorded"));
    }

    /// One cycle is enough to know how many blocks an SM holds: what the registers of the
    /// workloads were derived from.
    #[test]
    fn as_many_blocks_fit_an_sm_as_in_gpgpu_sim() {
        let recorded = counts::recorded().unwrap();
        for case in cases(&Args::all(), &recorded.runs).unwrap() {
            let mut program = case.target.program(Size::Paper, SEED);
            let session = case.session(Some(1));
            let report = session
                .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
                .unwrap();
            let blocks: Vec<_> = report.kernels.iter().map(|k| k.blocks_per_sm).collect();
            let theirs = case.theirs().blocks_per_sm as u32;
            assert_eq!(blocks, [theirs], "{}", case.recorded.workload);
        }
    }
}
