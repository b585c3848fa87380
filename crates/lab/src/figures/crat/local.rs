//! Fig. 16: accesses of local memory that spilling to shared memory saves.

use super::study::{Solution, Solved};
use super::{FERMI, PAPER, add_mean, columns, samples, solved, workload};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{bars, row};
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::Table;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig16",
    title: "Accesses of local memory with CRAT over those with CRAT-local",
    make,
};

/// Benchmarks whose spills the paper could not avoid.
const FOUR: [Workload; 4] = [
    workload("DTC", "crat/DTC"),
    workload("FDTD", "crat/FDTD"),
    workload("CFD", "crat/CFD"),
    workload("STE", "crat/STE"),
];

/// Warp-wide accesses of local memory in L1D.
fn accesses(s: &Solved, of: &Solution) -> u64 {
    let local = |name: &str| {
        name.starts_with("l1d.accesses.")
            && !name.contains("reservation_fail")
            && (name.ends_with(".local_read") || name.ends_with(".local_write"))
    };
    s.study.count(of, local)
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &FOUR, FERMI)?;
    let counts = all
        .iter()
        .map(|s| [accesses(s, &s.local), accesses(s, &s.crat)]);
    let counts: Vec<_> = counts.collect();
    let kept = |[local, crat]: &[u64; 2]| match local {
        0 => 1.0,
        local => *crat as f64 / *local as f64,
    };
    let kept: Vec<_> = counts.iter().map(kept).collect();
    let mut summary = BTreeMap::new();
    add_mean(
        &mut summary,
        "kept.mean",
        samples(&FOUR, &kept).arithmetic(),
    );
    let rows = FOUR
        .iter()
        .zip(&counts)
        .zip(&kept)
        .map(|((w, counts), kept)| row(w.name, [counts[0] as f64, counts[1] as f64, *kept]));
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("local", "Accesses of local memory with CRAT-local."),
                ("crat", "Accesses of local memory with CRAT."),
                ("kept", "The second over the first; 1 where there are none."),
            ]),
            rows: rows.collect(),
        },
        summary,
        charts: vec![bars(
            "Local memory",
            "accesses kept",
            &FOUR,
            vec![("CRAT", kept)],
        )],
    })
}
