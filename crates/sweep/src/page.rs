//! The page of a sweep: a map of two axes, the rows of a small sweep, and the runs without a
//! result.

mod title;

use crate::collect::{Collector, Row};
use crate::folder::{Folder, FolderError};
use crate::plan::{Plan, Sweep};
use crate::spec::ChartKind;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use warploom_report::page::{Cell, Column, FailureLine, Page, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart, ColumnType, HeatMap};

/// Most runs whose rows are on the page. Larger sweeps have the cells of the map there.
const MOST_ROWS: usize = 500;

/// Most failures that the page names.
const MOST_FAILURES: usize = 100;

/// Most values of an axis that a map shows.
const MOST_VALUES: usize = 60;

/// Most bars of a group where the sweep does not choose between bars and map.
const MOST_BARS: usize = 7;

/// Most groups of bars where the sweep does not choose.
const MOST_GROUPS: usize = 40;

/// State of a run that was stopped at a limit of cycles.
const CUT: &str = "cut";

/// Name of the group of means.
const MEAN: &str = "geometric mean";

/// Beginning of the names of geometric means in the summary of a page.
pub const MEAN_OF: &str = "geometric_mean.";

/// Beginning of the names of single speedups in the summary of a page.
pub const SPEEDUP_OF: &str = "speedup.";

/// Values of the axes of a sweep in the order of its plan.
#[derive(Clone, Debug, Default)]
pub struct AxisValues {
    values: Vec<Vec<String>>,
    /// Labels of the values of each axis in charts.
    labels: Vec<Vec<String>>,
}

impl AxisValues {
    /// Reads the values of all axes.
    ///
    /// # Errors
    /// If the plan cannot be read.
    pub fn read(folder: &Folder, sweep: &Sweep) -> Result<Self, FolderError> {
        let mut values = vec![Vec::new(); sweep.axes.len()];
        let mut names = values.clone();
        let mut seen = vec![HashSet::new(); sweep.axes.len()];
        for run in Plan::open(folder)? {
            let run = run?;
            for (at, value) in run.values.into_iter().enumerate() {
                if seen[at].insert(value.clone()) {
                    names[at].push(match sweep.axes[at].as_str() {
                        "gpu" if !run.machine.is_empty() => run.machine.clone(),
                        _ => value.clone(),
                    });
                    values[at].push(value);
                }
            }
        }
        let pairs = names.iter().zip(&values);
        let labels = pairs.map(|(names, values)| labels(names, values)).collect();
        Ok(Self { values, labels })
    }

    /// Type of the column of each axis: numbers where all values are numbers.
    pub fn types(&self) -> Vec<ColumnType> {
        let all = |values: &[String], is: fn(&str) -> bool| {
            values.iter().all(|value| value.is_empty() || is(value))
        };
        let kind = |values: &Vec<String>| {
            if all(values, |value| {
                value.parse::<i64>().is_ok_and(|value| value >= 0)
            }) {
                ColumnType::Count
            } else if all(values, |value| {
                value.parse::<f64>().is_ok_and(f64::is_finite)
            }) {
                ColumnType::Number
            } else {
                ColumnType::Text
            }
        };
        self.values.iter().map(kind).collect()
    }

    /// The label of a value of an axis.
    fn label(&self, sweep: &Sweep, axis: &str, value: &str) -> String {
        let label = || {
            let at = sweep.axes.iter().position(|name| name == axis)?;
            let place = self.values[at].iter().position(|other| other == value)?;
            Some(self.labels[at][place].clone())
        };
        label().unwrap_or_else(|| value.to_owned())
    }

    /// The two axes of a map: those that the sweep names, otherwise the first that vary, settings
    /// of the machine before inputs.
    fn chosen(&self, sweep: &Sweep) -> [Option<usize>; 2] {
        let named = |name: &Option<String>| {
            let name = name.as_ref()?;
            sweep.axes.iter().position(|axis| axis == name)
        };
        let is_input = |at: &usize| matches!(sweep.axes[*at].as_str(), "target" | "size" | "seed");
        let varies = |at: &usize| (2..=MOST_VALUES).contains(&self.values[*at].len());
        let mut varying: Vec<usize> = (0..self.values.len()).filter(varies).collect();
        varying.sort_by_key(is_input);
        let mut chosen = [&sweep.report.rows, &sweep.report.columns].map(named);
        for place in 0..2 {
            let other = chosen[1 - place];
            let next = || varying.iter().copied().find(|at| Some(*at) != other);
            chosen[place] = chosen[place].or_else(next);
        }
        chosen
    }
}

/// A cell with a value in the type of its column.
pub fn typed(text: &str, kind: ColumnType) -> Cell {
    let number = || text.parse().map_or(Cell::None, Cell::Number);
    match kind {
        _ if text.is_empty() => Cell::None,
        ColumnType::Text => Cell::from(text),
        ColumnType::Count => text.parse().map_or(Cell::None, Cell::Count),
        ColumnType::Number => number(),
    }
}

/// Builder of the page, to which the rows are given one after the other.
pub struct PageBuilder<'a> {
    sweep: &'a Sweep,
    name: String,
    columns: Vec<Column>,
    types: Vec<ColumnType>,
    axes: AxisValues,
    map: [Option<usize>; 2],
    metric: Option<usize>,
    /// Sums of the metric, or of its logarithm, and numbers of runs by the map's row and column.
    cells: BTreeMap<(String, String), (f64, usize)>,
    rows: Vec<Vec<Cell>>,
    failures: Vec<FailureLine>,
    counts: BTreeMap<&'static str, u64>,
    /// Names of the runs' machines.
    machines: BTreeSet<String>,
    /// Cycles at which runs were cut.
    limits: BTreeSet<u64>,
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
        Self {
            sweep,
            name: folder.name(),
            map: axes.chosen(sweep),
            metric: columns.iter().position(|column| column.name == metric),
            types: axes.types(),
            axes,
            columns,
            cells: BTreeMap::new(),
            rows: Vec::new(),
            failures: Vec::new(),
            counts: BTreeMap::new(),
            machines: BTreeSet::new(),
            limits: BTreeSet::new(),
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
            let values = row.values.iter().zip(&self.types);
            let values = values.map(|(value, kind)| typed(value, *kind));
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
        let metric = self.metric.and_then(|at| row.cells[at].number());
        if let Some(value) = metric {
            let of = |at: Option<usize>| at.map_or("", |at| row.values[at].as_str()).to_owned();
            let addend = if self.is_ratio() { value.ln() } else { value };
            let place = (of(self.map[0]), of(self.map[1]));
            let cell = self.cells.entry(place).or_default();
            cell.0 += addend;
            cell.1 += 1;
        }
    }

    /// True if the mean of the metric is geometric.
    fn is_ratio(&self) -> bool {
        metric(self.sweep) == "speedup"
    }

    fn mean(&self, row: &str, column: &str) -> Option<f64> {
        let (sum, number) = self.cells.get(&(row.to_owned(), column.to_owned()))?;
        let mean = sum / *number as f64;
        Some(if self.is_ratio() { mean.exp() } else { mean }).filter(|mean| mean.is_finite())
    }

    /// The page of all runs that were added.
    pub fn finish(self) -> Page {
        let title = self.title();
        let summary = self.counts.iter();
        let summary =
            summary.map(|(status, number)| (format!("runs.{status}"), Cell::Count(*number)));
        let map = self.map(&title);
        let table = self.table(&map);
        let charts = self.charts(map);
        Page {
            paper: "sweep".to_owned(),
            figure: self.name.clone(),
            title,
            scale: String::new(),
            version: self.sweep.version.clone(),
            command: self.sweep.command.clone(),
            summary: summary
                .chain(charts.iter().flat_map(|chart| self.figures(chart)))
                .collect(),
            verdicts: Vec::new(),
            table,
            charts,
            configurations: Vec::new(),
            presets: BTreeMap::new(),
            runs: Vec::new(),
            notes: self.cut_runs().into_iter().collect(),
            failures: self.failures,
        }
    }

    fn map(&self, title: &str) -> HeatMap {
        let values =
            |at: Option<usize>| at.map_or(vec![String::new()], |at| self.axes.values[at].clone());
        let [rows, columns] = self.map.map(values);
        let labels =
            |at: Option<usize>| at.map_or(vec![String::new()], |at| self.axes.labels[at].clone());
        let [row_names, column_names] = self.map.map(labels);
        let name = |at: Option<usize>| at.map_or(String::new(), |at| self.sweep.axes[at].clone());
        let [row_axis, column_axis] = self.map.map(name);
        let cells = |row: &String| {
            let cells = columns.iter().map(|column| self.mean(row, column));
            cells.collect::<Vec<_>>()
        };
        let how = if self.is_ratio() { MEAN } else { "mean" };
        let title = match self.others() {
            Some(others) if self.sweep.report.title.is_none() => {
                format!("{title}: {how} over {others}")
            }
            _ => title.to_owned(),
        };
        HeatMap {
            title,
            axis: Axis::default(),
            row_axis,
            column_axis,
            values: if self.cells.is_empty() {
                Vec::new()
            } else {
                rows.iter().map(cells).collect()
            },
            rows: row_names,
            columns: column_names,
        }
    }

    /// The picture of the map: as such or, where the sweep chooses it or speedups of several
    /// targets are compared, as bars.
    fn charts(&self, map: HeatMap) -> Vec<Chart> {
        if map.values.is_empty() {
            return Vec::new();
        }
        let map = match map.column_axis.as_str() {
            "target" | "app" => transposed(map),
            _ => map,
        };
        let of_targets = matches!(map.row_axis.as_str(), "target" | "app");
        let few = map.columns.len() <= MOST_BARS && map.rows.len() <= MOST_GROUPS;
        let bars = match self.sweep.report.chart {
            Some(kind) => kind == ChartKind::Bars,
            None => of_targets && few && self.is_ratio(),
        };
        match bars {
            true => vec![Chart::Bars(self.bars(map))],
            false => vec![Chart::Heat(map)],
        }
    }

    /// The label of the value of an axis that the baseline has, if the baseline chooses one.
    fn baseline(&self, axis: Option<usize>) -> Option<String> {
        let axis = &self.sweep.axes[axis?];
        let value = self.sweep.report.baseline.get(axis)?;
        Some(self.axes.label(self.sweep, axis, value))
    }

    /// Axis of the groups of bars: that of programs where the sweep has one.
    fn groups(&self) -> Option<usize> {
        let of_programs = |at: &Option<usize>| {
            at.is_some_and(|at| matches!(self.sweep.axes[at].as_str(), "target" | "app"))
        };
        let [rows, columns] = self.map;
        if of_programs(&columns) { columns } else { rows }
    }

    /// Figures of a chart of speedups: the geometric means, or the speedups over a baseline that is
    /// one of the groups.
    fn figures(&self, chart: &Chart) -> Vec<(String, Cell)> {
        match (chart, self.baseline(self.groups())) {
            (Chart::Bars(bars), Some(base)) if self.is_ratio() => speedups(bars, &base),
            _ => means(chart),
        }
    }

    /// The rows of a map as groups of bars, after those of speedups their geometric means. There is
    /// none over groups of which one is the baseline.
    fn bars(&self, map: HeatMap) -> BarChart {
        let is_whole = |row: &&Vec<Option<f64>>| row.iter().all(Option::is_some);
        let whole: Vec<_> = map.values.iter().filter(is_whole).collect();
        let of_others = self.baseline(self.groups()).is_none();
        let has_means = self.is_ratio() && of_others && whole.len() > 1;
        let mean = |column: usize| {
            let logarithms = whole.iter().filter_map(|row| row[column]).map(f64::ln);
            (logarithms.sum::<f64>() / whole.len() as f64).exp()
        };
        let series = map.columns.iter().enumerate().map(|(column, name)| {
            let values = map.values.iter().map(|row| row[column]);
            BarSeries {
                name: match name.as_str() {
                    "" => metric(self.sweep).to_owned(),
                    name => name.to_owned(),
                },
                values: values
                    .chain(has_means.then(|| Some(mean(column))))
                    .collect(),
            }
        });
        let series = series.collect();
        let means = has_means.then(|| MEAN.to_owned());
        BarChart {
            title: map.title,
            axis: Axis {
                label: match self.counts.contains_key(CUT) && self.is_ratio() {
                    true => self.metric_label() + " (ratio of IPC)",
                    false => self.metric_label(),
                },
                ..Axis::default()
            },
            groups: map.rows.into_iter().chain(means).collect(),
            series,
            marks: Vec::new(),
        }
    }

    /// The rows of a small sweep, with the metric before all other measurements,
    /// or the cells of the map.
    fn table(&self, map: &HeatMap) -> Table {
        if self.sweep.runs <= MOST_ROWS {
            let axes = self
                .sweep
                .axes
                .iter()
                .map(|axis| Column::new(axis, "Value of the axis."));
            let first = [Column::new("run", "Name of the run.")]
                .into_iter()
                .chain(axes);
            let about = "`finished`, `cut`, `missing`, or the kind of failure.";
            let columns = first.chain([Column::new("status", about)]);
            let mut table = Table {
                columns: columns.chain(self.columns.iter().cloned()).collect(),
                rows: self.rows.clone(),
            };
            let measured = table.columns.len() - self.columns.len();
            if let Some(metric) = self.metric {
                let moved = measured..=measured + metric;
                table.columns[moved.clone()].rotate_right(1);
                for row in &mut table.rows {
                    row[moved.clone()].rotate_right(1);
                }
            }
            return table;
        }
        let mut columns = vec![Column::new(&map.row_axis, "Value of the axis.")];
        columns.extend(
            map.columns
                .iter()
                .map(|name| Column::new(name, &*map.title)),
        );
        let row = |(name, values): (&String, &Vec<Option<f64>>)| {
            let cells = values
                .iter()
                .map(|value| value.map_or(Cell::None, Cell::Number));
            [Cell::from(name.as_str())]
                .into_iter()
                .chain(cells)
                .collect()
        };
        Table {
            columns,
            rows: map.rows.iter().zip(&map.values).map(row).collect(),
        }
    }
}

/// The geometric means of a chart's bars, as values of a summary.
fn means(chart: &Chart) -> Vec<(String, Cell)> {
    let Chart::Bars(bars) = chart else {
        return Vec::new();
    };
    let Some(at) = bars.groups.iter().position(|group| group == MEAN) else {
        return Vec::new();
    };
    let mean = |series: &BarSeries| {
        let value = series.values.get(at).copied().flatten()?;
        Some((format!("{MEAN_OF}{}", series.name), Cell::Number(value)))
    };
    bars.series.iter().filter_map(mean).collect()
}

/// The speedups of all groups but that of the baseline, as values of a summary.
fn speedups(bars: &BarChart, base: &str) -> Vec<(String, Cell)> {
    let groups = bars.groups.iter().enumerate();
    let others = groups.filter(|(_, group)| *group != base);
    let of_group = |(at, group): (usize, &String)| {
        let named = |series: &BarSeries| {
            let value = series.values.get(at).copied().flatten()?;
            let name = match bars.series.len() {
                1 => format!("{SPEEDUP_OF}{group}"),
                _ => format!("{SPEEDUP_OF}{group}, {}", series.name),
            };
            Some((name, Cell::Number(value)))
        };
        bars.series.iter().filter_map(named).collect::<Vec<_>>()
    };
    others.flat_map(of_group).collect()
}

/// Labels of an axis' values by their names. Files are named without folder and ending. A value
/// whose label another one has, too, is its own label.
fn labels(names: &[String], values: &[String]) -> Vec<String> {
    let stem = |value: &String| {
        let path = Path::new(value);
        let is_file = path
            .extension()
            .is_some_and(|ending| ["toml", "ptx", "cu"].iter().any(|known| ending == *known));
        let stem = path
            .file_stem()
            .filter(|_| is_file && !value.contains(" + "));
        stem.map_or_else(|| value.clone(), |stem| stem.to_string_lossy().into_owned())
    };
    let stems: Vec<_> = names.iter().map(stem).collect();
    let alone = |name: &String| stems.iter().filter(|other| *other == name).count() == 1;
    let pairs = values.iter().zip(&stems);
    let label = |(value, stem): (&String, &String)| if alone(stem) { stem } else { value }.clone();
    pairs.map(label).collect()
}

/// A map with rows for columns.
fn transposed(map: HeatMap) -> HeatMap {
    let column = |at: usize| map.values.iter().map(|row| row[at]).collect();
    HeatMap {
        values: (0..map.columns.len()).map(column).collect(),
        title: map.title,
        axis: map.axis,
        row_axis: map.column_axis,
        column_axis: map.row_axis,
        rows: map.columns,
        columns: map.rows,
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

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn files_are_named_shortly_unless_two_would_have_one_name() {
        let of = |values: &[&str]| {
            let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
            labels(&values, &values)
        };
        assert_eq!(of(&["spmv", "../mine/knn.toml"]), ["spmv", "knn"]);
        assert_eq!(of(&["a/k.toml", "b/k.toml"]), ["a/k.toml", "b/k.toml"]);
        assert_eq!(of(&["bfs", "bfs.ptx"]), ["bfs", "bfs.ptx"]);
        assert_eq!(of(&["0.5", "slicer/IMG"]), ["0.5", "slicer/IMG"]);
        assert_eq!(of(&["a.toml + b.toml"]), ["a.toml + b.toml"]);
    }

    #[test]
    fn machines_have_names_of_their_own_unless_two_have_the_same() {
        let of = |names: [&str; 2]| {
            let values = ["a/big.toml", "gtx480"].map(str::to_owned);
            labels(&names.map(str::to_owned), &values)
        };
        assert_eq!(of(["big-l1", "gtx480"]), ["big-l1", "gtx480"]);
        assert_eq!(of(["gtx480", "gtx480"]), ["a/big.toml", "gtx480"]);
    }
}
