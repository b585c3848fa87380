//! Fig. 14: blocks of an SM, with Virtual Thread and with GPUDuet.

use super::{
    DUET, FIFTEEN, PAPER, PLAIN, UNSATURATED, VT, add_mean, bars, column, count, extra_blocks,
    grid, longest, samples,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig14",
    title: "Blocks on an SM with Virtual Thread and with GPUDuet, over those without",
    make,
};

/// Numbers of blocks of a benchmark on an SM.
struct Row {
    native: u64,
    /// Largest number of blocks at once, with Virtual Thread and with GPUDuet.
    most: [u64; 2],
    /// Number of extra blocks for which there is space.
    bound: [u64; 2],
}

impl Row {
    fn gain(&self, of: usize) -> f64 {
        self.most[of] as f64 / self.native as f64
    }
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = grid(request, runs, &FIFTEEN, &[PLAIN, VT, DUET])?;
    let rows: Vec<_> = reports
        .iter()
        .map(|reports| {
            let native = longest(&reports[0]).blocks_per_sm.into();
            let most = |r: &RunReport| count(r, "context.blocks_max").max(native);
            Row {
                native,
                most: [most(&reports[1]), most(&reports[2])],
                bound: [extra_blocks(&reports[1]), extra_blocks(&reports[2])],
            }
        })
        .collect();
    let gains = [0, 1].map(|of| rows.iter().map(|row| row.gain(of)).collect::<Vec<_>>());
    let mut summary = BTreeMap::new();
    for (name, gains) in ["virtual-thread.unsaturated", "duet.unsaturated"]
        .iter()
        .zip(&gains)
    {
        let unsaturated = samples(&FIFTEEN[..UNSATURATED], gains);
        add_mean(&mut summary, name, unsaturated.geometric());
    }
    Some(Figure {
        table: Table {
            columns: vec![
                column("workload", "The paper's name."),
                column("blocks", "Blocks that fit an SM."),
                column("virtual-thread", "Most blocks on an SM at once."),
                column(
                    "duet",
                    "Most blocks on an SM at once with GPUDuet and its monitor.",
                ),
                column(
                    "virtual-thread.bound",
                    "Extra blocks for which there is space.",
                ),
                column(
                    "duet.bound",
                    "Extra blocks for which there is space with GPUDuet.",
                ),
            ],
            rows: FIFTEEN.iter().zip(&rows).map(line).collect(),
        },
        summary,
        charts: vec![bars(
            "Blocks on an SM",
            "over those without switching",
            &FIFTEEN,
            vec![
                ("virtual-thread", gains[0].clone()),
                ("duet", gains[1].clone()),
            ],
        )],
    })
}

/// Line of the table for a benchmark.
fn line((workload, row): (&Workload, &Row)) -> Vec<Cell> {
    let [vt, duet] = row.most;
    let counts = [row.native, vt, duet, row.bound[0], row.bound[1]];
    let mut cells = vec![Cell::from(workload.name)];
    cells.extend(counts.map(Cell::Count));
    cells
}
