//! Fig. 7: resources that pairs use (a), their cache misses (b) and stalls (c).

use super::fig1::{CAUSES, shares};
use super::table2::l2_misses;
use super::{
    COMPUTE_CACHE, EVEN, GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, SPATIAL, Setting, columns,
    count, number, pairs, scale_note, study, sum,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::verdict::Judged;
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
const RESOURCES: [&str; 4] = ["alu", "sfu", "registers", "shared memory"];

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

/// Mean of a ratio over pairs.
fn mean(rows: &[&Vec<Mixed>], of: impl Fn(&Vec<Mixed>) -> f64) -> f64 {
    let values: Vec<f64> = rows
        .iter()
        .map(|row| of(row))
        .filter(|v| v.is_finite())
        .collect();
    values.iter().sum::<f64>() / values.len() as f64
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
    let all: Vec<&Vec<Mixed>> = rows.iter().collect();
    let cached = groups.iter().zip(&rows);
    let cached = cached.filter(|(group, _)| group.category == COMPUTE_CACHE);
    let cached: Vec<&Vec<Mixed>> = cached.map(|(_, row)| row).collect();
    let note = scale_note(request);
    let claims = [resources(&all), caches(&cached), stalls(&all)];
    Some(Figure {
        table: Table {
            columns: columns(COLUMNS),
            rows: groups.iter().zip(&rows).flat_map(lines).collect(),
        },
        summary: BTreeMap::new(),
        claims: claims.map(|c| c.verdict(note.clone())).to_vec(),
        charts: Vec::new(),
    })
}

/// Judges the gains in use of each resource over even.
fn resources(all: &[&Vec<Mixed>]) -> Judged {
    let gain = |at: usize| {
        let of = |row: &Vec<Mixed>| uses(&row[3].report)[at] / uses(&row[2].report)[at];
        (mean(all, of) - 1.0) * 100.0
    };
    let gains: Vec<f64> = (0..RESOURCES.len()).map(gain).collect();
    let finite = gains.iter().copied().filter(|gain| gain.is_finite());
    let least = finite.fold(f64::INFINITY, f64::min);
    let judged = Judged::new("slicer.resources").value("the least of them", least);
    RESOURCES
        .iter()
        .zip(&gains)
        .fold(judged, |judged, (name, gain)| {
            let measured = format!("{gain:.1}%");
            judged.states(&format!("{name}: more than 15%"), *gain > 15.0, measured)
        })
}

/// Judges misses of L1D and accesses of L2 of pairs with a cache-sensitive program.
fn caches(cached: &[&Vec<Mixed>]) -> Judged {
    let miss = |at: usize| {
        let of = |report: &RunReport| l1_misses(report) / accesses(report, "l1d") * 100.0;
        mean(cached, |row| of(&row[at].report))
    };
    let l2 = mean(cached, |row| {
        (accesses(&row[3].report, "l2") / accesses(&row[0].report, "l2") - 1.0) * 100.0
    });
    let below_even = miss(2) - miss(3);
    let below_left_over = miss(0) - miss(3);
    Judged::new("slicer.caches")
        .also(
            "L1 miss rate below even, points",
            "percent",
            2.0,
            below_even,
        )
        .also(
            "L1 miss rate below left-over, points",
            "percent",
            17.0,
            below_left_over,
        )
        .also(
            "change of L2 accesses against left-over",
            "percent",
            -43.0,
            l2,
        )
}

/// Judges stall cycles against those under left-over.
fn stalls(all: &[&Vec<Mixed>]) -> Judged {
    let fewer = mean(all, |row| {
        (1.0 - stalled(&row[3].report) / stalled(&row[0].report)) * 100.0
    });
    Judged::new("slicer.stalls").value("fewer stall cycles than left-over", fewer)
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
