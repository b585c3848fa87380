//! Fig. 18: several inputs of two applications, each solved with the profile of the first.

use super::study::{Solution, Study, fastest};
use super::{FERMI, PAPER, columns, workload};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::bars;
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_crat::{Point, Spill};
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig18",
    title: "Speed of CRAT over OptTLP with other inputs than the profiled one",
    make,
};

/// The inputs, and the target whose default registers they share.
const INPUTS: [(Workload, &str); 7] = [
    (workload("CFD, missile", "cfd@missile256"), "crat/CFD"),
    (workload("CFD, 97K", "cfd@fvcorr97k"), "crat/CFD"),
    (workload("CFD, 193K", "cfd@fvcorr193k"), "crat/CFD"),
    (workload("BLK, 1M", "blackscholes@options1m"), "crat/BLK"),
    (workload("BLK, 2M", "blackscholes@options2m"), "crat/BLK"),
    (workload("BLK, 4M", "blackscholes@options4m"), "crat/BLK"),
    (workload("BLK, 8M", "blackscholes@options8m"), "crat/BLK"),
];

/// An input with its own profile and with that of its application's first input.
struct Row {
    own_tlp: u32,
    borrowed_tlp: u32,
    own: f64,
    borrowed: f64,
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let studies = INPUTS.map(|(w, of)| Study::with_defaults_of(request, runs, w.target, of, FERMI));
    let profiles: Vec<_> = studies.iter().map(|study| study.profile(runs)).collect();
    let profiles: Vec<Vec<Solution>> = profiles.into_iter().collect::<Option<_>>()?;
    let opts: Vec<Solution> = profiles.iter().map(|profile| fastest(profile)).collect();
    let mut rows = Vec::new();
    for (at, study) in studies.iter().enumerate() {
        let first = INPUTS.iter().position(|(_, of)| *of == INPUTS[at].1)?;
        let borrowed: Point = opts[first].point;
        let (_, own) = study.choose(runs, opts[at].point.tlp, Spill::Shared(None));
        let (_, other) = study.choose(runs, borrowed.tlp, Spill::Shared(None));
        rows.push(own.zip(other).map(|(own, other)| Row {
            own_tlp: opts[at].point.tlp,
            borrowed_tlp: borrowed.tlp,
            own: own.over(&opts[at]),
            borrowed: other.over(&opts[at]),
        }));
    }
    let rows: Vec<Row> = rows.into_iter().collect::<Option<_>>()?;
    let cells = |((w, _), row): (&(Workload, &str), &Row)| {
        vec![
            Cell::from(w.name),
            Cell::Count(row.own_tlp.into()),
            Cell::Count(row.borrowed_tlp.into()),
            Cell::Number(row.own),
            Cell::Number(row.borrowed),
        ]
    };
    let of = |f: fn(&Row) -> f64| rows.iter().map(f).collect::<Vec<_>>();
    let series = vec![
        ("its own profile", of(|row| row.own)),
        ("the first input's", of(|row| row.borrowed)),
    ];
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("input", "Application and data."),
                ("own.opt_tlp", "Best TLP of this input."),
                (
                    "first.opt_tlp",
                    "Best TLP of the application's first input.",
                ),
                ("own", "CRAT over OptTLP by this input's own profile."),
                ("first", "CRAT over OptTLP by the first input's profile."),
            ]),
            rows: INPUTS.iter().zip(&rows).map(cells).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![bars(
            "Inputs",
            "speed over OptTLP",
            &INPUTS.map(|(w, _)| w),
            series,
        )],
    })
}
