//! The study `zoo`: every policy of a single program on every workload, each in the place of the
//! baseline's: the warp scheduler `gto`, round-robin blocks, LRU, and an L1D in which every read
//! allocates.
//!
//! The policies are the rows of the tables of the configuration, so that a new policy takes part
//! without a change here. The list `SYSTEMS` in `members` adds systems of several policies. A study
//! has no claims.

mod classes;
mod cuts;
mod members;
mod policies;
#[cfg(test)]
mod tests;

use super::FigureInfo;
use super::energy::preset_of;
use crate::compare::{energy_ratio, speedup};
use crate::figure::{Request, Scale};
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use members::{GTO, LARGE, LRR, Level, Member, members};
use std::sync::Arc;
use warploom_energy::energy_of;
use warploom_stats::result::RunReport;

pub(super) const FIGURES: [FigureInfo; 4] = [
    policies::WARPS,
    policies::BLOCKS,
    classes::FIGURE,
    cuts::FIGURE,
];

const STUDY: &str = "zoo";
/// Machine of the study.
const GPU: &str = "gtx480";

/// Workloads of scale `test`.
const FEW: [&str; 4] = ["atax", "bfs", "kmeans", "vectoradd"];

/// Workloads of a scale: all, or a few.
fn workloads(scale: Scale) -> Vec<&'static str> {
    let all = warploom_workloads::all()
        .iter()
        .map(|workload| workload.name);
    match scale {
        Scale::Test => all.filter(|name| FEW.contains(name)).collect(),
        Scale::Small | Scale::Paper => all.collect(),
    }
}

/// Core cycle at which runs of a scale are cut. At scale `test` they finish.
const fn max_cycles(scale: Scale) -> Option<u64> {
    match scale {
        Scale::Test => None,
        Scale::Small => Some(100_000),
        Scale::Paper => Some(2_000_000),
    }
}

/// Sensitivity of a workload to the size of L1D, by its speedup with an L1D of 16 times the ways
/// under `gto`. The classes are those of Rogers et al. (MICRO 2012); the limits are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    High,
    Moderate,
    Insensitive,
}

impl Class {
    const ALL: [Self; 3] = [Self::High, Self::Moderate, Self::Insensitive];

    fn of(speedup: f64) -> Self {
        match speedup {
            s if s >= 2.0 => Self::High,
            s if s >= 1.1 => Self::Moderate,
            _ => Self::Insensitive,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Moderate => "moderate",
            Self::Insensitive => "insensitive",
        }
    }
}

/// Results of all workloads under some members, and under those with which they are compared.
struct Zoo {
    members: Vec<Member>,
    workloads: Vec<Measured>,
}

/// Results of a workload.
struct Measured {
    name: &'static str,
    /// Results by member of the zoo.
    reports: Vec<Arc<RunReport>>,
    lrr: Arc<RunReport>,
    gto: Arc<RunReport>,
    large: Arc<RunReport>,
}

impl Measured {
    fn class(&self) -> Class {
        Class::of(self.large_l1d())
    }

    /// Speedup by the large L1D under `gto`.
    fn large_l1d(&self) -> f64 {
        speedup(&self.large, &self.gto)
    }

    fn over_gto(&self, member: usize) -> f64 {
        speedup(&self.reports[member], &self.gto)
    }

    fn over_lrr(&self, member: usize) -> f64 {
        speedup(&self.reports[member], &self.lrr)
    }
}

impl Zoo {
    /// Results of the members at a level, or `None` while runs are missing.
    fn new(request: &Request, runs: &mut Runs<'_>, level: Level) -> Option<Self> {
        let members = members(level);
        let machines: Vec<MachineVariant> = members.iter().map(Member::machine).collect();
        let compared = [LRR, GTO, LARGE].map(|(name, sets)| machine(name, sets));
        let all: Vec<&MachineVariant> = compared.iter().chain(&machines).collect();
        let workloads = workloads(request.scale);
        let run = |name: &&'static str| {
            let input = Input::workload(name, request.scale.size(), SEED);
            let input = input.unwrap_or_else(|unknown| panic!("{unknown}"));
            let on = |machine: &&MachineVariant| RunSpec {
                max_cycles: max_cycles(request.scale),
                ..RunSpec::new(&input, machine)
            };
            all.iter().map(on).collect::<Vec<_>>()
        };
        let specs: Vec<RunSpec> = workloads.iter().flat_map(run).collect();
        let reports = runs.all(&specs)?;
        let rows = workloads.iter().zip(reports.chunks(all.len()));
        let measured = |(name, row): (&&'static str, &[Arc<RunReport>])| Measured {
            name,
            lrr: Arc::clone(&row[0]),
            gto: Arc::clone(&row[1]),
            large: Arc::clone(&row[2]),
            reports: row[3..].to_vec(),
        };
        Some(Self {
            workloads: rows.map(measured).collect(),
            members,
        })
    }

    /// Energy of a workload under a member over that under `gto`, for the same work.
    fn energy_over_gto(&self, workload: &Measured, member: usize) -> Option<f64> {
        let preset = preset_of(GPU);
        let base = machine(GTO.0, GTO.1).spec;
        let of = |report: &RunReport, spec| energy_of(&preset, spec, &report.totals.figures);
        let own = &workload.reports[member];
        let machine = self.members[member].machine();
        let energy = of(own, &machine.spec)?;
        let base = of(&workload.gto, &base)?;
        let ratio = energy_ratio((&energy, own), (&base, &workload.gto));
        Some(ratio).filter(|ratio| ratio.is_finite())
    }
}

fn machine(name: &str, sets: &[&str]) -> MachineVariant {
    let machine = MachineVariant::preset(name, GPU, sets);
    machine.unwrap_or_else(|errors| panic!("{name}: {errors}"))
}
