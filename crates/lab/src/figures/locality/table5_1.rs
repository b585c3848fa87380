//! Table 5.1: types of workloads, derived from the measurements of Fig. 2.2.

use super::behaviour::{DOMINATES, NONE, behaviours};
use super::{PAPER, TYPE_1, TYPE_2, TYPE_3};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart, Mark};

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
    let cells = rows.iter().map(|row| {
        vec![
            Cell::from(row.name),
            shown(row.kind()),
            thesis(row.name).map_or(Cell::None, shown),
        ]
    });
    let kinds = rows.iter().map(|row| Some(row.kind() as f64));
    Some(Figure {
        table: Table {
            columns: vec![
                Column::new("workload", "The paper's name."),
                Column::new(
                    "type",
                    format!(
                        "Type as measured here. III: less than {:.0} % of the lines are another \
                         block's too. I: blocks share more than {DOMINATES} times as many with the \
                         next block as with one a grid row below or only farther away. II: all \
                         others.",
                        NONE * 100.0
                    ),
                ),
                Column::new(
                    "type.paper",
                    "Type in Table 5.1, which does not contain Gabor.",
                ),
            ],
            rows: cells.collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![Chart::Bars(BarChart {
            title: "Types".to_owned(),
            axis: Axis {
                label: "type".to_owned(),
                ..Axis::default()
            },
            groups: rows.iter().map(|row| row.name.to_owned()).collect(),
            series: vec![BarSeries {
                name: "here".to_owned(),
                values: kinds.collect(),
            }],
            marks: vec![Mark {
                name: "Table 5.1".to_owned(),
                values: rows
                    .iter()
                    .map(|row| thesis(row.name).map(|kind| kind as f64))
                    .collect(),
                series: None,
            }],
        })],
    })
}
