//! Section 6.6: registers that must be saved for a warp that is switched out, by liveness and
//! compression.

use super::{ALL, PAPER, PLAIN, bars, column, grid, longest};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "contexts",
    title: "Registers that a warp keeps while it is switched out",
    make,
};

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = grid(request, runs, &ALL, &[PLAIN])?;
    let kept = |report: &RunReport| {
        let kernel = longest(report);
        let all = kernel.registers_per_thread;
        (
            all,
            kernel.context_registers.map_or(0, |kept| kept.min(all)),
        )
    };
    let kept: Vec<_> = reports.iter().map(|row| kept(&row[0])).collect();
    let percent = |(all, kept): &(u32, u32)| 100.0 * f64::from(*kept) / f64::from(*all);
    let percents: Vec<_> = kept.iter().map(percent).collect();
    let rows = ALL.iter().zip(&kept).zip(&percents);
    let rows = rows.map(|((workload, (all, kept)), percent)| {
        vec![
            Cell::from(workload.name),
            Cell::Count((*all).into()),
            Cell::Count((*kept).into()),
            Cell::Number(*percent),
        ]
    });
    let ours = mean(&percents);
    let claim =
        Judged::new("duet.register_reduction").value("percent of the registers, mean", ours);
    Some(Figure {
        table: Table {
            columns: vec![
                column(
                    "workload",
                    "The paper's name; its kernel that takes longest.",
                ),
                column("registers", "Registers of a thread, from ptxas for sm_50."),
                column(
                    "kept",
                    "Registers' worth of storage at the largest switch point.",
                ),
                column(
                    "percent",
                    "Registers of the context in percent of the thread's.",
                ),
            ],
            rows: rows.collect(),
        },
        summary: BTreeMap::from([("percent.mean".to_owned(), Cell::Number(ours))]),
        claims: vec![claim.verdict(
            "By static analysis of the PTX: registers live at each switch point, compressed where \
             they are proved uniform or narrow.",
        )],
        charts: vec![bars(
            "Registers kept of those held",
            "percent",
            &ALL,
            vec![("kept", percents)],
        )],
    })
}
