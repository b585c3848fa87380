//! Shared parts of the figures of CRAT (Xie et al., MICRO 2015).
//!
//! Every solution runs PTX whose kernel was allocated at its registers, including spills; MaxTLP
//! and OptTLP use the default registers. A solution's number of blocks on an SM is an upper limit
//! (`gpu.max_blocks_per_sm`). Time is the core cycles of the kernel under study, summed over its
//! launches. Other kernels of its application are executed without timing.

mod cfd;
mod chosen;
mod claims;
mod energy;
mod fdtd;
mod inputs;
mod local;
mod overhead;
mod solutions;
mod study;
mod throttling;
mod utilisation;

use super::FigureInfo;
use super::shared::{add_mean, columns, samples};
use crate::figure::{Figure, Request};
use crate::grid::Workload;
use crate::runs::Runs;
use study::{Solved, Study};
use warploom_regalloc::Method;

pub(super) use chosen::{Chosen, chosen};
pub(super) use claims::verdicts;

pub(super) const FIGURES: [FigureInfo; 18] = [
    throttling::FIG_1,
    cfd::FIG_2,
    cfd::FIG_3,
    throttling::FIG_5,
    cfd::FIG_6,
    utilisation::FIG_7,
    fdtd::FIGURE,
    cfd::FIG_12,
    solutions::FIG_13,
    solutions::FIG_14,
    utilisation::FIG_15,
    local::FIGURE,
    solutions::FIG_17,
    inputs::FIGURE,
    solutions::FIG_19,
    solutions::FIG_20,
    overhead::FIGURE,
    energy::FIGURE,
];

/// Figures that must be requested by their own names.
pub(super) const BY_NAME: [FigureInfo; 1] = [solutions::FIG_13_FULL];

const PAPER: &str = "crat";
/// A preset with changed settings.
#[derive(Clone, Copy)]
struct Machine {
    gpu: &'static str,
    /// Changed settings in the form `key=value`.
    sets: &'static [&'static str],
}

impl Machine {
    const fn preset(gpu: &'static str) -> Self {
        Self { gpu, sets: &[] }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.gpu)?;
        let mut sets = self.sets.iter();
        sets.try_for_each(|set| write!(f, " with {set}"))
    }
}

/// Machine of Table 2.
const FERMI: Machine = Machine::preset("fermi-crat");
/// Machine of section 7.3.
const KEPLER: Machine = Machine::preset("kepler-crat");
/// The GTX680 on which Figs. 2, 3 and 6 were measured: the L1D of GK104 holds local memory only
/// (Kepler Tuning Guide, L1 Cache).
const GTX680: Machine = Machine {
    gpu: "kepler-crat",
    sets: &["sm.global_skips_l1d=true"],
};

const fn figure(
    name: &'static str,
    title: &'static str,
    make: fn(&Request, &mut Runs<'_>) -> Option<Figure>,
) -> FigureInfo {
    FigureInfo {
        paper: PAPER,
        name,
        title,
        make,
    }
}

const fn workload(name: &'static str, target: &'static str) -> Workload {
    Workload { name, target }
}

/// Allocator of section 5.1, which names Chaitin's and Briggs's and no other step. It is also the
/// one whose spills are nearer to those of ptxas, as the paper requires in section 5.2.
const ALLOCATOR: Method = Method::ChaitinBriggs;

/// Upper half of Table 3.
const SENSITIVE: [Workload; 11] = [
    workload("BLK", "crat/BLK"),
    workload("CFD", "crat/CFD"),
    workload("DTC", "crat/DTC"),
    workload("ESP", "crat/ESP"),
    workload("FDTD", "crat/FDTD"),
    workload("HST", "crat/HST"),
    workload("KMN", "crat/KMN"),
    workload("LBM", "crat/LBM"),
    workload("SPMV", "crat/SPMV"),
    workload("STE", "crat/STE"),
    workload("STM", "crat/STM"),
];

/// Lower half of Table 3.
const INSENSITIVE: [Workload; 11] = [
    workload("BAK", "crat/BAK"),
    workload("BFS", "crat/BFS"),
    workload("B+T", "crat/B+T"),
    workload("GAU", "crat/GAU"),
    workload("LUD", "crat/LUD"),
    workload("MUM", "crat/MUM"),
    workload("NEED", "crat/NEED"),
    workload("PTF", "crat/PTF"),
    workload("PATH", "crat/PATH"),
    workload("SGM", "crat/SGM"),
    workload("SRAD", "crat/SRAD"),
];

/// The solutions of each workload. Requests all runs at once, and returns `None` while some are
/// missing.
fn solved(
    request: &Request,
    runs: &mut Runs<'_>,
    workloads: &[Workload],
    machine: Machine,
) -> Option<Vec<Solved>> {
    allocated(request, runs, workloads, machine, ALLOCATOR)
}

/// The solutions of each workload with an allocator.
fn allocated(
    request: &Request,
    runs: &mut Runs<'_>,
    workloads: &[Workload],
    machine: Machine,
    method: Method,
) -> Option<Vec<Solved>> {
    let study = |w: &Workload| Study::allocated_by(request, runs, w.target, machine, method);
    let studies: Vec<_> = workloads.iter().map(study).collect();
    let solved: Vec<_> = studies.into_iter().map(|study| study.solve(runs)).collect();
    solved.into_iter().collect()
}

#[cfg(test)]
mod tests;
