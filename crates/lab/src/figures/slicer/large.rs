//! Section V.H: SMs with 256 KB of registers, 96 KB of shared memory, 32 blocks and 64 warps.

use super::{
    GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, Setting, add_mean, columns, number, pairs,
    samples, study,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
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

fn fairness(row: &[Mixed]) -> f64 {
    row[1].figures.minimum_speedup / row[0].figures.minimum_speedup
}

/// Adds the means of total IPC and of minimum speedup over left-over.
fn add_means(
    summary: &mut BTreeMap<String, Cell>,
    prefix: &str,
    groups: &[Group],
    rows: &[Vec<Mixed>],
) {
    let mut add = |name: &str, of: fn(&[Mixed]) -> f64| {
        let ratios = samples(groups, rows.iter().map(|row| of(row)));
        let name = format!("{prefix}{name}.gmean");
        add_mean(summary, &name, ratios.geometric());
    };
    add("ipc", ratio);
    add("fairness", fairness);
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let settings = [LEFT_OVER, SLICER].map(Setting::policy);
    let large = study(request, runs, LARGE, &groups, &settings);
    let usual = study(request, runs, GPU, &groups, &settings);
    let (large, usual) = (large?, usual?);
    let mut summary = BTreeMap::new();
    add_means(&mut summary, "large.", &groups, &large);
    add_means(&mut summary, "", &groups, &usual);
    let lines = groups
        .iter()
        .zip(large.iter().zip(&usual))
        .map(|(group, (large, usual))| {
            vec![
                Cell::Text(group.name()),
                number(ratio(large)),
                number(fairness(large)),
                number(ratio(usual)),
                number(fairness(usual)),
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
        summary,
        charts: Vec::new(),
    })
}
