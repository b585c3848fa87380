//! Readings of section 6 that the paper leaves open, with as many extra blocks as have space:
//! whether transfers wait for each other, whether the halves of a swap do, and which stalled warp
//! or block leaves first.

use super::{Config, PAPER, PLAIN, Workload, bars, column, grid, row, speedups, workload};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::Table;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "transfers",
    title: "Speedup of GPUDuet by what transfers wait for, and by which block leaves first",
    make,
};

/// Benchmarks of section 7.4 that are most sensitive to the port, and one that is limited by warp
/// slots.
const WORKLOADS: [Workload; 3] = [
    workload("HG", "duet/HG"),
    workload("BT", "duet/BT"),
    workload("BP_1", "duet/BP_1"),
];

/// Number of extra blocks that no benchmark has space for: the bound decides.
const MOST: &str = "duet.extra_blocks=64";

const READINGS: [(Config, &str); 4] = [
    (
        (
            "serial",
            &["sm.context=duet", MOST, "duet.transfers=serial"],
        ),
        "Speedup where a transfer waits for the one before.",
    ),
    (
        ("overlap", &["sm.context=duet", MOST]),
        "Speedup where as many transfers are under way as a queue has entries (the default).",
    ),
    (
        ("duplex", &["sm.context=duet", MOST, "duet.duplex=true"]),
        "The same, where both halves of a swap move at once.",
    ),
    (
        (
            "youngest",
            &["sm.context=duet", MOST, "duet.victim=youngest"],
        ),
        "As overlap, where the warp or block that stalled last leaves first.",
    ),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let configs: Vec<_> = std::iter::once(PLAIN)
        .chain(READINGS.map(|(config, _)| config))
        .collect();
    let reports = grid(request, runs, &WORKLOADS, &configs)?;
    let speedups: Vec<_> = (1..configs.len())
        .map(|at| speedups(&reports, at))
        .collect();
    let mut columns = vec![column("workload", "The paper's name.")];
    columns.extend(READINGS.map(|((name, _), about)| column(name, about)));
    let rows = WORKLOADS.iter().enumerate();
    let rows = rows.map(|(at, w)| row(w.name, speedups.iter().map(|of| of[at])));
    let series = READINGS.iter().zip(&speedups);
    let series = series.map(|(((name, _), _), of)| (*name, of.clone()));
    Some(Figure {
        table: Table {
            columns,
            rows: rows.collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![bars(
            "Readings of a transfer",
            "speedup",
            &WORKLOADS,
            series.collect(),
        )],
    })
}
