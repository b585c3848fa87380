//! Fig. 13: GPUDuet, GPUDuet with blocks alone, and Virtual Thread.

use super::{
    DUET, DUET_TB, FIFTEEN, PAPER, PLAIN, VT, bars, column, grid, note, row, speedups,
    unsaturated_mean,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::geometric_mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig13",
    title: "Speedup of Virtual Thread, GPUDuet with blocks alone, and GPUDuet",
    make,
};

const RIVALS: [super::Config; 3] = [VT, DUET_TB, DUET];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let configs = [PLAIN, VT, DUET_TB, DUET];
    let reports = grid(request, runs, &FIFTEEN, &configs)?;
    let speedups = [1, 2, 3].map(|at| speedups(&reports, at));
    let over: Vec<_> = speedups[2]
        .iter()
        .zip(&speedups[0])
        .map(|(d, v)| d / v)
        .collect();
    let mut summary = BTreeMap::new();
    for ((name, _), speedups) in RIVALS.iter().zip(&speedups) {
        let means = [geometric_mean(speedups), unsaturated_mean(speedups)];
        summary.insert(format!("{name}.geometric_mean"), Cell::Number(means[0]));
        summary.insert(format!("{name}.unsaturated"), Cell::Number(means[1]));
    }
    let claim = Judged::new("duet.vs_vt.all")
        .value(
            "GPUDuet over Virtual Thread, geometric mean",
            geometric_mean(&over),
        )
        .also(
            "the same, unsaturated",
            "speedup",
            1.16,
            unsaturated_mean(&over),
        );
    let mut columns = vec![column("workload", "The paper's name.")];
    columns.extend(RIVALS.map(|(name, _)| column(name, "Speedup over the baseline.")));
    let rows = FIFTEEN.iter().enumerate();
    let rows = rows.map(|(at, w)| row(w.name, speedups.iter().map(|of| of[at])));
    let series = RIVALS
        .iter()
        .zip(&speedups)
        .map(|((name, _), of)| (*name, of.clone()));
    Some(Figure {
        table: Table {
            columns,
            rows: rows.collect(),
        },
        summary,
        claims: vec![claim.verdict(note(request))],
        charts: vec![bars(
            "Context switching",
            "speedup",
            &FIFTEEN,
            series.collect(),
        )],
    })
}
