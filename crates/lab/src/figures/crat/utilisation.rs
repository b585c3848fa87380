//! Figs. 7 and 15: registers and shared memory in use.

use super::study::Study;
use super::{FERMI, GTX680, PAPER, SENSITIVE, add_mean, columns, samples, solved};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{bars, row};
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_crat::Point;
use warploom_report::page::Table;

pub(super) const FIG_7: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig7",
    title: "Registers and shared memory in use with the most blocks",
    make: both,
};

pub(super) const FIG_15: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig15",
    title: "Registers in use with OptTLP and with CRAT",
    make: registers,
};

/// Share of the SM's shared memory that MaxTLP uses.
fn shared_share(study: &Study) -> f64 {
    let each = study.kernel.shared_bytes * study.default.tlp;
    f64::from(each) / f64::from(study.spec.sm.shared_bytes)
}

/// Share of the SM's registers that MaxTLP uses.
fn register_share(study: &Study) -> f64 {
    let Point { registers, tlp } = study.default;
    study.kernel.register_share(registers, tlp, &study.spec)
}

/// Makes the figure without runs. Section 2.2 characterizes the applications with the limits of the
/// GTX680, as Fig. 6 does.
fn both(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let study = |w: &Workload| Study::get(request, runs, w.target, GTX680);
    let all: Vec<_> = SENSITIVE.iter().map(study).collect();
    let registers: Vec<_> = all.iter().map(|study| register_share(study)).collect();
    let shared: Vec<_> = all.iter().map(|study| shared_share(study)).collect();
    Some(figure(
        ["registers", "shared_memory"],
        [
            "Share of an SM's registers that the blocks of MaxTLP hold.",
            "Share of an SM's shared memory that the blocks of MaxTLP hold.",
        ],
        [registers, shared],
    ))
}

fn registers(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let opt: Vec<_> = all.iter().map(|s| s.register_share(&s.opt)).collect();
    let crat: Vec<_> = all.iter().map(|s| s.register_share(&s.crat)).collect();
    Some(figure(
        ["opt", "crat"],
        [
            "Share of an SM's registers that the blocks of OptTLP hold.",
            "Share of an SM's registers that the blocks of CRAT hold.",
        ],
        [opt, crat],
    ))
}

fn figure(names: [&str; 2], abouts: [&str; 2], shares: [Vec<f64>; 2]) -> Figure {
    let rows = SENSITIVE.iter().enumerate();
    let rows = rows.map(|(i, w)| row(w.name, [shares[0][i], shares[1][i]]));
    let mut summary = BTreeMap::new();
    for (name, shares) in names.iter().zip(&shares) {
        let mean = samples(&SENSITIVE, shares).arithmetic();
        add_mean(&mut summary, &format!("{name}.mean"), mean);
    }
    Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                (names[0], abouts[0]),
                (names[1], abouts[1]),
            ]),
            rows: rows.collect(),
        },
        summary,
        charts: vec![bars(
            "In use",
            "share of an SM's",
            &SENSITIVE,
            names.into_iter().zip(shares).collect(),
        )],
    }
}
