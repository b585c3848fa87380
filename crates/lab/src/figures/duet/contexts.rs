//! Section 6.6: registers that must be saved for a warp that is switched out, by liveness and
//! compression.

use super::{ALL, GPU, PAPER, PLAIN, add_mean, bars, column, grid, longest, samples};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_config::{BlockNeeds, GpuSpec, preset};
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
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let kept: Vec<_> = reports.iter().map(|row| kept(&row[0], &gpu)).collect();
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
    let mut summary = BTreeMap::new();
    add_mean(
        &mut summary,
        "percent.mean",
        samples(&ALL, &percents).arithmetic(),
    );
    Some(Figure {
        table: Table {
            columns: vec![
                column(
                    "workload",
                    "The paper's name; its kernel that takes longest.",
                ),
                column(
                    "registers",
                    "Registers that an SM grants a thread: those from ptxas for sm_50, in whole \
                     units of allocation.",
                ),
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
        summary,
        charts: vec![bars(
            "Registers kept of those held",
            "percent",
            &ALL,
            vec![("kept", percents)],
        )],
    })
}

/// Registers of a thread as granted, and the part that storage must have room for while its warp is
/// switched out.
fn kept(report: &RunReport, gpu: &GpuSpec) -> (u32, u32) {
    let kernel = longest(report);
    let threads = kernel.block.0.iter().product();
    let (registers, shared) = (kernel.registers_per_thread, kernel.shared_bytes);
    let needs = BlockNeeds::new(threads, registers, shared, &gpu.sm);
    let granted = needs.registers / needs.threads.max(1);
    let kept = kernel.context_registers.map_or(0, |kept| kept.min(granted));
    (granted, kept)
}
