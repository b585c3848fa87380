//! Measures one target on one machine.

use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use warploom_analyze::{KernelAnalysis, Machine, analyze};
use warploom_config::GpuSpec;
use warploom_run::{Options, Session};
use warploom_stats::result::{Figures, Outcome, RunReport};
use warploom_workloads::{Alias, COLUMNS, Size, Target, architecture};

/// Seed of the workloads' inputs.
const SEED: u64 = 1;
/// Number of cells of a line before the measured values.
const FIRST: usize = 9;

/// A measurement to be made.
pub struct Run {
    /// `PAPER/ABBREVIATION` or a workload's name.
    pub target: String,
    gpu: &'static str,
    size: Size,
    cycles: u64,
}

/// A line of the table.
pub struct Measured {
    /// Name of the measured target.
    pub target: String,
    /// Cells after the target; `character.rs` of the workloads defines them.
    pub cells: Vec<String>,
}

/// Preset on which a paper's benchmarks are measured.
fn preset_of(paper: &str) -> &'static str {
    match paper {
        "duet" => "maxwell-duet",
        "cooperative" => "gtx480",
        "crat" => "fermi-crat",
        "slicer" => "fermi-slicer",
        _ => "fermi-locality",
    }
}

impl Run {
    /// A workload at size `small`.
    pub fn plain(workload: &str, cycles: u64) -> Self {
        Self {
            target: workload.to_owned(),
            gpu: "gtx480",
            size: Size::Small,
            cycles,
        }
    }

    /// A benchmark as its paper ran it, but cut after `cycles`.
    pub fn of_paper(alias: &Alias, cycles: u64) -> Self {
        Self {
            target: format!("{}/{}", alias.paper, alias.abbreviation),
            gpu: preset_of(alias.paper),
            size: Size::Paper,
            cycles,
        }
    }

    /// Makes the run. Outputs are checked if the run has finished.
    pub fn measure(&self) -> Result<Measured> {
        let gpu = warploom_config::preset(self.gpu).map_err(|error| anyhow::anyhow!("{error}"))?;
        let target = Target::resolve(&self.target)?;
        let architecture = architecture(self.gpu);
        let mut program = target.program_on(self.size, SEED, architecture);
        let options = Options {
            max_cycles: Some(self.cycles),
            memory_bytes: 16 << 30,
            ..Options::default()
        };
        let report = Session::new(gpu.clone(), options)
            .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
            .with_context(|| self.target.clone())?;
        let ended = matches!(
            report.outcome,
            Outcome::Finished | Outcome::CycleLimit { .. }
        );
        ensure!(ended, "{}: {:?}", self.target, report.outcome);
        for check in &report.checks {
            ensure!(
                check.passed,
                "{}: {}: {}",
                self.target,
                check.name,
                check.detail
            );
        }
        self.keep(&gpu, &target, &report)
    }

    fn keep(&self, gpu: &GpuSpec, target: &Target, report: &RunReport) -> Result<Measured> {
        let machine = Machine::new(gpu, warploom_noc::sustainable(gpu));
        let analysis = analyze(&machine, report)
            .with_context(|| format!("{} launched nothing", self.target))?;
        let meant = |kernel: &str| target.kernel.is_none_or(|k| k.entries.contains(&kernel));
        let apart = analysis
            .kernels
            .iter()
            .filter(|kernel| meant(&kernel.kernel));
        let kernel = match target.kernel {
            Some(_) => apart.max_by_key(|kernel| kernel.cycles),
            None => None,
        };
        let kernel = kernel.unwrap_or(&analysis.whole);
        let figures = figures_of(report, target, kernel);
        let first = [
            self.gpu.to_owned(),
            kernel.kernel.clone(),
            kernel.occupancy.block_threads.to_string(),
            kernel.occupancy.registers_per_thread.to_string(),
            kernel.occupancy.shared_bytes.to_string(),
            kernel.occupancy.blocks_per_sm.to_string(),
            kernel.occupancy_limit.clone(),
            kernel.category.name().to_owned(),
        ];
        let cells = first.into_iter().chain(measures(&figures, kernel));
        Ok(Measured {
            target: self.target.clone(),
            cells: cells.collect(),
        })
    }
}

/// Counters of the target's kernel, or of the whole run.
fn figures_of(report: &RunReport, target: &Target, kernel: &KernelAnalysis) -> Figures {
    let same = report.kernels.iter().filter(|k| k.name == kernel.kernel);
    let longest = same.max_by_key(|k| k.figures.cycles);
    match (target.kernel, longest) {
        (Some(_), Some(longest)) => longest.figures.clone(),
        _ => report.totals.figures.clone(),
    }
}

/// Measured values in the order of [`COLUMNS`].
fn measures(figures: &Figures, kernel: &KernelAnalysis) -> [String; COLUMNS.len()] {
    let count = |name: &str| figures.statistics.get(name).copied().unwrap_or(0) as f64;
    let sum = |prefix: &str| -> f64 {
        let counters = figures.statistics.iter();
        let named = counters.filter(|(name, _)| name.starts_with(prefix));
        named.map(|(_, value)| *value as f64).sum()
    };
    let instructions = figures.warp_instructions as f64;
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), percent);
    let lanes: f64 = (1..=32)
        .map(|lanes| f64::from(lanes) * count(&format!("sm.issued_by_lanes.w{lanes}")))
        .sum();
    let misses = sum("l2.accesses.miss.") + sum("l2.accesses.sector_miss.");
    let used = &kernel.utilisation;
    [
        figures.cycles.to_string(),
        figures.warp_instructions.to_string(),
        percent(share(count("sm.memory_instructions"), instructions)),
        percent(share(count("sm.shared_instructions"), instructions)),
        format!("{:.1}", share(lanes, instructions)),
        format!(
            "{:.2}",
            share(
                count("sm.memory_transactions"),
                count("sm.memory_instructions")
            )
        ),
        rate(figures.l1d.hit_rate),
        rate(figures.l2.hit_rate),
        format!("{:.1}", 1000.0 * share(misses, instructions)),
        percent(used.scheduler),
        percent(used.noc_to_sm),
        percent(used.noc_to_l2),
        percent(used.dram),
        format!("{:.1}", kernel.occupancy.resident_warps),
    ]
}

impl Measured {
    /// The line as it stands in the table.
    pub fn line(&self) -> String {
        format!("{},{}", self.target, self.cells.join(","))
    }

    /// Value in one of the [`COLUMNS`].
    pub fn number(&self, column: &str) -> Option<f64> {
        let at = COLUMNS.iter().position(|name| *name == column)?;
        self.cells.get(FIRST - 1 + at)?.parse().ok()
    }

    /// Parses a line of the table.
    pub fn read(line: &str) -> Option<Self> {
        let mut cells = line.split(',').map(str::to_owned);
        let target = cells.next()?;
        let cells: Vec<_> = cells.collect();
        let whole = cells.len() == FIRST - 1 + COLUMNS.len();
        whole.then_some(Self { target, cells })
    }
}
