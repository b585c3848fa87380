//! BFS from its first launch, as in all other figures, and from the launch of its largest frontier,
//! where the search does most of its work.

use super::{DUET, PAPER, PLAIN, VT, analysis, bars, column, network_about, run, workload};
use crate::compare::speedup;
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::RunSpec;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "bfs",
    title: "BFS from its first launch and from its largest frontier",
    make,
};

/// Name of a window, and whether it begins with the largest frontier.
const WINDOWS: [(&str, bool); 2] = [("first launch", false), ("largest frontier", true)];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let configs = [PLAIN, VT, DUET];
    let specs: Vec<_> = WINDOWS
        .iter()
        .flat_map(|(_, frontier)| configs.map(|config| spec(request, config, *frontier)))
        .collect();
    let reports = runs.all(&specs)?;
    let rows: Vec<_> = WINDOWS
        .iter()
        .zip(reports.chunks(configs.len()))
        .map(|((name, _), of)| {
            let kernel = analysis(&of[0]);
            let used = &kernel.utilisation;
            let gains = [1, 2].map(|at| speedup(&of[at], &of[0]));
            let numbers = [used.scheduler, used.noc_to_sm, used.dram];
            let numbers = numbers.into_iter().chain(gains).map(Cell::Number);
            let mut cells = vec![Cell::from(*name), Cell::from(kernel.class.name())];
            cells.extend(numbers);
            (gains, cells)
        })
        .collect();
    let series = [("virtual-thread", 0), ("duet", 1)];
    let series = series.map(|(name, at)| (name, rows.iter().map(|(of, _)| of[at]).collect()));
    let windows = WINDOWS.map(|(name, _)| workload(name, "duet/BFS"));
    Some(Figure {
        table: Table {
            columns: vec![
                column("window", "Launch with which statistics begin."),
                column("class", "Class by the rules of Table 3."),
                column("scheduler", "Utilisation of the schedulers."),
                column("noc_to_sm", &network_about()),
                column("dram", "Utilisation of DRAM."),
                column("virtual-thread", "Speedup of Virtual Thread."),
                column("duet", "Speedup of GPUDuet with its monitor."),
            ],
            rows: rows.iter().map(|(_, cells)| cells.clone()).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![bars("BFS", "speedup", &windows, series.to_vec())],
    })
}

/// A run of BFS in one of the windows.
fn spec(request: &Request, config: super::Config, from_largest_frontier: bool) -> RunSpec {
    RunSpec {
        from_analysis_start: from_largest_frontier,
        ..run(request, &workload("BFS", "duet/BFS"), config)
    }
}
