//! Pictures of a sweep's metric: one for each panel, and one of the means over all.

use super::{PageBuilder, metric};
use crate::spec::ChartKind;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart, HeatMap};

/// Most bars of a group where the sweep does not choose between bars and map.
const MOST_BARS: usize = 7;

/// Most groups of bars where the sweep does not choose.
const MOST_GROUPS: usize = 40;

/// Top of an axis that several charts share over their greatest value: room for what is written
/// above bars.
const ROOM: f64 = 1.15;

/// Name of the group of means.
pub(super) const MEAN: &str = "geometric mean";

/// True for the label of a group of means.
pub(super) fn is_mean(group: &str) -> bool {
    group.starts_with(MEAN)
}

/// Beginning of the names of geometric means in the summary of a page.
const MEAN_OF: &str = "geometric_mean.";

/// Beginning of the names of single speedups in the summary of a page.
const SPEEDUP_OF: &str = "speedup.";

/// A map of values, and the chart that shows it.
pub(super) struct Picture {
    /// Values of the panel's axes; empty where the map is over all.
    pub panel: Vec<String>,
    map: HeatMap,
    pub chart: Chart,
}

/// The pictures of a page.
pub(super) struct Pictures {
    pub panels: Vec<Picture>,
    /// Means over all panels; `None` if there is nothing to show, and for values of which a mean
    /// over panels says nothing.
    pub all: Option<Picture>,
}

impl Pictures {
    /// Gives all bars the same axis, and all maps the same colour for the same value, if there are
    /// several.
    fn share_scales(&mut self) {
        let charts = self.panels.iter_mut().chain(&mut self.all);
        let bars = charts.filter_map(|picture| match &mut picture.chart {
            Chart::Bars(bars) => Some(bars),
            _ => None,
        });
        share_axis(&mut bars.collect::<Vec<_>>());
        let charts = self.panels.iter_mut().chain(&mut self.all);
        let mut maps: Vec<&mut HeatMap> = charts
            .filter_map(|picture| match &mut picture.chart {
                Chart::Heat(map) => Some(map),
                _ => None,
            })
            .collect();
        let values = maps
            .iter()
            .flat_map(|map| map.values.iter().flatten().flatten());
        let range = values.fold([f64::MAX, f64::MIN], |[low, high], value| {
            [low.min(*value), high.max(*value)]
        });
        if maps.len() > 1 {
            maps.iter_mut().for_each(|map| map.range = Some(range));
        }
    }

    /// The picture over all panels, or where there is none, those of the panels.
    pub fn wholes(&self) -> impl Iterator<Item = &Picture> {
        let panels = self.panels.iter().filter(|_| self.all.is_none());
        self.all.iter().chain(panels)
    }

    /// The charts in the order of the page.
    pub fn charts(self) -> Vec<Chart> {
        let all = self.panels.into_iter().chain(self.all);
        all.map(|picture| picture.chart).collect()
    }

    /// The values of all panels, or else of the only map, as a table. `axes` name the panels.
    pub fn table(&self, axes: &[&str]) -> Table {
        let pictures = match self.panels.is_empty() {
            true => self.all.as_slice(),
            false => self.panels.as_slice(),
        };
        let Some(first) = pictures.first() else {
            return Table::default();
        };
        let axes = axes.iter().copied().take(first.panel.len());
        let axes = axes.chain([first.map.row_axis.as_str()]);
        let mut columns: Vec<_> = axes
            .map(|axis| Column::new(axis, "Value of the axis."))
            .collect();
        let values = first.map.columns.iter();
        columns.extend(values.map(|name| Column::new(name, &*first.map.title)));
        let rows = pictures.iter().flat_map(|picture| {
            let pairs = picture.map.rows.iter().zip(&picture.map.values);
            pairs.map(|(name, values)| {
                let names = picture.panel.iter().chain([name]);
                let names = names.map(|name| Cell::from(name.as_str()));
                let values = values
                    .iter()
                    .map(|value| value.map_or(Cell::None, Cell::Number));
                names.chain(values).collect()
            })
        });
        Table {
            rows: rows.collect(),
            columns,
        }
    }
}

impl PageBuilder<'_> {
    /// The pictures of the metric: one for each panel and, without panels or of speedups, one of
    /// all. A mean over machines is made only without panels for them.
    pub(super) fn pictures(&self, title: &str) -> Pictures {
        let of_machines = self.panels.iter().any(|at| self.sweep.axes[*at] == "gpu");
        let shows_all = match self.is_ratio() {
            true => !of_machines,
            false => self.panels.is_empty() && !self.refuses_means(),
        };
        let picture = |panel: Option<&[String]>| {
            let map = self.map(title, panel);
            Picture {
                panel: panel.unwrap_or_default().to_vec(),
                chart: self.chart(map.clone()),
                map,
            }
        };
        let is_empty = self.cells.is_empty();
        let panels = self.axes.combinations(&self.panels).into_iter();
        let panels = panels.filter(|_| !self.panels.is_empty());
        let panels = panels.map(|panel| picture(Some(&panel)));
        let has_values = |of: &Picture| of.map.values.iter().flatten().any(Option::is_some);
        let mut pictures = Pictures {
            panels: panels.filter(has_values).collect(),
            all: (shows_all && !is_empty).then(|| picture(None)),
        };
        let shared = self.sweep.report.shared_colours;
        if shared.unwrap_or(self.is_ratio()) {
            pictures.share_scales();
        }
        pictures
    }

    /// A map of the values of one panel, or of means over all.
    fn map(&self, title: &str, panel: Option<&[String]>) -> HeatMap {
        let none = || vec![String::new()];
        let values = |at: Option<usize>| at.map_or_else(none, |at| self.axes.values[at].clone());
        let labels = |at: Option<usize>| at.map_or_else(none, |at| self.axes.labels[at].clone());
        let name = |at: Option<usize>| at.map_or(String::new(), |at| self.sweep.axes[at].clone());
        let [rows, columns] = self.map.map(values);
        let [row_names, column_names] = self.map.map(labels);
        let [row_axis, column_axis] = self.map.map(name);
        let cells = |row: &String| {
            let cells = columns
                .iter()
                .map(|column| self.cells.mean(panel, row, column));
            cells.collect::<Vec<_>>()
        };
        HeatMap {
            title: self.title_of(title, panel),
            range: None,
            axis: Axis {
                label: self.map_label(),
                line: self.is_ratio().then_some(1.0),
                ..Axis::default()
            },
            row_axis,
            column_axis,
            values: rows.iter().map(cells).collect(),
            rows: row_names,
            columns: column_names,
        }
    }

    /// The picture of the map: as such or, where the sweep chooses it or speedups of several
    /// targets are compared, as bars.
    fn chart(&self, map: HeatMap) -> Chart {
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
            true => Chart::Bars(self.bars(map)),
            false => Chart::Heat(map),
        }
    }

    /// The label of the value of an axis that the baseline has, if the baseline chooses one.
    pub(super) fn baseline(&self, axis: Option<usize>) -> Option<String> {
        let axis = &self.sweep.axes[axis?];
        let value = self.sweep.report.baseline.get(axis)?;
        Some(self.axes.label(self.sweep, axis, value))
    }

    /// Axis of the groups of bars: that of programs where the sweep has one.
    pub(super) fn groups(&self) -> Option<usize> {
        let of_programs = |at: &Option<usize>| {
            at.is_some_and(|at| matches!(self.sweep.axes[at].as_str(), "target" | "app"))
        };
        let [rows, columns] = self.map;
        if of_programs(&columns) { columns } else { rows }
    }

    /// Figures of the chart of all speedups, or of those of the panels: the geometric means, or the
    /// speedups over a baseline that is one of the groups.
    pub(super) fn figures(&self, pictures: &Pictures) -> Vec<(String, Cell)> {
        let figures = pictures.wholes().flat_map(|whole| {
            let panel = match whole.panel.as_slice() {
                [] => String::new(),
                panel => format!("{}, ", self.panel_label(panel)),
            };
            match (&whole.chart, self.baseline(self.groups())) {
                (Chart::Bars(bars), Some(base)) if self.is_ratio() => speedups(bars, &base, &panel),
                _ => means(&whole.chart, &panel),
            }
        });
        figures.collect()
    }

    /// Axis of the bars of a group.
    fn of_bars(&self) -> Option<usize> {
        let [rows, columns] = self.map;
        if self.groups() == columns {
            rows
        } else {
            columns
        }
    }

    /// True if all bars of the baseline, in all panels, have a speedup of 1.
    fn is_baseline_flat(&self) -> bool {
        let base = |at: usize| {
            let value = self.sweep.report.baseline.get(&self.sweep.axes[at])?;
            Some((at, value))
        };
        let Some((at, value)) = self.of_bars().and_then(base) else {
            return false;
        };
        let is_row = self.map[0] == Some(at);
        let is_own = |row: &str, column: &str| {
            if is_row {
                row == value
            } else {
                column == value
            }
        };
        self.is_ratio() && self.cells.means_of(is_own).all(|speedup| speedup == 1.0)
    }

    /// Label of the means of groups: those over other axes than that of the programs name it.
    fn mean_label(&self) -> String {
        let axis = self.groups().map(|at| self.sweep.axes[at].as_str());
        match axis {
            None | Some("target" | "app") => MEAN.to_owned(),
            Some(axis) => format!("{MEAN} over {axis}"),
        }
    }

    /// The rows of a map as groups of bars, after those of speedups their geometric means. There is
    /// none over groups of which one is the baseline. The baseline itself, whose bars would have
    /// the height of the line at 1 in all pictures, has none beside others.
    fn bars(&self, map: HeatMap) -> BarChart {
        let is_whole = |row: &&Vec<Option<f64>>| row.iter().all(Option::is_some);
        let whole: Vec<_> = map.values.iter().filter(is_whole).collect();
        let of_others = self.baseline(self.groups()).is_none();
        let has_means = self.is_ratio() && of_others && whole.len() > 1;
        let mean = |column: usize| {
            let logarithms = whole.iter().filter_map(|row| row[column]).map(f64::ln);
            (logarithms.sum::<f64>() / whole.len() as f64).exp()
        };
        let left_out = self
            .baseline(self.of_bars())
            .filter(|_| map.columns.len() > 1 && self.is_baseline_flat());
        let columns = map.columns.iter().enumerate();
        let columns = columns.filter(|(_, name)| left_out.as_ref() != Some(*name));
        let series = columns.map(|(column, name)| {
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
        let series: Vec<BarSeries> = series.collect();
        let means = has_means.then(|| self.mean_label());
        let label = self.bars_label();
        let values = series.iter().flat_map(|series| &series.values);
        BarChart {
            title: map.title,
            axis: match self.is_ratio() {
                true => Axis::of_speedups(&label, values.flatten().copied()),
                false => Axis {
                    label,
                    ..Axis::default()
                },
            },
            groups: map.rows.into_iter().chain(means).collect(),
            series,
            marks: Vec::new(),
        }
    }
}

/// Gives several charts of bars one axis, on which all their values have room.
fn share_axis(charts: &mut [&mut BarChart]) {
    let series = charts.iter().flat_map(|chart| &chart.series);
    let values = series.flat_map(|series| series.values.iter().flatten().copied());
    let finite = values.filter(|value| value.is_finite());
    let (least, most) = finite.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    let doubling = charts.iter().any(|chart| chart.axis.doubling);
    if charts.len() < 2 || most <= 0.0 {
        return;
    }
    for chart in charts {
        chart.axis.doubling = doubling;
        chart.axis.max = Some(ROOM * most);
        chart.axis.min = if doubling { least } else { 0.0 };
    }
}

/// The geometric means of a chart's bars, as values of a summary whose names begin with the panel.
fn means(chart: &Chart, panel: &str) -> Vec<(String, Cell)> {
    let Chart::Bars(bars) = chart else {
        return Vec::new();
    };
    let Some(at) = bars.groups.iter().position(|group| is_mean(group)) else {
        return Vec::new();
    };
    let mean = |series: &BarSeries| {
        let value = series.values.get(at).copied().flatten()?;
        Some((
            format!("{MEAN_OF}{panel}{}", series.name),
            Cell::Number(value),
        ))
    };
    bars.series.iter().filter_map(mean).collect()
}

/// The speedups of all groups but that of the baseline, as values of a summary whose names begin
/// with the panel.
fn speedups(bars: &BarChart, base: &str, panel: &str) -> Vec<(String, Cell)> {
    let groups = bars.groups.iter().enumerate();
    let others = groups.filter(|(_, group)| *group != base);
    let of_group = |(at, group): (usize, &String)| {
        let named = |series: &BarSeries| {
            let value = series.values.get(at).copied().flatten()?;
            let name = match bars.series.len() {
                1 => format!("{SPEEDUP_OF}{panel}{group}"),
                _ => format!("{SPEEDUP_OF}{panel}{group}, {}", series.name),
            };
            Some((name, Cell::Number(value)))
        };
        bars.series.iter().filter_map(named).collect::<Vec<_>>()
    };
    others.flat_map(of_group).collect()
}

/// A map with rows for columns.
fn transposed(map: HeatMap) -> HeatMap {
    let column = |at: usize| map.values.iter().map(|row| row[at]).collect();
    HeatMap {
        values: (0..map.columns.len()).map(column).collect(),
        title: map.title,
        axis: map.axis,
        range: map.range,
        row_axis: map.column_axis,
        column_axis: map.row_axis,
        rows: map.columns,
        columns: map.rows,
    }
}
