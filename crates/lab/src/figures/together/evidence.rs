//! Evidence of a run for why it is fast or slow, beside its speedup.

use std::collections::BTreeSet;
use warploom_report::page::{Cell, Column};
use warploom_stats::result::{ContextDecline, RunReport};

/// Causes of scheduler cycles that have a column.
const STALLS: [(&str, &str); 6] = [
    (
        "issued",
        "Share of scheduler cycles in which a warp issued.",
    ),
    (
        "memory_dependence",
        "Share in which warps waited for loads.",
    ),
    (
        "memory_pipe",
        "Share in which the pipe of loads and stores was full.",
    ),
    (
        "execution_dependence",
        "Share in which warps waited for other results.",
    ),
    (
        "barrier",
        "Share in which all warps waited at barriers, fences or atomics.",
    ),
    (
        "policy",
        "Share in which the warp scheduler held all ready warps back.",
    ),
];

/// Columns of the evidence.
pub(super) fn columns() -> Vec<Column> {
    let stalls = STALLS.map(|(name, about)| Column::new(format!("slots.{name}"), about));
    let others = [
        ("l1d.hit_rate", "Hits over accesses of the L1 data caches."),
        ("tlp", "Mean number of warps on an SM that has some."),
        (
            "context.moves",
            "Warps and blocks that left to let others in.",
        ),
        (
            "context.declined",
            "Why kernels got no extra blocks; empty if they got some.",
        ),
    ];
    let others = others.map(|(name, about)| Column::new(name, about));
    stalls.into_iter().chain(others).collect()
}

/// Cells of a run.
pub(super) fn cells(report: &RunReport) -> Vec<Cell> {
    let figures = &report.totals.figures;
    let count = |name: &str| figures.statistics.get(name).copied().unwrap_or(0);
    let share = |(name, _): (&str, &str)| {
        let share = figures.stalls.get(name).copied();
        share.map_or(Cell::None, Cell::Number)
    };
    let mut cells: Vec<Cell> = STALLS.map(share).to_vec();
    let active = count("sm.active_cycles").max(1) as f64;
    cells.push(figures.l1d.hit_rate.map_or(Cell::None, Cell::Number));
    cells.push(Cell::Number(
        count("sm.resident_warp_cycles") as f64 / active,
    ));
    cells.push(Cell::Count(
        count("context.warps_out") + count("context.blocks_out"),
    ));
    cells.push(declined(report));
    cells
}

/// The reasons of all launches, each once, or nothing if some launch got extra blocks.
fn declined(report: &RunReport) -> Cell {
    let contexts = report
        .kernels
        .iter()
        .filter_map(|kernel| kernel.context.as_ref());
    let mut reasons = BTreeSet::new();
    for context in contexts {
        match context.refusal {
            Some(why) => reasons.insert(name(why)),
            None => return Cell::None,
        };
    }
    match reasons.is_empty() {
        true => Cell::None,
        false => Cell::Text(reasons.into_iter().collect::<Vec<_>>().join("; ")),
    }
}

/// Name of a reason, as in the JSON of a result.
fn name(why: ContextDecline) -> String {
    let text = serde_json::to_value(why).ok();
    let text = text.and_then(|value| value.as_str().map(str::to_owned));
    text.unwrap_or_default()
}
