//! Table II: what each benchmark uses alone.

use super::fig1::shares;
use super::{BENCHMARKS, GPU, PAPER, all_alone, columns, count, number, scale_note, sum, times};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_config::{GpuSpec, preset};
use warploom_report::page::{Cell, Table};
use warploom_stats::result::{ProcessReport, RunReport};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table2",
    title: "Instructions, utilisation and types of each benchmark alone",
    make,
};

/// The table's L2 misses per thousand warp instructions from which a benchmark is of type memory.
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

/// What a run used, on average over SMs and cycles.
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

/// Misses of L2.
pub(super) fn l2_misses(report: &RunReport) -> f64 {
    sum(report, "l2.accesses.miss.") + sum(report, "l2.accesses.sector_miss.")
}

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
    let mean = |of: fn(&Use) -> f64| uses.iter().map(of).sum::<f64>() / uses.len() as f64 * 100.0;
    let lost: f64 = reports.iter().map(|r| shares(r)).map(|s| s[0] + s[2]).sum();
    let utilisation = Judged::new("slicer.utilisation")
        .also("registers", "percent", 70.0, mean(|u| u.registers))
        .also("shared memory", "percent", 6.0, mean(|u| u.shared))
        .also("ALU", "percent", 31.0, mean(|u| u.alu))
        .also("SFU", "percent", 11.0, mean(|u| u.sfu))
        .also("LD/ST", "percent", 49.0, mean(|u| u.ldst))
        .also(
            "stalls of memory and execution",
            "percent",
            40.0,
            lost / reports.len() as f64 * 100.0,
        );
    let mut types = Judged::new("slicer.types");
    for (name, used) in BENCHMARKS.iter().zip(&uses) {
        let memory = super::MEMORY.contains(name);
        // MVP and NN are told by their L1 misses, whatever their L2 does.
        if !super::CACHE.contains(name) {
            let paper = if memory { "memory" } else { "compute" };
            let ours = format!("{:.1} misses a thousand", used.l2_mpki);
            types = types.states(&format!("{name} is {paper}"), kind(used) == paper, ours);
        }
    }
    let shares = reports.iter().map(|report| profile_share(request, report));
    let shares: Vec<f64> = shares.filter(|share| share.is_finite()).collect();
    let most = shares.iter().copied().fold(0.0, f64::max) * 100.0;
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min) * 100.0;
    let cost = Judged::new("slicer.profile_cost").states(
        "profiling takes at most 6% of a kernel's time",
        most <= 6.0,
        format!("{least:.2}% to {most:.2}%"),
    );
    let note = scale_note(request);
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("benchmark", "The paper's name."),
                ("instructions", "Thread instructions in the time alone."),
                ("registers", "Registers in use, of all."),
                ("shared", "Shared memory in use, of all."),
                ("alu", "Cycles of intake of the ALUs in use, of all."),
                ("sfu", "The same of the SFUs."),
                (
                    "ldst",
                    "Cycles in which the load/store unit holds an instruction, of all.",
                ),
                ("blocks", "Blocks of the longest launch."),
                ("threads", "Threads of its blocks."),
                ("l2_mpki", "L2 misses per thousand warp instructions."),
                ("type", "memory from 30 of them on, compute below."),
                (
                    "profile",
                    "A profile's length over the mean time of a launch.",
                ),
            ]),
            rows: BENCHMARKS
                .iter()
                .zip(&reports)
                .zip(&uses)
                .map(line)
                .collect(),
        },
        summary: BTreeMap::new(),
        claims: [utilisation, types, cost]
            .map(|c| c.verdict(note.clone()))
            .to_vec(),
        charts: Vec::new(),
    })
}

fn kind(used: &Use) -> &'static str {
    match used.l2_mpki >= MEMORY_MPKI {
        true => "memory",
        false => "compute",
    }
}

/// A profile's length over the mean time of a launch.
fn profile_share(request: &Request, report: &RunReport) -> f64 {
    let launches = report.kernels.len().max(1) as f64;
    let mean = report.totals.figures.cycles as f64 / launches;
    times(request.scale).profile as f64 / mean
}
