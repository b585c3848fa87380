//! Shared parts of the figures of Warped-Slicer (Xu et al., ISCA 2016).
//!
//! The method (section V): a benchmark runs alone for two million cycles, and restarts if it ends
//! before. This fixes its instruction target. In a mix each benchmark runs to its target, and then
//! its resources go to the others. Total IPC is the instructions of all benchmarks over the time
//! until the last has ended. Smaller scales shorten the time alone, warm-up and profiles, and use
//! fewer mixes.

mod claims;
mod energy;
mod fig1;
mod fig10;
mod fig2;
mod fig3;
mod fig5;
mod fig6;
mod fig6_oracle;
mod fig7;
mod fig8;
mod fig9;
mod large;
mod oracle;
mod outputs;
mod sample;
mod screen;
mod storage;
mod table2;
mod table2_paper;
mod table3;
#[cfg(test)]
mod tests;
mod threshold;

pub use oracle::{OracleRequest, oracle};
pub use outputs::{every_mix, is_right};

use super::FigureInfo;
use super::shared::{add_mean, columns};
use crate::figure::{Request, Scale};
use crate::runs::Runs;
use crate::samples::Samples;
use crate::spec::{Input, MachineVariant, Mix, RunSpec, SEED};
use std::sync::Arc;
use warploom_report::page::Cell;
use warploom_report::{Axis, BarChart, BarSeries, Chart};
use warploom_stats::mix::{MixFigures, Turnaround};
use warploom_stats::result::RunReport;
use warploom_workloads::Size;

pub(super) use claims::verdicts;

pub(super) const FIGURES: [FigureInfo; 16] = [
    table2::FIGURE,
    fig1::FIGURE,
    fig2::FIGURE,
    fig3::FIGURE_A,
    fig3::FIGURE_B,
    fig5::FIGURE,
    fig6::FIGURE,
    table3::FIGURE,
    fig7::FIGURE,
    fig8::FIGURE,
    fig9::FIGURE,
    fig10::FIGURE_A,
    fig10::FIGURE_B,
    large::FIGURE,
    storage::FIGURE,
    energy::FIGURE,
];

/// Figures that must be requested by their own names.
pub(super) const BY_NAME: [FigureInfo; 3] =
    [fig6_oracle::FIGURE, sample::FIGURE, threshold::FIGURE];

const PAPER: &str = "slicer";
/// Machine of Table I.
pub(super) const GPU: &str = "fermi-slicer";

pub(super) const LEFT_OVER: &str = "left-over";
const SPATIAL: &str = "spatial";
const EVEN: &str = "even";
pub(super) const SLICER: &str = "warped-slicer";

/// Benchmarks of Table II, in its order.
const BENCHMARKS: [&str; 10] = [
    "BLK", "BFS", "DXT", "HOT", "IMG", "KNN", "LBM", "MM", "MVP", "NN",
];

/// Types of Table II: pairs consist of benchmarks of two types.
const COMPUTE: [&str; 4] = ["DXT", "HOT", "IMG", "MM"];
const CACHE: [&str; 2] = ["MVP", "NN"];
const MEMORY: [&str; 4] = ["BFS", "BLK", "KNN", "LBM"];

/// A mix by the paper's names, with its category in Fig. 6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub names: Vec<&'static str>,
    category: &'static str,
}

impl Group {
    pub fn name(&self) -> String {
        self.names.join("_")
    }
}

const COMPUTE_CACHE: &str = "compute + cache";
const COMPUTE_MEMORY: &str = "compute + memory";
const COMPUTE_COMPUTE: &str = "compute + compute";

/// Pairs of Table III in its order: 8, 16 and 6.
pub(super) fn all_pairs() -> Vec<Group> {
    let of = |others: &[&'static str], category| -> Vec<Group> {
        let pairs = COMPUTE
            .iter()
            .flat_map(|c| others.iter().map(move |o| [*c, *o]));
        pairs
            .map(|names| Group {
                names: names.to_vec(),
                category,
            })
            .collect()
    };
    let compute = [
        ["DXT", "IMG"],
        ["HOT", "DXT"],
        ["HOT", "IMG"],
        ["MM", "DXT"],
        ["MM", "HOT"],
        ["MM", "IMG"],
    ];
    let compute = compute.map(|names| Group {
        names: names.to_vec(),
        category: COMPUTE_COMPUTE,
    });
    let mut all = of(&CACHE, COMPUTE_CACHE);
    all.extend(of(&MEMORY, COMPUTE_MEMORY));
    all.extend(compute);
    all
}

/// Pairs of a scale: all, or one of each category.
fn pairs(scale: Scale) -> Vec<Group> {
    let all = all_pairs();
    match scale {
        Scale::Test => {
            let shown = ["IMG_NN", "MM_BLK", "DXT_IMG"];
            all.into_iter()
                .filter(|p| shown.contains(&p.name().as_str()))
                .collect()
        }
        Scale::Small | Scale::Paper => all,
    }
}

/// Triples of Fig. 8: two of DXT, IMG and MM with one of the others except for BFS and HOT.
fn triples(scale: Scale) -> Vec<Group> {
    let two = [["DXT", "IMG"], ["DXT", "MM"], ["IMG", "MM"]];
    let third = ["BLK", "KNN", "LBM", "MVP", "NN"];
    let of = |[a, b]: [&'static str; 2]| {
        third.map(|c| Group {
            names: vec![a, b, c],
            category: "three",
        })
    };
    let all: Vec<Group> = two.into_iter().flat_map(of).collect();
    match scale {
        Scale::Test => all.into_iter().take(1).collect(),
        Scale::Small | Scale::Paper => all,
    }
}

/// Cycles of a scale: alone, warm-up, profile.
pub(super) struct Times {
    pub alone: u64,
    warmup: u64,
    profile: u64,
}

pub(super) const fn times(scale: Scale) -> Times {
    match scale {
        Scale::Test => Times {
            alone: 6000,
            warmup: 600,
            profile: 400,
        },
        Scale::Small => Times {
            alone: 200_000,
            warmup: 5000,
            profile: 2500,
        },
        Scale::Paper => Times {
            alone: 2_000_000,
            warmup: 20_000,
            profile: 5000,
        },
    }
}

/// Size of the benchmarks at a scale. Smaller scales cut runs earlier and keep the size, because
/// smaller grids would not fill the machine.
pub(super) const fn size(scale: Scale) -> Size {
    match scale {
        Scale::Test => Scale::Small.size(),
        Scale::Small | Scale::Paper => Scale::Paper.size(),
    }
}

pub(super) fn input(request: &Request, name: &str) -> Input {
    let target = format!("{PAPER}/{name}");
    Input::workload(&target, size(request.scale), SEED)
        .unwrap_or_else(|unknown| panic!("{unknown}"))
}

/// The machine with a policy and other changes.
pub(super) fn machine(
    request: &Request,
    gpu: &str,
    name: &str,
    policy: &str,
    more: &[String],
) -> MachineVariant {
    let times = times(request.scale);
    let mut sets = vec![format!("gpu.multiprogram={policy}")];
    if policy == SLICER && request.scale != Scale::Paper {
        sets.push(format!("warped-slicer.warmup_cycles={}", times.warmup));
        sets.push(format!("warped-slicer.profile_cycles={}", times.profile));
    }
    if request.scale == Scale::Test {
        sets.push("gpu.sms=4".to_owned());
    }
    sets.extend_from_slice(more);
    let base = warploom_config::Base::Preset(gpu.to_owned());
    MachineVariant::new(name, gpu, &base, sets).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A run of a benchmark alone on a machine, for the scale's time.
fn alone_spec(request: &Request, gpu: &str, name: &str, more: &[String]) -> RunSpec {
    let machine = machine(request, gpu, "alone", LEFT_OVER, more);
    RunSpec {
        max_cycles: Some(times(request.scale).alone),
        mix: Some(Mix {
            again: true,
            ..Mix::default()
        }),
        ..RunSpec::new(&input(request, name), &machine)
    }
}

/// Runs of the ten benchmarks alone.
fn all_alone(request: &Request, runs: &mut Runs<'_>) -> Option<Vec<Arc<RunReport>>> {
    let specs = BENCHMARKS.map(|name| alone_spec(request, GPU, name, &[]));
    runs.all(&specs)
}

/// Instruction targets of a group's benchmarks, or `None` while the runs alone are missing.
pub(super) fn targets(
    request: &Request,
    runs: &mut Runs<'_>,
    gpu: &str,
    group: &Group,
    more: &[String],
) -> Option<Vec<u64>> {
    let names = group.names.iter();
    let specs: Vec<_> = names
        .map(|name| alone_spec(request, gpu, name, more))
        .collect();
    let alone = runs.all(&specs)?;
    Some(
        alone
            .iter()
            .map(|run| run.processes[0].thread_instructions)
            .collect(),
    )
}

/// A run of a group under a policy.
fn mix_spec(
    request: &Request,
    group: &Group,
    machine: &MachineVariant,
    targets: &[u64],
) -> RunSpec {
    let inputs: Vec<Input> = group
        .names
        .iter()
        .map(|name| input(request, name))
        .collect();
    RunSpec {
        mix: Some(Mix {
            others: inputs[1..].to_vec(),
            targets: targets.to_vec(),
            again: true,
        }),
        ..RunSpec::new(&inputs[0], machine)
    }
}

/// A setting under which mixes run.
#[derive(Clone, Debug)]
struct Setting {
    /// Name of the setting in the figure.
    name: String,
    policy: &'static str,
    /// Changes of the machine, which programs alone also have.
    machine: Vec<String>,
    /// Changes of the policy.
    more: Vec<String>,
    /// Blocks of each program on an SM, if the policy fixes them.
    blocks: Vec<u32>,
}

impl Setting {
    fn policy(policy: &'static str) -> Self {
        Self {
            name: policy.to_owned(),
            policy,
            machine: Vec::new(),
            more: Vec::new(),
            blocks: Vec::new(),
        }
    }

    fn sets(&self) -> Vec<String> {
        [self.machine.as_slice(), &self.more].concat()
    }
}

/// A mix that was run.
#[derive(Clone, Debug)]
struct Mixed {
    report: Arc<RunReport>,
    figures: MixFigures,
}

/// Results of every group under every setting: by group, then by setting. `None` while runs are
/// missing.
fn study(
    request: &Request,
    runs: &mut Runs<'_>,
    gpu: &str,
    groups: &[Group],
    settings: &[Setting],
) -> Option<Vec<Vec<Mixed>>> {
    study_until(request, runs, gpu, groups, settings, None)
}

/// Results as those of `study`, of runs that are cut after this number of cycles.
fn study_until(
    request: &Request,
    runs: &mut Runs<'_>,
    gpu: &str,
    groups: &[Group],
    settings: &[Setting],
    max_cycles: Option<u64>,
) -> Option<Vec<Vec<Mixed>>> {
    let alone_cycles = times(request.scale).alone;
    let mut specs = Vec::new();
    let mut missing = false;
    for group in groups {
        for setting in settings {
            let Some(targets) = targets(request, runs, gpu, group, &setting.machine) else {
                missing = true;
                continue;
            };
            let sets = setting.sets();
            let machine = machine(request, gpu, &setting.name, setting.policy, &sets);
            specs.push(RunSpec {
                max_cycles,
                ..mix_spec(request, group, &machine, &targets)
            });
        }
    }
    if missing {
        return None;
    }
    let reports = runs.all(&specs)?;
    let mixed = |report: &Arc<RunReport>| Mixed {
        figures: figures_of(report, alone_cycles),
        report: Arc::clone(report),
    };
    let rows = reports.chunks(settings.len().max(1));
    Some(rows.map(|row| row.iter().map(mixed).collect()).collect())
}

pub(super) fn figures_of(report: &RunReport, alone_cycles: u64) -> MixFigures {
    let programs = report.processes.iter().map(|process| Turnaround {
        alone: alone_cycles as f64,
        mixed: process.cycles.max(1) as f64,
    });
    let targets = report.processes.iter().filter_map(|process| process.target);
    let programs: Vec<Turnaround> = programs.collect();
    let cycles = report
        .processes
        .iter()
        .filter_map(|process| process.ended_at);
    MixFigures::new(targets.sum(), cycles.max().unwrap_or(0), &programs)
}

/// A counter of the whole run.
fn count(report: &RunReport, name: &str) -> f64 {
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0) as f64
}

/// Sum of the counters with this prefix.
fn sum(report: &RunReport, prefix: &str) -> f64 {
    let counts = report.totals.figures.statistics.iter();
    let own = counts.filter(|(name, _)| name.starts_with(prefix));
    own.map(|(_, count)| *count as f64).sum()
}

/// A cell with a finite number, or an empty one.
fn number(value: f64) -> Cell {
    if value.is_finite() {
        Cell::Number(value)
    } else {
        Cell::None
    }
}

/// Bars of groups, with one series per setting.
fn bars(title: &str, label: &str, groups: Vec<String>, series: Vec<(String, Vec<f64>)>) -> Chart {
    Chart::Bars(BarChart {
        title: title.to_owned(),
        axis: Axis {
            label: label.to_owned(),
            ..Axis::default()
        },
        groups,
        series: series
            .into_iter()
            .map(|(name, values)| BarSeries {
                name,
                values: values
                    .into_iter()
                    .map(|v| v.is_finite().then_some(v))
                    .collect(),
            })
            .collect(),
        marks: Vec::new(),
    })
}

/// Description of a scale by its name for notes.
fn note_at(scale: &str) -> String {
    let scale = scale.parse();
    scale.map_or_else(|_| String::new(), |scale| scale_note(&Request { scale }))
}

/// Values of groups by their names.
fn samples(groups: &[Group], values: impl Iterator<Item = f64>) -> Samples {
    Samples(groups.iter().map(Group::name).zip(values).collect())
}

/// Description of a scale for notes.
fn scale_note(request: &Request) -> String {
    let Times {
        alone,
        warmup,
        profile,
    } = times(request.scale);
    format!(
        "At scale {}: targets of {alone} cycles alone, profiles of {profile} cycles after {warmup}.",
        request.scale
    )
}
