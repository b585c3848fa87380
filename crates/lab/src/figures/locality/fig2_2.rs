//! Fig. 2.2: distance of the blocks with which a block shares lines. The thesis draws the two usual
//! behaviours; here every workload is measured.

use super::PAPER;
use super::behaviour::{Behaviour, behaviours};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig2.2",
    title: "Lines that blocks share, by how far the blocks lie apart",
    make,
};

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let rows = behaviours(request, runs)?;
    Some(Figure {
        table: Table {
            columns: columns(),
            rows: rows.iter().map(cells).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![chart(&rows)],
    })
}

fn columns() -> Vec<Column> {
    [
        ("workload", "The paper's name."),
        (
            "lines",
            "Lines of 128 bytes that blocks touch, summed over blocks and launches.",
        ),
        (
            "shared",
            "Share of them that another block of the launch touches.",
        ),
        (
            "with_next",
            "Share that the next block in the grid's order touches.",
        ),
        (
            "with_below",
            "Share that the block one row of the grid below touches.",
        ),
        (
            "far",
            "Share that another block touches, but none of the nearest in order or column.",
        ),
    ]
    .map(|(name, about)| Column::new(name, about))
    .to_vec()
}

/// Shares of lines: shared at all, with the next block, with the one below, only with others.
fn shares(row: &Behaviour) -> [f64; 4] {
    let sharing = &row.sharing;
    let lines = [
        sharing.shared,
        sharing.with_next,
        sharing.with_below,
        sharing.far,
    ];
    lines.map(|lines| row.share(lines))
}

fn cells(row: &Behaviour) -> Vec<Cell> {
    let first = [Cell::from(row.name), Cell::Count(row.sharing.lines)];
    let shares = shares(row).map(Cell::Number);
    first.into_iter().chain(shares).collect()
}

fn chart(rows: &[Behaviour]) -> Chart {
    let series = |name: &str, which: usize| BarSeries {
        name: name.to_owned(),
        values: rows.iter().map(|row| Some(shares(row)[which])).collect(),
    };
    Chart::Bars(BarChart {
        title: "Lines that blocks share".to_owned(),
        axis: Axis {
            label: "share of the lines that blocks touch".to_owned(),
            ..Axis::default()
        },
        groups: rows.iter().map(|row| row.name.to_owned()).collect(),
        series: vec![
            series("with the next block", 1),
            series("with the block a grid row below", 2),
            series("only with blocks farther away", 3),
        ],
        marks: Vec::new(),
    })
}
