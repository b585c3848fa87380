//! Table 3: classes by utilisation, of every benchmark without context switching.

use super::{ALL, FIFTEEN, PAPER, PLAIN, UNDERUTILISED, UNSATURATED, analysis, bars, column, grid};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_analyze::{LoadClass, Part, thresholds};
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table3",
    title: "Classes by throughput utilisation, and the room that they leave",
    make,
};

/// The class of a benchmark in Fig. 12.
fn paper_class(name: &str) -> Option<LoadClass> {
    let at = FIFTEEN.iter().position(|w| w.name == name)?;
    Some(match at {
        _ if at < UNDERUTILISED => LoadClass::Underutilised,
        _ if at < UNSATURATED => LoadClass::Moderate,
        _ => LoadClass::Saturated,
    })
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = grid(request, runs, &ALL, &[PLAIN])?;
    let mut rows = Vec::new();
    let (mut same, mut fullest) = (0, Vec::new());
    for (workload, reports) in ALL.iter().zip(&reports) {
        let kernel = analysis(&reports[0]);
        let fullness = |part: &Part| kernel.utilisation.of(*part) / thresholds(*part).saturated;
        let nearer = |a: &Part, b: &Part| fullness(a).total_cmp(&fullness(b));
        let part = Part::ALL
            .into_iter()
            .max_by(nearer)
            .unwrap_or(Part::Scheduler);
        let theirs = paper_class(workload.name);
        same += u64::from(theirs == Some(kernel.class));
        fullest.push(fullness(&part));
        rows.push(vec![
            Cell::from(workload.name),
            Cell::from(kernel.class.name()),
            theirs.map_or(Cell::None, |class| Cell::from(class.name())),
            Cell::from(part.key()),
            Cell::Number(kernel.utilisation.of(part)),
            Cell::Number(thresholds(part).high),
            Cell::Number(thresholds(part).saturated),
        ]);
    }
    Some(Figure {
        table: Table {
            columns: vec![
                column("workload", "The paper's name."),
                column("class", "Class by the rules of Table 3."),
                column("class.paper", "Class in Fig. 12."),
                column("part", "The part that is closest to its saturation."),
                column("utilisation", "Its utilisation."),
                column("high", "Utilisation below which the part is underutilised."),
                column(
                    "saturated",
                    "Utilisation above which the part is saturated.",
                ),
            ],
            rows,
        },
        summary: BTreeMap::from([("class.as_in_the_paper".to_owned(), Cell::Count(same))]),
        charts: vec![bars(
            "The fullest part",
            "utilisation over where it saturates",
            &ALL,
            vec![("fullest", fullest)],
        )],
    })
}
