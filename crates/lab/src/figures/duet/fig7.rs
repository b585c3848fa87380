//! Fig. 7: share of each context resource that the unsaturated benchmarks use.

use super::{FIFTEEN, PAPER, PLAIN, UNSATURATED, bars, column, grid, longest, row};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_config::{BlockNeeds, GpuSpec, preset};
use warploom_report::page::{Cell, Table};
use warploom_stats::result::KernelReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig7",
    title: "Occupancy of the resources of contexts",
    make,
};

const RESOURCES: [&str; 4] = ["warp_slots", "block_slots", "registers", "shared_memory"];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let ten = &FIFTEEN[..UNSATURATED];
    let reports = grid(request, runs, ten, &[PLAIN])?;
    let gpu = preset(super::GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let kernels: Vec<_> = reports.iter().map(|row| longest(&row[0])).collect();
    let taken: Vec<_> = kernels
        .iter()
        .map(|kernel| occupancy(kernel, &gpu))
        .collect();
    let rows = ten
        .iter()
        .zip(&taken)
        .zip(&kernels)
        .map(|((w, taken), kernel)| {
            let mut cells = row(w.name, *taken);
            cells.push(Cell::from(kernel.occupancy_limit.as_str()));
            cells
        });
    let mut columns = vec![column("workload", "The paper's name.")];
    columns.extend(RESOURCES.map(|name| column(name, "Share in use.")));
    columns.push(column("limit", "Resource that limits the blocks of an SM."));
    let series = RESOURCES.iter().enumerate();
    let series = series.map(|(i, name)| (*name, taken.iter().map(|of| of[i]).collect()));
    Some(Figure {
        table: Table {
            columns,
            rows: rows.collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![bars("Occupancy", "share taken", ten, series.collect())],
    })
}

/// Shares that the blocks of an SM use, in the order of [`RESOURCES`].
fn occupancy(kernel: &KernelReport, gpu: &GpuSpec) -> [f64; 4] {
    let threads = kernel.block.0.iter().product();
    let (registers, shared) = (kernel.registers_per_thread, kernel.shared_bytes);
    let needs = BlockNeeds::new(threads, registers, shared, &gpu.sm);
    let share = |each: u32, all: u32| f64::from(each * kernel.blocks_per_sm) / f64::from(all);
    [
        share(needs.threads, gpu.sm.max_threads),
        share(1, gpu.sm.max_blocks),
        share(needs.registers, gpu.sm.registers),
        share(needs.shared_bytes, gpu.sm.shared_bytes),
    ]
}
