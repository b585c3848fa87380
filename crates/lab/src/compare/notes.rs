//! Sentences without which a comparison would be misread.

use super::{Comparison, is_cut};
use crate::runs::UsedRun;
use warploom_report::grouped;
use warploom_stats::result::{KernelReport, RunReport};

impl Comparison {
    /// Sentences on runs that were cut, on grids without a block for each SM, and on programs that
    /// never issued an instruction.
    pub(super) fn notes(&self, used: &[UsedRun]) -> Vec<String> {
        // Runs alone, from which targets follow, are cut by their purpose.
        let compared = |(spec, _): &&UsedRun| spec.machine.name != "alone";
        let runs: Vec<&UsedRun> = used.iter().filter(compared).collect();
        let reports: Vec<&RunReport> = runs.iter().map(|(_, report)| &**report).collect();
        let cut = self.cut(&reports);
        let idle = match &self.programs {
            None => self.idle(&runs),
            Some(_) => None,
        };
        let silent = silent(&reports);
        cut.into_iter().chain(idle).chain(silent).collect()
    }

    /// How many of the runs were cut, if any were.
    fn cut(&self, runs: &[&RunReport]) -> Option<String> {
        let cycles = self.max_cycles?;
        let cut = runs.iter().filter(|run| is_cut(run)).count();
        (cut > 0).then(|| {
            format!(
                "{cut} of {} runs were cut at --max-cycles {}: their speedups are ratios of IPC in \
                 that time, and whole runs may differ (docs/comparing.md, Cut runs)",
                runs.len(),
                grouped(cycles)
            )
        })
    }

    /// The grid that leaves most SMs without a block: the largest of its run.
    fn idle(&self, runs: &[&UsedRun]) -> Option<String> {
        let blocks = |kernel: &KernelReport| kernel.grid.0.map(u64::from).iter().product::<u64>();
        let largest = |(spec, report): &&UsedRun| {
            let most = report.kernels.iter().map(blocks).max()?;
            let sms = u64::from(spec.machine.spec.gpu.sms);
            (most < sms).then(|| (sms - most, most, sms))
        };
        let (idle, most, sms) = runs.iter().copied().filter_map(|run| largest(&run)).max()?;
        let blocks = if most == 1 { "block" } else { "blocks" };
        Some(format!(
            "{} has {} {blocks} for {} SMs in its largest launch: {} SMs are idle, and a larger input \
             may give another picture",
            self.input.name(),
            grouped(most),
            grouped(sms),
            grouped(idle)
        ))
    }
}

/// The programs of cut runs that never issued an instruction.
fn silent(runs: &[&RunReport]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs.iter().filter(|run| is_cut(run)) {
        for process in &run.processes {
            if process.thread_instructions == 0 && !names.contains(&process.name.as_str()) {
                names.push(&process.name);
            }
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "no block of {} had started in at least one row when its run was cut: other programs held \
             the SMs (gpu.multiprogram)",
            names.join(", ")
        )
    })
}
