//! Fig. 9: minimum speedup (a) and average normalised turnaround time (b) of two and three kernels.

use super::fig8::POLICIES;
use super::{
    GPU, Group, Mixed, PAPER, Setting, columns, number, pairs, scale_note, study, triples,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::{geometric_mean, mean};
use crate::runs::Runs;
use crate::verdict::Judged;
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
    let fairness = |rows: &[Vec<Mixed>], at: usize| {
        let values: Vec<f64> = rows.iter().map(|r| r[at].figures.minimum_speedup).collect();
        geometric_mean(&values)
    };
    let antt = |rows: &[Vec<Mixed>], at: usize| {
        mean(&rows.iter().map(|r| r[at].figures.antt).collect::<Vec<_>>())
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let over = |rows: &[Vec<Mixed>], base: usize| percent(fairness(rows, 3) / fairness(rows, base));
    let verdict = Judged::new("slicer.fairness")
        .also(
            "minimum speedup over even, two kernels",
            "percent",
            14.0,
            over(&all[0], 2),
        )
        .also(
            "minimum speedup over even, three kernels",
            "percent",
            23.0,
            over(&all[1], 2),
        )
        .also(
            "ANTT below even's, three kernels",
            "percent",
            15.0,
            (1.0 - antt(&all[1], 3) / antt(&all[1], 2)) * 100.0,
        )
        .also(
            "minimum speedup over left-over, two kernels",
            "percent",
            26.0,
            over(&all[0], 0),
        );
    let mut rows = Vec::new();
    for ((kind, groups), mixed) in kinds.iter().zip(&all) {
        for (group, row) in groups.iter().zip(mixed) {
            rows.extend(lines(kind, group, row));
        }
    }
    let mut summary = BTreeMap::new();
    for ((kind, _), rows) in kinds.iter().zip(&all) {
        for (at, policy) in POLICIES.iter().enumerate() {
            let fair = fairness(rows, at) / fairness(rows, 0);
            summary.insert(format!("{kind}.{policy}.minimum_speedup"), number(fair));
            let turnaround = antt(rows, at) / antt(rows, 0);
            summary.insert(format!("{kind}.{policy}.antt"), number(turnaround));
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
        claims: vec![verdict.verdict(scale_note(request))],
        charts: Vec::new(),
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
