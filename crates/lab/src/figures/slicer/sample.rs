//! Differences between a sample and runs alone: Algorithm 1's choice for each pair from curves that
//! differ in one thing at a time. This is not a figure of the paper, which says that its sampled
//! choices are within one block of those from whole runs for over 90% of its pairs.

use super::fig3::{chosen, curve, most};
use super::table3::first;
use super::{
    BENCHMARKS, GPU, Group, LEFT_OVER, PAPER, SLICER, bars, columns, input, machine, pairs,
    scale_note, times,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::{Input, Mix, RunSpec};
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::{DecisionReport, RunReport};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "sample",
    title: "First partitions of pairs by the runs in which their curves are measured",
    make,
};

/// Clocks of the SMs in MHz: the preset's, and the number that Table I prints.
const CLOCKS: [u32; 2] = [700, 1400];

/// Sources of the curves.
const SOURCES: [(&str, &str); 5 + WEIGHTED.len()] = [
    (
        "alone",
        "From runs alone of a tenth of the time alone, every SM with the same number of blocks.",
    ),
    (
        "same",
        "From the cycles of the sample in such runs: as short and as early as a sample.",
    ),
    (
        "itself",
        "From samples, so that SMs differ in blocks, with the same program on the other SMs.",
    ),
    (
        "other",
        "From samples with the pair's other program there, as sampled.",
    ),
    (
        "long",
        "As `other`, after ten times the warm-up and ten times as long.",
    ),
    (
        "bandwidth.stalls",
        "As `other`, corrected by equation 3 with measured bandwidth, phi_mem of stalls.",
    ),
    ("bandwidth.cycles", "The same with phi_mem of all cycles."),
    (
        "blocks.stalls",
        "As `other`, corrected by equation 4, phi_mem of stalls.",
    ),
    ("blocks.cycles", "The same with phi_mem of all cycles."),
    (
        "blocks-inverse.stalls",
        "As `other`, corrected by the inverse of equation 4, phi_mem of stalls.",
    ),
    (
        "blocks-inverse.cycles",
        "The same with phi_mem of all cycles.",
    ),
];

/// Corrections of a sample, in the order of the last sources: `warped-slicer.weight` and
/// `warped-slicer.phi`.
const WEIGHTED: [[&str; 2]; 6] = [
    ["bandwidth", "stalls"],
    ["bandwidth", "cycles"],
    ["blocks", "stalls"],
    ["blocks", "cycles"],
    ["blocks-inverse", "stalls"],
    ["blocks-inverse", "cycles"],
];
/// A sample without correction.
const AS_SAMPLED: [&str; 2] = ["none", "stalls"];

/// A choice of partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Shared(Vec<u32>),
    Spatial,
    /// No profile was completed.
    None,
}

impl Choice {
    pub(super) fn of(decision: Option<&DecisionReport>) -> Self {
        match decision {
            None => Self::None,
            Some(decision) if decision.verdict == "shared" => Self::Shared(decision.blocks.clone()),
            Some(_) => Self::Spatial,
        }
    }

    /// True if both are within one block of each other for either program.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        let (Self::Shared(own), Self::Shared(other)) = (self, other) else {
            return false;
        };
        own.iter().zip(other).all(|(a, b)| a.abs_diff(*b) <= 1)
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Shared(blocks) => {
                let blocks: Vec<String> = blocks.iter().map(u32::to_string).collect();
                format!("({})", blocks.join(","))
            }
            Self::Spatial => "spatial".to_owned(),
            Self::None => "none".to_owned(),
        }
    }
}

/// Runs at one clock.
struct Clocked<'a> {
    request: &'a Request,
    /// The clock as a setting.
    clock: String,
}

impl Clocked<'_> {
    fn again() -> Mix {
        Mix {
            again: true,
            ..Mix::default()
        }
    }

    /// Warp instructions in the cycles of a sample, alone, by the number of blocks on every SM.
    fn same(&self, runs: &mut Runs<'_>, name: &str) -> Option<Vec<f64>> {
        let times = times(self.request.scale);
        let spec = |blocks: u32| {
            let sets = [
                self.clock.clone(),
                format!("gpu.max_blocks_per_sm={blocks}"),
            ];
            let machine = machine(self.request, GPU, &sets.join(" "), LEFT_OVER, &sets);
            RunSpec {
                max_cycles: Some(times.warmup + times.profile),
                window_cycles: Some(times.profile),
                mix: Some(Self::again()),
                ..RunSpec::new(&input(self.request, name), &machine)
            }
        };
        let specs: Vec<RunSpec> = (1..=most(name)).map(spec).collect();
        let reports = runs.all(&specs)?;
        let last = |report: &RunReport| {
            let series = report.series.as_ref()?;
            let column = series.columns.get("sm.warp_instructions")?;
            column.last().map(|count| *count as f64)
        };
        reports.iter().map(|report| last(report)).collect()
    }

    /// The first profile of a pair, corrected like this. Lengths are `longer` times those of the
    /// scale.
    fn profiled(
        &self,
        runs: &mut Runs<'_>,
        names: [&str; 2],
        [weight, phi]: [&str; 2],
        longer: u64,
    ) -> Option<Option<DecisionReport>> {
        let mut sets = vec![
            self.clock.clone(),
            format!("warped-slicer.weight={weight}"),
            format!("warped-slicer.phi={phi}"),
        ];
        if longer != 1 {
            let times = times(self.request.scale);
            let (warmup, profile) = (longer * times.warmup, longer * times.profile);
            sets.push(format!("warped-slicer.warmup_cycles={warmup}"));
            sets.push(format!("warped-slicer.profile_cycles={profile}"));
        }
        first_decision(self.request, runs, &names, &sets, longer)
    }

    /// Instructions of a program on SMs with different numbers of blocks, next to itself: the mean
    /// of both.
    fn itself(&self, runs: &mut Runs<'_>, name: &str) -> Option<Vec<f64>> {
        let decision = self.profiled(runs, [name; 2], AS_SAMPLED, 1)?;
        let curves = decision.map_or_else(Vec::new, |decision| decision.curves);
        let [one, two] = curves.as_slice() else {
            return Some(Vec::new());
        };
        Some(one.iter().zip(two).map(|(a, b)| (a + b) / 2.0).collect())
    }

    /// Choices by source, for each pair. `None` while runs are missing.
    fn choices(&self, runs: &mut Runs<'_>, groups: &[Group]) -> Option<Vec<Vec<Choice>>> {
        let clock = std::slice::from_ref(&self.clock);
        let alone = by_name(|name| curve(self.request, runs, name, clock));
        let same = by_name(|name| self.same(runs, name));
        let itself = by_name(|name| self.itself(runs, name));
        let pairs: Vec<_> = groups
            .iter()
            .map(|group| self.sampled(runs, group))
            .collect();
        let pairs: Vec<Vec<Choice>> = pairs.into_iter().collect::<Option<_>>()?;
        let curves = [alone?, same?, itself?];
        let all = |(group, sampled): (&Group, Vec<Choice>)| {
            let known = curves.each_ref().map(|curves| from(curves, group));
            known.into_iter().chain(sampled).collect()
        };
        Some(groups.iter().zip(pairs).map(all).collect())
    }

    /// Choices of the policy itself, in the order of the sources from `other` on.
    fn sampled(&self, runs: &mut Runs<'_>, group: &Group) -> Option<Vec<Choice>> {
        let names = [group.names[0], group.names[1]];
        let plain = [(AS_SAMPLED, 1), (AS_SAMPLED, 10)].into_iter();
        let settings = plain.chain(WEIGHTED.map(|weighted| (weighted, 1)));
        // Collected first, so that all runs are requested at once.
        let found: Vec<_> = settings
            .map(|(weighted, longer)| self.profiled(runs, names, weighted, longer))
            .collect();
        let found = found.into_iter().collect::<Option<Vec<_>>>()?;
        Some(found.iter().map(|d| Choice::of(d.as_ref())).collect())
    }
}

/// The first partition of programs under Warped-Slicer with `sets`, whose warm-up and profile are
/// `longer` times the scale's. The inner `None`: no profile was completed.
pub(super) fn first_decision(
    request: &Request,
    runs: &mut Runs<'_>,
    names: &[&str],
    sets: &[String],
    longer: u64,
) -> Option<Option<DecisionReport>> {
    let machine = machine(request, GPU, &sets.join(" "), SLICER, sets);
    let inputs: Vec<Input> = names.iter().map(|name| input(request, name)).collect();
    // A program's part of the SMs may have to take numbers of blocks in turn.
    let part = (machine.spec.gpu.sms / names.len() as u32).max(1);
    let turns = u64::from(machine.spec.sm.max_blocks.div_ceil(part));
    let times = times(request.scale);
    let report = runs.get(&RunSpec {
        // A kernel that ends in its sample is sampled again.
        max_cycles: Some(longer * (times.warmup + 3 * turns * times.profile)),
        mix: Some(Mix {
            others: inputs[1..].to_vec(),
            again: true,
            ..Mix::default()
        }),
        ..RunSpec::new(&inputs[0], &machine)
    })?;
    Some(first(&report).cloned())
}

/// Curves of the benchmarks.
type Curves = BTreeMap<&'static str, Vec<f64>>;

fn by_name(of: impl FnMut(&'static str) -> Option<Vec<f64>>) -> Option<Curves> {
    // Collected first, so that all runs are requested at once.
    let curves: Vec<_> = BENCHMARKS.into_iter().map(of).collect();
    let curves = curves.into_iter().collect::<Option<Vec<_>>>()?;
    Some(BENCHMARKS.into_iter().zip(curves).collect())
}

/// The choice of Algorithm 1.
fn from(curves: &Curves, group: &Group) -> Choice {
    let own: Vec<Vec<f64>> = group
        .names
        .iter()
        .map(|name| curves[name].clone())
        .collect();
    if own.iter().any(Vec::is_empty) {
        Choice::None
    } else {
        chosen(&group.names, &own).map_or(Choice::Spatial, Choice::Shared)
    }
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let of = |clock: u32| {
        let clock = format!("clocks.core_mhz={clock}");
        Clocked { request, clock }.choices(runs, &groups)
    };
    let all = CLOCKS.map(of);
    let (mut rows, mut summary, mut series) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (clock, choices) in CLOCKS.iter().zip(all) {
        let choices = choices?;
        let mut near = Vec::new();
        for (at, (source, _)) in SOURCES.iter().enumerate() {
            let count = |is: &dyn Fn(&Vec<Choice>) -> bool| {
                choices.iter().filter(|row| is(row)).count() as u64
            };
            let close = count(&|row| row[at].is_near(&row[0]));
            let spatial = count(&|row| row[at] == Choice::Spatial);
            summary.insert(format!("{clock}.{source}.near"), Cell::Count(close));
            summary.insert(format!("{clock}.{source}.spatial"), Cell::Count(spatial));
            near.push(close as f64);
        }
        series.push((format!("{clock} MHz"), near));
        rows.extend(groups.iter().zip(&choices).map(|(group, row)| {
            let mut line = vec![Cell::Text(group.name()), Cell::Count((*clock).into())];
            line.extend(row.iter().map(|choice| Cell::Text(choice.text())));
            line
        }));
    }
    let names = SOURCES.map(|(source, _)| source.to_owned()).to_vec();
    let mut about = vec![
        ("pair", "The paper's names."),
        ("core_mhz", "Clock of the SMs."),
    ];
    about.extend(SOURCES);
    let title = format!(
        "Pairs within a block of the choice from runs alone. {}",
        scale_note(request)
    );
    Some(Figure {
        table: Table {
            columns: columns(&about),
            rows,
        },
        summary,
        charts: vec![bars(&title, "pairs", names, series)],
    })
}
