//! Shared parts of the figures of cooperative warp and block scheduling (Do et al. 2017).

mod claims;
mod fig3;
mod fig4;
mod series;
mod stalls;
mod storage;
mod table3;

use super::FigureInfo;
use crate::figure::Request;
use crate::grid::{Config, Grid, Workload};
use crate::runs::Runs;
use std::sync::Arc;
use warploom_stats::result::RunReport;

pub(super) use claims::verdicts;

pub(super) const FIGURES: [FigureInfo; 6] = [
    fig3::FIGURE,
    fig4::FIGURE,
    table3::FIGURE,
    stalls::FIGURE,
    storage::FIGURE,
    series::FIGURE,
];

const PAPER: &str = "cooperative";
/// Machine of Tables 1 and 2.
const GPU: &str = "gtx480";

const LRR: &str = "lrr";
const GTO: &str = "gto";
const LLF: &str = "long-latency-first";
/// Name of long-latency-first with contention-throttle.
const BOTH: &str = "throttled";

/// Benchmarks of Table 3.
const WORKLOADS: &[Workload] = &[
    workload("VectorAddition", "cooperative/VectorAddition"),
    workload("SimpleMultiGPU", "cooperative/SimpleMultiGPU"),
    workload("MonteCarlo", "cooperative/MonteCarlo"),
    workload("MergeSort", "cooperative/MergeSort"),
    workload("StoreGPU", "cooperative/StoreGPU"),
    workload("MUMmerGPU", "cooperative/MUMmerGPU"),
];

/// Configurations of Fig. 4; Fig. 3 shows all but the last.
const CONFIGS: &[Config] = &[
    Config {
        name: LRR,
        sets: &["sm.warp_scheduler=lrr"],
    },
    Config {
        name: GTO,
        sets: &["sm.warp_scheduler=gto"],
    },
    Config {
        name: LLF,
        sets: &["sm.warp_scheduler=long-latency-first"],
    },
    Config {
        name: BOTH,
        sets: &[
            "sm.warp_scheduler=long-latency-first",
            "gpu.sm_filter=contention-throttle",
        ],
    },
];

/// The throttle as Algorithm 2 is printed, with long-latency-first.
const LITERAL: Config = Config {
    name: "literal",
    sets: &[
        "sm.warp_scheduler=long-latency-first",
        "gpu.sm_filter=contention-throttle",
        "contention-throttle.listing=literal",
    ],
};

const fn workload(name: &'static str, target: &'static str) -> Workload {
    Workload { name, target }
}

/// Reports of Fig. 4's runs: by workload, then by configuration.
fn reports(request: &Request, runs: &mut Runs<'_>) -> Option<Vec<Vec<Arc<RunReport>>>> {
    let reports = runs.all(&GRID.runs(request))?;
    let rows = reports.chunks(CONFIGS.len());
    Some(rows.map(<[_]>::to_vec).collect())
}

/// A counter of the whole run.
fn count(report: &RunReport, name: &str) -> u64 {
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0)
}

/// Grid of Fig. 4, whose runs other figures share.
const GRID: Grid = fig4::GRID;

#[cfg(test)]
mod tests;
