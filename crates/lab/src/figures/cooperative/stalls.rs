//! Stalls of DRAM and network over cycles, with which section 6 explains which benchmarks the
//! throttle helps.
//!
//! The ratio is that of Algorithm 2, over the whole run without the throttle: cycles in which a
//! memory partition could not accept a request, plus those in which a reply could not leave one,
//! over core cycles. Each partition counts separately, so the ratio may exceed 1.

use super::{GRID, LITERAL, PAPER, WORKLOADS, count, reports};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Grid;
use crate::runs::Runs;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "stalls",
    title: "Stalls of DRAM and network over cycles, and what the throttle gains",
    make,
};

struct Row {
    name: &'static str,
    dram_full: f64,
    replies: f64,
    /// IPC with the throttle over that without.
    gain: f64,
    steps: [u64; 2],
    /// IPC with Algorithm 2 as printed over IPC without the throttle.
    literal_gain: f64,
    /// Steps of the listing as printed: all of them take an SM away.
    literal_steps: u64,
    reorderings: u64,
}

impl Row {
    fn new(name: &'static str, runs: &[Arc<RunReport>], literal: &RunReport) -> Self {
        let [_, _, alone, both] = runs else {
            panic!("{name}: a run of each configuration");
        };
        let cycles = alone.totals.figures.cycles as f64;
        let ratio = |counter| count(alone, counter) as f64 / cycles;
        Self {
            name,
            dram_full: ratio("gpu.dram_full_stalls"),
            replies: ratio("gpu.reply_stalls"),
            gain: both.totals.figures.ipc / alone.totals.figures.ipc,
            steps: ["sm_filter.steps_down", "sm_filter.steps_up"].map(|name| count(both, name)),
            literal_gain: literal.totals.figures.ipc / alone.totals.figures.ipc,
            literal_steps: count(literal, "sm_filter.steps_down"),
            reorderings: count(alone, "warp_policy.reorderings"),
        }
    }

    fn stalls(&self) -> f64 {
        self.dram_full + self.replies
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::from(self.name),
            Cell::Number(self.dram_full),
            Cell::Number(self.replies),
            Cell::Number(self.stalls()),
            Cell::Number(self.gain),
            Cell::Count(self.steps[0]),
            Cell::Count(self.steps[1]),
            Cell::Number(self.literal_gain),
            Cell::Count(self.literal_steps),
            Cell::Count(self.reorderings),
        ]
    }
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = reports(request, runs)?;
    let literal = Grid {
        configs: &[LITERAL],
        ..GRID
    };
    let literal = runs.all(&literal.runs(request))?;
    let rows = WORKLOADS.iter().zip(&reports).zip(&literal);
    let rows: Vec<_> = rows
        .map(|((workload, runs), literal)| Row::new(workload.name, runs, literal))
        .collect();
    Some(Figure {
        table: Table {
            columns: columns(),
            rows: rows.iter().map(Row::cells).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![chart(&rows)],
    })
}

fn columns() -> Vec<Column> {
    [
        ("workload", "The paper's name."),
        (
            "dram_full_stalls.per_cycle",
            "Cycles in which a partition could not accept a request, over core cycles, with \
             long-latency-first alone.",
        ),
        (
            "reply_stalls.per_cycle",
            "Cycles in which a reply could not leave a partition, over core cycles.",
        ),
        (
            "stalls.per_cycle",
            "Sum of both: the contention of Algorithm 2 over the whole run.",
        ),
        (
            "throttle.gain",
            "IPC with contention-throttle over that without.",
        ),
        (
            "throttle.steps_down",
            "Number of times that the throttle barred an SM.",
        ),
        (
            "throttle.steps_up",
            "Number of times that the throttle admitted an SM again.",
        ),
        (
            "literal.gain",
            "IPC with the listing of Algorithm 2 as printed over that without the throttle.",
        ),
        (
            "literal.steps_down",
            "Number of times that the listing as printed barred an SM; it never admits one again.",
        ),
        (
            "reorderings",
            "Issues in which long-latency-first put a warp before an older one that could issue.",
        ),
    ]
    .map(|(name, about)| Column::new(name, about))
    .to_vec()
}

fn chart(rows: &[Row]) -> Chart {
    let series = |name: &str, value: fn(&Row) -> f64| BarSeries {
        name: name.to_owned(),
        values: rows.iter().map(|row| Some(value(row))).collect(),
    };
    Chart::Bars(BarChart {
        title: "Stalls with long-latency-first".to_owned(),
        axis: Axis {
            label: "stalls per core cycle".to_owned(),
            ..Axis::default()
        },
        groups: rows.iter().map(|row| row.name.to_owned()).collect(),
        series: vec![
            series("DRAM full", |row| row.dram_full),
            series("replies to SMs", |row| row.replies),
        ],
        marks: Vec::new(),
    })
}
