//! Table 5.1: types of workloads, derived from the measurements of Fig. 2.2.

use super::behaviour::{DOMINATES, NONE, behaviours};
use super::{PAPER, TYPE_1, TYPE_2, TYPE_3};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Holds, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table5.1",
    title: "Types of workloads by what their blocks share",
    make,
};

/// The thesis's type, if it gives one.
fn thesis(name: &str) -> Option<usize> {
    let types: [&[&str]; 3] = [&TYPE_1, &TYPE_2, &TYPE_3];
    let found = types.iter().position(|names| names.contains(&name));
    found.map(|index| index + 1)
}

fn shown(kind: usize) -> Cell {
    Cell::Text(format!("Type-{}", "I".repeat(kind)))
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let rows = behaviours(request, runs)?;
    let mut judged = Judged::new("locality.types");
    for row in &rows {
        if let Some(paper) = thesis(row.name) {
            let holds = if paper == row.kind() {
                Holds::Yes
            } else {
                Holds::No
            };
            judged = judged.part(row.name, shown(paper), shown(row.kind()), holds);
        }
    }
    let cells = rows.iter().map(|row| {
        vec![
            Cell::from(row.name),
            shown(row.kind()),
            thesis(row.name).map_or(Cell::None, shown),
        ]
    });
    let note = format!(
        "Type III: less than {:.0}% of the lines are another block's too. Type I: blocks share \
         more than {DOMINATES} times as many with the next block as with one a grid row below or \
         only farther away. The thesis gives no rule; this one was set before measuring.",
        NONE * 100.0
    );
    let kinds = rows.iter().map(|row| Some(row.kind() as f64));
    Some(Figure {
        table: Table {
            columns: vec![
                Column::new("workload", "The paper's name."),
                Column::new("type", "Type as measured here."),
                Column::new(
                    "type.paper",
                    "Type in Table 5.1, which does not contain Gabor.",
                ),
            ],
            rows: cells.collect(),
        },
        summary: BTreeMap::new(),
        claims: vec![judged.verdict(note)],
        charts: vec![Chart::Bars(BarChart {
            title: "Types".to_owned(),
            axis: Axis {
                label: "type".to_owned(),
                ..Axis::default()
            },
            groups: rows.iter().map(|row| row.name.to_owned()).collect(),
            series: vec![
                BarSeries {
                    name: "here".to_owned(),
                    values: kinds.collect(),
                },
                BarSeries {
                    name: "Table 5.1".to_owned(),
                    values: rows
                        .iter()
                        .map(|row| thesis(row.name).map(|kind| kind as f64))
                        .collect(),
                },
            ],
            marks: Vec::new(),
        })],
    })
}
