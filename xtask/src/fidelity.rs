//! `cargo xtask fidelity`: compares the reference kernels with what GPGPU-Sim reported for them.
//!
//! Writes `docs/fidelity.md`, whose text depends only on the program. GPGPU-Sim's figures are data
//! of this crate ([`counts`]). The kernels are the workloads of the suite `reference`.

mod compare;
pub(crate) mod counts;
mod page;
mod programs;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use warploom_config::GpuSpec;
use warploom_config::gpgpusim::{Request, import};
use warploom_run::launch_file;
use warploom_run::{Options, Session};
use warploom_workloads::{Size, Target};

use compare::Comparison;
use counts::{Counts, RecordedRun};
pub(crate) use programs::{Program, build as build_programs, recorded as recorded_programs};

const PAGE: &str = "docs/fidelity.md";
/// Seed of the inputs. No input of the reference kernels depends on it.
const SEED: u64 = 0;

/// Option lists of GPGPU-Sim's configurations, which are test data of the importer.
const OPTION_LISTS: &str = "crates/config/testdata/gpgpusim";

/// A configuration of GPGPU-Sim.
struct Configuration {
    name: &'static str,
    /// File of its options, and the file of its network if it has one.
    options: &'static str,
    network: Option<&'static str>,
    /// Our preset for this configuration.
    preset: &'static str,
    /// Value of `-gpgpu_kernel_launch_latency`: core cycles of every launch before its first block.
    launch_latency: u64,
}

static CONFIGURATIONS: [Configuration; 2] = [
    Configuration {
        name: "SM2_GTX480",
        options: "sm2_gtx480.config",
        network: Some("fermi.icnt"),
        preset: "gtx480-gpgpusim4",
        launch_latency: 0,
    },
    Configuration {
        name: "SM7_QV100",
        options: "sm7_qv100.config",
        network: None,
        preset: "qv100-volta",
        launch_latency: 5000,
    },
];

/// GPGPU-Sim's name of the configuration to which a preset corresponds.
pub(crate) fn configuration_of(preset: &str) -> Option<&'static str> {
    let of = CONFIGURATIONS.iter().find(|c| c.preset == preset);
    of.map(|c| c.name)
}

/// The preset that corresponds to a configuration of GPGPU-Sim.
pub(crate) fn preset_of(configuration: &str) -> Option<&'static str> {
    let of = CONFIGURATIONS.iter().find(|c| c.name == configuration);
    of.map(|c| c.preset)
}

impl Configuration {
    /// The machine that the import makes of GPGPU-Sim's own files.
    fn import(&self, root: &Path) -> Result<GpuSpec> {
        let file = |name: &str| launch_file::read(&root.join(OPTION_LISTS).join(name));
        let request = Request {
            config: file(self.options)?,
            network: self.network.map(file).transpose()?,
            name: self.name.to_owned(),
            style: None,
        };
        let mut no_other = |_: &str, name: &str| Err(format!("{name} is not available"));
        Ok(import(request, &mut no_other)?.spec)
    }
}

/// Settings of `cargo xtask fidelity`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  cargo xtask fidelity                                  write docs/fidelity.md
  cargo xtask fidelity --kernel ref-gather --config SM7_QV100 --presets
  cargo xtask fidelity --json > fidelity.json
  cargo xtask fidelity --programs ~/built               measure whole programs again, then write the page")]
pub struct Args {
    /// Only these kernels; prints the page instead of writing it
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,

    /// Only these configurations of GPGPU-Sim; prints the page instead of writing it
    #[arg(long, value_name = "NAME")]
    config: Vec<String>,

    /// Use the built-in presets instead of importing GPGPU-Sim's option lists; prints the page
    /// instead of writing it
    #[arg(long)]
    presets: bool,

    /// Number of simultaneous runs
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,

    /// Print JSON and write nothing
    #[arg(long)]
    json: bool,

    /// Measure the whole programs first: a folder with a folder for each program, which contains
    /// its executable, called `program`, and the files that it reads
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["kernel", "config", "presets", "json"])]
    programs: Option<PathBuf>,

    /// Keep the page's text on the kernels, and renew its section on whole programs
    #[arg(long, conflicts_with_all = ["kernel", "config", "presets", "json"])]
    only_programs: bool,

    /// A release build of `warploom` to measure them with, in a folder with
    /// `libwarploom_cudart.so`; without this option both are built
    #[arg(long, value_name = "FILE", requires = "programs")]
    warploom: Option<PathBuf>,
}

#[cfg(test)]
impl Args {
    /// Arguments that select every kernel on every configuration.
    fn all() -> Self {
        Self {
            kernel: Vec::new(),
            config: Vec::new(),
            presets: false,
            jobs: 1,
            json: false,
            programs: None,
            only_programs: false,
            warploom: None,
        }
    }
}

/// Structure that `--json` prints.
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
    /// Name of the machine on the page.
    machine: String,
    spec: GpuSpec,
    target: Target,
}

/// Runs the kernels and writes or prints the results.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if args.only_programs {
        let path = root.join(PAGE);
        let section = whole_programs(args, root)?;
        replace(&path, &with_section(&read(&path)?, &section))?;
        return Ok(writeln!(io::stdout(), "{PAGE}")?);
    }
    if cfg!(debug_assertions) {
        return crate::run_optimised("release", root);
    }
    let recorded = counts::recorded()?;
    let cases = cases(args, &recorded.runs, root)?;
    let programs = whole_programs(args, root)?;
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
    } else if args.are_whole() {
        replace(&root.join(PAGE), &(page + &programs))?;
        writeln!(io::stdout(), "{PAGE}")?;
    } else {
        io::stdout().write_all(page.as_bytes())?;
    }
    Ok(())
}

impl Args {
    /// True if the arguments request the whole page.
    fn are_whole(&self) -> bool {
        self.kernel.is_empty() && self.config.is_empty() && !self.presets
    }
}

/// The page's section on whole programs, which are measured first if the arguments request it.
fn whole_programs(args: &Args, root: &Path) -> Result<String> {
    let recorded = programs::recorded()?;
    if let Some(folder) = &args.programs {
        let warploom = args.warploom.clone();
        let warploom = warploom.map_or_else(|| programs::build(root), Ok)?;
        programs::keep(&programs::measure(&recorded, folder, &warploom)?, root)?;
    }
    programs::section(&recorded, &programs::measured(root)?)
}

/// Replaces the last section of the page, the one on whole programs.
fn with_section(page: &str, section: &str) -> String {
    let kernels = page.split(programs::TITLE).next().unwrap_or(page);
    format!("{kernels}{section}")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes to a temporary file and renames it, so that a crash leaves no incomplete file.
fn replace(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("tmp");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn cases<'a>(args: &Args, runs: &'a [RecordedRun], root: &Path) -> Result<Vec<Case<'a>>> {
    let configurations: Vec<_> = runs.iter().map(|run| run.configuration.as_str()).collect();
    let kernels: Vec<_> = runs.iter().map(|run| run.workload.as_str()).collect();
    known("--config", &args.config, &configurations)?;
    known("--kernel", &args.kernel, &kernels)?;
    let wanted = |names: &[String], name: &String| names.is_empty() || names.contains(name);
    let runs = runs.iter().filter(|run| {
        wanted(&args.config, &run.configuration) && wanted(&args.kernel, &run.workload)
    });
    runs.map(|run| Case::new(run, args.presets, root)).collect()
}

fn known(flag: &str, names: &[String], known: &[&str]) -> Result<()> {
    for name in names {
        let mut there: Vec<_> = known.to_vec();
        there.sort_unstable();
        there.dedup();
        ensure!(
            there.contains(&name.as_str()),
            "{flag}: nothing was recorded for `{name}`; recorded are: {}",
            there.join(", ")
        );
    }
    Ok(())
}

impl<'a> Case<'a> {
    fn new(recorded: &'a RecordedRun, presets: bool, root: &Path) -> Result<Self> {
        let name = recorded.configuration.as_str();
        let of = CONFIGURATIONS.iter().find(|of| of.name == name);
        let of = of.with_context(|| format!("there is no option list for {name}"))?;
        let (machine, spec) = if presets {
            let spec = warploom_config::preset(of.preset)?;
            (format!("preset `{}`", of.preset), spec)
        } else {
            (format!("imported `{}`", of.options), of.import(root)?)
        };
        Ok(Self {
            recorded,
            machine,
            spec,
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
            machine: self.machine.clone(),
            workload: self.recorded.workload.clone(),
            digest,
            figures: compare::figures(&self.theirs(), ours),
        }
    }

    /// GPGPU-Sim's counts, with its number of blocks per SM limited to the grid's share. GPGPU-Sim
    /// prints how many blocks fit before it takes the grid into account
    /// (`shader_core_config::max_cta`), and then spreads a small grid.
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

/// Comparisons of all cases in their order, with `jobs` runs at a time.
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
    use super::programs::TITLE;
    use super::{Args, Case, PAGE, SEED, cases, counts, whole_programs, with_section};
    use crate::root;
    use std::collections::BTreeSet;
    use std::fs;
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
        let name = |case: &Case<'_>| format!("{}: {}", case.machine, case.recorded.workload);
        cases.iter().map(name).collect()
    }

    #[test]
    fn every_reference_workload_is_compared_and_may_be_chosen() {
        let recorded = counts::recorded().unwrap();
        let all_cases = cases(&Args::all(), &recorded.runs, &root()).unwrap();
        let compared: BTreeSet<_> = all_cases.iter().map(|c| c.target.workload.name).collect();
        let reference = all().iter().filter(|w| w.suite == Suite::Reference);
        assert_eq!(compared, reference.map(|w| w.name).collect());
        let one = cases(
            &args(&["ref-gather"], &["SM7_QV100"]),
            &recorded.runs,
            &root(),
        )
        .unwrap();
        assert_eq!(names(&one), ["imported `sm7_qv100.config`: ref-gather"]);
        let presets = Args {
            presets: true,
            ..args(&["ref-vecadd"], &["SM2_GTX480"])
        };
        let one = cases(&presets, &recorded.runs, &root()).unwrap();
        assert_eq!(names(&one), ["preset `gtx480-gpgpusim4`: ref-vecadd"]);
    }

    #[test]
    fn unknown_names_are_refused_with_those_there_are() {
        let recorded = counts::recorded().unwrap();
        let refused = |kernel: &[&str], config: &[&str]| {
            let Err(error) = cases(&args(kernel, config), &recorded.runs, &root()) else {
                panic!("accepted");
            };
            error.to_string()
        };
        assert_eq!(
            refused(&[], &["SM3"]),
            "--config: nothing was recorded for `SM3`; recorded are: SM2_GTX480, SM7_QV100"
        );
        assert!(refused(&["gather"], &[]).starts_with("--kernel: nothing was recorded"));
    }

    #[test]
    fn the_section_on_programs_is_the_last_and_replaced() {
        let section = format!("{TITLE}new\n");
        let page = "# Page\n\nkernels\n";
        let first = with_section(page, &section);
        assert_eq!(first, "# Page\n\nkernels\n\n## Whole programs\nnew\n");
        assert_eq!(with_section(&first, &section), first);
    }

    /// The figures of both simulators are stored, so the section needs no run.
    #[test]
    fn the_committed_section_on_programs_is_what_the_command_writes() {
        let committed = fs::read_to_string(root().join(PAGE)).unwrap();
        let section = whole_programs(&Args::all(), &root()).unwrap();
        assert!(
            committed.ends_with(&section),
            "docs/fidelity.md is old: run `cargo xtask fidelity`"
        );
    }

    /// A single cycle is enough to count the blocks of an SM, from which the registers of the
    /// workloads were derived.
    #[test]
    fn as_many_blocks_fit_an_sm_as_in_gpgpu_sim() {
        let recorded = counts::recorded().unwrap();
        for case in cases(&Args::all(), &recorded.runs, &root()).unwrap() {
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
