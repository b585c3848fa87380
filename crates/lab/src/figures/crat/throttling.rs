//! Figs. 1 and 5: the gain of throttling alone, and the resources that it leaves unused.

use super::study::{Solution, Solved, hit_rate};
use super::{FERMI, PAPER, SENSITIVE, add_mean, columns, samples, solved};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{bars, row};
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIG_1: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig1",
    title: "Speed and registers in use of the best TLP over the most blocks",
    make: speed,
};

pub(super) const FIG_5: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5",
    title: "L1D hits and stalls by congestion with the most blocks and with the best TLP",
    make: cache,
};

fn speed(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let of = |f: fn(&Solved) -> f64| all.iter().map(f).collect::<Vec<_>>();
    let speedups = of(|s| s.opt.over(s.max()));
    let threads = of(|s| f64::from(s.opt.point.tlp) / f64::from(s.max().point.tlp));
    let shares = [
        of(|s| s.register_share(s.max())),
        of(|s| s.register_share(&s.opt)),
    ];
    let rows = all.iter().enumerate().map(|(i, s)| {
        let blocks = [s.max().point.tlp, s.opt.point.tlp].map(|tlp| Cell::Count(tlp.into()));
        let mut cells = vec![Cell::from(SENSITIVE[i].name)];
        cells.push(Cell::Count(s.study.default.registers.into()));
        cells.extend(blocks);
        cells.extend([speedups[i], shares[0][i], shares[1][i]].map(Cell::Number));
        cells
    });
    let mut summary = BTreeMap::new();
    add_mean(
        &mut summary,
        "speedup",
        samples(&SENSITIVE, &speedups).geometric(),
    );
    add_mean(
        &mut summary,
        "threads",
        samples(&SENSITIVE, &threads).arithmetic(),
    );
    let names = ["MaxTLP", "OptTLP"];
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("registers", "Default registers of a thread."),
                ("max_tlp", "Blocks on an SM that fit with these."),
                ("opt_tlp", "The number of blocks that is fastest."),
                ("speedup", "OptTLP over MaxTLP."),
                (
                    "max.registers",
                    "Share of an SM's registers that MaxTLP holds.",
                ),
                (
                    "opt.registers",
                    "Share of an SM's registers that OptTLP holds.",
                ),
            ]),
            rows: rows.collect(),
        },
        summary,
        charts: vec![
            bars(
                "Throttling",
                "speedup over MaxTLP",
                &SENSITIVE,
                vec![("OptTLP", speedups)],
            ),
            bars(
                "Registers in use",
                "share of an SM's",
                &SENSITIVE,
                names.into_iter().zip(shares).collect(),
            ),
        ],
    })
}

/// Number of SM cycles in which the load/store unit could not continue because a cache or the
/// network was full.
pub(super) fn congested(s: &Solved, of: &Solution) -> f64 {
    let full = |name: &str| {
        name.starts_with("sm.ldst_stalls.")
            && (name.ends_with(".reservation") || name.ends_with(".network"))
    };
    s.study.count(of, full) as f64
}

/// Share of SM cycles that are congested.
pub(super) fn congestion(s: &Solved, of: &Solution) -> f64 {
    let sms = f64::from(s.study.spec.gpu.sms);
    congested(s, of) / (of.cycles as f64 * sms)
}

fn cache(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let rate = |of: &Solution| hit_rate(of).unwrap_or(0.0);
    let measured = |s: &Solved| {
        [
            rate(s.max()),
            rate(&s.opt),
            congestion(s, s.max()),
            congestion(s, &s.opt),
        ]
    };
    let measured: Vec<_> = all.iter().map(measured).collect();
    let series = |at: usize| measured.iter().map(|m| m[at]).collect::<Vec<_>>();
    let chart = |title, label, first: usize| {
        let series = vec![("MaxTLP", series(first)), ("OptTLP", series(first + 1))];
        bars(title, label, &SENSITIVE, series)
    };
    let rows = SENSITIVE.iter().zip(&measured);
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                (
                    "max.l1d_hits",
                    "Share of L1D's accesses that hit, with MaxTLP.",
                ),
                (
                    "opt.l1d_hits",
                    "Share of L1D's accesses that hit, with OptTLP.",
                ),
                (
                    "max.congestion",
                    "Share of the SMs' cycles in which a full cache or network held back a memory \
                     instruction, with MaxTLP.",
                ),
                ("opt.congestion", "Share of such cycles with OptTLP."),
            ]),
            rows: rows.map(|(w, m)| row(w.name, *m)).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![
            chart("L1D", "share of hits", 0),
            chart("Congestion", "share of cycles", 2),
        ],
    })
}
