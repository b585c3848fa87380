//! Fig. 6: total IPC of pairs under each policy, over left-over.

use super::{
    EVEN, GPU, LEFT_OVER, Mixed, PAPER, SLICER, SPATIAL, Setting, add_mean, bars, number, pairs,
    samples, study, times,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig6",
    title: "Total IPC of pairs under each policy over that under left-over",
    make,
};

const POLICIES: [&str; 4] = [LEFT_OVER, SPATIAL, EVEN, SLICER];
/// Columns of the figure. The last is computed from the runs alone, whose cycles and instructions
/// fix the targets: one after the other, programs take the sum of those cycles.
const SHOWN: [&str; 5] = [LEFT_OVER, SPATIAL, EVEN, SLICER, "sequential"];

/// Total IPC of a pair in each column, over that under left-over.
fn ratios(row: &[Mixed], alone: u64) -> [f64; SHOWN.len()] {
    let base = &row[0];
    let targets = base.report.processes.iter().filter_map(|p| p.target);
    let cycles = alone * base.report.processes.len() as u64;
    let one_after_another = targets.sum::<u64>() as f64 / cycles as f64;
    std::array::from_fn(|at| {
        let ipc = row
            .get(at)
            .map_or(one_after_another, |m| m.figures.total_ipc);
        ipc / base.figures.total_ipc
    })
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let settings = POLICIES.map(Setting::policy);
    let rows = study(request, runs, GPU, &groups, &settings)?;
    let alone = times(request.scale).alone;
    let shown: Vec<_> = rows.iter().map(|row| ratios(row, alone)).collect();
    let mut summary = BTreeMap::new();
    for (at, policy) in SHOWN.iter().enumerate().skip(1) {
        let ratios = samples(&groups, shown.iter().map(|ratios| ratios[at]));
        add_mean(&mut summary, &format!("{policy}.gmean"), ratios.geometric());
    }
    let names: Vec<String> = groups.iter().map(super::Group::name).collect();
    let series = |at: usize| {
        let values = shown.iter().map(|row| row[at]).collect();
        (SHOWN[at].to_owned(), values)
    };
    let mut columns = vec![
        Column::new("pair", "The paper's names."),
        Column::new("category", "Types of the pair's programs."),
        Column::new("left-over.ipc", "Total IPC under left-over."),
    ];
    let others = SHOWN.iter().skip(1);
    columns.extend(others.map(|p| Column::new(*p, "Total IPC over that under left-over.")));
    let line = |(group, (row, shown)): (&super::Group, (&Vec<Mixed>, &[f64; SHOWN.len()]))| {
        let mut cells = vec![
            Cell::Text(group.name()),
            Cell::from(group.category),
            number(row[0].figures.total_ipc),
        ];
        cells.extend(shown[1..].iter().map(|ratio| number(*ratio)));
        cells
    };
    Some(Figure {
        table: Table {
            columns,
            rows: groups
                .iter()
                .zip(rows.iter().zip(&shown))
                .map(line)
                .collect(),
        },
        summary,
        charts: vec![bars(
            "Pairs",
            "total IPC over left-over",
            names,
            (0..SHOWN.len()).map(series).collect(),
        )],
    })
}
