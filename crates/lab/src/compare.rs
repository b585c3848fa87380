//! Comparisons: one input on machines that differ in some keys.

use crate::figure::Figure;
use crate::runs::{Runs, UsedRun};
use crate::spec::{Input, MachineVariant, RunSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_config::{Base, ConfigErrors};
use warploom_report::page::{Cell, Column, Page, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};
use warploom_stats::result::{Outcome, RunReport};

/// A key and the values that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// Name of the key.
    pub key: String,
    /// Values of the key.
    pub values: Vec<String>,
}

/// A comparison of one input on all combinations of the values.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The input of all runs.
    pub input: Input,
    /// Name of the base machine.
    pub gpu: String,
    /// The base machine of all combinations.
    pub base: Base,
    /// Changes that all machines have.
    pub sets: Vec<String>,
    /// Keys that are varied; the first varies slowest.
    pub vary: Vec<Vary>,
    /// Core cycle at which runs are cut.
    pub max_cycles: Option<u64>,
}

impl Comparison {
    /// All combinations of values, in the order of rows.
    fn combinations(&self) -> Vec<Vec<&str>> {
        let mut rows = vec![Vec::new()];
        for vary in &self.vary {
            let with = |row: &Vec<_>| {
                let values = vary.values.iter().map(String::as_str);
                let extend = |value| [row.as_slice(), &[value]].concat();
                values.map(extend).collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(with).collect();
        }
        rows
    }

    /// The runs, in the order of rows.
    ///
    /// # Errors
    /// All errors of the first machine that is impossible.
    pub fn runs(&self) -> Result<Vec<RunSpec>, ConfigErrors> {
        let run = |values: &Vec<&str>| {
            let pairs = self.vary.iter().zip(values);
            let varied = pairs.map(|(vary, value)| format!("{}={value}", vary.key));
            let sets: Vec<_> = self.sets.iter().cloned().chain(varied).collect();
            let machine = MachineVariant::new(&values.join(", "), &self.gpu, &self.base, sets)?;
            Ok(RunSpec {
                max_cycles: self.max_cycles,
                ..RunSpec::new(&self.input, &machine)
            })
        };
        self.combinations().iter().map(run).collect()
    }

    /// The comparison, or `None` while runs are missing.
    pub fn make(&self, specs: &[RunSpec], runs: &mut Runs<'_>) -> Option<Figure> {
        let reports = runs.all(specs)?;
        let speedups: Vec<_> = reports
            .iter()
            .map(|run| speedup(run, &reports[0]))
            .collect();
        let rows = self.combinations().into_iter().zip(&reports).zip(&speedups);
        let rows = rows.map(|((values, report), speedup)| {
            let names = values.into_iter().map(Cell::from);
            names.chain(measured(report, *speedup)).collect()
        });
        let best = speedups.iter().copied().fold(0.0, f64::max);
        Some(Figure {
            table: Table {
                columns: self.columns(),
                rows: rows.collect(),
            },
            summary: BTreeMap::from([("speedup.best".to_owned(), Cell::Number(best))]),
            claims: Vec::new(),
            charts: vec![self.chart(&speedups)],
        })
    }

    fn columns(&self) -> Vec<Column> {
        let key = |vary: &Vary| Column::new(&vary.key, "The value of the varied key.");
        let mut columns: Vec<_> = self.vary.iter().map(key).collect();
        let first = "Speed over that of the first row: cycles of runs that finish, IPC of runs that \
                     are cut.";
        for (name, about) in [
            ("cycles", "Core cycles."),
            ("ipc", "Thread instructions per core cycle."),
            ("speedup", first),
            ("l1d.hit_rate", "Hits over accesses of the L1 data caches."),
            ("l2.hit_rate", "Hits over accesses of L2."),
            (
                "dram.utilisation",
                "Share of DRAM's cycles in which data moved.",
            ),
            (
                "blocks_per_sm",
                "Number of the first launch's blocks that fit an SM.",
            ),
        ] {
            columns.push(Column::new(name, about));
        }
        columns
    }

    /// A chart with groups by the first key, and bars by the others.
    fn chart(&self, speedups: &[f64]) -> Chart {
        let groups = self.vary.first().map_or(&[][..], |vary| &vary.values);
        let bars = speedups.len() / groups.len().max(1);
        let combinations = self.combinations();
        let series = |bar: usize| BarSeries {
            name: match combinations[bar].get(1..) {
                None | Some([]) => self.input.name().to_owned(),
                Some(others) => others.join(", "),
            },
            values: speedups
                .iter()
                .skip(bar)
                .step_by(bars)
                .copied()
                .map(Some)
                .collect(),
        };
        let keys: Vec<_> = self.vary.iter().map(|vary| vary.key.as_str()).collect();
        Chart::Bars(BarChart {
            title: format!("{} by {}", self.input.name(), keys.join(" and ")),
            axis: Axis {
                label: "speedup over the first".to_owned(),
                ..Axis::default()
            },
            groups: groups.to_vec(),
            series: (0..bars).map(series).collect(),
            marks: Vec::new(),
        })
    }

    /// A name for files, made of the input's name and the last words of the keys.
    pub fn name(&self) -> String {
        let last = |vary: &Vary| vary.key.rsplit('.').next().unwrap_or_default().to_owned();
        let words = std::iter::once(self.input.name().to_owned()).chain(self.vary.iter().map(last));
        let plain = |c: char| {
            if c.is_alphanumeric() || "_-+@".contains(c) {
                c
            } else {
                '-'
            }
        };
        words
            .collect::<Vec<_>>()
            .join("-")
            .chars()
            .map(plain)
            .collect()
    }

    /// The page of a comparison.
    pub fn page(&self, figure: Figure, used: &[UsedRun], command: &str) -> Page {
        let keys: Vec<_> = self.vary.iter().map(|vary| vary.key.as_str()).collect();
        Page {
            paper: "compare".to_owned(),
            figure: self.name(),
            title: format!(
                "{} on {} by {}",
                self.input.name(),
                self.gpu,
                keys.join(" and ")
            ),
            command: command.to_owned(),
            ..figure.into_page(used)
        }
    }
}

/// Speed of a run relative to another of the same input: the ratio of cycles if both finished, of
/// IPC if one was cut.
pub fn speedup(run: &RunReport, over: &RunReport) -> f64 {
    let finished = |run: &RunReport| run.outcome == Outcome::Finished;
    let (a, b) = (&run.totals.figures, &over.totals.figures);
    if finished(run) && finished(over) {
        b.cycles as f64 / a.cycles as f64
    } else {
        a.ipc / b.ipc
    }
}

fn measured(report: &Arc<RunReport>, speedup: f64) -> [Cell; 7] {
    let figures = &report.totals.figures;
    let rate = |rate: Option<f64>| rate.map_or(Cell::None, Cell::Number);
    let blocks = report.kernels.first().map(|kernel| kernel.blocks_per_sm);
    [
        Cell::Count(figures.cycles),
        Cell::Number(figures.ipc),
        if speedup.is_finite() {
            Cell::Number(speedup)
        } else {
            Cell::None
        },
        rate(figures.l1d.hit_rate),
        rate(figures.l2.hit_rate),
        rate(figures.dram.utilisation),
        blocks.map_or(Cell::None, |blocks| Cell::Count(blocks.into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Vary};
    use crate::runner::Runner;
    use crate::runs::{Made, Wanted, make};
    use crate::spec::Input;
    use warploom_config::Base;
    use warploom_report::page::Cell;
    use warploom_workloads::Size;

    fn comparison() -> Comparison {
        let vary = |key: &str, values: &[&str]| Vary {
            key: key.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        Comparison {
            input: Input::workload("vectoradd", Size::Test, 1).unwrap(),
            gpu: "gtx480".to_owned(),
            base: Base::Preset("gtx480".to_owned()),
            sets: vec!["gpu.sms=2".to_owned()],
            vary: vec![
                vary("sm.warp_scheduler", &["lrr", "gto"]),
                vary("gpu.max_blocks_per_sm", &["1", "2", "4"]),
            ],
            max_cycles: None,
        }
    }

    #[test]
    fn every_combination_is_a_row_and_speedups_are_over_the_first() {
        let comparison = comparison();
        let specs = comparison.runs().unwrap();
        let wanted = Wanted {
            name: comparison.name(),
            make: Box::new(|runs| comparison.make(&specs, runs)),
            page: Box::new(|figure, used| comparison.page(figure, used, "warploom compare")),
        };
        let runner = Runner {
            store: None,
            threads: 2,
            observer: &|_| (),
        };
        let made = make(&[wanted], &runner).unwrap();
        let [Made::Page(page)] = made.as_slice() else {
            panic!("{made:?}")
        };
        assert_eq!(page.figure, "vectoradd-warp_scheduler-max_blocks_per_sm");
        let names = |row: &Vec<Cell>| format!("{} {}", row[0], row[1]);
        let rows: Vec<_> = page.table.rows.iter().map(names).collect();
        assert_eq!(rows, ["lrr 1", "lrr 2", "lrr 4", "gto 1", "gto 2", "gto 4"]);
        let cycles = |row: usize| page.table.rows[row][2].number().unwrap();
        let speedup = |row: usize| page.table.rows[row][4].number().unwrap();
        assert_eq!(speedup(0), 1.0);
        for row in 1..6 {
            assert_eq!(speedup(row), cycles(0) / cycles(row));
        }
        // More blocks hide more latency.
        assert!(speedup(2) > 1.5, "{:?}", page.table.rows);
        let warploom_report::Chart::Bars(chart) = &page.charts[0] else {
            panic!("no bars")
        };
        assert_eq!(chart.groups, ["lrr", "gto"]);
        assert_eq!(chart.series[2].values, [Some(speedup(2)), Some(speedup(5))]);
        assert_eq!(page.configurations.len(), 6);
    }
}
