//! Shared parts of the figures of GPUDuet (Lin, Mantor, Zhou, TACO 2018).
//!
//! Statistics begin with the first launch, and runs are cut at 4 million cycles (sections 4.1 and
//! 7). A speedup is the ratio of cycles of runs that finish, and of IPC where they are cut.

mod bfs;
mod claims;
mod contexts;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig3b;
mod fig4;
mod fig6;
mod fig7;
mod table3;
mod table4;
mod transfers;
mod warps;

use super::FigureInfo;
use super::shared::{add_mean, bars, column, row, samples};
use crate::compare::speedup;
use crate::figure::Request;
use crate::grid::Workload;
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use std::sync::Arc;
use warploom_analyze::KernelAnalysis;
use warploom_config::preset;
use warploom_stats::result::{KernelReport, RunReport};

pub(super) use claims::verdicts;

pub(super) const FIGURES: [FigureInfo; 15] = [
    warps::FIG_1,
    fig3b::FIGURE,
    fig4::FIGURE,
    warps::FIG_5,
    fig6::FIGURE,
    fig7::FIGURE,
    fig12::FIGURE,
    fig13::FIGURE,
    fig14::FIGURE,
    fig15::FIGURE,
    table3::FIGURE,
    table4::FIGURE,
    contexts::FIGURE,
    transfers::FIGURE,
    bfs::FIGURE,
];

const PAPER: &str = "duet";
/// Machine of Table 1.
const GPU: &str = "maxwell-duet";
/// Limit of cycles in section 4.1.
const MAX_CYCLES: u64 = 4_000_000;

const PLAIN: Config = ("baseline", &[]);
const DUET: Config = ("duet", &["sm.context=duet"]);
const DUET_TB: Config = ("duet-tb", &["sm.context=duet-tb"]);
const VT: Config = ("virtual-thread", &["sm.context=virtual-thread"]);

/// Name of a machine, and its changes to the preset.
type Config = (&'static str, &'static [&'static str]);

const fn workload(name: &'static str, target: &'static str) -> Workload {
    Workload { name, target }
}

/// Fig. 12's benchmarks: five underutilised, five moderately utilised, five saturated.
const FIFTEEN: [Workload; 15] = [
    workload("BFS", "duet/BFS"),
    workload("BT", "duet/BT"),
    workload("DWT_2", "duet/DWT_2"),
    workload("HG", "duet/HG"),
    workload("HS", "duet/HS"),
    workload("MMS", "duet/MMS"),
    workload("CONV", "duet/CONV"),
    workload("MM", "duet/MM"),
    workload("ST", "duet/ST"),
    workload("SPMV", "duet/SPMV"),
    workload("BP_1", "duet/BP_1"),
    workload("CFD", "duet/CFD"),
    workload("KM", "duet/KM"),
    workload("LBM", "duet/LBM"),
    workload("SAD_2", "duet/SAD_2"),
];
/// Number of underutilised benchmarks at the beginning of [`FIFTEEN`].
const UNDERUTILISED: usize = 5;
/// Number of unsaturated benchmarks at the beginning of [`FIFTEEN`].
const UNSATURATED: usize = 10;

/// Benchmarks of Table 2: those of [`FIFTEEN`] and seven more.
const ALL: [Workload; 22] = {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = FIFTEEN;
    [
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        k,
        l,
        m,
        n,
        o,
        workload("BP_2", "duet/BP_2"),
        workload("CP", "duet/CP"),
        workload("DWT_1", "duet/DWT_1"),
        workload("FDTD_1", "duet/FDTD_1"),
        workload("FDTD_2", "duet/FDTD_2"),
        workload("GEMM", "duet/GEMM"),
        workload("SAD_1", "duet/SAD_1"),
    ]
};

/// A run of a workload as the paper makes it.
fn run(request: &Request, workload: &Workload, (name, sets): Config) -> RunSpec {
    let machine = MachineVariant::preset(name, GPU, sets);
    let machine = machine.unwrap_or_else(|errors| panic!("{name}: {errors}"));
    run_on(request, workload, &machine)
}

fn run_on(request: &Request, workload: &Workload, machine: &MachineVariant) -> RunSpec {
    let input = Input::workload(workload.target, request.scale.size(), SEED);
    let input = input.unwrap_or_else(|unknown| panic!("{unknown}"));
    RunSpec {
        max_cycles: Some(MAX_CYCLES),
        ..RunSpec::new(&input, machine)
    }
}

/// Results by workload, then by machine.
fn grid(
    request: &Request,
    runs: &mut Runs<'_>,
    workloads: &[Workload],
    configs: &[Config],
) -> Option<Vec<Vec<Arc<RunReport>>>> {
    let row = |w: &Workload| {
        configs
            .iter()
            .map(|c| run(request, w, *c))
            .collect::<Vec<_>>()
    };
    let specs: Vec<_> = workloads.iter().flat_map(row).collect();
    let reports = runs.all(&specs)?;
    Some(reports.chunks(configs.len()).map(<[_]>::to_vec).collect())
}

/// Analysis of all kernels of a run together.
fn analysis(report: &RunReport) -> KernelAnalysis {
    let machine = MachineVariant::preset("baseline", GPU, &[]);
    let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
    let sustainable = warploom_noc::sustainable(&machine.spec);
    let machine = warploom_analyze::Machine::new(&machine.spec, sustainable);
    let analysis = warploom_analyze::analyze(&machine, report);
    analysis.expect("a timed run of a kernel").whole
}

/// Description of the column with the network's utilisation.
fn network_about() -> String {
    let machine = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    format!(
        "Utilisation of the network from L2 to the SMs: share of the rate that it sustains, which \
         is {:.0} % of its peak.",
        warploom_noc::sustainable(&machine) * 100.0
    )
}

/// The launch that took longest.
fn longest(report: &RunReport) -> &KernelReport {
    let kernels = report.kernels.iter();
    let longest = kernels.max_by_key(|kernel| kernel.figures.cycles);
    longest.expect("a run has launches")
}

/// A counter of the whole run.
fn count(report: &RunReport, name: &str) -> u64 {
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0)
}

/// Largest number of extra blocks on an SM for which a context system has space.
fn extra_blocks(report: &RunReport) -> u64 {
    let context = longest(report).context.as_ref();
    context.map_or(0, |context| context.extra_blocks.into())
}

/// The number of extra blocks for the launch with the most space.
fn most_extra_blocks(report: &RunReport) -> u64 {
    let contexts = report.kernels.iter().filter_map(|k| k.context.as_ref());
    let most = contexts.map(|context| context.extra_blocks).max();
    most.unwrap_or(0).into()
}

/// True if the port for moving contexts was ever used.
fn switched(report: &RunReport) -> bool {
    count(report, "context.port_cycles") > 0
}

/// Speedups of the machine at index `at` over the first machine, by workload.
fn speedups(reports: &[Vec<Arc<RunReport>>], at: usize) -> Vec<f64> {
    let ratio = |row: &Vec<Arc<RunReport>>| speedup(&row[at], &row[0]);
    reports.iter().map(ratio).collect()
}

#[cfg(test)]
mod tests;
