//! Fig. 5.2: L1D miss rates, and how often the policies acted.

use super::{BCS, BLOCKS, BOTH, CONFIGS, GTO, Measured, PAPER, WORKLOADS};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table, Verdict};
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
        let rates = WORKLOADS.iter();
        let rates: Vec<_> = rates
            .filter_map(|workload| measured.miss_rate(workload.name, config.name))
            .collect();
        summary.insert(format!("{}.mean", config.name), Cell::Number(mean(&rates)));
    }
    Some(Figure {
        table: Table {
            columns: columns(),
            rows: WORKLOADS.iter().map(|w| cells(&measured, w.name)).collect(),
        },
        summary,
        claims: vec![verdict(&measured, request)],
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

fn verdict(measured: &Measured, request: &Request) -> Verdict {
    let fall = |name| Some(measured.miss_rate(name, GTO)? - measured.miss_rate(name, BOTH)?);
    let falls = WORKLOADS
        .iter()
        .filter_map(|w| Some((w.name, fall(w.name)?)));
    let most = falls.reduce(|a, b| if b.1 > a.1 { b } else { a });
    let (name, points) = most.unwrap_or(("none", 0.0));
    Judged::new("locality.miss_rate")
        .value(
            &format!("largest fall, with both schedulers, from {GTO}"),
            points,
        )
        .verdict(format!(
            "On {name}, at scale {}. The thesis does not say from which machine: the baseline of \
             its figure is taken.",
            request.scale
        ))
}
