//! Fig. 4: IPC with the throttle of SMs over that of round-robin.

use super::{CONFIGS, GPU, LRR, PAPER, WORKLOADS};
use crate::figures::FigureInfo;
use crate::grid::{Grid, IPC};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig4",
    title: "IPC with long-latency-first and contention-throttle over that of round-robin",
    make: |request, runs| GRID.make(request, runs),
};

pub(super) const GRID: Grid = Grid {
    gpu: GPU,
    workloads: WORKLOADS,
    configs: CONFIGS,
    metric: IPC,
    baseline: LRR,
    max_cycles: None,
    chart: "Warp schedulers and the throttle of SMs",
};
