//! Figures of the usual kind, declared as data: workloads on several configurations, one metric,
//! its ratio to one configuration, bars, and the claims about them.

use crate::figure::{Figure, Request};
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use crate::verdict::Judged;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table, Verdict};
use warploom_report::{Axis, BarChart, BarSeries, Chart};
use warploom_stats::result::RunReport;

/// Half a point is a tie where a claim says that no workload loses, because a bar chart cannot show
/// less.
const TIE: f64 = 0.005;

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
    /// Claims about the figure.
    pub claims: &'static [Expectation],
}

/// A claim and its statements about a grid.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// Identifier of the claim.
    pub id: &'static str,
    /// Statements of the claim. A mean that comes first is the claim's value, if it has one.
    pub states: &'static [Statement],
}

/// A statement of a claim, which compares two configurations.
#[derive(Clone, Copy, Debug)]
pub enum Statement {
    /// The mean over workloads of the ratio.
    Mean {
        /// The configuration that is compared with `over`.
        of: &'static str,
        /// The configuration in the denominator.
        over: &'static str,
        /// Value in the paper.
        paper: f64,
    },
    /// The workload with the largest ratio, and that ratio.
    Best {
        /// The configuration that is compared with `over`.
        of: &'static str,
        /// The configuration in the denominator.
        over: &'static str,
        /// Workload in the paper.
        workload: &'static str,
        /// Value in the paper.
        paper: f64,
    },
    /// The largest ratio of all workloads.
    AtBest {
        /// The configuration that is compared with `over`.
        of: &'static str,
        /// The configuration in the denominator.
        over: &'static str,
        /// Value in the paper.
        paper: f64,
    },
    /// No workload loses more than a tie.
    NoLoss {
        /// The configuration that is compared with `over`.
        of: &'static str,
        /// The configuration in the denominator.
        over: &'static str,
    },
    /// Every workload except for these gains.
    Gains {
        /// The configuration that is compared with `over`.
        of: &'static str,
        /// The configuration in the denominator.
        over: &'static str,
        /// Workloads that do not gain.
        except: &'static [&'static str],
    },
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
        let note = format!(
            "{} over all launches of {} workloads at scale {}, on {}.",
            self.metric.label,
            self.workloads.len(),
            request.scale,
            self.gpu
        );
        let claims = self.claims.iter();
        Some(Figure {
            table: measured.table(),
            summary: measured.summary(),
            claims: claims.map(|claim| measured.verdict(claim, &note)).collect(),
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
        let mut columns = vec![Column::new("workload", "The paper's name.")];
        for config in self.grid.configs {
            let about = format!(
                "{} of {} over that of {baseline}.",
                metric.label, config.name
            );
            columns.push(Column::new(config.name, about));
        }
        for config in self.grid.configs {
            let name = format!("{}.{}", config.name, metric.name);
            columns.push(Column::new(name, metric.about));
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
            let name = |what: &str| format!("{}.{what}", config.name);
            summary.insert(name("mean"), Cell::Number(mean(&ratios)));
            summary.insert(
                name("geometric_mean"),
                Cell::Number(geometric_mean(&ratios)),
            );
        }
        summary
    }

    fn chart(&self) -> Chart {
        let Grid {
            metric, baseline, ..
        } = self.grid;
        let series = |config: &Config| {
            let ratios = self.ratios(config.name, baseline);
            let mean = mean(&ratios);
            BarSeries {
                name: config.name.to_owned(),
                values: ratios.into_iter().chain([mean]).map(Some).collect(),
            }
        };
        let names = self.grid.workloads.iter().map(|w| w.name);
        Chart::Bars(BarChart {
            title: self.grid.chart.to_owned(),
            axis: Axis {
                label: format!("{} over that of {baseline}", metric.label),
                ..Axis::default()
            },
            groups: names.chain(["mean"]).map(str::to_owned).collect(),
            series: self.grid.configs.iter().map(series).collect(),
            marks: Vec::new(),
        })
    }

    fn verdict(&self, expectation: &Expectation, note: &str) -> Verdict {
        let mut judged = Judged::new(expectation.id);
        for (i, statement) in expectation.states.iter().enumerate() {
            judged = self.judge(judged, i == 0, statement);
        }
        judged.verdict(note)
    }

    fn judge(&self, judged: Judged, is_first: bool, statement: &Statement) -> Judged {
        match *statement {
            Statement::Mean { of, over, paper } => {
                let what = format!("{of} over {over}, arithmetic mean");
                let ours = mean(&self.ratios(of, over));
                if is_first {
                    judged.value(&what, ours)
                } else {
                    judged.also(&what, "speedup", paper, ours)
                }
            }
            Statement::Best {
                of,
                over,
                workload,
                paper,
            } => {
                let best = self.extreme(of, over, |a, b| a > b);
                judged
                    .states(
                        &format!("{of} over {over} is best on {workload}"),
                        best.0 == workload,
                        format!("best on {}", best.0),
                    )
                    .also(
                        &format!("{of} over {over} at best"),
                        "speedup",
                        paper,
                        best.1,
                    )
            }
            Statement::AtBest { of, over, paper } => {
                let best = self.extreme(of, over, |a, b| a > b);
                let what = format!("{of} over {over} at best, on {}", best.0);
                judged.also(&what, "speedup", paper, best.1)
            }
            Statement::NoLoss { of, over } => {
                let worst = self.extreme(of, over, |a, b| a < b);
                judged.states(
                    &format!("{of} loses to {over} nowhere (half a point is a tie)"),
                    worst.1 >= 1.0 - TIE,
                    format!("worst on {}: {:.3}", worst.0, worst.1),
                )
            }
            Statement::Gains { of, over, except } => {
                let pairs = self.pairs(of, over);
                let wrong = |(name, ratio): &&(&str, f64)| (*ratio > 1.0) == except.contains(name);
                let wrong: Vec<_> = pairs.iter().filter(wrong).collect();
                let shown: Vec<_> = wrong.iter().map(|(n, r)| format!("{n} {r:.3}")).collect();
                judged.states(
                    &format!("{of} beats {over} on all but {}", except.join(", ")),
                    wrong.is_empty(),
                    match shown.as_slice() {
                        [] => "true for all".to_owned(),
                        shown => format!("false for {}", shown.join(", ")),
                    },
                )
            }
        }
    }

    fn pairs(&self, of: &str, over: &str) -> Vec<(&'static str, f64)> {
        let names = self.grid.workloads.iter().map(|workload| workload.name);
        names.zip(self.ratios(of, over)).collect()
    }

    /// The first workload whose ratio comes before all others in the order `before`.
    fn extreme(&self, of: &str, over: &str, before: fn(f64, f64) -> bool) -> (&'static str, f64) {
        let pairs = self.pairs(of, over).into_iter();
        let pick = |best: (&'static str, f64), next: (&'static str, f64)| {
            if before(next.1, best.1) { next } else { best }
        };
        pairs.reduce(pick).expect("a grid has workloads")
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
    use warploom_report::page::Holds;

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
        claims: &[Expectation {
            id: "cooperative.warp.vs_rr",
            states: &[
                Statement::Mean {
                    of: "gto",
                    over: "lrr",
                    paper: 1.075,
                },
                Statement::Best {
                    of: "gto",
                    over: "lrr",
                    workload: "B",
                    paper: 1.21,
                },
                Statement::NoLoss {
                    of: "gto",
                    over: "lrr",
                },
                Statement::Gains {
                    of: "gto",
                    over: "lrr",
                    except: &["A"],
                },
            ],
        }],
    };

    fn measured(values: [[f64; 2]; 2]) -> Measured<'static> {
        Measured {
            grid: &GRID,
            values: values.map(|row| row.to_vec()).to_vec(),
        }
    }

    fn holds(values: [[f64; 2]; 2]) -> (Holds, Vec<Holds>) {
        let verdict = measured(values).verdict(&GRID.claims[0], "");
        let parts = verdict.parts.iter().map(|part| part.holds).collect();
        (verdict.holds, parts)
    }

    #[test]
    fn statements_are_judged_one_by_one() {
        use Holds::{No, Partly, Yes};
        // A is unchanged and B is 18% higher: the mean is 9%.
        assert_eq!(holds([[10.0, 10.0], [10.0, 11.8]]), (Yes, vec![Yes; 5]));
        // A loses only a tie.
        assert_eq!(holds([[10.0, 9.96], [10.0, 11.8]]).1, vec![Yes; 5]);
        // A loses more, and the mean is 3.5% higher.
        let (all, parts) = holds([[10.0, 9.0], [10.0, 11.7]]);
        assert_eq!((all, parts), (Partly, vec![Yes, Yes, Yes, No, Yes]));
        // A gains most.
        let (all, parts) = holds([[10.0, 12.1], [10.0, 10.1]]);
        assert_eq!((all, parts), (Partly, vec![Yes, No, Yes, Yes, No]));
        // The mean falls.
        assert_eq!(holds([[10.0, 8.0], [10.0, 11.8]]).0, No);
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
        assert_eq!(chart.groups, ["A", "B", "mean"]);
        assert_eq!(chart.series[1].values, [Some(2.0), Some(0.5), Some(1.25)]);
    }
}
