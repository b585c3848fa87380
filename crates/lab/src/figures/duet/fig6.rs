//! Fig. 6: gain of doubling the resources for contexts.

use super::{ALL, PAPER, PLAIN, add_mean, bars, column, grid, longest, row, samples, speedups};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig6",
    title: "Speedup for doubling the resources of contexts",
    make,
};

const DOUBLE: super::Config = (
    "doubled",
    &[
        "sm.max_threads=4096",
        "sm.registers=131072",
        "sm.shared_bytes=196608",
        "sm.max_blocks=64",
    ],
);

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = grid(request, runs, &ALL, &[PLAIN, DOUBLE])?;
    let speedups = speedups(&reports, 1);
    let rows = ALL.iter().zip(&reports).zip(&speedups);
    let rows = rows.map(|((workload, reports), speedup)| {
        let mut cells = row(workload.name, [*speedup]);
        cells.push(Cell::Count(longest(&reports[0]).blocks_per_sm.into()));
        cells.push(Cell::Count(longest(&reports[1]).blocks_per_sm.into()));
        cells.push(Cell::from(longest(&reports[0]).occupancy_limit.as_str()));
        cells
    });
    let mut summary = BTreeMap::new();
    add_mean(
        &mut summary,
        "geometric_mean",
        samples(&ALL, &speedups).geometric(),
    );
    Some(Figure {
        table: Table {
            columns: vec![
                column("workload", "The paper's name."),
                column("speedup", "Speedup over the unchanged machine."),
                column("blocks_per_sm", "Blocks that fit an SM."),
                column(
                    "blocks_per_sm.doubled",
                    "Blocks that fit an SM with doubled resources.",
                ),
                column(
                    "limit",
                    "Resource that limits blocks on the unchanged machine.",
                ),
            ],
            rows: rows.collect(),
        },
        summary,
        charts: vec![bars(
            "Twice the capacity",
            "speedup",
            &ALL,
            vec![("speedup", speedups)],
        )],
    })
}
