//! Fig. 7: resources that pairs use (a), their cache misses (b) and stalls (c).

use super::fig1::{CAUSES, shares};
use super::table2::l2_misses;
use super::{
    COMPUTE_CACHE, EVEN, GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, SPATIAL, Setting, add_mean,
    columns, count, number, pairs, study, sum,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::samples::Samples;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::{ProcessReport, RunReport};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig7",
    title: "Utilisation, cache misses and stalls of pairs under each policy",
    make,
};

const POLICIES: [&str; 4] = [LEFT_OVER, SPATIAL, EVEN, SLICER];

/// Uses per core cycle of the run: cycles of ALUs' and SFUs' intake, and registers and bytes of
/// shared memory that blocks hold. Only ratios between runs of one pair are meaningful.
fn uses(report: &RunReport) -> [f64; 4] {
    let cycles = count(report, "gpu.cycles");
    let sum = |of: &dyn Fn(&ProcessReport) -> u64| {
        report.processes.iter().map(of).sum::<u64>() as f64 / cycles
    };
    let pipes = |names: &'static [&'static str]| {
        move |process: &ProcessReport| -> u64 {
            names
                .iter()
                .filter_map(|name| process.pipe_cycles.get(*name))
                .sum()
        }
    };
    [
        sum(&pipes(&["sp", "int", "dp"])),
        sum(&pipes(&["sfu"])),
        sum(&|process| process.register_cycles),
        sum(&|process| process.shared_byte_cycles),
    ]
}

fn l1_misses(report: &RunReport) -> f64 {
    sum(report, "l1d.accesses.miss.") + sum(report, "l1d.accesses.sector_miss.")
}

fn accesses(report: &RunReport, cache: &str) -> f64 {
    let outcome = |name: &str| sum(report, &format!("{cache}.accesses.{name}."));
    ["hit", "hit_reserved", "miss", "sector_miss"]
        .into_iter()
        .map(outcome)
        .sum()
}

/// Scheduler cycles without an issue in which the SM held warps.
fn stalled(report: &RunReport) -> f64 {
    let slots = sum(report, "sm.slots.");
    slots - count(report, "sm.slots.issued") - count(report, "sm.slots.no_warp")
}

/// Names and descriptions of the table's columns.
const COLUMNS: &[(&str, &str)] = &[
    ("pair", "The paper's names."),
    ("policy", "How kernels share the SMs."),
    ("alu", "(a) Use of the ALUs over that under even."),
    ("sfu", "(a) Use of the SFUs over that under even."),
    (
        "registers",
        "(a) Registers that blocks hold over those under even.",
    ),
    (
        "shared",
        "(a) Shared memory that blocks hold over that under even.",
    ),
    ("l1_miss_rate", "(b) Misses of L1D over accesses."),
    ("l2_miss_rate", "(b) Misses of L2 over accesses."),
    (
        "stalls",
        "(c) Scheduler cycles without an instruction while warps are there, over left-over's.",
    ),
    (
        "memory",
        "(c) Share of scheduler cycles that wait for memory.",
    ),
    (
        "raw",
        "(c) Share of scheduler cycles that wait for results of function units.",
    ),
    (
        "execution",
        "(c) Share of scheduler cycles that wait for function units.",
    ),
    (
        "ibuffer",
        "(c) Share of scheduler cycles that wait for instructions.",
    ),
    ("other", "(c) The rest."),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let rows = study(request, runs, GPU, &groups, &POLICIES.map(Setting::policy))?;
    let cached = groups.iter().zip(&rows);
    let cached = cached.filter(|(group, _)| group.category == COMPUTE_CACHE);
    let accesses = cached.map(|(group, row)| {
        let of = |at: usize| accesses(&row[at].report, "l2");
        (group.name(), of(3) / of(0))
    });
    let accesses = Samples(accesses.collect()).geometric();
    let mut summary = BTreeMap::new();
    add_mean(
        &mut summary,
        &format!("{COMPUTE_CACHE}.l2_accesses"),
        accesses,
    );
    Some(Figure {
        table: Table {
            columns: columns(COLUMNS),
            rows: groups.iter().zip(&rows).flat_map(lines).collect(),
        },
        summary,
        charts: Vec::new(),
    })
}

/// Lines of the table for a pair, one per policy.
fn lines((group, row): (&Group, &Vec<Mixed>)) -> Vec<Vec<Cell>> {
    let line = |(policy, mixed): (&&str, &Mixed)| {
        let report = &mixed.report;
        let base = uses(&row[2].report);
        let mut cells = vec![Cell::Text(group.name()), Cell::from(*policy)];
        let own = uses(report).into_iter().zip(base);
        cells.extend(own.map(|(own, base)| number(own / base)));
        cells.push(number(l1_misses(report) / accesses(report, "l1d")));
        cells.push(number(l2_misses(report) / accesses(report, "l2")));
        cells.push(number(stalled(report) / stalled(&row[0].report)));
        cells.extend(shares(report)[..CAUSES.len()].iter().map(|s| number(*s)));
        cells
    };
    POLICIES.iter().zip(row).map(line).collect()
}
