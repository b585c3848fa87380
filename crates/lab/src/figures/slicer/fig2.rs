//! Fig. 2: how policies fragment an SM's registers and shared memory.
//!
//! The paper draws it. Here it is a count: the number of times that an SM had enough free space for
//! a block, but not contiguously. The start of a run shows this as well as the whole, because
//! blocks start and end all the time.

use super::{
    EVEN, GPU, LEFT_OVER, Mixed, PAPER, SLICER, Setting, bars, count, number, pairs, study_until,
    times,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig2",
    title: "Blocks refused because free registers or shared memory do not lie together",
    make,
};

const POLICIES: [&str; 4] = ["fcfs", LEFT_OVER, EVEN, SLICER];

/// Length of the start after the warm-up, in lengths of a profile.
const PROFILES: u64 = 10;

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let times = times(request.scale);
    let cycles = times.warmup + PROFILES * times.profile;
    let settings = POLICIES.map(Setting::policy);
    let rows = study_until(request, runs, GPU, &groups, &settings, Some(cycles))?;
    let refused = |mixed: &Mixed| {
        let cycles = count(&mixed.report, "gpu.cycles");
        count(&mixed.report, "gpu.fragmented_blocks") * 1000.0 / cycles
    };
    let line = |(group, row): (&super::Group, &Vec<Mixed>)| {
        let name = std::iter::once(Cell::Text(group.name()));
        name.chain(row.iter().map(|mixed| number(refused(mixed))))
            .collect()
    };
    let mut columns = vec![Column::new("pair", "The paper's names.")];
    columns.extend(POLICIES.map(|policy| {
        Column::new(
            policy,
            "Blocks refused for fragmentation, per thousand core cycles from the start to ten profiles after the warm-up.",
        )
    }));
    let series = |at: usize| {
        let values = rows.iter().map(|row| refused(&row[at])).collect();
        (POLICIES[at].to_owned(), values)
    };
    Some(Figure {
        table: Table {
            columns,
            rows: groups.iter().zip(&rows).map(line).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![bars(
            "Fragmentation",
            "blocks refused per thousand cycles",
            groups.iter().map(super::Group::name).collect(),
            (0..POLICIES.len()).map(series).collect(),
        )],
    })
}
