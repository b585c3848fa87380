//! Collection of a sweep's runs, one after the other, in the order of the plan.

use crate::expand::Settings;
use crate::folder::{Folder, FolderError};
use crate::plan::{Plan, PlannedRun, Sweep};
use crate::record::{Cost, Facts, Record, Summary, failure};
use std::collections::HashMap;
use warploom_report::page::{Cell, Column};
use warploom_report::{ColumnType, OF_RUN, REACHED, holds_at_no_cost, reached_cells};
use warploom_stats::result::Launches;
use warploom_stats::sampling::Interval;

/// A run of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the run.
    pub name: String,
    /// Values of the axes.
    pub values: Vec<String>,
    /// State of the run: `finished`, `sampled`, `cut`, `stopped`, `missing`, or the kind of its
    /// failure.
    pub status: &'static str,
    /// Measured values in the order of [`Collector::columns`]; [`Cell::None`] without a result.
    pub cells: Vec<Cell>,
    /// Reason of a failure.
    pub reason: String,
    /// Key of the run.
    pub key: String,
    /// Time and place of the run, if it has ended.
    pub cost: Option<Cost>,
    /// Command that makes the run alone.
    pub command: String,
    /// Name of the machine for titles.
    pub machine: String,
    /// Launches that the program makes, as far as that is known.
    pub launches: Launches,
    /// Digest of a finished run.
    pub digest: Option<String>,
    /// True if the run finished and nothing compared its outputs.
    pub is_unchecked: bool,
    /// True if the policy holds ready warps back, and the run is no slower than another one of the
    /// sweep that differs only in the warp scheduler.
    pub holds_at_no_cost: bool,
    /// Bound and progress of the run, if it has a result.
    pub facts: Option<Facts>,
}

impl Row {
    /// True if the run ended without a result.
    pub fn is_failure(&self) -> bool {
        !matches!(
            self.status,
            "finished" | "sampled" | "cut" | "stopped" | "missing"
        )
    }
}

/// Columns of every finished run, with what they are.
pub const MEASURED: [(&str, &str); 11] = [
    ("cycles", "Core cycles."),
    ("ipc", "Thread instructions per core cycle."),
    (
        "warp_instructions",
        "Warp instructions of all timed launches.",
    ),
    (
        "thread_instructions",
        "Thread instructions of all timed launches.",
    ),
    OF_RUN[0],
    OF_RUN[1],
    OF_RUN[2],
    OF_RUN[3],
    OF_RUN[4],
    OF_RUN[5],
    ("launches", "Number of timed launches."),
];

/// Columns of [`MEASURED`] that are no numbers.
pub const TEXTS: [&str; 2] = ["limit", "bound"];

const SPEEDUP: (&str, &str) = (
    "speedup",
    "Speed over that of the baseline with the same values of all other axes: ratio of cycles of runs \
     that did the same work, of IPC where one is cut.",
);

/// Columns of sampled runs, with what they are.
const MARGINS: [(&str, &str); 2] = [
    (
        "cycles.margin",
        "Half of the width of the interval in which the cycles of a full run lie, at 95% confidence; \
         none where all launches were timed.",
    ),
    (
        "ipc.margin",
        "Half of the width of the interval of the IPC.",
    ),
];

const SPEEDUP_MARGIN: (&str, &str) = (
    "speedup.margin",
    "Half of the width of the interval of the speedup. Where 1 is in the interval, the sample does not \
     decide which of the two is faster.",
);

/// Collects the runs of a sweep.
pub struct Collector<'a> {
    folder: &'a Folder,
    sweep: &'a Sweep,
    /// Speeds of the baselines, by the values of the other axes.
    baselines: HashMap<Vec<String>, Speed>,
    /// Axes of warp schedulers and of their settings.
    of_schedulers: Vec<usize>,
    /// Values of these axes and speeds of the runs that no policy bounds, by the values of all
    /// other axes.
    not_held: HashMap<Vec<String>, Vec<(Vec<String>, Speed)>>,
}

/// Speed of a run as far as others compare with it.
#[derive(Clone, Debug)]
struct Speed {
    cycles: u64,
    ipc: f64,
    outcome: String,
    launches: u64,
    /// Everything on which the run depends.
    identity: String,
    /// Estimate of the cycles of a sampled run.
    sampled: Option<Interval>,
}

impl Speed {
    fn of(summary: &Summary) -> Self {
        Self {
            cycles: summary.cycles,
            ipc: summary.ipc,
            outcome: summary.outcome.clone(),
            launches: summary.launches,
            identity: summary.identity.clone(),
            sampled: summary.facts.sampled.map(|sampled| sampled.cycles),
        }
    }

    /// The speedup with its margin, which is 0 if neither run is sampled.
    fn over(&self, base: &Self) -> Interval {
        let known = |value: f64| Interval { value, margin: 0.0 };
        let cycles = |of: &Self| of.sampled.unwrap_or(known(of.cycles as f64));
        match (
            self.sampled.or(base.sampled),
            self.identity == base.identity,
        ) {
            (Some(_), true) => known(1.0),
            (Some(_), false) if self.outcome == base.outcome => cycles(base).over(&cycles(self)),
            _ => known(self.exactly_over(base)),
        }
    }

    fn exactly_over(&self, base: &Self) -> f64 {
        let same = self.outcome == base.outcome && self.launches == base.launches;
        match same && self.outcome != "cycle-limit" {
            true => base.cycles as f64 / self.cycles as f64,
            false => self.ipc / base.ipc,
        }
    }
}

impl<'a> Collector<'a> {
    /// Prepares the collection. With a baseline, its runs are read, and all runs where schedulers
    /// are compared: `is_of_scheduler` is true for the axis of warp schedulers and those of their
    /// settings.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn new(
        folder: &'a Folder,
        sweep: &'a Sweep,
        is_of_scheduler: impl Fn(&str) -> bool,
    ) -> Result<Self, FolderError> {
        let mut collector = Self {
            folder,
            sweep,
            baselines: HashMap::new(),
            of_schedulers: (0..sweep.axes.len())
                .filter(|at| is_of_scheduler(&sweep.axes[*at]))
                .collect(),
            not_held: HashMap::new(),
        };
        if !collector.has_baseline() && !collector.compares_schedulers() {
            return Ok(collector);
        }
        for run in Plan::open(folder)? {
            let run = run?;
            let (is_baseline, others) = collector.baseline(&run.values);
            let is_baseline = is_baseline && collector.has_baseline();
            if !is_baseline && !collector.compares_schedulers() {
                continue;
            }
            let Some(record) = Record::open(folder, &run.key)? else {
                continue;
            };
            let speed = Speed::of(&record.summary);
            if collector.compares_schedulers()
                && record.summary.facts.bound_without_policy.is_none()
            {
                let (scheduler, others) = collector.by_scheduler(&run.values);
                let speeds = collector.not_held.entry(others).or_default();
                speeds.push((scheduler, speed.clone()));
            }
            if is_baseline {
                collector.baselines.insert(others, speed);
            }
        }
        Ok(collector)
    }

    /// True if runs under several warp schedulers, or with several settings of one, are compared.
    fn compares_schedulers(&self) -> bool {
        !self.of_schedulers.is_empty()
    }

    /// Values of the axes of warp schedulers and their settings, and those of all other axes.
    fn by_scheduler(&self, values: &[String]) -> (Vec<String>, Vec<String>) {
        let numbered = values.iter().cloned().enumerate();
        let (own, others): (Vec<_>, Vec<_>) =
            numbered.partition(|(at, _)| self.of_schedulers.contains(at));
        let values = |of: Vec<(usize, String)>| of.into_iter().map(|(_, value)| value).collect();
        (values(own), values(others))
    }

    /// The bound of a run whose policy holds ready warps back at no cost, which is another one than
    /// the policy.
    fn bound_at_no_cost(&self, run: &PlannedRun, summary: &Summary) -> Option<String> {
        let bound = summary.facts.bound_without_policy.clone()?;
        self.costs_nothing(run, summary).then_some(bound)
    }

    /// True if what the policy of a run holds back costs no time.
    fn costs_nothing(&self, run: &PlannedRun, summary: &Summary) -> bool {
        let (own, others) = self.by_scheduler(&run.values);
        let others = self.not_held.get(&others).into_iter().flatten();
        let others = others.filter(|(scheduler, _)| *scheduler != own);
        let speed = Speed::of(summary);
        holds_at_no_cost(others.map(|(_, other)| speed.over(other).value))
    }

    /// True if runs may be cut at a number of cycles.
    fn may_cut(&self) -> bool {
        self.sweep.axes.iter().any(|axis| axis == "max_cycles")
    }

    /// True if runs may be sampled.
    fn may_sample(&self) -> bool {
        self.sweep.axes.iter().any(|axis| axis == "sample_error")
    }

    fn has_baseline(&self) -> bool {
        !self.sweep.report.baseline.is_empty()
    }

    /// Whether a run is a baseline, and its values of the axes that identify none.
    fn baseline(&self, values: &[String]) -> (bool, Vec<String>) {
        let named = self.sweep.axes.iter().zip(values);
        let baseline = &self.sweep.report.baseline;
        let is_baseline = named
            .clone()
            .all(|(axis, value)| baseline.get(axis).is_none_or(|base| base == value));
        let others = named.filter(|(axis, _)| !baseline.contains_key(*axis));
        (
            is_baseline,
            others.map(|(_, value)| value.clone()).collect(),
        )
    }

    /// Columns of measured values: the headline statistics, the speedup over the baseline if there
    /// is one, the digest, and the statistics that the sweep names.
    pub fn columns(&self) -> Vec<Column> {
        let speedup = self.has_baseline().then_some(SPEEDUP);
        let sampled = self.may_sample();
        let margins = MARGINS.into_iter().filter(|_| sampled);
        let speedup_margin = speedup.filter(|_| sampled).map(|_| SPEEDUP_MARGIN);
        let about = "Digest of outputs, cycles and statistics.";
        let reached = REACHED.into_iter().filter(|_| self.may_cut());
        let headline = MEASURED
            .into_iter()
            .chain(reached)
            .chain(margins)
            .chain(speedup)
            .chain(speedup_margin)
            .chain([("digest", about)]);
        let headline = headline.map(|(name, about)| Column::new(name, about));
        let own = self.sweep.statistics.iter();
        let own = own.map(|name| {
            Column::new(
                name,
                "A statistic of the whole run (`warploom list stats`), estimated if it is sampled.",
            )
        });
        headline.chain(own).collect()
    }

    /// Types of the columns of measured values.
    pub fn types(&self) -> Vec<ColumnType> {
        let kind = |column: &Column| match column.name.as_str() {
            "digest" | "limit" | "bound" => ColumnType::Text,
            "waves" | "ipc" | "l1d.hit_rate" | "l2.hit_rate" | "dram.utilisation" | "speedup"
            | "ipc.margin" | "speedup.margin" => ColumnType::Number,
            _ => ColumnType::Count,
        };
        self.columns().iter().map(kind).collect()
    }

    /// The runs in the order of the table.
    ///
    /// # Errors
    /// If the plan cannot be read.
    pub fn rows(&self) -> Result<impl Iterator<Item = Result<Row, FolderError>>, FolderError> {
        Ok(Plan::open(self.folder)?.map(|run| self.row(run?)))
    }

    fn row(&self, run: PlannedRun) -> Result<Row, FolderError> {
        let row = |status, cells, reason, cost| Row {
            name: run.name.clone(),
            values: run.values.clone(),
            status,
            cells,
            reason,
            key: run.key.clone(),
            cost,
            command: run.command.clone(),
            machine: run.machine.clone(),
            launches: run.launches,
            digest: None,
            is_unchecked: false,
            holds_at_no_cost: false,
            facts: None,
        };
        let none = || vec![Cell::None; self.columns().len()];
        if let Some(mut record) = Record::open(self.folder, &run.key)? {
            let bound = self.bound_at_no_cost(&run, &record.summary);
            let holds_at_no_cost = self.costs_nothing(&run, &record.summary);
            let named = &mut record.summary.facts.bound;
            *named = bound.or(named.take());
            let status = match record.summary.outcome.as_str() {
                "finished" if record.summary.facts.sampled.is_some() => "sampled",
                "finished" => "finished",
                "launch-limit" => "stopped",
                _ => "cut",
            };
            let summary = &record.summary;
            let cost = Some(summary.cost.clone());
            let digest = Some(summary.digest.clone());
            let is_whole = matches!(status, "finished" | "sampled");
            let is_unchecked = is_whole && summary.checks == Some(0);
            let facts = Some(summary.facts.clone());
            let cells = self.cells(&run, record);
            return Ok(Row {
                facts,
                digest,
                is_unchecked,
                holds_at_no_cost,
                ..row(status, cells, String::new(), cost)
            });
        }
        Ok(match failure(self.folder, &run.key)? {
            Some(failure) => {
                let cost = Some(failure.cost);
                row(failure.kind.name(), none(), failure.reason, cost)
            }
            None => row("missing", none(), String::new(), None),
        })
    }

    fn cells(&self, run: &PlannedRun, record: Record) -> Vec<Cell> {
        let summary = &record.summary;
        let rate = |rate: Option<f64>| rate.map_or(Cell::None, number);
        let mut cells = vec![
            Cell::Count(summary.cycles),
            number(summary.ipc),
            Cell::Count(summary.warp_instructions),
            Cell::Count(summary.thread_instructions),
            rate(summary.l1d_hit_rate),
            rate(summary.l2_hit_rate),
            rate(summary.dram_utilisation),
            summary
                .blocks_per_sm
                .map_or(Cell::None, |blocks| Cell::Count(blocks.into())),
            text(summary.facts.limit.as_deref()),
            text(summary.facts.bound.as_deref()),
            Cell::Count(summary.launches),
        ];
        if self.may_cut() {
            cells.extend(reached_cells(summary.facts.reached));
        }
        let sampled = summary.facts.sampled;
        if self.may_sample() {
            let margins = sampled.map(|own| [own.cycles.margin.round(), own.ipc.margin]);
            cells.push(margins.map_or(Cell::None, |[cycles, _]| Cell::Count(cycles as u64)));
            cells.push(margins.map_or(Cell::None, |[_, ipc]| number(ipc)));
        }
        if self.has_baseline() {
            let (_, others) = self.baseline(&run.values);
            let base = self.baselines.get(&others);
            let speedup = base.map(|base| Speed::of(summary).over(base));
            cells.push(speedup.map_or(Cell::None, |speedup| number(speedup.value)));
            if self.may_sample() {
                cells.push(speedup.map_or(Cell::None, |speedup| number(speedup.margin)));
            }
        }
        cells.push(Cell::Text(summary.digest.clone()));
        if !self.sweep.statistics.is_empty() {
            let report = record.report();
            // A statistic that is 0 is left out of results.
            let of = |name: &String| {
                let report = report.as_ref()?;
                let timed = report.totals.figures.statistics.get(name).copied();
                Some(match &report.sampling {
                    Some(sampling) => {
                        let estimate = sampling.estimates.get(name);
                        estimate.map_or(0, |estimate| estimate.value.round() as u64)
                    }
                    None => timed.unwrap_or(0),
                })
            };
            cells.extend(
                self.sweep
                    .statistics
                    .iter()
                    .map(|name| of(name).map_or(Cell::None, Cell::Count)),
            );
        }
        cells
    }
}

fn text(text: Option<&str>) -> Cell {
    text.map_or(Cell::None, Cell::from)
}

fn number(value: f64) -> Cell {
    match value.is_finite() {
        true => Cell::Number(value),
        false => Cell::None,
    }
}

/// Mean times of finished runs, by which the times of others are estimated.
#[derive(Clone, Debug, Default)]
pub struct Times(HashMap<String, (f64, u64)>);

impl Times {
    /// Times of all finished runs in a folder of results.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(folder: &Folder) -> Result<Self, FolderError> {
        let mut times = Self::default();
        for shard in crate::folder::names(&folder.runs())? {
            let shard = folder.runs().join(shard);
            for key in crate::folder::names(&shard)? {
                if let Some(record) = Record::read(&shard.join(key))? {
                    times.add(&record.summary.subject, record.summary.cost.seconds);
                }
            }
        }
        Ok(times)
    }

    /// Adds the time of a finished run.
    pub(crate) fn add(&mut self, subject: &str, seconds: f64) {
        let (sum, number) = self.0.entry(subject.to_owned()).or_default();
        *sum += seconds;
        *number += 1;
    }

    /// Mean time in seconds of finished runs with the same target, size and limits.
    pub fn of(&self, subject: &str) -> Option<f64> {
        let (sum, number) = self.0.get(subject)?;
        Some(sum / *number as f64)
    }
}

/// Value of a setting, if the run has it.
pub fn setting<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    let found = settings.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value.as_str())
}
