//! `zoo/classes`: what a workload is sensitive to, by measurement.

use super::{Class, FigureInfo, Level, Measured, STUDY, Zoo};
use crate::figure::{Figure, Request};
use crate::figures::shared::columns;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: STUDY,
    name: "classes",
    title: "Sensitivity of every workload to the size of L1D and to warp-level policies",
    make,
};

const COLUMNS: [(&str, &str); 8] = [
    ("workload", "Name for `warploom run`."),
    (
        "class",
        "high from a large_l1d of 2 on, moderate from 1.1 on.",
    ),
    (
        "large_l1d",
        "Speed under gto with an L1D of 256 KiB over that with 16 KiB.",
    ),
    (
        "l1d.hit_rate",
        "Hits over accesses of the L1 data caches under gto.",
    ),
    ("gto_over_lrr", "Speed under gto over that under lrr."),
    (
        "spread",
        "Speed under the best warp-level policy over that under the worst one.",
    ),
    (
        "best",
        "The best warp-level policy, among equal ones the first.",
    ),
    ("best_over_gto", "Its speed over that under gto."),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let zoo = Zoo::new(request, runs, Level::Warps)?;
    let count = |class: Class| zoo.workloads.iter().filter(|w| w.class() == class).count() as u64;
    let counts = Class::ALL.map(|class| (class.name().to_owned(), Cell::Count(count(class))));
    let moved = zoo
        .workloads
        .iter()
        .filter(|w| spread(&zoo, w) >= 1.05)
        .count();
    let mut summary = BTreeMap::from(counts);
    summary.insert(
        "spread.at_least_5_percent".to_owned(),
        Cell::Count(moved as u64),
    );
    Some(Figure {
        table: Table {
            columns: columns(&COLUMNS),
            rows: zoo.workloads.iter().map(|w| row(&zoo, w)).collect(),
        },
        summary,
        charts: Vec::new(),
    })
}

/// Speeds over `gto` of all members.
fn speeds(zoo: &Zoo, workload: &Measured) -> Vec<f64> {
    (0..zoo.members.len())
        .map(|at| workload.over_gto(at))
        .collect()
}

fn spread(zoo: &Zoo, workload: &Measured) -> f64 {
    let speeds = speeds(zoo, workload);
    let most = speeds.iter().copied().fold(0.0, f64::max);
    let least = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    most / least
}

fn row(zoo: &Zoo, workload: &Measured) -> Vec<Cell> {
    let speeds = speeds(zoo, workload);
    let best = (0..speeds.len())
        .rev()
        .max_by(|a, b| speeds[*a].total_cmp(&speeds[*b]));
    let best = best.expect("the table of warp schedulers has rows");
    let hits = workload.gto.totals.figures.l1d.hit_rate;
    vec![
        Cell::from(workload.name),
        Cell::from(workload.class().name()),
        Cell::Number(workload.large_l1d()),
        hits.map_or(Cell::None, Cell::Number),
        Cell::Number(crate::compare::speedup(&workload.gto, &workload.lrr)),
        Cell::Number(spread(zoo, workload)),
        Cell::from(zoo.members[best].name.as_str()),
        Cell::Number(speeds[best]),
    ]
}
