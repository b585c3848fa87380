//! Columns of a comparison, and the cells of a run in them.

use super::sampled::ESTIMATED;
use super::{Comparison, Vary, is_cut, is_stopped};
use warploom_report::page::{Cell, Column};
use warploom_report::{OF_RUN, REACHED, reached_cells};
use warploom_stats::energy::EnergyReport;
use warploom_stats::result::RunReport;

/// Columns of every comparison, with what they mean.
const MEASURED: [(&str, &str); 10] = [
    ("cycles", "Core cycles."),
    ("ipc", "Thread instructions per core cycle."),
    (
        "speedup",
        "Speed over that of the first row: cycles of runs that did the same work, IPC of runs that \
         are cut.",
    ),
    OF_RUN[0],
    OF_RUN[1],
    OF_RUN[2],
    OF_RUN[3],
    OF_RUN[4],
    OF_RUN[5],
    (
        "status",
        "`finished`, `cut` for a run that was stopped at --max-cycles, or `stopped` after \
         --max-launches.",
    ),
];

/// Columns of energy with what they mean.
const ENERGY: [(&str, &str); 4] = [
    ("power.w", "Mean power in watts."),
    ("energy.mj", "Energy in millijoules."),
    (
        "energy_delay.uj_s",
        "Energy times time, in microjoule seconds.",
    ),
    (
        "energy.ratio",
        "Energy over that of the first row: of runs that did the same work, otherwise energy for \
         each thread instruction.",
    ),
];

/// Names of the measured columns with what they mean, in their order.
pub fn measured_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    MEASURED.into_iter().chain(REACHED)
}

impl Comparison {
    /// Columns of the table in their order, beginning with the keys.
    pub fn columns(&self) -> Vec<Column> {
        let key = |vary: &Vary| Column::new(&vary.key, "The value of the varied key.");
        let found = |vary: &Vary| {
            let about = "The value of the searched key with which the run is fastest; none where \
                         the key changes nothing.";
            Column::new(&vary.key, about)
        };
        let varied = self.vary.iter().map(key);
        let mut columns: Vec<_> = varied.chain(self.best.iter().map(found)).collect();
        let mut add = |all: &[(&str, &str)]| {
            columns.extend(all.iter().map(|(name, about)| Column::new(*name, *about)));
        };
        match self.sample_error {
            Some(_) => add(&ESTIMATED),
            None => add(&MEASURED),
        }
        if self.max_cycles.is_some() {
            add(&REACHED);
        }
        if let Some(programs) = &self.programs {
            columns.extend(programs.columns(&self.input));
        }
        if self.energy.is_some() {
            columns.extend(ENERGY.map(|(name, about)| Column::new(name, about)));
        }
        columns
    }

    /// Cells of a run after those of the keys, with what bound it.
    pub(super) fn measured(
        &self,
        report: &RunReport,
        bound: Option<&str>,
        speedup: Option<f64>,
    ) -> Vec<Cell> {
        let figures = &report.totals.figures;
        let rate = |rate: Option<f64>| rate.map_or(Cell::None, Cell::Number);
        let text = |text: Option<&str>| text.map_or(Cell::None, Cell::from);
        let first = report.kernels.first();
        let blocks = first.map(|kernel| kernel.blocks_per_sm);
        let mut cells = vec![
            Cell::Count(figures.cycles),
            Cell::Number(figures.ipc),
            rate(speedup.filter(|speedup| speedup.is_finite())),
            rate(figures.l1d.hit_rate),
            rate(figures.l2.hit_rate),
            rate(figures.dram.utilisation),
            blocks.map_or(Cell::None, |blocks| Cell::Count(blocks.into())),
            text(first.map(|kernel| kernel.occupancy_limit.as_str())),
            text(bound),
            Cell::from(status(report)),
        ];
        if self.max_cycles.is_some() {
            cells.extend(reached_cells(report.reached()));
        }
        cells
    }
}

/// How a run ended, in a word.
fn status(report: &RunReport) -> &'static str {
    match (is_cut(report), is_stopped(report)) {
        (true, _) => "cut",
        (_, true) => "stopped",
        _ => "finished",
    }
}

pub(super) fn energy_cells(energy: &EnergyReport, ratio: f64) -> [Cell; ENERGY.len()] {
    let number = |value: f64| match value.is_finite() {
        true => Cell::Number(value),
        false => Cell::None,
    };
    [
        number(energy.watts),
        number(1e3 * energy.joules),
        number(1e6 * energy.energy_delay),
        number(ratio),
    ]
}
