//! Fig. 8: three kernels on an SM.

use super::{
    EVEN, GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, SPATIAL, Setting, add_mean, bars, number,
    samples, study, triples,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig8",
    title: "Total IPC of three kernels under each policy over that under left-over",
    make,
};

pub(super) const POLICIES: [&str; 4] = [LEFT_OVER, SPATIAL, EVEN, SLICER];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = triples(request.scale);
    let rows = study(request, runs, GPU, &groups, &POLICIES.map(Setting::policy))?;
    let ratio = |row: &[Mixed], at: usize, base: usize| {
        row[at].figures.total_ipc / row[base].figures.total_ipc
    };
    let mut summary = BTreeMap::new();
    for (at, policy) in POLICIES.iter().enumerate().skip(1) {
        let ratios = samples(&groups, rows.iter().map(|row| ratio(row, at, 0)));
        add_mean(&mut summary, &format!("{policy}.gmean"), ratios.geometric());
    }
    let mut columns = vec![
        Column::new("kernels", "The paper's names."),
        Column::new("left-over.ipc", "Total IPC under left-over."),
    ];
    let others = POLICIES.iter().skip(1);
    columns.extend(others.map(|p| Column::new(*p, "Total IPC over that under left-over.")));
    let line = |(group, row): (&Group, &Vec<Mixed>)| {
        let mut cells = vec![Cell::Text(group.name()), number(row[0].figures.total_ipc)];
        cells.extend((1..POLICIES.len()).map(|at| number(ratio(row, at, 0))));
        cells
    };
    let series = |at: usize| {
        let values = rows.iter().map(|row| ratio(row, at, 0)).collect();
        (POLICIES[at].to_owned(), values)
    };
    Some(Figure {
        table: Table {
            columns,
            rows: groups.iter().zip(&rows).map(line).collect(),
        },
        summary,
        charts: vec![bars(
            "Three kernels",
            "total IPC over left-over",
            groups.iter().map(Group::name).collect(),
            (0..POLICIES.len()).map(series).collect(),
        )],
    })
}
