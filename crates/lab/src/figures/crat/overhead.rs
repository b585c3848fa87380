//! Section 7.7: cost of finding the best TLP by profiling. Static analysis makes no runs. Its own
//! time is not simulated time, and `docs/regalloc.md` has the allocator's.

use super::{FERMI, PAPER, SENSITIVE, add_mean, columns, samples, solved};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::row;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "overhead",
    title: "Runs and simulated time that profiling takes, and points that CRAT compares",
    make,
};

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let figures: Vec<[f64; 3]> = all
        .iter()
        .map(|s| {
            let cycles: u64 = s.profile.iter().map(|run| run.cycles).sum();
            let khz = f64::from(s.study.spec.clocks.core_khz);
            [
                s.profile.len() as f64,
                cycles as f64 / khz,
                s.space.candidates.len() as f64,
            ]
        })
        .collect();
    let of = |at: usize| figures.iter().map(|f| f[at]).collect::<Vec<_>>();
    let most = of(0).into_iter().fold(0.0, f64::max);
    let mut summary = BTreeMap::from([("runs.largest".to_owned(), Cell::Number(most))]);
    for (at, name) in ["runs.mean", "milliseconds.mean"].into_iter().enumerate() {
        add_mean(
            &mut summary,
            name,
            samples(&SENSITIVE, &of(at)).arithmetic(),
        );
    }
    let rows = SENSITIVE.iter().zip(&figures);
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("runs", "Runs of the profile."),
                (
                    "milliseconds",
                    "Time of these runs on the simulated machine.",
                ),
                (
                    "points",
                    "Points of the design space that are allocated and scored.",
                ),
            ]),
            rows: rows.map(|(w, figures)| row(w.name, *figures)).collect(),
        },
        summary,
        charts: Vec::new(),
    })
}
