//! Figures of the usual kind, declared as data: workloads on several configurations, one metric,
//! its ratio to one configuration, and bars.

use crate::figure::{Figure, Request};
use crate::figures::{add_mean, samples};
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};
use warploom_stats::result::RunReport;

/// A workload by the paper's name and by ours.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Name in the paper.
    pub name: &'static str,
    /// Name for `warploom run`.
    pub target: &'static str,
}

/// Changes to the grid's preset.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Name of the configuration in the figure.
    pub name: &'static str,
    /// Changes in the form `KEY=VALUE`.
    pub sets: &'static [&'static str],
}

/// A quantity that is measured in a run.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name of the metric as a key.
    pub name: &'static str,
    /// Name of the metric for people, with the unit.
    pub label: &'static str,
    /// Description of the metric.
    pub about: &'static str,
    /// Computes the metric from a result.
    pub of: fn(&RunReport) -> f64,
}

/// Thread instructions per core cycle over the whole run.
pub const IPC: Metric = Metric {
    name: "ipc",
    label: "IPC",
    about: "Thread instructions per core cycle.",
    of: |report| report.totals.figures.ipc,
};

/// A figure of workloads on several configurations.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Preset of all configurations.
    pub gpu: &'static str,
    /// Workloads, which are the rows.
    pub workloads: &'static [Workload],
    /// Configurations, which are the columns.
    pub configs: &'static [Config],
    /// The quantity that is measured.
    pub metric: Metric,
    /// Name of the configuration with which the others are compared.
    pub baseline: &'static str,
    /// Core cycle at which runs are cut, if the paper cuts them.
    pub max_cycles: Option<u64>,
    /// Title of the chart.
    pub chart: &'static str,
}

impl Grid {
    /// All runs, workload by workload.
    pub fn runs(&self, request: &Request) -> Vec<RunSpec> {
        let machine = |config: &Config| {
            let machine = MachineVariant::preset(config.name, self.gpu, config.sets);
            machine.unwrap_or_else(|errors| panic!("{}: {errors}", config.name))
        };
        let machines: Vec<_> = self.configs.iter().map(machine).collect();
        let mut runs = Vec::new();
        for workload in self.workloads {
            let input = Input::workload(workload.target, request.scale.size(), SEED);
            let input = input.unwrap_or_else(|unknown| panic!("{unknown}"));
            runs.extend(machines.iter().map(|machine| RunSpec {
                max_cycles: self.max_cycles,
                ..RunSpec::new(&input, machine)
            }));
        }
        runs
    }

    /// The figure, or `None` while runs are missing.
    pub fn make(&self, request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
        let measured = Measured::new(self, &runs.all(&self.runs(request))?);
        Some(Figure {
            table: measured.table(),
            summary: measured.summary(),
            charts: vec![measured.chart()],
        })
    }
}

/// A grid with its values.
pub(crate) struct Measured<'a> {
    grid: &'a Grid,
    /// Values by workload, then by configuration.
    values: Vec<Vec<f64>>,
}

impl<'a> Measured<'a> {
    pub(crate) fn new(grid: &'a Grid, reports: &[Arc<RunReport>]) -> Self {
        let row = |row: &[Arc<RunReport>]| row.iter().map(|run| (grid.metric.of)(run)).collect();
        let values = reports.chunks(grid.configs.len()).map(row).collect();
        Self { grid, values }
    }

    fn config(&self, name: &str) -> usize {
        let found = self.grid.configs.iter().position(|c| c.name == name);
        found.unwrap_or_else(|| panic!("`{name}` is no configuration of the grid"))
    }

    /// Ratios of `of` to `over`, by workload.
    pub(crate) fn ratios(&self, of: &str, over: &str) -> Vec<f64> {
        let (of, over) = (self.config(of), self.config(over));
        self.values.iter().map(|row| row[of] / row[over]).collect()
    }

    fn table(&self) -> Table {
        let Grid {
            metric, baseline, ..
        } = self.grid;
        let mut columns = vec![Column::new(
            "workload",
            "Name of the benchmark in the paper.",
        )];
        for config in self.grid.configs {
            let name = format!("{}.{}_over_{baseline}", config.name, metric.name);
            let about = format!(
                "{} with {} divided by that of {baseline} on the same benchmark; above 1 is better.",
                metric.label,
                config.sets.join(" and "),
            );
            columns.push(Column::new(name, about));
        }
        for config in self.grid.configs {
            let name = format!("{}.{}", config.name, metric.name);
            let about = format!("{} With {}.", metric.about, config.sets.join(" and "));
            columns.push(Column::new(name, about));
        }
        let base = self.config(baseline);
        let row = |(workload, values): (&Workload, &Vec<f64>)| {
            let ratios = values
                .iter()
                .map(|value| Cell::Number(value / values[base]));
            let plain = values.iter().map(|value| Cell::Number(*value));
            let name = std::iter::once(Cell::from(workload.name));
            name.chain(ratios).chain(plain).collect()
        };
        let rows = self.grid.workloads.iter().zip(&self.values);
        Table {
            columns,
            rows: rows.map(row).collect(),
        }
    }

    fn summary(&self) -> BTreeMap<String, Cell> {
        let mut summary = BTreeMap::new();
        for config in self.grid.configs {
            let ratios = self.ratios(config.name, self.grid.baseline);
            let ratios = samples(self.grid.workloads, &ratios);
            let name = |what: &str| format!("{}.{what}", config.name);
            add_mean(&mut summary, &name("mean"), ratios.arithmetic());
            add_mean(&mut summary, &name("geometric_mean"), ratios.geometric());
        }
        summary
    }

    fn chart(&self) -> Chart {
        let Grid {
            metric, baseline, ..
        } = self.grid;
        let series = |config: &Config| {
            let ratios = self.ratios(config.name, baseline);
            BarSeries {
                name: config.name.to_owned(),
                values: ratios.into_iter().map(Some).collect(),
            }
        };
        let names = self.grid.workloads.iter().map(|w| w.name);
        Chart::Bars(BarChart {
            title: self.grid.chart.to_owned(),
            axis: Axis {
                label: format!("{} over that of {baseline}", metric.label),
                ..Axis::default()
            },
            groups: names.map(str::to_owned).collect(),
            series: self.grid.configs.iter().map(series).collect(),
            marks: Vec::new(),
        })
    }
}

/// Arithmetic mean of values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Geometric mean of positive values.
pub fn geometric_mean(values: &[f64]) -> f64 {
    mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid {
        gpu: "gtx480",
        workloads: &[
            Workload {
                name: "A",
                target: "vectoradd",
            },
            Workload {
                name: "B",
                target: "transpose",
            },
        ],
        configs: &[
            Config {
                name: "lrr",
                sets: &["sm.warp_scheduler=lrr"],
            },
            Config {
                name: "gto",
                sets: &["sm.warp_scheduler=gto"],
            },
        ],
        metric: IPC,
        baseline: "lrr",
        max_cycles: None,
        chart: "Two schedulers",
    };

    fn measured(values: [[f64; 2]; 2]) -> Measured<'static> {
        Measured {
            grid: &GRID,
            values: values.map(|row| row.to_vec()).to_vec(),
        }
    }

    #[test]
    fn ratios_and_means_are_of_the_baseline() {
        let measured = measured([[10.0, 20.0], [10.0, 5.0]]);
        let table = measured.table();
        let row: Vec<_> = table.rows[0].iter().map(Cell::to_string).collect();
        assert_eq!(row, ["A", "1", "2", "10", "20"]);
        assert_eq!(table.columns[4].name, "gto.ipc");
        let summary = measured.summary();
        assert_eq!(summary["gto.mean"], Cell::Number(1.25));
        assert!((summary["gto.geometric_mean"].number().unwrap() - 1.0).abs() < 1e-12);
        let Chart::Bars(chart) = measured.chart() else {
            panic!("no bars");
        };
        assert_eq!(chart.groups, ["A", "B"]);
        assert_eq!(chart.series[1].values, [Some(2.0), Some(0.5)]);
    }
}
