//! Fig. 9: minimum speedup (a) and average normalised turnaround time (b) of two and three kernels.

use super::fig8::POLICIES;
use super::{
    GPU, Group, Mixed, PAPER, Setting, add_mean, columns, number, pairs, samples, study, triples,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::samples::Measured;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig9",
    title: "Minimum speedup and average normalised turnaround time under each policy",
    make,
};

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let settings = POLICIES.map(Setting::policy);
    let kinds = [
        ("2 kernels", pairs(request.scale)),
        ("3 kernels", triples(request.scale)),
    ];
    let two = study(request, runs, GPU, &kinds[0].1, &settings);
    let three = study(request, runs, GPU, &kinds[1].1, &settings);
    let all = [two?, three?];
    let mut rows = Vec::new();
    for ((kind, groups), mixed) in kinds.iter().zip(&all) {
        for (group, row) in groups.iter().zip(mixed) {
            rows.extend(lines(kind, group, row));
        }
    }
    let mut summary = BTreeMap::new();
    for ((kind, groups), rows) in kinds.iter().zip(&all) {
        for (at, policy) in POLICIES.iter().enumerate() {
            let name = |what: &str| format!("{kind}.{policy}.{what}");
            let fair = fairness(groups, rows, at);
            add_mean(&mut summary, &name("minimum_speedup"), fair);
            add_mean(&mut summary, &name("antt"), turnaround(groups, rows, at));
        }
    }
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("kind", "Number of kernels."),
                ("kernels", "The paper's names."),
                ("policy", "Policy by which they share the SMs."),
                (
                    "minimum_speedup",
                    "(a) The smallest speedup over running alone.",
                ),
                ("antt", "(b) Mean of the times over those alone."),
                ("stp", "Sum of the speedups over running alone."),
                ("harmonic_mean", "Harmonic mean of these speedups."),
            ]),
            rows,
        },
        summary,
        charts: Vec::new(),
    })
}

/// Minimum speedup over that under left-over, geometric mean.
fn fairness(groups: &[Group], rows: &[Vec<Mixed>], at: usize) -> Option<Measured> {
    let speedup = |row: &[Mixed], at: usize| row[at].figures.minimum_speedup;
    let ratios = rows.iter().map(|row| speedup(row, at) / speedup(row, 0));
    samples(groups, ratios).geometric()
}

/// Mean turnaround time over that under left-over.
fn turnaround(groups: &[Group], rows: &[Vec<Mixed>], at: usize) -> Option<Measured> {
    let names: Vec<String> = groups.iter().map(Group::name).collect();
    Measured::over(&names, |picked| {
        let sum = |at: usize| -> f64 { picked.iter().map(|row| rows[*row][at].figures.antt).sum() };
        sum(at) / sum(0)
    })
}

fn lines(kind: &str, group: &Group, row: &[Mixed]) -> Vec<Vec<Cell>> {
    let line = |(policy, mixed): (&&str, &Mixed)| {
        let figures = &mixed.figures;
        vec![
            Cell::from(kind),
            Cell::Text(group.name()),
            Cell::from(*policy),
            number(figures.minimum_speedup),
            number(figures.antt),
            number(figures.stp),
            number(figures.harmonic_mean),
        ]
    };
    POLICIES.iter().zip(row).map(line).collect()
}
