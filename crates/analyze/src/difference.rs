//! Why one run of a program is faster than another one on a machine that differs: the cycles that
//! schedulers lose for each instruction, hits and traffic, the warps on an SM, and the bounds of
//! both, by the rules of the explanation of a single run.

use crate::advice::{Facts, because, percent};
use crate::analysis::{Analysis, KernelAnalysis, analyze};
use crate::verdict::Bound;
use warploom_config::GpuSpec;
use warploom_policy::utilisation::Machine;
use warploom_stats::result::{Figures, RunReport};

/// Share of the whole difference from which that of a cause is told.
const PART: f64 = 0.15;
/// Most causes that are told.
const CAUSES: usize = 3;
/// Difference of two rates from which it is told.
const OF_RATES: f64 = 0.01;
/// Ratio of two amounts from which their difference is told.
const OF_AMOUNTS: f64 = 1.03;

/// A run that is compared with another one.
#[derive(Clone, Copy)]
pub struct ComparedRun<'a> {
    /// Name of the run in sentences.
    pub name: &'a str,
    /// Machine of the run.
    pub machine: &'a Machine<'a>,
    /// The result of the run.
    pub run: &'a RunReport,
    /// Bound of the run, if other runs have shown that it is another one than the analysis names.
    pub bound: Option<&'a str>,
}

/// A run with its analysis.
struct Side<'a> {
    name: &'a str,
    spec: &'a GpuSpec,
    figures: &'a Figures,
    analysis: Analysis,
    bound: String,
}

impl<'a> Side<'a> {
    fn new(of: ComparedRun<'a>) -> Option<Self> {
        let figures = &of.run.totals.figures;
        (figures.warp_instructions > 0).then_some(())?;
        let analysis = analyze(of.machine, of.run)?;
        let own = || analysis.longest().0.bounds();
        Some(Self {
            name: of.name,
            spec: of.machine.spec,
            figures,
            bound: of.bound.map_or_else(own, str::to_owned),
            analysis,
        })
    }

    fn get(&self, name: &str) -> f64 {
        self.figures.statistics.get(name).copied().unwrap_or(0) as f64
    }

    /// The kernel that the bound is of.
    fn longest(&self) -> &KernelAnalysis {
        self.analysis.longest().0
    }

    /// Warp instructions, above 0.
    fn instructions(&self) -> f64 {
        self.figures.warp_instructions as f64
    }

    /// Cycles of the run for each warp instruction.
    fn cycles_each(&self) -> f64 {
        self.figures.cycles as f64 / self.instructions()
    }

    /// Scheduler cycles of a cause for each warp instruction.
    fn lost(&self, cause: &str) -> f64 {
        self.get(&format!("sm.slots.{cause}")) / self.instructions()
    }
}

/// Sentences on why `other` is faster or slower than `base`: the time and the cycles that
/// schedulers lose, hits and traffic, warps and bounds, and a step. `None` if either issued no
/// instruction.
pub fn explain_difference(base: ComparedRun<'_>, other: ComparedRun<'_>) -> Option<Vec<String>> {
    let (base, other) = (Side::new(base)?, Side::new(other)?);
    let sentences = [
        Some(time(&base, &other)),
        waits(&base, &other),
        Some(memory(&base, &other)),
        Some(warps(&base, &other)),
        Some(step(&other)),
    ];
    Some(sentences.into_iter().flatten().collect())
}

/// Sentence on the cycles of both, or on those of an instruction if they did not do the same work.
fn time(base: &Side<'_>, other: &Side<'_>) -> String {
    let (few, many) = (other.instructions(), base.instructions());
    let same_work = few.max(many) <= OF_AMOUNTS * few.min(many);
    let cycles = |of: &Side<'_>| match same_work {
        true => of.figures.cycles as f64,
        false => of.cycles_each(),
    };
    let (own, before) = (cycles(other), cycles(base));
    let (ratio, faster) = match own <= before {
        true => (before / own.max(1e-9), "faster"),
        false => (own / before.max(1e-9), "slower"),
    };
    let of = match same_work {
        true => format!("{own:.0} cycles instead of {before:.0}"),
        false => format!("{own:.3} cycles for a warp instruction instead of {before:.3}"),
    };
    format!(
        "`{}` is {ratio:.2} times {faster} than `{}`: {of}.",
        other.name, base.name
    )
}

/// Sentence on the causes whose scheduler cycles differ most. Those that make the run faster or
/// slower come first, and then those that work against it.
fn waits(base: &Side<'_>, other: &Side<'_>) -> Option<String> {
    let causes = base
        .figures
        .stalls
        .keys()
        .chain(other.figures.stalls.keys());
    let mut causes: Vec<&str> = causes.map(String::as_str).collect();
    causes.sort_unstable();
    causes.dedup();
    let differs = |cause: &&str| other.lost(cause) - base.lost(cause);
    let whole: f64 = causes.iter().map(|cause| differs(cause).abs()).sum();
    let mut told: Vec<&str> = causes;
    told.retain(|cause| *cause != "issued" && differs(cause).abs() >= PART * whole);
    told.sort_by(|a, b| differs(b).abs().total_cmp(&differs(a).abs()));
    told.truncate(CAUSES);
    let part = |cause: &&str| {
        format!(
            "{:.2} cycles waiting {} instead of {:.2}",
            other.lost(cause),
            because(cause),
            base.lost(cause)
        )
    };
    let in_words = |of: &[&str]| in_a_row(&of.iter().map(part).collect::<Vec<_>>());
    let is_faster = other.cycles_each() < base.cycles_each();
    let (reasons, prices): (Vec<&str>, Vec<&str>) = told
        .into_iter()
        .partition(|cause| (differs(cause) < 0.0) == is_faster);
    let parts = [in_words(&reasons), in_words(&prices)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "For each warp instruction its schedulers spend {}.",
            parts.join(", but ")
        )
    })
}

/// Parts of a sentence with commas and a last `and`.
fn in_a_row(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [firsts @ .., last] => format!("{}, and {last}", firsts.join(", ")),
    }
}

/// Sentence on hit rates and traffic.
fn memory(base: &Side<'_>, other: &Side<'_>) -> String {
    let facts = |of: &Side<'_>| Facts::new(of.spec, of.figures);
    let (old, new) = (facts(base), facts(other));
    let rate = |what: &str, old: Option<f64>, new: Option<f64>| {
        let (old, new) = (old?, new?);
        let differs = (new - old).abs() >= OF_RATES;
        differs.then(|| {
            let (new, old) = (percent(new), percent(old));
            format!("{what} hits {new} of its accesses instead of {old}")
        })
    };
    let amount = |what: &str, of: &dyn Fn(&Side<'_>) -> f64| {
        let [old, new] = [base, other].map(|side| of(side) / side.instructions());
        let differs = old > 0.0 && new.max(old) >= OF_AMOUNTS * new.min(old);
        differs.then(|| format!("{what} {:.2} times as much", new / old))
    };
    let packets = |of: &Side<'_>| of.get("partition.packets");
    let moved = |of: &Side<'_>| {
        let kinds = ["reads", "allocate_reads", "writes", "write_backs"];
        kinds
            .map(|kind| of.get(&format!("dram.{kind}")))
            .iter()
            .sum::<f64>()
    };
    let transactions = |of: &Side<'_>| of.get("sm.memory_transactions");
    let parts = [
        rate("L1D", old.l1d_hit_rate, new.l1d_hit_rate),
        rate("L2", old.l2_hit_rate, new.l2_hit_rate),
        amount("load/store units make", &transactions),
        amount("L2 is asked", &packets),
        amount("DRAM moves", &moved),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "Hits of the caches and traffic of L2 and DRAM are the same.".to_owned(),
        false => format!("In memory, {}.", in_a_row(&parts)),
    }
}

/// Sentence on the warps on an SM and on the bounds.
fn warps(base: &Side<'_>, other: &Side<'_>) -> String {
    let (old, new) = (&base.longest().occupancy, &other.longest().occupancy);
    let (before, now) = (old.resident_warps, new.resident_warps);
    let same = now.max(before) < OF_AMOUNTS * now.min(before).max(1e-9);
    let held = match same && old.blocks_per_sm == new.blocks_per_sm {
        true => format!("An SM holds {now:.1} warps in both"),
        false => {
            let rooms = match old.blocks_per_sm == new.blocks_per_sm {
                true => String::new(),
                false => format!(
                    " (room for {} blocks instead of {})",
                    new.blocks_per_sm, old.blocks_per_sm
                ),
            };
            format!("An SM with work holds {now:.1} warps instead of {before:.1}{rooms}")
        }
    };
    let bound = match base.bound == other.bound {
        true => format!("the bound is the same: {}", other.bound),
        false => format!("the bound is {}, and was {}", other.bound, base.bound),
    };
    format!("{held}; {bound}.")
}

/// The step against what bounds the second run, unless that is its policy, which the comparison is
/// about.
fn step(other: &Side<'_>) -> String {
    let kernel = other.longest();
    let told = kernel.explanation.last().map_or("", String::as_str);
    match told.strip_prefix("Next: ") {
        Some(step) if kernel.bound != Bound::Policy => {
            format!("Next, for `{}`: {step}", other.name)
        }
        _ => format!(
            "Next: `warploom run` with the settings of `{}` and `--explain` tells its bound.",
            other.name
        ),
    }
}
