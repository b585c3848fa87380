//! Fig. 6's oracle: for each pair the best of all ways to share the SMs, compared with
//! Warped-Slicer.
//!
//! With a run for every combination of blocks it makes as many runs as all other figures of the
//! paper together, so it must be requested by its own name.

use super::oracle::{best_of, ways};
use super::{
    BENCHMARKS, EVEN, GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, Setting, add_mean, all_alone,
    bars, columns, machine, number, pairs, samples, study,
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

/// Policies that run in addition to the ways; they come first.
const POLICIES: [&str; 2] = [SLICER, EVEN];

/// Total IPC of a pair over that under left-over.
struct Best {
    slicer: f64,
    even: f64,
    oracle: f64,
    way: String,
    ways: usize,
}

impl Best {
    fn of(settings: &[Setting], row: &[Mixed]) -> Self {
        let ipc = |at: usize| row[at].figures.total_ipc;
        let first = POLICIES.len();
        assert_eq!(settings[first].policy, LEFT_OVER, "the first way");
        let base = ipc(first);
        let best = first + best_of((first..row.len()).map(ipc));
        Self {
            slicer: ipc(0) / base,
            even: ipc(1) / base,
            oracle: ipc(best) / base,
            way: settings[best].name.clone(),
            ways: row.len() - first,
        }
    }

    /// Share of the oracle that Warped-Slicer reaches. It can exceed 1, because its partition may
    /// change.
    fn reached(&self) -> f64 {
        self.slicer / self.oracle
    }

    fn line(&self, group: &Group) -> Vec<Cell> {
        vec![
            Cell::Text(group.name()),
            Cell::from(group.category),
            Cell::Count(self.ways as u64),
            Cell::Text(self.way.clone()),
            number(self.oracle),
            number(self.slicer),
            number(self.even),
            number(self.reached()),
        ]
    }
}

/// All pairs; in tests only the one with the fewest ways.
fn groups(scale: Scale) -> Vec<Group> {
    let mut groups = pairs(scale);
    if scale == Scale::Test {
        groups.retain(|group| group.name() == "MM_BLK");
    }
    groups
}

/// Settings for a pair: two policies, then all ways, of which the first is left-over.
fn settings(group: &Group, alone: &[Arc<RunReport>], machine: &MachineVariant) -> Vec<Setting> {
    let run = |name: &&str| {
        let at = BENCHMARKS.iter().position(|known| known == name);
        Arc::clone(&alone[at.expect("a benchmark of the paper")])
    };
    let programs: Vec<_> = group.names.iter().map(run).collect();
    let policies = POLICIES.into_iter().map(Setting::policy);
    policies.chain(ways(&programs, machine)).collect()
}

/// Results of every pair, or `None` while runs are missing.
fn every_pair(request: &Request, runs: &mut Runs<'_>, groups: &[Group]) -> Option<Vec<Best>> {
    let alone = all_alone(request, runs)?;
    let machine = machine(request, GPU, "alone", LEFT_OVER, &[]);
    let best = |group: &Group| {
        let settings = settings(group, &alone, &machine);
        let rows = study(request, runs, GPU, slice::from_ref(group), &settings)?;
        Some(Best::of(&settings, &rows[0]))
    };
    // Collected first, so that all runs are requested at once.
    let found: Vec<Option<Best>> = groups.iter().map(best).collect();
    found.into_iter().collect()
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = groups(request.scale);
    let found = every_pair(request, runs, &groups)?;
    let mut summary = BTreeMap::new();
    let mut add = |name: &str, of: fn(&Best) -> f64| {
        let values = samples(&groups, found.iter().map(of));
        add_mean(&mut summary, &format!("{name}.gmean"), values.geometric());
    };
    add("oracle", |best| best.oracle);
    add(SLICER, |best| best.slicer);
    add(EVEN, |best| best.even);
    add("reached", Best::reached);
    let series = |name: &str, of: fn(&Best) -> f64| {
        let values = found.iter().map(of).collect();
        (name.to_owned(), values)
    };
    let lines = groups.iter().zip(&found);
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("pair", "The paper's names."),
                ("category", "Types of the pair's programs."),
                (
                    "ways",
                    "Left-over, spatial, and combinations of blocks that fit an SM.",
                ),
                ("best", "The best of these ways."),
                (
                    "oracle",
                    "Total IPC of the best way over that under left-over.",
                ),
                (
                    "warped-slicer",
                    "Total IPC of warped-slicer over that under left-over.",
                ),
                ("even", "Total IPC of even over that under left-over."),
                ("reached", "Warped-slicer's total IPC over the oracle's."),
            ]),
            rows: lines.map(|(group, best)| best.line(group)).collect(),
        },
        summary,
        charts: vec![bars(
            "Pairs",
            "total IPC over left-over",
            groups.iter().map(Group::name).collect(),
            vec![
                series(EVEN, |b| b.even),
                series(SLICER, |b| b.slicer),
                series("oracle", |b| b.oracle),
            ],
        )],
    })
}
