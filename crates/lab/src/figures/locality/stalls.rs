//! Figs. 5.3 and 5.4: scheduler cycles without an issue by GPGPU-Sim's three classes, over all
//! scheduler cycles of the baseline. Structural: a pipe is full. Idle or control: no warp has an
//! instruction, or all wait at barriers. RAW: the scoreboard.

use super::{BCS, BLOCKS, BOTH, GPU, GTO, Measured, PAPER, TYPE_1, WORKLOADS};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_config::preset;
use warploom_report::page::{Cell, Column, Table, Verdict};
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
    // One claim is about both figures; its verdict is in the second.
    let claims = (!first).then(|| verdict(&measured, request));
    Some(Figure {
        table: Table {
            columns: columns(),
            rows,
        },
        summary: BTreeMap::new(),
        claims: claims.into_iter().collect(),
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

fn verdict(measured: &Measured, request: &Request) -> Verdict {
    let all: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
    let means = |names: &[&str], config: &str, class: usize| {
        let shares = names
            .iter()
            .map(|name| share(measured, name, config, class));
        mean(&shares.collect::<Vec<_>>())
    };
    let mut judged = Judged::new("locality.stalls");
    for class in [RAW, STRUCTURAL] {
        let (before, after) = (means(&all, GTO, class), means(&all, BLOCKS, class));
        judged = judged.states(
            &format!("the block scheduler cuts {} stalls", CLASSES[class].0),
            after < before,
            format!("{before:.4} to {after:.4} of the baseline's cycles"),
        );
    }
    let waits = |name: &&&str| measured.count(name, GTO, "sm.barriers") > 0;
    let (with, without): (Vec<&str>, Vec<&str>) = all.iter().partition(waits);
    let rise = |names: &[&str]| means(names, BOTH, IDLE) - means(names, BLOCKS, IDLE);
    let (rises, others) = (rise(&with), rise(&without));
    judged
        .states(
            "the warp scheduler raises idle or control stalls where blocks have barriers",
            rises > 0.0,
            format!("by {rises:.4} of the baseline's cycles; without barriers by {others:.4}"),
        )
        .verdict(format!(
            "Means over workloads at scale {}; {} have barriers.",
            request.scale,
            with.join(", ")
        ))
}
