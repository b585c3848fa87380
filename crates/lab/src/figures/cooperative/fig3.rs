//! Fig. 3: IPC of warp schedulers over that of round-robin.

use super::{CONFIGS, GPU, LRR, PAPER, WORKLOADS};
use crate::figures::FigureInfo;
use crate::grid::{Grid, IPC};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig3",
    title: "IPC of long-latency-first and of GTO over that of round-robin",
    make: |request, runs| GRID.make(request, runs),
};

const GRID: Grid = Grid {
    gpu: GPU,
    workloads: WORKLOADS,
    configs: CONFIGS.split_at(3).0,
    metric: IPC,
    baseline: LRR,
    max_cycles: None,
    chart: "Warp schedulers",
};
