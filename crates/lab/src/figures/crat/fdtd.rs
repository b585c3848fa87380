//! Fig. 8: FDTD with fewer registers, and with one or the other of two values in shared memory.
//!
//! The two are, among the values for which 32 registers leave no space, those that are live
//! together with the most others. The one with more accesses is the hotter.

use super::study::{Solution, Study};
use super::{FERMI, PAPER, columns};
use crate::allocated::Allocate;
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use warploom_crat::Point;
use warploom_regalloc::{Home, Spilled};
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig8",
    title: "Speed of FDTD with fewer registers and a value in shared memory",
    make,
};

/// Registers in section 2.2.
const MANY: u32 = 48;
const FEW: u32 = 32;

/// The colder and the hotter value, with their accesses.
fn candidates(study: &Study) -> Option<[(String, u64); 2]> {
    let report = study.kernel.allocate(&study.options(FEW)).ok()?.report;
    let in_memory = |spilled: &&Spilled| matches!(spilled.home, Home::Local(_));
    let mut values: Vec<_> = report.spilled.iter().filter(in_memory).collect();
    values.sort_by_key(|value| Reverse(value.neighbours));
    let accesses = |value: &Spilled| value.loads.weighted + value.stores.weighted;
    let mut two: Vec<_> = values.iter().take(2).collect();
    two.sort_by_key(|value| accesses(value));
    let of = |at: usize| {
        two.get(at)
            .map(|value| (value.name.clone(), accesses(value)))
    };
    Some([of(0)?, of(1)?])
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let study = Study::get(request, runs, "crat/FDTD", FERMI);
    let [colder, hotter] = candidates(&study).expect("32 registers are too few for FDTD");
    let tlp = study.most_blocks(FEW);
    let point = |registers| Point {
        registers,
        tlp: study.most_blocks(registers),
    };
    let shared = |runs: &mut Runs<'_>, value: &(String, u64)| {
        let how = Allocate {
            in_shared: Some(value.0.clone()),
            ..study.allocation(FEW)
        };
        study.allocated(runs, tlp, &how)
    };
    let many = study.solution(runs, point(MANY), 0);
    let found = [
        study.solution(runs, point(FEW), 0),
        shared(runs, &colder),
        shared(runs, &hotter),
    ];
    let (many, [few, cold, hot]) = (many?, found);
    let (few, cold, hot) = (few?, cold?, hot?);
    let speed = |of: &Solution| of.over(&many);
    let rows = [
        ("48 registers", &many, None),
        ("32 registers", &few, None),
        ("the colder in shared memory", &cold, Some(&colder)),
        ("the hotter in shared memory", &hot, Some(&hotter)),
    ];
    let cells = |(name, of, value): &(&str, &Solution, Option<&(String, u64)>)| {
        vec![
            Cell::from(*name),
            Cell::Count(of.point.tlp.into()),
            value.map_or(Cell::None, |(name, _)| Cell::Text(name.clone())),
            value.map_or(Cell::None, |(_, accesses)| Cell::Count(*accesses)),
            Cell::Number(speed(of)),
        ]
    };
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("solution", "Registers, and the value in shared memory."),
                ("tlp", "Blocks on an SM."),
                ("value", "Register of the value in the input."),
                (
                    "accesses",
                    "Its accesses when spilled, tenfold for every loop around them.",
                ),
                ("speedup", "Over 48 registers."),
            ]),
            rows: rows.iter().map(cells).collect(),
        },
        summary: BTreeMap::new(),
        charts: Vec::new(),
    })
}
