//! MUMmerGPU over time: its gain depends on where a run is cut, so the whole run is shown.

use super::{CONFIGS, GPU, LRR, PAPER};
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::figures::shared::{column, lines};
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use std::collections::BTreeMap;
use warploom_report::LineSeries;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "series",
    title: "IPC of MUMmerGPU from its start up to a cycle, over that of round-robin",
    make,
};

/// Number of core cycles between two points.
fn window(scale: Scale) -> u64 {
    match scale {
        Scale::Test => 2_000,
        Scale::Small => 20_000,
        Scale::Paper => 100_000,
    }
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let input = Input::workload("cooperative/MUMmerGPU", request.scale.size(), SEED);
    let input = input.unwrap_or_else(|unknown| panic!("{unknown}"));
    let specs: Vec<_> = CONFIGS
        .iter()
        .map(|config| {
            let machine = MachineVariant::preset(config.name, GPU, config.sets);
            let machine = machine.unwrap_or_else(|errors| panic!("{}: {errors}", config.name));
            RunSpec {
                window_cycles: Some(window(request.scale)),
                ..RunSpec::new(&input, &machine)
            }
        })
        .collect();
    let reports = runs.all(&specs)?;
    let done: Vec<_> = reports.iter().map(|report| instructions(report)).collect();
    let base = CONFIGS.iter().position(|config| config.name == LRR);
    let base = &done[base.unwrap_or_default()];
    // Cycles up to which every run has whole windows.
    let common = done.iter().map(Vec::len).min().unwrap_or(0);
    let ratio = |of: &Vec<(u64, u64)>, at: usize| of[at].1 as f64 / base[at].1.max(1) as f64;
    let rows = (0..common).map(|at| {
        let ratios = done.iter().map(|of| Cell::Number(ratio(of, at)));
        std::iter::once(Cell::Count(base[at].0))
            .chain(ratios)
            .collect()
    });
    let mut columns = vec![column(
        "cycle",
        "Core cycle up to which instructions count.",
    )];
    columns.extend(CONFIGS.iter().map(|config| {
        column(
            config.name,
            "Thread instructions up to the cycle, over those of round-robin.",
        )
    }));
    let series = CONFIGS.iter().zip(&done).map(|(config, of)| LineSeries {
        name: config.name.to_owned(),
        points: (0..common)
            .map(|at| (base[at].0 as f64, ratio(of, at)))
            .collect(),
        dots: false,
    });
    let whole = CONFIGS.iter().zip(&reports).map(|(config, report)| {
        let over = report.totals.figures.ipc / reports[0].totals.figures.ipc;
        (format!("{}.whole", config.name), Cell::Number(over))
    });
    Some(Figure {
        table: Table {
            columns,
            rows: rows.collect(),
        },
        summary: BTreeMap::from_iter(whole),
        charts: vec![lines(
            "MUMmerGPU over time",
            "core cycle",
            "thread instructions over those of round-robin",
            series.collect(),
        )],
    })
}

/// Thread instructions from the start to the end of each whole window, with that end.
fn instructions(report: &RunReport) -> Vec<(u64, u64)> {
    let Some(series) = &report.series else {
        return Vec::new();
    };
    let counts = series.columns.get("sm.thread_instructions");
    let mut sum = 0;
    let windows = series.start.iter().zip(&series.end).enumerate();
    windows
        .filter(|(_, (start, end))| *end - *start >= series.window_cycles)
        .map(|(at, (_, end))| {
            sum += counts.and_then(|of| of.get(at)).copied().unwrap_or(0);
            (*end, sum)
        })
        .collect()
}
