//! Fig. 15: the width of the port for moving contexts.

use super::{
    Config, DUET, FIFTEEN, PAPER, PLAIN, UNSATURATED, bars, column, grid, note, row, run, speedups,
    switched, unsaturated_mean,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig15",
    title: "Speedup of GPUDuet over the width of its port",
    make,
};

const NAMES: [&str; 3] = ["256", "128", "64"];
const WIDE: Config = ("duet-256", &["sm.context=duet", "duet.port_bytes=256"]);
const NARROW: Config = ("duet-64", &["sm.context=duet", "duet.port_bytes=64"]);
/// Means of section 7.4.
const MEANS: [f64; 3] = [1.24, 1.22, 1.18];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let ten = &FIFTEEN[..UNSATURATED];
    let reports = runs_of(request, runs, ten)?;
    let speedups = [1, 2, 3].map(|at| speedups(&reports, at));
    let means = speedups.each_ref().map(|of| unsaturated_mean(of));
    let mut claim = Judged::new("duet.bandwidth");
    for ((name, paper), ours) in NAMES.iter().zip(MEANS).zip(means) {
        claim = claim.also(
            &format!("{name} bytes, geometric mean"),
            "speedup",
            paper,
            ours,
        );
    }
    let falls = means[0] >= means[1] && means[1] >= means[2];
    let shown = format!("{:.3}, {:.3}, {:.3}", means[0], means[1], means[2]);
    let claim = claim.states("a wider port is never worse, on average", falls, shown);
    let mut columns = vec![column("workload", "The paper's name.")];
    columns.extend(NAMES.map(|name| column(name, "Speedup with this number of bytes per cycle.")));
    columns.push(column(
        "sensitivity",
        "Speedup with 256 bytes over that with 64.",
    ));
    let rows = ten.iter().enumerate();
    let rows = rows.map(|(at, w)| {
        let of = speedups.each_ref().map(|of| of[at]);
        row(w.name, of.into_iter().chain([of[0] / of[2]]))
    });
    let summary = NAMES.iter().zip(means);
    let summary =
        summary.map(|(name, mean)| (format!("{name}.geometric_mean"), Cell::Number(mean)));
    let series = NAMES
        .iter()
        .zip(&speedups)
        .map(|(name, of)| (*name, of.clone()));
    Some(Figure {
        table: Table {
            columns,
            rows: rows.collect(),
        },
        summary: BTreeMap::from_iter(summary),
        claims: vec![claim.verdict(note(request))],
        charts: vec![bars("Port width", "speedup", ten, series.collect())],
    })
}

/// Reports without context switching, then by width of the port.
fn runs_of(
    request: &Request,
    runs: &mut Runs<'_>,
    workloads: &[Workload],
) -> Option<Vec<Vec<Arc<RunReport>>>> {
    let reports = grid(request, runs, workloads, &[PLAIN, DUET])?;
    let rows = reports.iter().zip(workloads).map(|(reports, workload)| {
        // If no context was switched, the port was not used, whatever its width.
        let with = |port| {
            if switched(&reports[1]) {
                runs.get(&run(request, workload, port))
            } else {
                Some(Arc::clone(&reports[1]))
            }
        };
        let [wide, narrow] = [WIDE, NARROW].map(with);
        let [plain, duet] = [0, 1].map(|at| Arc::clone(&reports[at]));
        Some(vec![plain, wide?, duet, narrow?])
    });
    // Collected, so that all runs are requested at once.
    let rows: Vec<_> = rows.collect();
    rows.into_iter().collect()
}
