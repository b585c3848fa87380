//! Sections V.G and V.I: energy of pairs under Warped-Slicer against left-over, and power of 16
//! SMs.

use super::{
    GPU, LEFT_OVER, Mixed, PAPER, SLICER, Setting, all_alone, bars, columns, machine, number,
    pairs, study,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::energy::{Parts, SHARES, preset_of};
use crate::grid::mean;
use crate::runs::Runs;
use std::sync::Arc;
use warploom_config::GpuSpec;
use warploom_energy::{Component, EnergyPreset, energy_of};
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "energy",
    title: "Energy of pairs under warped-slicer against left-over",
    make,
};

/// Components outside of the SMs.
const OUTSIDE: [Component; 4] = [
    Component::L2,
    Component::Network,
    Component::MemoryControllers,
    Component::Dram,
];

/// SMs of section V.I.
const SMS: f64 = 16.0;

/// Columns of the table of pairs.
const COLUMNS: [(&str, &str); 8] = [
    ("pair", "The paper's names."),
    ("left-over.mj", "Energy under left-over in millijoules."),
    ("slicer.mj", "Energy under warped-slicer in millijoules."),
    ("saved", "Energy saved, in percent."),
    (
        "saved.at30",
        "Energy saved if 30 % of left-over's energy were drawn over time, in percent.",
    ),
    ("saved.at60", "The same for 60 %."),
    (
        "left-over.share",
        "Static, idle and constant share of left-over's energy, in percent.",
    ),
    (
        "dynamic_power",
        "Dynamic power over that under left-over, in percent.",
    ),
];

/// Mean dynamic and static power over runs of as many SMs as in section V.I, in watts.
fn power_of_sms(preset: &EnergyPreset, spec: &GpuSpec, runs: &[Arc<RunReport>]) -> [f64; 2] {
    let energies = runs
        .iter()
        .filter_map(|run| energy_of(preset, spec, &run.totals.figures));
    let watts: Vec<[f64; 2]> = energies
        .map(|energy| {
            let of = |part: &Component| energy.components.get(part.key()).copied().unwrap_or(0.0);
            let in_sms = Component::ALL.iter().filter(|part| !OUTSIDE.contains(part));
            let dynamic: f64 = in_sms.filter(|part| !part.is_static()).map(of).sum();
            [dynamic, of(&Component::Static)].map(|joules| joules / energy.seconds)
        })
        .collect();
    let scale = SMS / f64::from(spec.gpu.sms);
    [0, 1].map(|at| scale * mean(&watts.iter().map(|pair| pair[at]).collect::<Vec<_>>()))
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let settings = [LEFT_OVER, SLICER].map(Setting::policy);
    let rows = study(request, runs, GPU, &groups, &settings);
    let alone = all_alone(request, runs);
    let (rows, alone) = (rows?, alone?);
    let preset = preset_of(GPU);
    let spec = machine(request, GPU, LEFT_OVER, LEFT_OVER, &[]).spec;
    let parts = |of: &Mixed| Parts::of(&preset, &spec, &of.report.totals.figures);
    let energies: Vec<[Parts; 2]> = rows
        .iter()
        .map(|row| [0, 1].map(|at| parts(&row[at])))
        .collect();
    let of = |f: &dyn Fn(&[Parts; 2]) -> f64| energies.iter().map(f).collect::<Vec<f64>>();
    let saved = of(&|[base, slicer]| slicer.saved(base));
    let [low, high] = SHARES.map(|share| of(&|[base, slicer]| slicer.saved_at(base, share)));
    let share = of(&|[base, _]| 100.0 * base.share());
    let power = of(&|[base, slicer]| 100.0 * (slicer.dynamic_watts() / base.dynamic_watts() - 1.0));
    let [dynamic_w, static_w] = power_of_sms(&preset, &spec, &alone);
    let line = |(at, group): (usize, &super::Group)| {
        let [base, slicer] = &energies[at];
        let numbers = [
            1e3 * base.joules(),
            1e3 * slicer.joules(),
            saved[at],
            low[at],
            high[at],
            share[at],
            power[at],
        ];
        let name = Cell::Text(group.name());
        std::iter::once(name).chain(numbers.map(number)).collect()
    };
    let summary = [
        ("saved.mean", mean(&saved)),
        ("saved.at30.mean", mean(&low)),
        ("saved.at60.mean", mean(&high)),
        ("left-over.share.mean", mean(&share)),
        ("dynamic_power.mean", mean(&power)),
        ("alone.16_sms.dynamic_w", dynamic_w),
        ("alone.16_sms.static_w", static_w),
    ];
    let names = groups.iter().map(super::Group::name).collect();
    Some(Figure {
        table: Table {
            columns: columns(&COLUMNS),
            rows: groups.iter().enumerate().map(line).collect(),
        },
        summary: summary
            .map(|(name, value)| (name.to_owned(), number(value)))
            .into(),
        charts: vec![bars(
            "Energy saved against left-over",
            "percent",
            names,
            vec![
                ("preset's own share".to_owned(), saved),
                ("30 % over time".to_owned(), low),
                ("60 % over time".to_owned(), high),
            ],
        )],
    })
}
