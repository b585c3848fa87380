//! Fig. 6: total IPC of pairs under each policy, over left-over.

use super::{
    EVEN, GPU, LEFT_OVER, Mixed, PAPER, SEQUENTIAL, SLICER, SPATIAL, Setting, bars, number, pairs,
    scale_note, study,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::geometric_mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig6",
    title: "Total IPC of pairs under each policy over that under left-over",
    make,
};

const POLICIES: [&str; 5] = [LEFT_OVER, SEQUENTIAL, SPATIAL, EVEN, SLICER];

/// Ratio of total IPC over the first setting.
fn ratio(row: &[Mixed], at: usize) -> f64 {
    row[at].figures.total_ipc / row[0].figures.total_ipc
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let settings = POLICIES.map(Setting::policy);
    let rows = study(request, runs, GPU, &groups, &settings)?;
    let over = |of: usize, base: usize| {
        let ratios: Vec<f64> = rows.iter().map(|r| ratio(r, of) / ratio(r, base)).collect();
        geometric_mean(&ratios)
    };
    let mut summary = BTreeMap::new();
    for (at, policy) in POLICIES.iter().enumerate().skip(1) {
        summary.insert(format!("{policy}.gmean"), number(over(at, 0)));
    }
    let verdict = Judged::new("slicer.vs_leftover")
        .value("warped-slicer over left-over, geometric mean", over(4, 0))
        .also("warped-slicer over even", "speedup", 1.14, over(4, 3))
        .also("warped-slicer over spatial", "speedup", 1.17, over(4, 2))
        .also("left-over over sequential", "speedup", 1.032, over(0, 1));
    let note = format!(
        "{} The oracle is a command of its own (`warploom oracle`).",
        scale_note(request)
    );
    let names: Vec<String> = groups.iter().map(super::Group::name).collect();
    let series = |at: usize| {
        let values = rows.iter().map(|row| ratio(row, at)).collect();
        (POLICIES[at].to_owned(), values)
    };
    let mut columns = vec![
        Column::new("pair", "The paper's names."),
        Column::new("category", "Of which types."),
        Column::new("left-over.ipc", "Total IPC under left-over."),
    ];
    let others = POLICIES.iter().skip(1);
    columns.extend(others.map(|p| Column::new(*p, "Total IPC over that under left-over.")));
    let line = |(group, row): (&super::Group, &Vec<Mixed>)| {
        let mut cells = vec![
            Cell::Text(group.name()),
            Cell::from(group.category),
            number(row[0].figures.total_ipc),
        ];
        cells.extend((1..POLICIES.len()).map(|at| number(ratio(row, at))));
        cells
    };
    Some(Figure {
        table: Table {
            columns,
            rows: groups.iter().zip(&rows).map(line).collect(),
        },
        summary,
        claims: vec![verdict.verdict(note)],
        charts: vec![bars(
            "Pairs",
            "total IPC over left-over",
            names,
            (0..POLICIES.len()).map(series).collect(),
        )],
    })
}
