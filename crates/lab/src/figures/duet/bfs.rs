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

const CLASS_ABOUT: &str = "Load of the baseline by its most used part, as the paper's Table 3 \
                           divides it: underutilised, moderately utilised or saturated.";

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
                column(
                    "timed_from",
                    "Launch of BFS with which the simulation begins: its first, or that of the \
                     largest frontier of the search.",
                ),
                column("baseline.class", CLASS_ABOUT),
                column(
                    "baseline.scheduler.utilisation",
                    "Without GPUDuet, share of the issue slots of the warp schedulers that are used; \
                     1 is all.",
                ),
                column("baseline.noc_to_sm.utilisation", &network_about()),
                column(
                    "baseline.dram.utilisation",
                    "Without GPUDuet, share of DRAM's cycles in which data move; 1 is all.",
                ),
                column(
                    "virtual-thread.speedup",
                    "Speed of Virtual Thread, another way to run more blocks, over the baseline.",
                ),
                column(
                    "duet.speedup",
                    "Speed of GPUDuet, which stops where its monitor finds saturation, over the \
                     baseline.",
                ),
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
