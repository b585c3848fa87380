//! Fig. 5.1: performance over the baseline, round-robin blocks under GTO.

use super::{BCS, BLOCKS, CONFIGS, GPU, GTO, Measured, PAPER, TYPE_2, WORKLOADS, add_mean};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::{Grid, IPC};
use crate::runs::Runs;
use crate::samples::Samples;
use warploom_report::page::Cell;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5.1",
    title: "Performance of block and warp schedulers over round-robin blocks under GTO",
    make,
};

pub(super) const GRID: Grid = Grid {
    gpu: GPU,
    workloads: WORKLOADS,
    configs: CONFIGS,
    metric: IPC,
    baseline: GTO,
    max_cycles: None,
    chart: "Block and warp schedulers",
};

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let mut figure = GRID.make(request, runs)?;
    let measured = Measured::new(request, runs)?;
    let fall = |name: &&str| {
        let rate = |config| measured.miss_rate(name, config);
        Some(((*name).to_owned(), rate(BCS)? - rate(BLOCKS)?))
    };
    let falls = Samples(TYPE_2.iter().filter_map(fall).collect());
    let summary = &mut figure.summary;
    add_mean(summary, "type-2.miss_rate_fall", falls.arithmetic());
    for config in [GTO, BCS] {
        let count = |name: &str| measured.count("NN", config, name) as f64;
        let warps = count("sm.resident_warp_cycles") / count("sm.active_cycles");
        summary.insert(format!("NN.{config}.warps"), Cell::Number(warps));
    }
    Some(figure)
}
