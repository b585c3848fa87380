//! Shared parts of the figures of locality-aware scheduling by address pre-computation (Chen, NTU
//! thesis 2016).

mod behaviour;
mod claims;
mod fig2_2;
mod fig5_1;
mod fig5_2;
mod stalls;
mod table5_1;
mod table5_2;

use super::FigureInfo;
use super::shared::{add_mean, samples};
use crate::figure::Request;
use crate::grid::{Config, Grid, Workload};
use crate::runs::Runs;
use std::sync::Arc;
use warploom_stats::result::RunReport;

pub(super) use claims::verdicts;

pub(super) const FIGURES: [FigureInfo; 7] = [
    fig2_2::FIGURE,
    table5_1::FIGURE,
    fig5_1::FIGURE,
    fig5_2::FIGURE,
    stalls::FIG_5_3,
    stalls::FIG_5_4,
    table5_2::FIGURE,
];

const PAPER: &str = "locality";
/// Machine of Table 4.1.
const GPU: &str = "fermi-locality";

/// Round-robin for blocks and for warps.
const RR: &str = "rr+lrr";
/// Baseline of the thesis.
const GTO: &str = "rr+gto";
const BCS: &str = "bcs+gto";
/// The block scheduler alone.
const BLOCKS: &str = "locality+gto";
/// The block scheduler with the warp scheduler.
const BOTH: &str = "locality+locality";

/// Benchmarks of Table 4.2. LUD and GAUSSIAN take as long as all others together.
const WORKLOADS: &[Workload] = &[
    workload("HS", "locality/HS"),
    workload("SRAD", "locality/SRAD"),
    workload("CONV", "locality/CONV"),
    workload("HIS", "locality/HIS"),
    workload("BP", "locality/BP"),
    workload("LUD", "locality/LUD"),
    workload("TRAN", "locality/TRAN"),
    workload("GAUSSIAN", "locality/GAUSSIAN"),
    workload("SIFT", "locality/SIFT"),
    workload("NN", "locality/NN"),
    workload("NW", "locality/NW"),
    workload("Gabor", "locality/Gabor"),
];

/// Types in Table 5.1. Gabor has no row in it.
const TYPE_1: [&str; 5] = ["HS", "SRAD", "CONV", "HIS", "BP"];
const TYPE_2: [&str; 4] = ["LUD", "TRAN", "GAUSSIAN", "SIFT"];
const TYPE_3: [&str; 2] = ["NN", "NW"];

const CONFIGS: &[Config] = &[
    Config {
        name: GTO,
        sets: &["gpu.block_scheduler=rr", "sm.warp_scheduler=gto"],
    },
    Config {
        name: RR,
        sets: &["gpu.block_scheduler=rr", "sm.warp_scheduler=lrr"],
    },
    Config {
        name: BCS,
        sets: &["gpu.block_scheduler=bcs", "sm.warp_scheduler=gto"],
    },
    Config {
        name: BLOCKS,
        sets: &["gpu.block_scheduler=locality", "sm.warp_scheduler=gto"],
    },
    Config {
        name: BOTH,
        sets: &["gpu.block_scheduler=locality", "sm.warp_scheduler=locality"],
    },
];

const fn workload(name: &'static str, target: &'static str) -> Workload {
    Workload { name, target }
}

/// Grid of Fig. 5.1, whose runs the other figures share.
const GRID: Grid = fig5_1::GRID;

/// All timed runs: for each workload a report of each configuration.
struct Measured {
    reports: Vec<Vec<Arc<RunReport>>>,
}

impl Measured {
    fn new(request: &Request, runs: &mut Runs<'_>) -> Option<Self> {
        let reports = runs.all(&GRID.runs(request))?;
        let rows = reports.chunks(CONFIGS.len());
        Some(Self {
            reports: rows.map(<[_]>::to_vec).collect(),
        })
    }

    fn of(&self, workload: &str, config: &str) -> &RunReport {
        let row = WORKLOADS.iter().position(|w| w.name == workload);
        let column = CONFIGS.iter().position(|c| c.name == config);
        let (row, column) = row.zip(column).expect("names of the figure's own tables");
        &self.reports[row][column]
    }

    /// L1D misses over accesses in percent, if there are accesses. As in GPGPU-Sim, an access to a
    /// line that is on its way is an access and no miss.
    fn miss_rate(&self, workload: &str, config: &str) -> Option<f64> {
        let counts = &self.of(workload, config).totals.figures.statistics;
        let sum = |outcome: &str| -> u64 {
            let prefix = format!("l1d.accesses.{outcome}.");
            let of_outcome = counts.iter().filter(|(name, _)| name.starts_with(&prefix));
            of_outcome.map(|(_, count)| count).sum()
        };
        let misses = sum("miss") + sum("sector_miss");
        let accesses = misses + sum("hit") + sum("hit_reserved");
        (accesses > 0).then(|| misses as f64 / accesses as f64 * 100.0)
    }

    /// A counter of the whole run.
    fn count(&self, workload: &str, config: &str, name: &str) -> u64 {
        let counts = &self.of(workload, config).totals.figures.statistics;
        counts.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
