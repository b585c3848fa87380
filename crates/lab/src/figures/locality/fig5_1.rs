//! Fig. 5.1: performance over the baseline, round-robin blocks under GTO.

use super::{
    BCS, BLOCKS, BOTH, CONFIGS, GPU, GTO, Measured, PAPER, RR, TYPE_1, TYPE_2, TYPE_3, WORKLOADS,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::{Expectation, Grid, IPC, Statement, mean};
use crate::runs::Runs;
use crate::verdict::Judged;
use warploom_report::page::Verdict;

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
    claims: &[
        Expectation {
            id: "locality.vs_rr",
            states: &[
                Statement::Mean {
                    of: BOTH,
                    over: RR,
                    paper: 1.26,
                },
                Statement::AtBest {
                    of: BOTH,
                    over: RR,
                    paper: 1.59,
                },
            ],
        },
        Expectation {
            id: "locality.vs_bcs",
            states: &[
                Statement::Mean {
                    of: BOTH,
                    over: BCS,
                    paper: 1.10,
                },
                Statement::AtBest {
                    of: BOTH,
                    over: BCS,
                    paper: 1.42,
                },
            ],
        },
    ],
};

/// Largest change that counts as "no effect", because a bar chart hardly shows less.
const SLIGHT: f64 = 0.02;
/// Workloads to which the warp scheduler adds a gain, and those to which it does not ("fitted into
/// L1").
const HELPED: [&str; 4] = ["HS", "SRAD", "HIS", "SIFT"];
const NOT_HELPED: [&str; 5] = ["CONV", "BP", "LUD", "TRAN", "GAUSSIAN"];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let mut figure = GRID.make(request, runs)?;
    let measured = Measured::new(request, runs)?;
    let note = format!(
        "Ratios of cycles over all launches at scale {}, arithmetic means; the types are Table \
         5.1's, in which Gabor does not stand.",
        request.scale
    );
    figure.claims.push(by_type(&measured, &note));
    figure.claims.push(warp_scheduler(&measured, &note));
    Some(figure)
}

fn speedups(measured: &Measured, names: &[&str], of: &str, over: &str) -> f64 {
    let ratios = names.iter().map(|name| measured.speedup(name, of, over));
    mean(&ratios.collect::<Vec<_>>())
}

fn by_type(measured: &Measured, note: &str) -> Verdict {
    let over_bcs = |names: &[&str], of| speedups(measured, names, of, BCS);
    let falls: Vec<_> = TYPE_2
        .iter()
        .filter_map(|name| {
            let rate = |config| measured.miss_rate(name, config);
            Some(rate(BCS)? - rate(BLOCKS)?)
        })
        .collect();
    let mut judged = Judged::new("locality.by_type")
        .also("Type-I over BCS", "speedup", 1.03, over_bcs(&TYPE_1, BOTH))
        .also("Type-II over BCS", "speedup", 1.26, over_bcs(&TYPE_2, BOTH))
        .also(
            "Type-II over BCS, block scheduler alone",
            "speedup",
            1.24,
            over_bcs(&TYPE_2, BLOCKS),
        )
        .also(
            "Type-II: fall of the L1D miss rate from BCS by the block scheduler, points",
            "percentage_point",
            10.0,
            mean(&falls),
        );
    for name in TYPE_3 {
        let ratio = measured.speedup(name, BOTH, GTO);
        judged = judged.states(
            &format!("no effect on {name} (within {:.0}%)", SLIGHT * 100.0),
            (ratio - 1.0).abs() <= SLIGHT,
            format!("{ratio:.3} over {GTO}"),
        );
    }
    let nn = measured.speedup("NN", BCS, GTO);
    judged
        .also("BCS on NN over round-robin blocks", "speedup", 0.92, nn)
        .verdict(note)
}

fn warp_scheduler(measured: &Measured, note: &str) -> Verdict {
    let adds = |name: &str| measured.speedup(name, BOTH, BLOCKS);
    let both: Vec<_> = TYPE_1.iter().chain(&TYPE_2).copied().collect();
    let mut judged = Judged::new("locality.warp_scheduler").value(
        "Type-I and Type-II over the block scheduler alone",
        speedups(measured, &both, BOTH, BLOCKS),
    );
    for name in HELPED {
        let ratio = adds(name);
        judged = judged.states(
            &format!("{name} gains 2% to 10%"),
            (1.02..=1.10).contains(&ratio),
            format!("{ratio:.3}"),
        );
    }
    for name in NOT_HELPED {
        let ratio = adds(name);
        judged = judged.states(
            &format!("{name} gains less than 2%"),
            (1.0 - SLIGHT..1.0 + SLIGHT).contains(&ratio),
            format!("{ratio:.3}"),
        );
    }
    judged.verdict(note)
}
