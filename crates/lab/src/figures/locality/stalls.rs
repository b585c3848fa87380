//! Figs. 5.3 and 5.4: scheduler cycles without an issue by GPGPU-Sim's three classes, over all
//! scheduler cycles of the baseline. Structural: a pipe is full. Idle or control: no warp has an
//! instruction, or all wait at barriers. RAW: the scoreboard.

use super::{BCS, BLOCKS, BOTH, GPU, GTO, Measured, PAPER, TYPE_1, WORKLOADS, add_mean, samples};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_config::preset;
use warploom_report::page::{Cell, Column, Table};
use warploom_report::{Axis, BarChart, BarSeries, Chart};

pub(super) const FIG_5_3: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5.3",
    title: "Stalls of Type-I workloads over cycles of the baseline",
    make: |request, runs| make(request, runs, true),
};

pub(super) const FIG_5_4: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig5.4",
    title: "Stalls of Type-II and Type-III workloads over cycles of the baseline",
    make: |request, runs| make(request, runs, false),
};

const SHOWN: [&str; 4] = [GTO, BCS, BLOCKS, BOTH];
/// Name of a class, its counter, and its description.
const CLASSES: [(&str, &str, &str); 3] = [
    (
        "structural",
        "issue.stall",
        "A warp was ready, but its pipe could not accept the instruction.",
    ),
    (
        "idle_or_control",
        "issue.idle",
        "No warp has an instruction, or all wait at barriers.",
    ),
    (
        "raw",
        "issue.scoreboard",
        "Every warp waits for an operand.",
    ),
];
const STRUCTURAL: usize = 0;
const IDLE: usize = 1;
const RAW: usize = 2;

/// Stalls of a class over all scheduler cycles of the workload's baseline.
fn share(measured: &Measured, workload: &str, config: &str, class: usize) -> f64 {
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let schedulers = u64::from(gpu.gpu.sms) * u64::from(gpu.sm.schedulers);
    let cycles = measured.of(workload, GTO).totals.figures.cycles;
    let stalls = measured.count(workload, config, CLASSES[class].1);
    stalls as f64 / (cycles * schedulers) as f64
}

fn make(request: &Request, runs: &mut Runs<'_>, first: bool) -> Option<Figure> {
    let measured = Measured::new(request, runs)?;
    let names = WORKLOADS.iter().map(|workload| workload.name);
    let names: Vec<_> = names
        .filter(|name| TYPE_1.contains(name) == first)
        .collect();
    let mut rows = Vec::new();
    for &name in &names {
        for config in SHOWN {
            let shares = [0, 1, 2].map(|class| share(&measured, name, config, class));
            let mut row = vec![Cell::from(name), Cell::from(config)];
            row.extend(shares.map(Cell::Number));
            row.push(Cell::Number(shares.iter().sum()));
            rows.push(row);
        }
    }
    // A claim is about both figures; its data are in the second.
    let summary = match first {
        true => BTreeMap::new(),
        false => summary(&measured),
    };
    Some(Figure {
        table: Table {
            columns: columns(),
            rows,
        },
        summary,
        charts: [0, 1, 2]
            .map(|class| chart(&measured, &names, class))
            .to_vec(),
    })
}

fn columns() -> Vec<Column> {
    let mut columns = vec![
        Column::new(
            "workload",
            "The paper's name; Gabor, without a type, stands with II and III.",
        ),
        Column::new("configuration", "Block and warp scheduler."),
    ];
    for (name, _, about) in CLASSES {
        let about = format!("{about} Over all scheduler cycles of {GTO}.");
        columns.push(Column::new(name, about));
    }
    columns.push(Column::new("stalls", "All three."));
    columns
}

fn chart(measured: &Measured, names: &[&str], class: usize) -> Chart {
    let series = |config: &str| BarSeries {
        name: config.to_owned(),
        values: names
            .iter()
            .map(|name| Some(share(measured, name, config, class)))
            .collect(),
    };
    Chart::Bars(BarChart {
        title: format!("Stalls: {}", CLASSES[class].0.replace('_', " ")),
        axis: Axis {
            label: format!("over scheduler cycles of {GTO}"),
            ..Axis::default()
        },
        groups: names.iter().map(|name| (*name).to_owned()).collect(),
        series: SHOWN.map(series).to_vec(),
        marks: Vec::new(),
    })
}

/// Mean shares of stalls over all workloads, on which the claim of section 5.3 is judged.
fn summary(measured: &Measured) -> BTreeMap<String, Cell> {
    let mut summary = BTreeMap::new();
    let shares = |of: &[Workload], config: &str, class: usize| {
        let each = of.iter().map(|w| share(measured, w.name, config, class));
        samples(of, &each.collect::<Vec<_>>())
    };
    for class in [RAW, STRUCTURAL] {
        for config in SHOWN {
            let name = format!("{}.{config}", CLASSES[class].0);
            add_mean(
                &mut summary,
                &name,
                shares(WORKLOADS, config, class).arithmetic(),
            );
        }
    }
    let waits = |workload: &Workload| measured.count(workload.name, GTO, "sm.barriers") > 0;
    let (with, without): (Vec<Workload>, Vec<Workload>) =
        WORKLOADS.iter().partition(|workload| waits(workload));
    for (name, of) in [("barriers", with), ("no_barriers", without)] {
        let mean = |config| shares(&of, config, IDLE).arithmetic();
        if let Some((both, alone)) = mean(BOTH).zip(mean(BLOCKS)) {
            let rise = Cell::Number(both.value - alone.value);
            summary.insert(format!("idle_or_control.rise.{name}"), rise);
        }
    }
    summary
}
