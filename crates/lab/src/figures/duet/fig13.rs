//! Fig. 13: GPUDuet, GPUDuet with blocks alone, and Virtual Thread.

use super::{
    DUET, DUET_TB, FIFTEEN, PAPER, PLAIN, UNSATURATED, VT, add_mean, bars, column, grid, row,
    samples, speedups,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::Table;

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
    let mut summary = BTreeMap::new();
    for ((name, _), speedups) in RIVALS.iter().zip(&speedups) {
        let of = |workloads| samples(workloads, speedups).geometric();
        add_mean(
            &mut summary,
            &format!("{name}.geometric_mean"),
            of(&FIFTEEN),
        );
        let unsaturated = of(&FIFTEEN[..UNSATURATED]);
        add_mean(&mut summary, &format!("{name}.unsaturated"), unsaturated);
    }
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
        charts: vec![bars(
            "Context switching",
            "speedup",
            &FIFTEEN,
            series.collect(),
        )],
    })
}
