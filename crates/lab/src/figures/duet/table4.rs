//! Table 4: storage of GPUDuet per SM, and that of Virtual Thread (section 6.8), computed from the
//! preset.

use super::{GPU, PAPER, column};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_config::preset;
use warploom_policy::context::Tables;
use warploom_report::page::{Cell, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table4",
    title: "Storage of GPUDuet and of Virtual Thread per SM",
    make,
};

fn make(_: &Request, _: &mut Runs<'_>) -> Option<Figure> {
    let spec = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let tables = Tables::of(&spec);
    let rows = tables.rows.map(|(name, bits, entries)| {
        vec![
            Cell::from(name),
            Cell::Count(bits),
            Cell::Count(entries),
            Cell::Count(bits * entries),
        ]
    });
    let policy = warploom_policy::all().find(|row| row.name == "virtual-thread");
    let rival = policy.map_or(0, |row| (row.facts.bits)(&spec));
    let bytes = [tables.bits(), rival].map(|bits| bits as f64 / 8.0);
    let summary = [("duet.bytes", bytes[0]), ("virtual-thread.bytes", bytes[1])];
    Some(Figure {
        table: Table {
            columns: vec![
                column("component", "Contents of the storage."),
                column(
                    "entry",
                    "Bits of an entry; for queues, of a number in them.",
                ),
                column("entries", "Entries; for queues, of both together."),
                column("bits", "Bits of an SM."),
            ],
            rows: rows.to_vec(),
        },
        summary: BTreeMap::from(summary.map(|(name, of)| (name.to_owned(), Cell::Number(of)))),
        charts: vec![Chart::Bars(BarChart {
            title: "Storage of an SM".to_owned(),
            axis: Axis {
                label: "bytes".to_owned(),
                ..Axis::default()
            },
            groups: vec!["GPUDuet".to_owned(), "Virtual Thread".to_owned()],
            series: vec![BarSeries {
                name: "bytes".to_owned(),
                values: bytes.map(Some).to_vec(),
            }],
            marks: Vec::new(),
        })],
    })
}
