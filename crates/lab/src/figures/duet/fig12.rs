//! Fig. 12: speedup over fixed numbers of extra blocks (ME), and with the monitor's.
//!
//! Where L1D holds contexts, the baseline of the speedup goes past L1D too, as in section 7.1.

use super::{
    Config, DUET, FIFTEEN, MAX_CYCLES, PAPER, PLAIN, UNDERUTILISED, UNSATURATED, bars, column,
    count, extra_blocks, grid, note, row, unsaturated_mean,
};
use crate::compare::speedup;
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table, Verdict};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig12",
    title: "Speedup of GPUDuet over the number of extra blocks",
    make,
};

/// Numbers of extra blocks; each ends at a benchmark's bound.
const FIXED: [Config; 6] = [
    ("me1", &["sm.context=duet", "duet.extra_blocks=1"]),
    ("me2", &["sm.context=duet", "duet.extra_blocks=2"]),
    ("me3", &["sm.context=duet", "duet.extra_blocks=3"]),
    ("me4", &["sm.context=duet", "duet.extra_blocks=4"]),
    ("me6", &["sm.context=duet", "duet.extra_blocks=6"]),
    ("me8", &["sm.context=duet", "duet.extra_blocks=8"]),
];
const BYPASS: Config = ("no-l1d", &["l1d.enabled=false"]);

/// Those of a scale: tests take one.
fn fixed(request: &Request) -> &'static [Config] {
    match request.scale {
        Scale::Test => &FIXED[..1],
        Scale::Small | Scale::Paper => &FIXED,
    }
}

/// Speedups of a benchmark: by fixed number, then monitored.
struct Row {
    name: &'static str,
    bound: u64,
    bypassed: bool,
    speedups: Vec<f64>,
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let mut configs = vec![PLAIN, BYPASS];
    let fixed = fixed(request);
    configs.extend(fixed);
    configs.push(DUET);
    let reports = grid(request, runs, &FIFTEEN, &configs)?;
    let rows: Vec<_> = FIFTEEN
        .iter()
        .zip(&reports)
        .map(|(workload, reports)| measured(workload.name, reports))
        .collect();
    let monitored: Vec<_> = rows.iter().map(|row| row.speedups[fixed.len()]).collect();
    let bypass = speedup(&reports[2][1], &reports[2][0]);
    let summary = [
        ("geometric_mean", unsaturated_mean(&monitored)),
        ("best", monitored.iter().copied().fold(0.0, f64::max)),
    ];
    let mut columns = vec![
        column("workload", "The paper's name."),
        column("bound", "Most extra blocks that have room."),
        column(
            "bypassed",
            "Contexts lie in L1D; the baseline goes past it too.",
        ),
    ];
    let about = "Speedup with so many extra blocks, as far as they have room.";
    columns.extend(fixed.iter().map(|(name, _)| column(name, about)));
    columns.push(Column::new("dynamic", "Speedup with the monitor's number."));
    let cells = |of: &Row| {
        let mut cells = vec![
            Cell::from(of.name),
            Cell::Count(of.bound),
            Cell::from(if of.bypassed { "yes" } else { "no" }),
        ];
        cells.extend(row("", of.speedups.iter().copied()).into_iter().skip(1));
        cells
    };
    let series = (0..=fixed.len()).map(|at| {
        let name = fixed.get(at).map_or("dynamic", |(name, _)| *name);
        (name, rows.iter().map(|row| row.speedups[at]).collect())
    });
    Some(Figure {
        table: Table {
            columns,
            rows: rows.iter().map(cells).collect(),
        },
        summary: BTreeMap::from(summary.map(|(name, of)| (name.to_owned(), Cell::Number(of)))),
        claims: claims(request, &rows, &monitored, bypass),
        charts: vec![bars("GPUDuet", "speedup", &FIFTEEN, series.collect())],
    })
}

fn measured(name: &'static str, reports: &[Arc<RunReport>]) -> Row {
    let (plain, bypass, duets) = (&reports[0], &reports[1], &reports[2..]);
    let bypassed = |report: &RunReport| count(report, "context.l1d_taken") > 0;
    let base = |report: &RunReport| if bypassed(report) { bypass } else { plain };
    Row {
        name,
        bound: duets.last().map_or(0, |duet| extra_blocks(duet)),
        bypassed: duets.iter().any(|report| bypassed(report)),
        speedups: duets.iter().map(|duet| speedup(duet, base(duet))).collect(),
    }
}

fn claims(request: &Request, rows: &[Row], monitored: &[f64], bypass: f64) -> Vec<Verdict> {
    let note = note(request);
    let best = monitored.iter().copied().fold(0.0, f64::max);
    let gain = |name: &str| {
        let at = rows.iter().position(|row| row.name == name);
        at.map_or(1.0, |at| monitored[at])
    };
    let of = |names: &[&str], low: f64, high: f64| {
        let shown: Vec<_> = names
            .iter()
            .map(|n| format!("{n} {:.3}", gain(n)))
            .collect();
        let within = |name: &&str| (low - 0.05..=high + 0.05).contains(&gain(name));
        (names.iter().all(within), shown.join(", "))
    };
    let under: Vec<_> = rows[..UNDERUTILISED].iter().map(|row| row.name).collect();
    let (under_holds, under_shown) = of(&under, 1.23, 1.47);
    let (moderate_holds, moderate_shown) = of(&["MMS", "CONV", "MM", "ST"], 1.07, 1.25);
    let fixed = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(&[][..], |row| &row.speedups[..row.speedups.len() - 1])
    };
    let most = |name: &str| fixed(name).iter().copied().fold(0.0, f64::max);
    let least = |name: &str| fixed(name).iter().copied().fold(f64::MAX, f64::min);
    let mm = fixed("MM");
    let peak = (0..mm.len()).max_by(|a, b| mm[*a].total_cmp(&mm[*b]));
    let peak = peak.map_or("", |at| FIXED[at].0);
    let range = Judged::new("duet.speedup.underutilised.range")
        .states(
            "underused ones gain 23% to 47% (within 5 points)",
            under_holds,
            under_shown,
        )
        .states(
            "moderate ones gain 7% to 25% (within 5 points)",
            moderate_holds,
            moderate_shown,
        )
        .states(
            "SPMV only loses",
            most("SPMV") <= 1.005,
            format!("{:.3}", most("SPMV")),
        )
        .states("MM peaks at ME=3", peak == "me3", peak.to_owned())
        .also("KM at worst", "speedup", 0.74, least("KM"));
    let points = (1.0 - bypass) * 100.0;
    vec![
        Judged::new("duet.speedup.max")
            .value("best, monitored", best)
            .verdict(note.as_str()),
        Judged::new("duet.speedup.gmean")
            .value(
                &format!("the {UNSATURATED} unsaturated ones, monitored"),
                unsaturated_mean(monitored),
            )
            .verdict(note.as_str()),
        range.verdict(note.as_str()),
        Judged::new("duet.dwt2.bypass")
            .value("percent that DWT_2 loses without L1D", points)
            .verdict(format!(
                "{note} L1D is off, for local memory too; cut at {MAX_CYCLES}."
            )),
    ]
}
