//! Fig. 14: blocks of an SM, with Virtual Thread and with GPUDuet.

use super::{
    DUET, FIFTEEN, PAPER, PLAIN, UNSATURATED, VT, bars, column, count, extra_blocks, grid, longest,
    note,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::{Workload, mean};
use crate::runs::Runs;
use crate::verdict::Judged;
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
    let means = [0, 1].map(|of| mean(&gains[of][..UNSATURATED]));
    let note = note(request);
    let tlp = Judged::new("duet.tlp")
        .also("Virtual Thread, unsaturated", "speedup", 1.18, means[0])
        .also("GPUDuet, unsaturated", "speedup", 1.70, means[1]);
    let extra = extra_blocks_claim(&rows);
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
        summary: BTreeMap::from([
            (
                "virtual-thread.unsaturated".to_owned(),
                Cell::Number(means[0]),
            ),
            ("duet.unsaturated".to_owned(), Cell::Number(means[1])),
        ]),
        claims: vec![tlp.verdict(note.as_str()), extra.verdict(note)],
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

/// Judges the paper's numbers of blocks and of extra blocks.
fn extra_blocks_claim(rows: &[Row]) -> Judged {
    let of = |name: &str| {
        let at = FIFTEEN.iter().position(|w| w.name == name);
        &rows[at.unwrap_or_default()]
    };
    let [vt, duet] = [0, 1].map(|at| move |row: &Row| row.bound[at] as f64);
    Judged::new("duet.extra_tbs")
        .also("DWT_2: blocks", "count", 10.0, of("DWT_2").native as f64)
        .also("DWT_2: extra blocks", "count", 2.0, duet(of("DWT_2")))
        .also("HG: extra blocks", "count", 8.0, duet(of("HG")))
        .also("BT: extra blocks", "count", 6.0, duet(of("BT")))
        .also("BT: those of Virtual Thread", "count", 1.0, vt(of("BT")))
}

/// Line of the table for a benchmark.
fn line((workload, row): (&Workload, &Row)) -> Vec<Cell> {
    let [vt, duet] = row.most;
    let counts = [row.native, vt, duet, row.bound[0], row.bound[1]];
    let mut cells = vec![Cell::from(workload.name)];
    cells.extend(counts.map(Cell::Count));
    cells
}
