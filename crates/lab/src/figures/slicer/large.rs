//! Section V.H: SMs with 256 KB of registers, 96 KB of shared memory, 32 blocks and 64 warps.

use super::{GPU, LEFT_OVER, Mixed, PAPER, SLICER, Setting, columns, number, pairs, study};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::geometric_mean;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "large",
    title: "Warped-slicer over left-over on larger SMs",
    make,
};

const LARGE: &str = "fermi-slicer-large";

fn ratio(row: &[Mixed]) -> f64 {
    row[1].figures.total_ipc / row[0].figures.total_ipc
}

/// Warped-Slicer over left-over on the larger SMs, geometric mean over pairs.
pub(super) fn speedup(request: &Request, runs: &mut Runs<'_>) -> Option<f64> {
    let settings = [LEFT_OVER, SLICER].map(Setting::policy);
    let rows = study(request, runs, LARGE, &pairs(request.scale), &settings)?;
    let ratios: Vec<f64> = rows.iter().map(|row| ratio(row)).collect();
    Some(geometric_mean(&ratios))
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let settings = [LEFT_OVER, SLICER].map(Setting::policy);
    let large = study(request, runs, LARGE, &groups, &settings);
    let usual = study(request, runs, GPU, &groups, &settings);
    let (large, usual) = (large?, usual?);
    let ratio = |row: &Vec<Mixed>| ratio(row);
    let fair = |row: &Vec<Mixed>| row[1].figures.minimum_speedup / row[0].figures.minimum_speedup;
    let gmean = |rows: &[Vec<Mixed>], of: &dyn Fn(&Vec<Mixed>) -> f64| {
        number(geometric_mean(&rows.iter().map(of).collect::<Vec<_>>()))
    };
    let lines = groups
        .iter()
        .zip(large.iter().zip(&usual))
        .map(|(group, (large, usual))| {
            vec![
                Cell::Text(group.name()),
                number(ratio(large)),
                number(fair(large)),
                number(ratio(usual)),
                number(fair(usual)),
            ]
        });
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("pair", "The paper's names."),
                (
                    "large.ipc",
                    "Total IPC over that under left-over, on larger SMs; 1.26 in section V.H.",
                ),
                (
                    "large.fairness",
                    "Minimum speedup over that under left-over, on larger SMs.",
                ),
                ("ipc", "Total IPC over that under left-over, on Table I's."),
                (
                    "fairness",
                    "Minimum speedup over that under left-over, on Table I's.",
                ),
            ]),
            rows: lines.collect(),
        },
        summary: BTreeMap::from([
            ("large.ipc.gmean".to_owned(), gmean(&large, &ratio)),
            ("large.fairness.gmean".to_owned(), gmean(&large, &fair)),
            ("ipc.gmean".to_owned(), gmean(&usual, &ratio)),
            ("fairness.gmean".to_owned(), gmean(&usual, &fair)),
        ]),
        claims: Vec::new(),
        charts: Vec::new(),
    })
}
