//! Table 5.2: storage of the two schedulers, computed from the machine and the settings.

use super::{BOTH, CONFIGS, GPU, PAPER};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::MachineVariant;
use std::collections::BTreeMap;
use warploom_config::{BlockSchedulerChoice, GpuSpec, WarpSchedulerChoice};
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart, Mark};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table5.2",
    title: "Storage of the locality-aware schedulers",
    make,
};

struct Row {
    place: &'static str,
    what: &'static str,
    ours: f64,
    paper: f64,
}

/// Bytes of each part.
pub(super) fn parts(spec: &GpuSpec) -> [f64; 3] {
    let (BlockSchedulerChoice::Locality(blocks), WarpSchedulerChoice::Locality(warps)) =
        (spec.gpu.block_scheduler, spec.sm.warp_scheduler)
    else {
        panic!("the figure's machine has both policies");
    };
    let slots = f64::from(spec.sm.max_threads / 32);
    let range = warps.arrays * (warps.region_bits + warps.sub_regions);
    [
        // Column, row, width and height take one byte each.
        f64::from(blocks.rectangles * 4),
        slots * slots / 2.0,
        slots * f64::from(range) / 8.0,
    ]
}

fn make(_: &Request, _: &mut Runs<'_>) -> Option<Figure> {
    let config = CONFIGS.iter().find(|config| config.name == BOTH);
    let sets = config.map_or(&[][..], |config| config.sets);
    let machine = MachineVariant::preset(BOTH, GPU, sets);
    let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
    let [entry, pairs, ranges] = parts(&machine.spec);
    let rows = [
        Row {
            place: "block scheduler",
            what: "an entry of the block queue",
            ours: entry,
            paper: 15.0,
        },
        Row {
            place: "SM",
            what: "table of pairs",
            ours: pairs,
            paper: 48.0 * 48.0 / 2.0,
        },
        Row {
            place: "SM",
            what: "access ranges of warps",
            ours: ranges,
            paper: 48.0 * 16.0,
        },
        Row {
            place: "SM",
            what: "both",
            ours: pairs + ranges,
            paper: 2.1 * 1024.0,
        },
    ];
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
        ("location", "Place of the storage."),
        ("component", "Contents of the storage."),
        ("bytes", "Bytes as computed here."),
        ("bytes.paper", "Bytes in Table 5.2 and section 5.4."),
    ]
    .map(|(name, about)| Column::new(name, about))
    .to_vec()
}

fn cells(row: &Row) -> Vec<Cell> {
    vec![
        Cell::from(row.place),
        Cell::from(row.what),
        Cell::Number(row.ours),
        Cell::Number(row.paper),
    ]
}

fn chart(rows: &[Row]) -> Chart {
    let values = |of: fn(&Row) -> f64| rows.iter().map(|row| Some(of(row))).collect();
    Chart::Bars(BarChart {
        title: "Storage".to_owned(),
        axis: Axis {
            label: "bytes".to_owned(),
            ..Axis::default()
        },
        groups: rows.iter().map(|row| row.what.to_owned()).collect(),
        series: vec![BarSeries {
            name: "here".to_owned(),
            values: values(|row| row.ours),
        }],
        marks: vec![Mark {
            name: "the thesis".to_owned(),
            values: values(|row| row.paper),
            series: None,
        }],
    })
}
