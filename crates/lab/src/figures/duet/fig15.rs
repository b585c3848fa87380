//! Fig. 15: the width of the port for moving contexts.

use super::{
    Config, DUET, FIFTEEN, PAPER, PLAIN, UNSATURATED, add_mean, bars, column, grid, row, run,
    samples, speedups, switched,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::Table;
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

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let ten = &FIFTEEN[..UNSATURATED];
    let reports = runs_of(request, runs, ten)?;
    let speedups = [1, 2, 3].map(|at| speedups(&reports, at));
    let mut summary = BTreeMap::new();
    for (name, speedups) in NAMES.iter().zip(&speedups) {
        let mean = samples(ten, speedups).geometric();
        add_mean(&mut summary, &format!("{name}.geometric_mean"), mean);
    }
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
    let series = NAMES
        .iter()
        .zip(&speedups)
        .map(|(name, of)| (*name, of.clone()));
    Some(Figure {
        table: Table {
            columns,
            rows: rows.collect(),
        },
        summary,
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
