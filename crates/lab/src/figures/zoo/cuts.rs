//! `zoo/cuts`: how far the runs of each workload come before they are cut.

use super::members::{GTO, LRR};
use super::{FigureInfo, STUDY, machine, max_cycles, workloads};
use crate::figure::{Figure, Request};
use crate::figures::shared::columns;
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::{Outcome, RunReport};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: STUDY,
    name: "cuts",
    title: "How far the runs of every workload come under LRR and GTO",
    make,
};

const COLUMNS: [(&str, &str); 6] = [
    ("workload", "Name for `warploom run`."),
    ("lrr.status", "finished or cut, under lrr."),
    (
        "lrr.waves",
        "Waves of blocks that ended under lrr: blocks over those that the machine holds at once.",
    ),
    ("gto.status", "finished or cut, under gto."),
    ("gto.waves", "Waves of blocks that ended under gto."),
    (
        "short",
        "yes where a run was cut before two waves of blocks had ended.",
    ),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let machines = [LRR, GTO].map(|(name, sets)| machine(name, sets));
    let names = workloads(request.scale);
    let run = |name: &&'static str| {
        let input = Input::workload(name, request.scale.size(), SEED);
        let input = input.unwrap_or_else(|unknown| panic!("{unknown}"));
        let on = |machine: &MachineVariant| RunSpec {
            max_cycles: max_cycles(request.scale),
            ..RunSpec::new(&input, machine)
        };
        machines.each_ref().map(on)
    };
    let specs: Vec<RunSpec> = names.iter().flat_map(run).collect();
    let reports = runs.all(&specs)?;
    let reports: Vec<_> = names.iter().zip(reports.chunks(machines.len())).collect();
    let count = |is: fn(&RunReport) -> bool| {
        let any = reports
            .iter()
            .filter(|(_, own)| own.iter().any(|run| is(run)));
        Cell::Count(any.count() as u64)
    };
    let summary = [("cut", count(is_cut)), ("short", count(is_short))];
    Some(Figure {
        table: Table {
            columns: columns(&COLUMNS),
            rows: reports.iter().map(|(name, own)| row(name, own)).collect(),
        },
        summary: BTreeMap::from(summary.map(|(name, cell)| (name.to_owned(), cell))),
        charts: Vec::new(),
    })
}

fn is_cut(run: &RunReport) -> bool {
    matches!(run.outcome, Outcome::CycleLimit { .. })
}

/// True for a run that was cut before two waves of its blocks had ended.
fn is_short(run: &RunReport) -> bool {
    is_cut(run) && run.reached().is_some_and(|reached| reached.is_short())
}

fn row(workload: &str, runs: &[Arc<RunReport>]) -> Vec<Cell> {
    let of = |run: &Arc<RunReport>| {
        let waves = run.reached().map(|reached| Cell::Number(reached.waves));
        let status = if is_cut(run) { "cut" } else { "finished" };
        [Cell::from(status), waves.unwrap_or(Cell::None)]
    };
    let short = match runs.iter().any(|run| is_short(run)) {
        true => "yes",
        false => "no",
    };
    [Cell::from(workload)]
        .into_iter()
        .chain(runs.iter().flat_map(of))
        .chain([Cell::from(short)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{FEW, machine};
    use super::{GTO, Input, RunSpec, SEED, row};
    use crate::figures::testing::pages;
    use crate::runner::{Results, Runner};
    use std::sync::Arc;
    use warploom_report::page::Cell;
    use warploom_stats::result::{Outcome, RunReport};
    use warploom_workloads::Size;

    /// At scale `test` nothing is cut, so that no run is short, whatever its waves.
    #[test]
    fn runs_that_finish_are_never_short() {
        let made = pages(&[&super::FIGURE]);
        let page = &made[0];
        assert_eq!(page.table.rows.len(), FEW.len());
        for row in &page.table.rows {
            assert_eq!(row[1].to_string(), "finished");
            assert!(row[2].number().is_some_and(|waves| waves > 0.0));
            assert_eq!(row[5].to_string(), "no");
        }
        assert_eq!(page.summary["short"], Cell::Count(0));
    }

    /// A run that no block of which has ended is short, and says so in its row.
    #[test]
    fn runs_that_are_cut_in_their_first_wave_are_short() {
        let (name, sets) = GTO;
        let input = Input::workload("bfs", Size::Test, SEED).unwrap();
        let spec = RunSpec {
            max_cycles: Some(300),
            ..RunSpec::new(&input, &machine(name, sets))
        };
        let mut results = Results::default();
        let runner = Runner {
            store: None,
            threads: 1,
            observer: &|_| (),
            interrupted: &|| false,
        };
        let wanted = std::slice::from_ref(&spec);
        runner.run(wanted, &mut results).unwrap();
        let cut = results.get(&spec.key()).unwrap();
        let finished = RunReport {
            outcome: Outcome::Finished,
            ..cut.as_ref().clone()
        };
        let row = row("bfs", &[Arc::new(finished), Arc::clone(cut)]);
        let texts: Vec<String> = row.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["bfs", "finished", "0", "cut", "0", "yes"]);
    }
}
