//! Sentences without which the results of a sweep would be misread.

use super::{CUT, PageBuilder, STOPPED};
use crate::collect::Row;
use crate::plan::Sweep;
use crate::record::Facts;
use warploom_report::{idle_sms_told, short_runs_told, unbegun_told};
use warploom_stats::result::Reached;

/// Runs that the notes name.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Names of cut runs, and how far they came.
    cut: Vec<(String, Reached)>,
    /// Names of runs that were cut before their first instruction.
    unbegun: Vec<String>,
    /// Most core cycles from a launch to its first block, in these runs.
    launch_cycles: u64,
    /// SMs without a block, blocks of the largest launch and SMs of the run that has most of the
    /// first, with its program.
    idle: Option<([u64; 3], String)>,
}

impl Doubts {
    /// Adds a run that has a result.
    pub fn add(&mut self, sweep: &Sweep, row: &Row, facts: &Facts) {
        if row.status == CUT && facts.has_begun {
            let reached = facts.reached.map(|reached| (row.name.clone(), reached));
            self.cut.extend(reached);
        } else if row.status == CUT {
            self.unbegun.push(row.name.clone());
            self.launch_cycles = self.launch_cycles.max(facts.launch_cycles);
        }
        let Some(blocks) = facts.largest_grid.filter(|blocks| *blocks < facts.sms) else {
            return;
        };
        let figures = [facts.sms - blocks, blocks, facts.sms];
        if self.idle.as_ref().is_none_or(|(most, _)| figures > *most) {
            let program = sweep.axes.iter().zip(&row.values);
            let mut program = program.filter(|(axis, _)| matches!(axis.as_str(), "target" | "app"));
            let name = program.next().map_or(&row.name, |(_, value)| value);
            self.idle = Some((figures, name.clone()));
        }
    }
}

impl PageBuilder<'_> {
    /// Sentences on the runs and the picture.
    pub(super) fn notes(&self) -> Vec<String> {
        let doubts = &self.doubts;
        let unbegun: Vec<&str> = doubts.unbegun.iter().map(String::as_str).collect();
        let cut = doubts.cut.iter();
        let cut: Vec<_> = cut
            .map(|(name, reached)| (name.as_str(), *reached))
            .collect();
        let idle = doubts.idle.as_ref();
        let idle = idle.and_then(|([_, blocks, sms], name)| idle_sms_told(name, *blocks, *sms));
        let all = [
            self.cut_runs(),
            self.stopped_runs(),
            unbegun_told(&unbegun, doubts.launch_cycles, "max_cycles"),
            short_runs_told(&cut),
            idle,
            self.no_picture(),
        ];
        all.into_iter().flatten().collect()
    }

    /// Number of runs of a status, and of all that have a result.
    fn of(&self, status: &str) -> Option<(u64, u64)> {
        let with_result = ["finished", CUT, STOPPED].into_iter();
        let all = with_result
            .filter_map(|status| self.counts.get(status))
            .sum();
        Some((*self.counts.get(status)?, all))
    }

    /// A sentence on runs that were cut, if any were.
    fn cut_runs(&self) -> Option<String> {
        let (cut, all) = self.of(CUT)?;
        let speedups = match self.sweep.report.baseline.is_empty() {
            true => "",
            false => "their speedups are ratios of IPC in that time, and ",
        };
        Some(format!(
            "{cut} of {all} runs were cut at max_cycles{}: {speedups}whole runs may differ \
             (docs/comparing.md, Cut runs)",
            self.limit().map_or(String::new(), |at| format!(" {at}"))
        ))
    }

    /// A sentence on runs that were stopped after some launches, if any were.
    fn stopped_runs(&self) -> Option<String> {
        let (stopped, all) = self.of(STOPPED)?;
        Some(format!(
            "{stopped} of {all} runs were stopped after max_launches: what is measured is for \
             these launches, and outputs were not checked"
        ))
    }

    /// A sentence on why there is no picture of values whose means say nothing.
    fn no_picture(&self) -> Option<String> {
        let others: Vec<usize> = self.axes.others(self.map).collect();
        let refused = self.refuses_means() && !self.cells.is_empty();
        refused.then(|| {
            format!(
                "there is no picture, because its cells would be means over {}: `[report]` chooses \
                 `rows`, `columns` and `panels`, and a `baseline` gives speedups with their means",
                self.with_values(&others)
            )
        })
    }

    /// True if a picture would show means over programs or machines of what only has a meaning for
    /// each, and the sweep did not choose them.
    pub(super) fn refuses_means(&self) -> bool {
        let report = &self.sweep.report;
        let chosen = report.panels.is_some() || (report.rows.is_some() && report.columns.is_some());
        let mut others = self.axes.others(self.map);
        let any = others.any(|at| self.sweep.axes[at] != "seed");
        !self.is_ratio() && !chosen && self.panels.is_empty() && any
    }
}
