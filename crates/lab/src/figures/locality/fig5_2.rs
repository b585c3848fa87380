//! Fig. 5.2: L1D miss rates, and how often the policies acted.

use super::{BCS, BLOCKS, BOTH, CONFIGS, GTO, Measured, PAPER, WORKLOADS, add_mean};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use crate::samples::Samples;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5.2",
    title: "L1D miss rates under block and warp schedulers",
    make,
};

/// Counters of the policies, of the run in which both act.
const ACTS: [(&str, &str, &str); 3] = [
    (
        "blocks_reordered",
        "gpu.blocks_reordered",
        "Blocks that the block scheduler put before older ones, with both schedulers.",
    ),
    (
        "demotions",
        "warp_policy.demotions",
        "Warps that left the active group, with both schedulers.",
    ),
    (
        "promotions",
        "warp_policy.promotions",
        "Warps that came in before older ones for their locality, with both schedulers.",
    ),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let measured = Measured::new(request, runs)?;
    let mut summary = BTreeMap::new();
    for config in CONFIGS {
        let rate = |workload: &Workload| {
            let rate = measured.miss_rate(workload.name, config.name)?;
            Some((workload.name.to_owned(), rate))
        };
        let rates = Samples(WORKLOADS.iter().filter_map(rate).collect());
        add_mean(
            &mut summary,
            &format!("{}.mean", config.name),
            rates.arithmetic(),
        );
    }
    Some(Figure {
        table: Table {
            columns: columns(),
            rows: WORKLOADS.iter().map(|w| cells(&measured, w.name)).collect(),
        },
        summary,
        charts: vec![chart(&measured)],
    })
}

fn columns() -> Vec<Column> {
    let mut columns = vec![Column::new("workload", "The paper's name.")];
    for config in CONFIGS {
        let about = format!(
            "L1D misses over accesses under {}, in percent.",
            config.name
        );
        columns.push(Column::new(config.name, about));
    }
    columns.extend(ACTS.map(|(name, _, about)| Column::new(name, about)));
    columns
}

fn cells(measured: &Measured, workload: &str) -> Vec<Cell> {
    let rate = |name| measured.miss_rate(workload, name);
    let mut cells = vec![Cell::from(workload)];
    cells.extend(
        CONFIGS
            .iter()
            .map(|c| rate(c.name).map_or(Cell::None, Cell::Number)),
    );
    let acts = ACTS.map(|(_, name, _)| Cell::Count(measured.count(workload, BOTH, name)));
    cells.extend(acts);
    cells
}

fn chart(measured: &Measured) -> Chart {
    let series = |name: &str| BarSeries {
        name: name.to_owned(),
        values: WORKLOADS
            .iter()
            .map(|workload| measured.miss_rate(workload.name, name))
            .collect(),
    };
    Chart::Bars(BarChart {
        title: "L1D miss rates".to_owned(),
        axis: Axis {
            label: "misses over accesses, %".to_owned(),
            ..Axis::default()
        },
        groups: WORKLOADS.iter().map(|w| w.name.to_owned()).collect(),
        series: [GTO, BCS, BLOCKS, BOTH].map(series).to_vec(),
        marks: Vec::new(),
    })
}
