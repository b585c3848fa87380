//! Fig. 5: a sample of 5,000 cycles compared with one of 50,000.

use super::fig1::MEMORY;
use super::{BENCHMARKS, GPU, PAPER, columns, input, machine, number, times};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::{Mix, RunSpec};
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5",
    title: "IPC and waits for memory in a sample and in a period ten times as long",
    make,
};

/// Causes for which no warp issues although the scheduler has some.
const STALLS: [&str; 7] = [
    "memory_dependence",
    "memory_pipe",
    "execution_dependence",
    "execution_pipe",
    "instruction_buffer",
    "barrier",
    "policy",
];

/// Number of windows in the long period, of which the sample is the first.
const WINDOWS: u64 = 10;

/// Warp instructions per cycle and phi_mem in windows. Phi_mem is what the policy computes from a
/// sample by default: the share of stalled scheduler cycles that wait for memory or its pipe.
fn windows(report: &RunReport, warmup: u64) -> Option<Vec<[f64; 2]>> {
    let series = report.series.as_ref()?;
    let column = |name: &str, at: usize| {
        let column = series.columns.get(name);
        column
            .and_then(|values| values.get(at))
            .copied()
            .unwrap_or(0) as f64
    };
    let of = |at: usize| {
        let cycles = (series.end[at] - series.start[at]).max(1) as f64;
        let slots = |cause: &&str| column(&format!("sm.slots.{cause}"), at);
        let stalled: f64 = STALLS.iter().map(slots).sum();
        let memory: f64 = MEMORY.iter().map(slots).sum();
        [
            column("sm.warp_instructions", at) / cycles,
            memory / stalled.max(1.0),
        ]
    };
    let windows = 0..series.start.len();
    Some(
        windows
            .filter(|at| series.start[*at] >= warmup)
            .take(WINDOWS as usize)
            .map(of)
            .collect(),
    )
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let times = times(request.scale);
    // One window more, because a warm-up may end within a window.
    let specs = BENCHMARKS.map(|name| RunSpec {
        max_cycles: Some(times.warmup + (WINDOWS + 1) * times.profile),
        window_cycles: Some(times.profile),
        mix: Some(Mix {
            again: true,
            ..Mix::default()
        }),
        ..RunSpec::new(
            &input(request, name),
            &machine(request, GPU, "alone", "left-over", &[]),
        )
    });
    let reports = runs.all(&specs)?;
    let mean = |windows: &[[f64; 2]], at: usize| {
        windows.iter().map(|window| window[at]).sum::<f64>() / windows.len() as f64
    };
    let mut rows = Vec::new();
    for (name, report) in BENCHMARKS.iter().zip(&reports) {
        let windows = windows(report, times.warmup).unwrap_or_default();
        let sample = windows.first().copied().unwrap_or([f64::NAN; 2]);
        let long = [mean(&windows, 0), mean(&windows, 1)];
        rows.push(vec![
            Cell::from(*name),
            number(sample[0]),
            number(long[0]),
            number(sample[0] / long[0]),
            number(sample[1]),
            number(long[1]),
        ]);
    }
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("benchmark", "The paper's name."),
                (
                    "ipc.sample",
                    "Warp instructions per core cycle in the first profile's length after the warm-up.",
                ),
                (
                    "ipc.long",
                    "Warp instructions per core cycle in a period ten times as long.",
                ),
                (
                    "ipc.ratio",
                    "IPC of the sample over that of the long period.",
                ),
                (
                    "memory.sample",
                    "Share of stalled scheduler cycles that wait for memory or its pipe in the sample.",
                ),
                (
                    "memory.long",
                    "Share of such cycles in a period ten times as long.",
                ),
            ]),
            rows,
        },
        summary: BTreeMap::new(),
        charts: Vec::new(),
    })
}
