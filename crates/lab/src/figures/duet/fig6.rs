//! Fig. 6: what more of the resources that contexts need would bring. The machine's masks hold 64
//! warp slots, so that registers, shared memory and block slots double and warp slots do not:
//! benchmarks that warp slots limit gain nothing here.

use super::{ALL, PAPER, PLAIN, bars, column, grid, longest, row, speedups};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::geometric_mean;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig6",
    title: "Speedup for doubling registers, shared memory and block slots",
    make,
};

const DOUBLE: super::Config = (
    "doubled",
    &[
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
    let mean = geometric_mean(&speedups);
    Some(Figure {
        table: Table {
            columns: vec![
                column("workload", "The paper's name."),
                column("speedup", "Over the machine as it is."),
                column("blocks_per_sm", "Blocks that fit an SM."),
                column("blocks_per_sm.doubled", "The same with more."),
                column("limit", "What limits the machine as it is."),
            ],
            rows: rows.collect(),
        },
        summary: BTreeMap::from([("geometric_mean".to_owned(), Cell::Number(mean))]),
        claims: Vec::new(),
        charts: vec![bars(
            "Twice the capacity",
            "speedup",
            &ALL,
            vec![("speedup", speedups)],
        )],
    })
}
