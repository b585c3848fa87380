//! Sampled programs: which launches are timed, and the estimates for all launches.

use crate::result::Summary;
use crate::session::{Options, Prepared};
use std::collections::{BTreeMap, BTreeSet};
use warploom_base::Digest;
use warploom_exec::FunctionalStats;
use warploom_sample::{CONFIDENCE, Choice, Plan, Signature, Why, estimate};
use warploom_stats::result::{Figures, KernelReport, is_peak};
use warploom_stats::sampling::{Interval, SamplingReport, StratumReport, TimedLaunch};

/// Accesses as which one of a sector counts that L2 lacks, beside itself.
const LACKING: u64 = 4;

/// A launch that is to be timed.
pub(crate) struct Chosen {
    choice: Choice,
    why: Why,
    signature: Signature,
    /// Number of earlier launches of the program.
    number: u64,
}

/// State of a sampled program.
pub(crate) struct Sampler {
    bound: f64,
    plan: Plan,
    strata: Vec<StratumReport>,
    launches: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    /// Number of timed launches that had other results than their execution.
    differing: u64,
}

impl Sampler {
    /// A sampler, if the options ask for one.
    pub fn of(options: &Options) -> Option<Self> {
        let bound = options.sample_error?;
        Some(Self {
            bound,
            plan: Plan::new(bound, options.sample_seed),
            strata: Vec::new(),
            launches: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            differing: 0,
        })
    }

    /// Chooses a launch or leaves it out. `executed` has the counts of an execution without timing,
    /// and `accessed` the number of accesses of sectors, and of those that L2 lacks.
    pub fn choose(
        &mut self,
        launch: &Prepared,
        executed: &FunctionalStats,
        (accesses, lacking): (u64, u64),
    ) -> Option<Chosen> {
        let warps = executed.warp_instructions;
        let threads = executed.thread_instructions;
        let traffic = accesses + LACKING * lacking;
        let signature = Signature {
            kernel: kernel_of(launch),
            sizes: [launch.grid.count(), warps, threads, accesses, traffic],
        };
        let choice = self.plan.choose(&signature);
        let number = self.launches;
        self.launches += 1;
        if choice.stratum == self.strata.len() {
            self.strata.push(new_stratum(launch, &signature));
        }
        let stratum = choice.stratum;
        self.strata[stratum].launches += 1;
        let Some(why) = choice.why else {
            self.warp_instructions += warps;
            self.thread_instructions += threads;
            return None;
        };
        Some(Chosen {
            choice,
            why,
            signature,
            number,
        })
    }

    /// Notes the figures of a launch that was timed.
    pub fn timed(&mut self, chosen: &Chosen, figures: &Figures) {
        let sizes = chosen.signature.sizes;
        let Choice { stratum, epoch, .. } = chosen.choice;
        let cycles = figures.cycles as f64;
        self.plan.timed(&chosen.choice, &sizes, cycles);
        self.warp_instructions += figures.warp_instructions;
        self.thread_instructions += figures.thread_instructions;
        let stratum = &mut self.strata[stratum];
        stratum.timed.push(TimedLaunch {
            launch: chosen.number,
            epoch,
            sizes,
            cycles: figures.cycles,
            why: chosen.why.name().to_owned(),
        });
    }

    /// Notes that the last timed launch had other results than its execution.
    pub fn differed(&mut self) {
        self.differing += 1;
    }

    /// Adds the estimates for all launches of a program that has ended to its result.
    pub fn finish(mut self, summary: &mut Summary) {
        for (number, stratum) in self.strata.iter_mut().enumerate() {
            (stratum.mean_cycles, stratum.deviation) = self.plan.cycles(number);
            stratum.epochs = self.plan.epochs(number).to_vec();
        }
        let mut report = SamplingReport {
            bound: self.bound,
            confidence: CONFIDENCE,
            launches: self.launches,
            timed: self.strata.iter().map(|s| s.timed.len() as u64).sum(),
            differing: self.differing,
            warp_instructions: self.warp_instructions,
            thread_instructions: self.thread_instructions,
            estimates: BTreeMap::new(),
            strata: self.strata,
        };
        let kernels: Vec<&KernelReport> = summary.launched().collect();
        report.estimates = estimates(&report, &kernels);
        summary.sampled(report);
    }
}

/// Estimates of cycles, of IPC and of the counters, from the timed launches in order.
fn estimates(report: &SamplingReport, kernels: &[&KernelReport]) -> BTreeMap<String, Interval> {
    let of = |value: &dyn Fn(&Figures) -> u64| {
        let values: Vec<f64> = kernels.iter().map(|k| value(&k.figures) as f64).collect();
        estimate(report, &values)
    };
    let cycles = of(&|figures| figures.cycles);
    let ipc = report.thread_instructions as f64 / cycles.value.max(1.0);
    let margin = ipc * cycles.relative_margin();
    let ipc = Interval { value: ipc, margin };
    let names = kernels.iter().flat_map(|k| k.figures.statistics.keys());
    let names: BTreeSet<&String> = names.filter(|name| !is_peak(name)).collect();
    let counters = names.into_iter().map(|name| {
        let count = |figures: &Figures| figures.statistics.get(name).copied().unwrap_or(0);
        (name.clone(), of(&count))
    });
    let own = [("cycles".to_owned(), cycles), ("ipc".to_owned(), ipc)];
    let rates = RATES.iter().filter_map(|(name, parts, whole)| {
        let parts = of(&|figures| sum(figures, parts));
        let whole = of(&|figures| sum(figures, whole));
        let margin = parts.relative_margin() + whole.relative_margin();
        let value = parts.value / whole.value;
        let margin = value * margin;
        (whole.value > 0.0).then(|| ((*name).to_owned(), Interval { value, margin }))
    });
    own.into_iter().chain(rates).chain(counters).collect()
}

/// Rates of the report, each with the counters of its parts and of the whole. Counters by kind
/// begin with these names. The margin of a rate is the most that the margins of both make of it,
/// because they change together.
type Rate = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);
const RATES: [Rate; 3] = [
    (
        "l1d.hit_rate",
        &["l1d.accesses.hit."],
        &[
            "l1d.accesses.hit.",
            "l1d.accesses.hit_reserved.",
            "l1d.accesses.miss.",
            "l1d.accesses.sector_miss.",
        ],
    ),
    (
        "l2.hit_rate",
        &["l2.accesses.hit."],
        &[
            "l2.accesses.hit.",
            "l2.accesses.hit_reserved.",
            "l2.accesses.miss.",
            "l2.accesses.sector_miss.",
        ],
    ),
    ("dram.utilisation", &["dram.data_cycles"], &["dram.cycles"]),
];

/// Sum of the counters whose names begin with one of these.
fn sum(figures: &Figures, names: &[&str]) -> u64 {
    let counters = figures.statistics.iter();
    let own = counters.filter(|(name, _)| names.iter().any(|start| name.starts_with(start)));
    own.map(|(_, count)| count).sum()
}

/// Number that stands for the properties in which launches of one stratum are equal.
fn kernel_of(launch: &Prepared) -> u64 {
    let mut digest = Digest::new();
    let context = &launch.launch.context;
    let block = launch.block;
    digest.str(&launch.launch.program.name);
    digest.u64(block.x.into()).u64(block.y.into());
    digest.u64(block.z.into());
    digest.u64(context.shared_bytes().into());
    digest.u64(launch.launch.registers_per_thread.into());
    if context.cluster().are_several() {
        let cluster = context.cluster().extents();
        digest.u64(cluster.x.into()).u64(cluster.y.into());
        digest.u64(cluster.z.into());
    }
    digest.finish()
}

fn new_stratum(launch: &Prepared, signature: &Signature) -> StratumReport {
    StratumReport {
        kernel: launch.launch.program.name.clone(),
        grid: launch.grid.into(),
        block: launch.block.into(),
        warp_instructions: signature.sizes[1],
        launches: 0,
        sizes: signature.sizes,
        epochs: Vec::new(),
        mean_cycles: 0.0,
        deviation: 0.0,
        timed: Vec::new(),
    }
}
