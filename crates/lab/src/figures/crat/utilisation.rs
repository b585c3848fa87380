//! Figs. 7 and 15: registers and shared memory in use.

use super::study::Solved;
use super::{FERMI, PAPER, SENSITIVE, columns, note, solved};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{bars, row};
use crate::grid::mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

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
fn shared_share(s: &Solved) -> f64 {
    let each = s.study.kernel.shared_bytes * s.max().point.tlp;
    f64::from(each) / f64::from(s.study.spec.sm.shared_bytes)
}

fn both(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let registers: Vec<_> = all.iter().map(|s| s.register_share(s.max())).collect();
    let shared: Vec<_> = all.iter().map(shared_share).collect();
    let claim = Judged::new("crat.utilisation")
        .also(
            "registers, percent",
            "percent",
            65.5,
            100.0 * mean(&registers),
        )
        .also(
            "shared memory, percent",
            "percent",
            3.8,
            100.0 * mean(&shared),
        );
    Some(figure(
        ["registers", "shared_memory"],
        [
            "Share of an SM's registers that the blocks of MaxTLP hold.",
            "Share of an SM's shared memory that the blocks of MaxTLP hold.",
        ],
        [registers, shared],
        claim,
        request,
    ))
}

fn registers(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let opt: Vec<_> = all.iter().map(|s| s.register_share(&s.opt)).collect();
    let crat: Vec<_> = all.iter().map(|s| s.register_share(&s.crat)).collect();
    let gained = 100.0 * (mean(&crat) - mean(&opt));
    let mut claim = Judged::new("crat.register_utilisation").states(
        "improves by 15 to 27 points (within 5)",
        (10.0..=32.0).contains(&gained),
        format!("{gained:.1} points"),
    );
    for name in ["STM", "SPMV", "KMN", "LBM"] {
        let at = SENSITIVE.iter().position(|w| w.name == name)?;
        let same = (crat[at] - opt[at]).abs() < 0.005;
        let shown = format!("{:.3} to {:.3}", opt[at], crat[at]);
        claim = claim.states(&format!("no change for {name}"), same, shown);
    }
    Some(figure(
        ["opt", "crat"],
        [
            "Share of an SM's registers that the blocks of OptTLP hold.",
            "Share of an SM's registers that the blocks of CRAT hold.",
        ],
        [opt, crat],
        claim,
        request,
    ))
}

fn figure(
    names: [&str; 2],
    abouts: [&str; 2],
    shares: [Vec<f64>; 2],
    claim: Judged,
    request: &Request,
) -> Figure {
    let rows = SENSITIVE.iter().enumerate();
    let rows = rows.map(|(i, w)| row(w.name, [shares[0][i], shares[1][i]]));
    let means = names.iter().zip(&shares);
    Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                (names[0], abouts[0]),
                (names[1], abouts[1]),
            ]),
            rows: rows.collect(),
        },
        summary: means
            .map(|(name, shares)| (format!("{name}.mean"), Cell::Number(mean(shares))))
            .collect::<BTreeMap<_, _>>(),
        claims: vec![claim.verdict(note(request, FERMI))],
        charts: vec![bars(
            "In use",
            "share of an SM's",
            &SENSITIVE,
            names.into_iter().zip(shares).collect(),
        )],
    }
}
