//! Table II: resources that each benchmark uses alone.

use super::fig1::shares;
use super::{BENCHMARKS, GPU, PAPER, add_mean, all_alone, columns, count, number, sum, times};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::samples::Samples;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_config::{GpuSpec, preset};
use warploom_report::page::{Cell, Table};
use warploom_stats::result::{ProcessReport, RunReport};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table2",
    title: "Instructions, utilisation and types of each benchmark alone",
    make,
};

/// Number of L2 misses per thousand warp instructions from which a benchmark has the type memory.
const MEMORY_MPKI: f64 = 30.0;

/// Shares of an SM in use, and misses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub registers: f64,
    pub shared: f64,
    pub alu: f64,
    pub sfu: f64,
    pub ldst: f64,
    pub l2_mpki: f64,
}

/// Resources that a run used, on average over SMs and cycles.
pub(super) fn used(report: &RunReport, gpu: &GpuSpec) -> Use {
    let sms = report.gpu.config.get("gpu.sms");
    let sms = match sms {
        Some(warploom_stats::result::ConfigValue::Integer(sms)) => *sms as f64,
        _ => f64::from(gpu.gpu.sms),
    };
    let cycles = count(report, "gpu.cycles") * sms;
    let held = |of: &dyn Fn(&ProcessReport) -> u64, each: u32| {
        let sum: u64 = report.processes.iter().map(of).sum();
        sum as f64 / (cycles * f64::from(each))
    };
    let pipes = |names: &[&str]| {
        let of = |process: &ProcessReport| -> f64 {
            let own = names
                .iter()
                .filter_map(|name| process.pipe_cycles.get(*name));
            own.map(|cycles| *cycles as f64).sum()
        };
        report.processes.iter().map(of).sum::<f64>()
    };
    let units = &gpu.sm.units;
    let alu_units = f64::from(units.sp.count + units.int.count + units.dp.count);
    let busy_ldst = sum(report, "sm.ldst_stalls.")
        + count(report, "sm.memory_instructions")
        + count(report, "sm.shared_instructions");
    Use {
        registers: held(&|process| process.register_cycles, gpu.sm.registers),
        shared: held(&|process| process.shared_byte_cycles, gpu.sm.shared_bytes),
        alu: pipes(&["sp", "int", "dp"]) / (cycles * alu_units),
        sfu: pipes(&["sfu"]) / (cycles * f64::from(units.sfu.count)),
        ldst: (busy_ldst / cycles).min(1.0),
        l2_mpki: l2_misses(report) * 1000.0 / count(report, "sm.warp_instructions"),
    }
}

/// Number of L2 misses.
pub(super) fn l2_misses(report: &RunReport) -> f64 {
    sum(report, "l2.accesses.miss.") + sum(report, "l2.accesses.sector_miss.")
}

/// Names and descriptions of the table's columns.
const COLUMNS: &[(&str, &str)] = &[
    ("benchmark", "The paper's name."),
    ("instructions", "Thread instructions in the time alone."),
    ("registers", "Share of registers in use."),
    ("shared", "Share of shared memory in use."),
    (
        "alu",
        "Share of the ALUs' cycles in which they accept an instruction.",
    ),
    (
        "sfu",
        "Share of the SFUs' cycles in which they accept an instruction.",
    ),
    (
        "ldst",
        "Share of cycles in which the load/store unit holds an instruction.",
    ),
    ("blocks", "Blocks of the longest launch."),
    ("threads", "Threads of a block of the longest launch."),
    ("l2_mpki", "L2 misses per thousand warp instructions."),
    ("type", "Memory from 30 such misses on, compute below."),
    (
        "profile",
        "A profile's length over the mean time of a launch.",
    ),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = all_alone(request, runs)?;
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let uses: Vec<Use> = reports.iter().map(|report| used(report, &gpu)).collect();
    let line = |((name, report), used): ((&&str, &std::sync::Arc<RunReport>), &Use)| {
        let kernel = report.kernels.iter().max_by_key(|k| k.figures.cycles);
        let blocks = kernel.map(|k| k.grid.0.iter().map(|n| u64::from(*n)).product());
        let threads = kernel.map(|k| k.block.0.iter().map(|n| u64::from(*n)).product());
        let mut cells = vec![
            Cell::from(*name),
            Cell::Count(report.processes[0].thread_instructions),
        ];
        cells.extend([used.registers, used.shared, used.alu, used.sfu, used.ldst].map(number));
        cells.extend([blocks, threads].map(|n| n.map_or(Cell::None, Cell::Count)));
        cells.push(number(used.l2_mpki));
        cells.push(Cell::from(kind(used)));
        cells.push(number(profile_share(request, report)));
        cells
    };
    let lost = |report: &Arc<RunReport>| {
        let [memory, _, execution, ..] = shares(report);
        memory + execution
    };
    let lost = BENCHMARKS
        .iter()
        .map(|name| (*name).to_owned())
        .zip(reports.iter().map(lost));
    let mut summary = BTreeMap::new();
    add_mean(
        &mut summary,
        "memory_and_execution.mean",
        Samples(lost.collect()).arithmetic(),
    );
    let rows = BENCHMARKS.iter().zip(&reports).zip(&uses).map(line);
    Some(Figure {
        table: Table {
            columns: columns(COLUMNS),
            rows: rows.collect(),
        },
        summary,
        charts: Vec::new(),
    })
}

fn kind(used: &Use) -> &'static str {
    if used.l2_mpki >= MEMORY_MPKI {
        "memory"
    } else {
        "compute"
    }
}

/// A profile's length over the mean time of a launch.
fn profile_share(request: &Request, report: &RunReport) -> f64 {
    let launches = report.kernels.len().max(1) as f64;
    let mean = report.totals.figures.cycles as f64 / launches;
    times(request.scale).profile as f64 / mean
}
