//! Fig. 4: IPC with the throttle of SMs over that of round-robin.

use super::{BOTH, CONFIGS, GPU, GTO, LRR, PAPER, WORKLOADS};
use crate::figures::FigureInfo;
use crate::grid::{Expectation, Grid, IPC, Statement};

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
    claims: &[Expectation {
        id: "cooperative.both.vs_rr",
        states: &[
            Statement::Mean {
                of: BOTH,
                over: LRR,
                paper: 1.089,
            },
            Statement::Mean {
                of: BOTH,
                over: GTO,
                paper: 1.032,
            },
        ],
    }],
};
