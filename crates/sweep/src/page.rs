//! The page of a sweep: a map of two axes, the rows of a small sweep, and the runs without a
//! result.

mod axes;
mod cells;
mod charts;
mod notes;
mod overview;
mod title;

pub use axes::{AxisValues, typed};

use crate::collect::{Collector, Row};
use crate::folder::Folder;
use crate::plan::Sweep;
use cells::{Cells, Place};
use charts::Pictures;
use notes::Doubts;
use std::collections::{BTreeMap, BTreeSet};
use warploom_report::page::{Cell, Column, FailureLine, Page, Table};
use warploom_report::{CausesOf, Chart, ColumnType, causes_charts};

/// Most runs whose rows are on the page. Larger sweeps have the cells of the map there.
const MOST_ROWS: usize = 500;

/// Most failures that the page names.
const MOST_FAILURES: usize = 100;

/// State of a run that was stopped at a limit of cycles.
const CUT: &str = "cut";

/// State of a run of which a part of the launches was timed.
const SAMPLED: &str = "sampled";

/// State of a run that was stopped after a number of launches.
const STOPPED: &str = "stopped";

/// Builder of the page, to which the rows are given one after the other.
pub struct PageBuilder<'a> {
    sweep: &'a Sweep,
    name: String,
    columns: Vec<Column>,
    types: Vec<ColumnType>,
    axes: AxisValues,
    map: [Option<usize>; 2],
    /// Axes with a picture for each of their values.
    panels: Vec<usize>,
    metric: Option<usize>,
    cells: Cells,
    rows: Vec<Vec<Cell>>,
    failures: Vec<FailureLine>,
    counts: BTreeMap<&'static str, u64>,
    /// Names of the runs' machines.
    machines: BTreeSet<String>,
    /// Cycles at which runs were cut.
    limits: BTreeSet<u64>,
    doubts: Doubts,
    causes: Vec<Causes>,
}

/// The schedulers' cycles of a run.
struct Causes {
    /// Name of the run.
    name: String,
    /// Shares of the cycles by cause.
    shares: BTreeMap<String, f64>,
    /// Speedup over the baseline, if there is one.
    speedup: Option<f64>,
    holds_at_no_cost: bool,
}

impl<'a> PageBuilder<'a> {
    /// Begins the page of a sweep.
    pub fn new(
        folder: &Folder,
        sweep: &'a Sweep,
        axes: AxisValues,
        collector: &Collector<'_>,
    ) -> Self {
        let columns = collector.columns();
        let metric = metric(sweep);
        let map = axes.chosen(sweep);
        Self {
            sweep,
            name: folder.name(),
            panels: axes.panels(sweep, map),
            map,
            metric: columns.iter().position(|column| column.name == metric),
            types: axes.types(),
            axes,
            columns,
            cells: Cells::new(metric == "speedup"),
            rows: Vec::new(),
            failures: Vec::new(),
            counts: BTreeMap::new(),
            machines: BTreeSet::new(),
            limits: BTreeSet::new(),
            doubts: Doubts::default(),
            causes: Vec::new(),
        }
    }

    /// Adds a run to the page.
    pub fn add(&mut self, row: &Row) {
        *self.counts.entry(row.status).or_default() += 1;
        self.machines.insert(row.machine.clone());
        if row.status == CUT {
            let at = self.sweep.axes.iter().position(|axis| axis == "max_cycles");
            let limit = at.and_then(|at| row.values[at].parse::<u64>().ok());
            self.limits.extend(limit);
        }
        if self.sweep.runs <= MOST_ROWS {
            let values = row.values.iter().zip(&self.types).zip(&self.sweep.axes);
            let values = values.map(|((value, kind), axis)| match kind {
                ColumnType::Text => typed(&self.axes.label(self.sweep, axis, value), *kind),
                _ => typed(value, *kind),
            });
            let first = [Cell::from(row.name.as_str())].into_iter().chain(values);
            let status = [Cell::from(row.status)];
            self.rows.push(
                first
                    .chain(status)
                    .chain(row.cells.iter().cloned())
                    .collect(),
            );
        }
        if row.is_failure() && self.failures.len() < MOST_FAILURES {
            self.failures.push(FailureLine {
                name: row.name.clone(),
                status: row.status.to_owned(),
                reason: row.reason.clone(),
                command: row.command.clone(),
            });
        }
        if let Some(facts) = &row.facts {
            self.doubts.add(self.sweep, &self.axes, row, facts);
            if self.sweep.runs <= MOST_ROWS {
                let speedup = self.columns.iter().position(|own| own.name == "speedup");
                let speedup = speedup.and_then(|at| row.cells[at].number());
                self.causes.push(Causes {
                    name: row.name.clone(),
                    shares: facts.causes.clone(),
                    speedup,
                    holds_at_no_cost: row.holds_at_no_cost,
                });
            }
        }
        let metric = self.metric.and_then(|at| row.cells[at].number());
        if let Some(value) = metric {
            let of = |at: Option<usize>| at.map_or("", |at| row.values[at].as_str()).to_owned();
            let panel = self.panels.iter().map(|at| row.values[*at].clone());
            let place = Place {
                panel: panel.collect(),
                row: of(self.map[0]),
                column: of(self.map[1]),
            };
            self.cells.add(place, value);
        }
    }

    /// True if the mean of the metric is geometric.
    fn is_ratio(&self) -> bool {
        metric(self.sweep) == "speedup"
    }

    /// The page of all runs that were added, and the means of its bars in few lines of text, which
    /// is empty if it has none.
    pub fn finish(self) -> (Page, String) {
        let title = self.title();
        let pictures = self.pictures(&title);
        let overview = self.overview(&pictures);
        let counts = self.counts.iter();
        let counts =
            counts.map(|(status, number)| (format!("runs.{status}"), Cell::Count(*number)));
        let summary = counts.chain(self.figures(&pictures)).collect();
        let page = Page {
            paper: "sweep".to_owned(),
            figure: self.name.clone(),
            scale: String::new(),
            version: self.sweep.version.clone(),
            command: self.sweep.command.clone(),
            summary,
            verdicts: Vec::new(),
            table: self.table(&pictures),
            further_charts: self.causes(),
            configurations: Vec::new(),
            presets: BTreeMap::new(),
            runs: Vec::new(),
            explanation: Vec::new(),
            notes: self.notes(),
            charts: pictures.charts(),
            title,
            failures: self.failures,
        };
        (page, overview)
    }

    /// Charts of the schedulers' cycles of the runs by cause, if they are few.
    fn causes(&self) -> Vec<Chart> {
        let runs = self.causes.iter();
        let runs = runs.map(|run| CausesOf {
            name: &run.name,
            causes: &run.shares,
            time: run.speedup.map(|speedup| 1.0 / speedup),
            holds_at_no_cost: run.holds_at_no_cost,
        });
        causes_charts(&runs.collect::<Vec<_>>())
    }

    /// The rows of a small sweep, with the metric and what bound the run before all other
    /// measurements, or the cells of the pictures.
    fn table(&self, pictures: &Pictures) -> Table {
        if self.sweep.runs <= MOST_ROWS {
            let axes = self
                .sweep
                .axes
                .iter()
                .map(|axis| Column::new(axis, "Value of the axis."));
            let first = [Column::new("run", "Name of the run.")]
                .into_iter()
                .chain(axes);
            let about =
                "`finished`, `sampled`, `cut`, `stopped`, `missing`, or the kind of failure.";
            let columns: Vec<_> = first.chain([Column::new("status", about)]).collect();
            let fixed = columns.len();
            let columns: Vec<_> = columns
                .into_iter()
                .chain(self.columns.iter().cloned())
                .collect();
            // What bound a run stands where one sees it without scrolling, after the metric.
            let bound = self
                .columns
                .iter()
                .position(|column| column.name == "bound");
            let leads: Vec<usize> = self.metric.into_iter().chain(bound).collect();
            let others = (0..self.columns.len()).filter(|at| !leads.contains(at));
            let order = leads.iter().copied().chain(others).map(|at| fixed + at);
            let order: Vec<usize> = (0..fixed).chain(order).collect();
            return Table {
                columns: order.iter().map(|at| columns[*at].clone()).collect(),
                rows: self
                    .rows
                    .iter()
                    .map(|row| order.iter().map(|at| row[*at].clone()).collect())
                    .collect(),
            };
        }
        let panels = self.panels.iter().map(|at| self.sweep.axes[*at].as_str());
        pictures.table(&panels.collect::<Vec<_>>())
    }
}

/// Name of the column that the map shows.
fn metric(sweep: &Sweep) -> &str {
    match &sweep.report.metric {
        Some(metric) => metric,
        None if sweep.report.baseline.is_empty() => "ipc",
        None => "speedup",
    }
}
