//! Analysis of a run: of each kernel, of all kernels together, and of windows of cycles.

use crate::advice::{Facts, advice};
use crate::classes::Category;
use crate::context::DuetAnalysis;
use crate::explain::explanation;
use crate::hot_banks::busy;
use crate::issued::IssuedLine;
use crate::occupancy::Occupancy;
use crate::phases::Phases;
use crate::pipes::{UnitUse, is_of_units};
use crate::verdict::{Bound, Evidence};
use serde::Serialize;
use std::collections::BTreeMap;
use warploom_policy::load_class::LoadClass;
use warploom_policy::utilisation::{Machine, Throughputs, Utilisation, is_needed};
use warploom_stats::result::{
    CheckReport, Counts, Figures, KernelReport, Outcome, Program, RunReport, Series,
};

/// Analysis of a run: the parts that bound it, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Program that produced the result.
    pub program: Program,
    /// Command line of the run.
    pub command: String,
    /// Name of the machine.
    pub gpu: String,
    /// Digest of the configuration in full.
    pub config_digest: String,
    /// Digest of the run.
    pub digest: String,
    /// How the run ended.
    pub outcome: Outcome,
    /// Comparisons of outputs with references.
    pub checks: Vec<CheckReport>,
    /// Share of the interconnect's peak that counts as all of it.
    pub sustainable: f64,
    /// Analysis of all launches together.
    #[serde(flatten)]
    pub whole: KernelAnalysis,
    /// Analysis of each kernel, in the order of first launches; empty if there is only one kernel.
    pub kernels: Vec<KernelAnalysis>,
    /// Analysis of windows of cycles, if the run recorded them.
    pub windows: Option<WindowSeries>,
}

/// Analysis of all launches of one kernel, or of all launches of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelAnalysis {
    /// Name of the kernel; for a run, of the kernel that takes the most cycles.
    pub kernel: String,
    /// Number of launches of the kernel.
    pub launches: u64,
    /// Core cycles of these launches.
    pub cycles: u64,
    /// Thread instructions per core cycle.
    pub ipc: f64,
    /// Utilisation of each part, as a share of what it can do.
    pub utilisation: Utilisation,
    /// Utilisation of the parts of an SM while it holds a block, and of L2, the network and DRAM
    /// while most SMs do that the launch uses; an estimate for these.
    pub utilisation_with_blocks: Utilisation,
    /// Utilisation of each part as a bandwidth.
    pub throughput: Throughputs,
    /// Use of the function units and of the load/store units.
    pub units: UnitUse,
    /// Share of the cycles for which the busiest of the L2 banks with the longest waits is busy.
    pub hot_l2_bank: Option<f64>,
    /// Verdict: what bounds the kernel, over all parts and causes that are counted.
    pub bound: Bound,
    /// Bound that comes close to it; of SMs without a block, what bounds those that hold one.
    pub bound_beside: Option<Bound>,
    /// Bound of the kernel if the policy is the bound and holding warps back costs no time, which a
    /// run under another policy tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_without_policy: Option<Bound>,
    /// Category of GPUDuet: the part of its six that bounds the kernel (section 4.2).
    pub category: Category,
    /// Room for more TLP by GPUDuet's six parts (Table 3).
    pub class: LoadClass,
    /// Resource that limits the blocks on an SM in the longest launch.
    pub occupancy_limit: String,
    /// Occupancy in the longest launch.
    pub occupancy: Occupancy,
    /// Prediction of what GPUDuet would do.
    pub duet: DuetAnalysis,
    /// Share of the scheduler cycles of each cause.
    pub stalls: BTreeMap<String, f64>,
    /// True if the schedulers bound the kernel, or the time in which SMs hold its blocks, or come
    /// close to that: the lines that issue most are worth counting.
    #[serde(skip)]
    pub issues_too_much: bool,
    /// Lines of the program with the issue slots that they take; empty unless they were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issued: Vec<IssuedLine>,
    /// Sentences on the bottleneck, the effect of more TLP, and the resource to free.
    pub advice: Vec<String>,
    /// Five sentences: the verdict, the schedulers, the warps, the memory system, and a next step.
    pub explanation: Vec<String>,
}

/// Utilisations in windows of cycles. Each vector has one element for each window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WindowSeries {
    /// Requested length of a window in core cycles.
    pub window_cycles: u64,
    /// First core cycle of the window.
    pub start: Vec<u64>,
    /// Core cycle after the last one of the window.
    pub end: Vec<u64>,
    /// Utilisation of each part, as a share of what it can do.
    pub utilisation: Vec<Utilisation>,
    /// Use of the function units and of the load/store units.
    pub units: Vec<UnitUse>,
    /// Category of the window.
    pub category: Vec<Category>,
    /// Class of the window.
    pub class: Vec<LoadClass>,
}

impl KernelAnalysis {
    /// Names of the bound and of the one that comes close to it.
    pub fn bounds(&self) -> String {
        self.bounds_by(Bound::name)
    }

    /// Keys of both, as results have them.
    pub fn bound_keys(&self) -> String {
        self.bounds_by(Bound::key)
    }

    fn bounds_by(&self, name: fn(Bound) -> &'static str) -> String {
        match self.bound_beside {
            Some(second) => format!("{} + {}", name(self.bound), name(second)),
            None => name(self.bound).to_owned(),
        }
    }
}

impl Analysis {
    /// The kernel that takes the most cycles, with its share of the cycles of all kernels.
    pub fn longest(&self) -> (&KernelAnalysis, f64) {
        let longest = self.kernels.iter().max_by_key(|kernel| kernel.cycles);
        let all: u64 = self.kernels.iter().map(|kernel| kernel.cycles).sum();
        let share = |kernel: &KernelAnalysis| kernel.cycles as f64 / all.max(1) as f64;
        longest.map_or((&self.whole, 1.0), |kernel| (kernel, share(kernel)))
    }
}

/// Analyses a run; `None` if it was not timed or launched nothing.
pub fn analyze(machine: &Machine<'_>, run: &RunReport) -> Option<Analysis> {
    analyze_with_lines(machine, run, &[])
}

/// Analyses a run whose lines were counted, so that the step against too many instructions names
/// them.
pub fn analyze_with_lines(
    machine: &Machine<'_>,
    run: &RunReport,
    lines: &[IssuedLine],
) -> Option<Analysis> {
    let kernels = by_name(&run.kernels);
    let longest = kernels.iter().max_by_key(|kernel| kernel.figures.cycles)?;
    if run.totals.figures.cycles == 0 {
        return None;
    }
    let whole = Launches {
        count: run.totals.launches,
        figures: run.totals.figures.clone(),
        ..longest.clone()
    };
    let apart = match kernels.as_slice() {
        [_] => Vec::new(),
        several => several.iter().map(|k| k.analyze(machine, lines)).collect(),
    };
    let lines_of_all = if apart.is_empty() { lines } else { &[] };
    Some(Analysis {
        program: run.program.clone(),
        command: run.command.clone(),
        gpu: run.gpu.name.clone(),
        config_digest: run.config_digest.clone(),
        digest: run.digest.clone(),
        outcome: run.outcome.clone(),
        checks: run.checks.clone(),
        sustainable: machine.sustainable,
        whole: whole.analyze(machine, lines_of_all),
        kernels: apart,
        windows: run.series.as_ref().map(|series| windows(machine, series)),
    })
}

/// Launches of one kernel, or all launches of a run.
#[derive(Clone)]
struct Launches<'a> {
    count: u64,
    /// The longest of these launches.
    longest: &'a KernelReport,
    /// Figures of all these launches together.
    figures: Figures,
}

impl Launches<'_> {
    fn analyze(&self, machine: &Machine<'_>, lines: &[IssuedLine]) -> KernelAnalysis {
        let Self {
            count,
            longest,
            figures,
        } = self;
        let counts = &figures.statistics;
        // Cycles during which counters counted. A launch ends between two exchanges of packets.
        let counted = counts.get("gpu.cycles").copied();
        let cycles = counted.unwrap_or(figures.cycles);
        let utilisation = machine.utilisation(cycles, counts);
        let class = LoadClass::of(&utilisation);
        let occupancy = Occupancy::new(machine.spec, longest, figures);
        let facts = Facts::new(machine.spec, figures);
        let threads = occupancy.block_threads;
        let phases = Phases::of(machine.spec, *count, figures, &occupancy);
        let with_blocks = phases.with_blocks(&utilisation);
        let used = (&utilisation, &with_blocks);
        let evidence = Evidence::new(used, figures, &facts, threads, phases.launch);
        let bound = evidence.bound();
        let mut analysis = KernelAnalysis {
            kernel: longest.name.clone(),
            launches: *count,
            cycles: figures.cycles,
            ipc: figures.ipc,
            utilisation,
            utilisation_with_blocks: with_blocks,
            throughput: machine.throughputs(&utilisation, counts),
            units: UnitUse::new(machine.spec, counts, cycles),
            hot_l2_bank: busy(figures),
            bound,
            bound_beside: evidence.second(bound),
            bound_without_policy: evidence.bound_without_policy(),
            category: Category::of(&utilisation),
            class,
            duet: DuetAnalysis::new(machine.spec, longest, &utilisation, class),
            occupancy_limit: longest.occupancy_limit.clone(),
            occupancy,
            stalls: figures.stalls.clone(),
            issues_too_much: evidence.issues_too_much(),
            issued: lines_of(&longest.name, lines),
            advice: Vec::new(),
            explanation: Vec::new(),
        };
        analysis.explanation = explanation(machine, &analysis, figures);
        analysis.advice = advice(machine, &analysis, figures);
        analysis
    }
}

/// Verdict on launches whose counters are all their own, as if they were one kernel's, and their
/// cycles; `None` without launches.
pub(crate) fn verdict_of(
    machine: &Machine<'_>,
    launches: &[&KernelReport],
) -> Option<(Bound, u64)> {
    let longest = launches.iter().max_by_key(|launch| launch.figures.cycles)?;
    let figures = launches.iter().map(|launch| launch.figures.clone());
    let all = Launches {
        count: launches.len() as u64,
        longest,
        figures: figures.reduce(|a, b| together(&a, &b))?,
    };
    let analysis = all.analyze(machine, &[]);
    Some((analysis.bound, analysis.cycles))
}

/// The lines of a kernel.
fn lines_of(kernel: &str, lines: &[IssuedLine]) -> Vec<IssuedLine> {
    let own = lines.iter().filter(|line| line.kernel == kernel);
    own.cloned().collect()
}

/// Launches grouped by the name of their kernel, in the order of first launches.
fn by_name(launches: &[KernelReport]) -> Vec<Launches<'_>> {
    let mut kernels: Vec<Launches<'_>> = Vec::new();
    for launch in launches {
        let known = kernels.iter_mut().find(|k| k.longest.name == launch.name);
        match known {
            Some(kernel) => {
                kernel.count += 1;
                if launch.figures.cycles > kernel.longest.figures.cycles {
                    kernel.longest = launch;
                }
                kernel.figures = together(&kernel.figures, &launch.figures);
            }
            None => kernels.push(Launches {
                count: 1,
                longest: launch,
                figures: launch.figures.clone(),
            }),
        }
    }
    kernels
}

/// Sum of the figures of two launches, as far as an analysis reads them.
fn together(a: &Figures, b: &Figures) -> Figures {
    let mut statistics = a.statistics.clone();
    for (name, count) in &b.statistics {
        *statistics.entry(name.clone()).or_default() += count;
    }
    let cycles = a.cycles + b.cycles;
    let instructions = a.thread_instructions + b.thread_instructions;
    let slots = "sm.slots.";
    let causes = statistics.range(slots.to_owned()..);
    let causes = causes.filter_map(|(name, n)| Some((name.strip_prefix(slots)?, *n)));
    Figures {
        cycles,
        warp_instructions: a.warp_instructions + b.warp_instructions,
        thread_instructions: instructions,
        ipc: instructions as f64 / cycles.max(1) as f64,
        hot_banks: match (a.hot_banks, b.hot_banks) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        },
        block_times: match (a.block_times, b.block_times) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        },
        stalls: warploom_stats::result::shares(causes),
        statistics,
        ..Figures::default()
    }
}

/// Utilisation, category and class in each window of a series.
fn windows(machine: &Machine<'_>, series: &Series) -> WindowSeries {
    let is_read = |name: &str| is_needed(name) || is_of_units(name);
    let needed = || series.columns.iter().filter(|(name, _)| is_read(name));
    let spans = series.start.iter().zip(&series.end).enumerate();
    let in_window = |(w, (start, end)): (usize, (&u64, &u64))| {
        let counts: Counts = needed().map(|(name, of)| (name.clone(), of[w])).collect();
        let cycles = end - start;
        let units = UnitUse::new(machine.spec, &counts, cycles);
        (machine.utilisation(cycles, &counts), units)
    };
    let (utilisation, units): (Vec<_>, Vec<_>) = spans.map(in_window).unzip();
    WindowSeries {
        window_cycles: series.window_cycles,
        start: series.start.clone(),
        end: series.end.clone(),
        category: utilisation.iter().map(Category::of).collect(),
        class: utilisation.iter().map(LoadClass::of).collect(),
        utilisation,
        units,
    }
}
