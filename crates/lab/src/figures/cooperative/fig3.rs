//! Fig. 3: IPC of warp schedulers over that of round-robin.

use super::{CONFIGS, GPU, GTO, LLF, LRR, PAPER, WORKLOADS};
use crate::figures::FigureInfo;
use crate::grid::{Expectation, Grid, IPC, Statement};

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
    claims: &[
        Expectation {
            id: "cooperative.warp.vs_rr",
            states: &[
                Statement::Mean {
                    of: LLF,
                    over: LRR,
                    paper: 1.075,
                },
                Statement::Best {
                    of: LLF,
                    over: LRR,
                    workload: "MUMmerGPU",
                    paper: 1.21,
                },
                Statement::NoLoss { of: LLF, over: LRR },
            ],
        },
        Expectation {
            id: "cooperative.warp.vs_gto",
            states: &[
                Statement::Mean {
                    of: LLF,
                    over: GTO,
                    paper: 1.02,
                },
                Statement::Gains {
                    of: LLF,
                    over: GTO,
                    except: &["MergeSort"],
                },
            ],
        },
    ],
};
