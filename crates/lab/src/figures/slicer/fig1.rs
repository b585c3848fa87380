//! Fig. 1: scheduler cycles without an issue, by cause.

use super::{BENCHMARKS, PAPER, all_alone, bars, columns, number};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig1",
    title: "Scheduler cycles without an instruction, by cause, of each benchmark alone",
    make,
};

/// Our counters of waiting for memory or its pipe: what phi_mem counts, too.
pub(super) const MEMORY: [&str; 2] = ["memory_dependence", "memory_pipe"];

/// The figure's causes, with our counters of each: waiting for memory or its pipe, for a short
/// result, for a function unit, for an instruction, and the rest.
pub(super) const CAUSES: [(&str, &[&str]); 5] = [
    ("memory", &MEMORY),
    ("raw", &["execution_dependence"]),
    ("execution", &["execution_pipe"]),
    ("ibuffer", &["instruction_buffer"]),
    ("other", &["no_warp", "barrier", "policy"]),
];

/// Share of scheduler cycles of each cause.
pub(super) fn shares(report: &RunReport) -> [f64; 5] {
    let stalls = &report.totals.figures.stalls;
    let share = |cause: &&str| stalls.get(*cause).copied().unwrap_or(0.0);
    CAUSES.map(|(_, ours)| ours.iter().map(share).sum())
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = all_alone(request, runs)?;
    let rows: Vec<[f64; 5]> = reports.iter().map(|report| shares(report)).collect();
    let line = |(name, row): (&&str, &[f64; 5])| {
        let name = std::iter::once(Cell::from(*name));
        name.chain(row.map(number)).collect()
    };
    let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64;
    let series = (0..CAUSES.len()).map(|at| {
        let values = rows.iter().map(|row| row[at]).collect();
        (CAUSES[at].0.to_owned(), values)
    });
    let mut summary = BTreeMap::new();
    summary.insert(
        "memory_and_execution.mean".to_owned(),
        number(mean(0) + mean(2)),
    );
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("benchmark", "The paper's name."),
                (
                    "memory",
                    "Warps wait for memory, or the load/store pipe is full: share of scheduler cycles.",
                ),
                ("raw", "Warps wait for results of function units: share."),
                ("execution", "Function units' pipes are full: share."),
                ("ibuffer", "No decoded instruction: share."),
                ("other", "No warp, barriers and fences: share."),
            ]),
            rows: BENCHMARKS.iter().zip(&rows).map(line).collect(),
        },
        summary,
        charts: vec![bars(
            "Stalls",
            "share of scheduler cycles",
            BENCHMARKS.map(str::to_owned).to_vec(),
            series.collect(),
        )],
    })
}
