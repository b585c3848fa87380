//! Several programs at once in a comparison: their targets, and columns of a mix.

use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, Mix, RunSpec};
use std::collections::BTreeSet;
use std::sync::Arc;
use warploom_report::page::{Cell, Column};
use warploom_stats::mix::{MixFigures, Turnaround};
use warploom_stats::result::{ProcessReport, RunReport};

/// Programs that run at once with the first, and how long all of them run.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// All programs except for the first.
    pub others: Vec<Input>,
    /// Thread instructions at which each program is halted, beginning with the first.
    pub targets: Vec<u64>,
    /// True if programs that end restart until the run is cut.
    pub again: bool,
    /// Core cycles for which each program first runs alone on the machine of the first row; its
    /// instructions in them are its target in all rows.
    pub alone_cycles: Option<u64>,
}

impl Programs {
    /// The mix of a run, without targets that follow from runs alone.
    pub(super) fn mix(&self) -> Mix {
        Mix {
            others: self.others.clone(),
            targets: self.targets.clone(),
            again: self.again || !self.targets.is_empty() || self.alone_cycles.is_some(),
        }
    }

    /// The runs with their targets, or `None` while runs alone are missing.
    pub(super) fn with_targets(
        &self,
        specs: &[RunSpec],
        runs: &mut Runs<'_>,
    ) -> Option<Vec<RunSpec>> {
        let Some((cycles, first)) = self.alone_cycles.zip(specs.first()) else {
            return Some(specs.to_vec());
        };
        let machine = MachineVariant {
            name: "alone".to_owned(),
            ..first.machine.clone()
        };
        let inputs = std::iter::once(&first.input).chain(&self.others);
        let alone = inputs.map(|input| RunSpec {
            max_cycles: Some(cycles),
            mix: Some(Mix {
                again: true,
                ..Mix::default()
            }),
            ..RunSpec::new(input, &machine)
        });
        let alone = runs.all(&alone.collect::<Vec<_>>())?;
        // A program that executes nothing in these cycles has ended as soon as it begins.
        let instructions = |run: &Arc<RunReport>| run.processes[0].thread_instructions.max(1);
        let targets: Vec<u64> = alone.iter().map(instructions).collect();
        let with = |spec: &RunSpec| RunSpec {
            mix: spec.mix.clone().map(|mix| Mix {
                targets: targets.clone(),
                ..mix
            }),
            ..spec.clone()
        };
        Some(specs.iter().map(with).collect())
    }

    /// Columns of a mix whose first program is `first`.
    pub(super) fn columns(&self, first: &Input) -> Vec<Column> {
        let mut columns = Vec::new();
        let mut seen = BTreeSet::new();
        for (at, input) in std::iter::once(first).chain(&self.others).enumerate() {
            let name = match seen.insert(input.name()) {
                true => input.name().to_owned(),
                false => format!("{}#{}", input.name(), at + 1),
            };
            for (what, about) in [
                ("cycles", "Core cycles from the program's start to its end."),
                (
                    "ipc",
                    "Thread instructions of the program per core cycle of it; none if it issued \
                     none.",
                ),
            ] {
                columns.push(Column::new(format!("{name}.{what}"), about));
            }
        }
        if self.alone_cycles.is_some() {
            columns.extend(
                [
                    (
                        "stp",
                        "System throughput: the sum of the speeds over those alone.",
                    ),
                    ("antt", "Mean of the times over those alone."),
                ]
                .map(|(name, about)| Column::new(name, about)),
            );
        }
        columns
    }

    /// Cells of a run, in the order of the columns.
    pub(super) fn cells(&self, report: &RunReport) -> Vec<Cell> {
        let ipc = |process: &ProcessReport| match process.thread_instructions {
            0 => Cell::None,
            _ => Cell::Number(process.ipc),
        };
        let of = |process: &ProcessReport| [Cell::Count(process.cycles), ipc(process)];
        let mut cells: Vec<Cell> = report.processes.iter().flat_map(of).collect();
        if let Some(alone) = self.alone_cycles {
            let turnaround = |process: &ProcessReport| Turnaround {
                alone: alone as f64,
                mixed: process.cycles.max(1) as f64,
            };
            let programs: Vec<_> = report.processes.iter().map(turnaround).collect();
            let mix = MixFigures::new(0, 1, &programs);
            cells.extend([mix.stp, mix.antt].map(Cell::Number));
        }
        cells
    }
}
