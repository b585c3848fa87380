//! Fig. 6's oracle: for each pair the best of all ways to share the SMs.
//!
//! Not every combination of blocks runs to the targets: `screen` decides which do. Left-over is
//! nearly one program after the other, which is its estimate. The figure must be requested by its
//! own name, because of its many runs. Fig. 6 has Warped-Slicer's results.

use super::oracle::{best_of, ways};
use super::screen::{Work, first_pass, kept, plausible};
use super::{
    BENCHMARKS, GPU, Group, LEFT_OVER, PAPER, Setting, add_mean, all_alone, bars, columns, machine,
    number, pairs, samples, study, targets, times,
};
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use crate::spec::MachineVariant;
use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::RunReport;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig6-oracle",
    title: "Total IPC of pairs under the best of all ways to share the SMs",
    make,
};

/// A way with its total IPC by the first pass, and in a run to the targets.
struct Tried {
    name: String,
    estimate: f64,
    ipc: f64,
}

/// Ways of a pair.
struct Best {
    /// Total IPC of the programs one after the other.
    sequential: f64,
    /// Number of ways that exist.
    ways: usize,
    /// Number of ways in the first pass.
    short: usize,
    /// Ways that were run to the targets.
    tried: Vec<Tried>,
}

impl Best {
    /// The best way; the first of equal ones.
    fn best(&self) -> &Tried {
        &self.tried[best_of(self.tried.iter().map(|way| way.ipc))]
    }

    fn over_sequential(&self) -> f64 {
        self.best().ipc / self.sequential
    }

    /// The way with the highest estimate.
    fn first(&self) -> &Tried {
        &self.tried[best_of(self.tried.iter().map(|way| way.estimate))]
    }

    /// Total IPC of the way with the highest estimate over that of the best one.
    fn first_reached(&self) -> f64 {
        self.first().ipc / self.best().ipc
    }

    /// Largest relative difference between an estimate and a run to the targets.
    fn error(&self) -> f64 {
        let errors = self.tried.iter().map(|way| way.estimate / way.ipc - 1.0);
        errors.map(f64::abs).fold(0.0, f64::max)
    }

    fn line(&self, group: &Group) -> Vec<Cell> {
        vec![
            Cell::Text(group.name()),
            Cell::from(group.category),
            Cell::Count(self.ways as u64),
            Cell::Count(self.short as u64),
            Cell::Count(self.tried.len() as u64),
            Cell::Text(self.best().name.clone()),
            number(self.best().ipc),
            number(self.over_sequential()),
            Cell::Text(self.first().name.clone()),
            number(self.first_reached()),
            number(self.error()),
        ]
    }
}

/// Names and descriptions of the table's columns.
const COLUMNS: &[(&str, &str)] = &[
    ("pair", "The paper's names."),
    ("category", "Types of the pair's programs."),
    (
        "ways",
        "Left-over, spatial, and combinations of blocks that fit an SM.",
    ),
    ("short", "Ways in the first pass."),
    (
        "run",
        "Ways that were run to the targets: those near the best of the first pass.",
    ),
    ("best", "The best of these ways."),
    ("oracle.ipc", "Total IPC of the best way."),
    (
        "oracle",
        "Total IPC of the best way over that of the programs one after the other.",
    ),
    ("first", "The best way by the first pass."),
    (
        "first.reached",
        "Total IPC of the best way by the first pass over the oracle's.",
    ),
    (
        "error",
        "Largest difference between a way's total IPC by the first pass and to the targets, \
         relative.",
    ),
];

/// All pairs; in tests only the one with the fewest ways.
fn groups(scale: Scale) -> Vec<Group> {
    let mut groups = pairs(scale);
    if scale == Scale::Test {
        groups.retain(|group| group.name() == "MM_BLK");
    }
    groups
}

/// Ways for a pair, of which the first is left-over.
fn ways_of(group: &Group, alone: &[Arc<RunReport>], machine: &MachineVariant) -> Vec<Setting> {
    let run = |name: &&str| {
        let at = BENCHMARKS.iter().position(|known| known == name);
        Arc::clone(&alone[at.expect("a benchmark of the paper")])
    };
    let programs: Vec<_> = group.names.iter().map(run).collect();
    ways(&programs, machine)
}

/// Results of a pair whose ways are these. `None` while runs are missing.
fn best(request: &Request, runs: &mut Runs<'_>, group: &Group, ways: &[Setting]) -> Option<Best> {
    let count = ways.len();
    let targets = targets(request, runs, GPU, group, &[])?;
    let work = Work {
        targets: &targets,
        alone: times(request.scale).alone,
    };
    let plausible = plausible(request, runs, group, ways, &work)?;
    let ways: Vec<&Setting> = plausible.iter().map(|at| &ways[*at]).collect();
    assert_eq!(ways[0].policy, LEFT_OVER, "the first way");
    let others: Vec<Setting> = ways[1..].iter().map(|way| (*way).clone()).collect();
    let mut estimates = vec![work.sequential()];
    estimates.extend(first_pass(request, runs, group, &others, &work)?);
    let kept = kept(&estimates);
    let settings: Vec<Setting> = kept.iter().map(|at| ways[*at].clone()).collect();
    let rows = study(request, runs, GPU, slice::from_ref(group), &settings)?;
    let tried = kept.iter().zip(&rows[0]).map(|(at, mixed)| Tried {
        name: ways[*at].name.clone(),
        estimate: estimates[*at],
        ipc: mixed.figures.total_ipc,
    });
    Some(Best {
        sequential: work.sequential(),
        ways: count,
        short: ways.len() - 1,
        tried: tried.collect(),
    })
}

/// Results of every pair, or `None` while runs are missing.
fn every_pair(request: &Request, runs: &mut Runs<'_>, groups: &[Group]) -> Option<Vec<Best>> {
    let alone = all_alone(request, runs)?;
    let machine = machine(request, GPU, "alone", LEFT_OVER, &[]);
    // Collected first, so that all runs are requested at once.
    let found: Vec<Option<Best>> = groups
        .iter()
        .map(|group| best(request, runs, group, &ways_of(group, &alone, &machine)))
        .collect();
    found.into_iter().collect()
}

fn summary(groups: &[Group], found: &[Best]) -> BTreeMap<String, Cell> {
    let mut summary = BTreeMap::new();
    let mut add = |name: &str, of: fn(&Best) -> f64| {
        let values = samples(groups, found.iter().map(of));
        add_mean(&mut summary, &format!("{name}.gmean"), values.geometric());
    };
    add("oracle", Best::over_sequential);
    add("first.reached", Best::first_reached);
    let mut count = |name: &str, of: fn(&Best) -> usize| {
        let all: usize = found.iter().map(of).sum();
        summary.insert(name.to_owned(), Cell::Count(all as u64));
    };
    count("ways", |best| best.ways);
    count("short", |best| best.short);
    count("run", |best| best.tried.len());
    summary
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = groups(request.scale);
    let found = every_pair(request, runs, &groups)?;
    let over_sequential = found.iter().map(Best::over_sequential).collect();
    let lines = groups.iter().zip(&found);
    Some(Figure {
        table: Table {
            columns: columns(COLUMNS),
            rows: lines.map(|(group, best)| best.line(group)).collect(),
        },
        summary: summary(&groups, &found),
        charts: vec![bars(
            "Pairs",
            "total IPC over one after the other",
            groups.iter().map(Group::name).collect(),
            vec![("oracle".to_owned(), over_sequential)],
        )],
    })
}
