//! Table 3: blocks of a kernel and blocks on an SM at a time.
//!
//! The latter is the number for which an SM has space: the 32 blocks of SimpleMultiGPU on 15 SMs
//! are never six on one, as in the table.

use super::{GPU, PAPER, WORKLOADS, reports};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_config::{BlockNeeds, GpuSpec, preset};
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart, Mark};
use warploom_stats::result::{KernelReport, RunReport};
use warploom_workloads::Target;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table3",
    title: "Blocks of a kernel, and blocks on an SM at a time",
    make,
};

/// Blocks of a launch and on an SM, ours and the paper's.
struct Row {
    name: &'static str,
    ours: [u64; 2],
    paper: [u64; 2],
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let reports = reports(request, runs)?;
    let rows = WORKLOADS.iter().zip(&reports);
    let rows: Vec<_> = rows
        .map(|(workload, runs)| row(workload, &runs[0]))
        .collect();
    let cells = |row: &Row| {
        let counts = [row.ours[0], row.paper[0], row.ours[1], row.paper[1]];
        let name = std::iter::once(Cell::from(row.name));
        name.chain(counts.map(Cell::Count)).collect()
    };
    Some(Figure {
        table: Table {
            columns: columns(),
            rows: rows.iter().map(cells).collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![chart(&rows)],
    })
}

fn chart(rows: &[Row]) -> Chart {
    let values = |of: fn(&Row) -> u64| rows.iter().map(|row| Some(of(row) as f64)).collect();
    Chart::Bars(BarChart {
        title: "Blocks on an SM at a time".to_owned(),
        axis: Axis {
            label: "blocks".to_owned(),
            ..Axis::default()
        },
        groups: rows.iter().map(|row| row.name.to_owned()).collect(),
        series: vec![BarSeries {
            name: "here".to_owned(),
            values: values(|row| row.ours[1]),
        }],
        marks: vec![Mark {
            name: "Table 3".to_owned(),
            values: values(|row| row.paper[1]),
            series: None,
        }],
    })
}

fn columns() -> Vec<Column> {
    let mean = "mean over launches, rounded up";
    vec![
        Column::new("workload", "The paper's name."),
        Column::new("blocks", format!("Blocks of a kernel here: {mean}.")),
        Column::new("blocks.paper", "Blocks of a kernel in Table 3."),
        Column::new(
            "blocks_per_sm",
            format!("Blocks for which an SM has space here: {mean}."),
        ),
        Column::new("blocks_per_sm.paper", "Blocks on an SM in Table 3."),
    ]
}

fn row(workload: &Workload, report: &RunReport) -> Row {
    let target = Target::resolve(workload.target).unwrap_or_else(|unknown| panic!("{unknown}"));
    let facts = target.facts.expect("the paper's table has every workload");
    let blocks = |kernel: &KernelReport| kernel.grid.0.iter().copied().map(u64::from).product();
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let on_sm = |kernel: &KernelReport| room(kernel, &gpu);
    Row {
        name: workload.name,
        ours: [mean(report, &blocks), mean(report, &on_sm)],
        paper: [
            facts.blocks_a_launch.expect("Table 3 has it"),
            facts.blocks_per_sm.map(u64::from).expect("Table 3 has it"),
        ],
    }
}

/// Number of a launch's blocks for which an SM has space.
fn room(kernel: &KernelReport, gpu: &GpuSpec) -> u64 {
    let threads = kernel.block.0.iter().product();
    let needs = BlockNeeds::new(
        threads,
        kernel.registers_per_thread,
        kernel.shared_bytes,
        &gpu.sm,
    );
    needs.blocks_per_sm(u64::MAX, &gpu.sm, &gpu.gpu).0.into()
}

/// Mean over launches, rounded up.
fn mean(report: &RunReport, of: &dyn Fn(&KernelReport) -> u64) -> u64 {
    let sum: u64 = report.kernels.iter().map(of).sum();
    sum.div_ceil(report.kernels.len().max(1) as u64)
}
