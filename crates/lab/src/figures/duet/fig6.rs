//! Fig. 6: gain of doubling the resources for contexts.

use super::{
    ALL, FIFTEEN, PAPER, PLAIN, UNDERUTILISED, bars, column, grid, longest, note, row, speedups,
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
    let mean = geometric_mean(&speedups);
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
        summary: BTreeMap::from([("geometric_mean".to_owned(), Cell::Number(mean))]),
        claims: vec![claim(&speedups).verdict(note(request))],
        charts: vec![bars(
            "Twice the capacity",
            "speedup",
            &ALL,
            vec![("speedup", speedups)],
        )],
    })
}

fn claim(speedups: &[f64]) -> Judged {
    let of = |name: &str| {
        let at = ALL.iter().position(|workload| workload.name == name);
        at.map_or(1.0, |at| speedups[at])
    };
    let mut order: Vec<_> = ALL.iter().zip(speedups).collect();
    order.sort_by(|a, b| b.1.total_cmp(a.1));
    let first: Vec<_> = order[..UNDERUTILISED].iter().map(|(w, _)| w.name).collect();
    let underused = &FIFTEEN[..UNDERUTILISED];
    Judged::new("duet.doubled")
        .states(
            "the five that gain most are the underused ones",
            underused.iter().all(|w| first.contains(&w.name)),
            first.join(", "),
        )
        .states(
            "SAD_1 gains little (within 5%)",
            (of("SAD_1") - 1.0).abs() <= 0.05,
            format!("{:.3}", of("SAD_1")),
        )
        .states("KM loses", of("KM") < 1.0, format!("{:.3}", of("KM")))
}
