//! The kernel in which the runs of a comparison differ, where that is not the one whose bound the
//! rows name.

use super::is_cut;
use crate::runs::UsedRun;
use std::collections::BTreeMap;
use warploom_report::grouped;
use warploom_stats::result::RunReport;

/// Share of the cycles of the first run from which a difference is told.
const WORTH_TELLING: f64 = 0.02;

/// Cycles of all launches of each kernel.
fn cycles_of(run: &RunReport) -> BTreeMap<&str, u64> {
    let mut cycles = BTreeMap::new();
    for kernel in &run.kernels {
        *cycles.entry(kernel.name.as_str()).or_default() += kernel.figures.cycles;
    }
    cycles
}

/// A kernel that takes other cycles than in the first run.
struct Change<'a> {
    kernel: &'a str,
    /// Cycles of the first run, and of this one.
    cycles: [u64; 2],
    /// Name of the run's machine.
    run: &'a str,
}

impl Change<'_> {
    fn size(&self) -> u64 {
        self.cycles[0].abs_diff(self.cycles[1])
    }
}

/// The kernel that changes most from one run to another.
fn largest<'a>(first: &'a RunReport, run: &'a UsedRun) -> Option<Change<'a>> {
    let (before, mut after) = (cycles_of(first), cycles_of(&run.1));
    let changes = before.into_iter().map(|(kernel, cycles)| Change {
        kernel,
        cycles: [cycles, after.remove(kernel).unwrap_or(0)],
        run: &run.0.machine.name,
    });
    changes.max_by_key(Change::size)
}

/// Sentence on the run that differs most from the first one in a kernel which does not take the
/// most cycles there. `None` without such a run, and of runs that do not end.
pub(super) fn told(runs: &[&UsedRun]) -> Option<String> {
    let ended = || runs.iter().filter(|(_, run)| !is_cut(run));
    let (spec, first) = ended().next()?;
    let cycles = cycles_of(first);
    let (longest, _) = cycles.iter().max_by_key(|(_, cycles)| **cycles)?;
    let all: u64 = cycles.values().sum();
    let changes = ended().skip(1).filter_map(|run| largest(first, run));
    let change = changes.max_by_key(Change::size)?;
    let is_worth = change.size() as f64 > WORTH_TELLING * all as f64;
    (is_worth && change.kernel != *longest).then(|| {
        let [before, after] = change.cycles.map(grouped);
        format!(
            "rows differ most in `{}`, which takes {before} cycles in row {} and {after} in row {}; the column \
             `bound` is of the kernel that takes the most cycles, `{longest}` in row {}",
            change.kernel, spec.machine.name, change.run, spec.machine.name
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::tests::{comparison, page_of};
    use crate::compare::{Comparison, Vary};
    use crate::spec::Input;
    use warploom_workloads::Size;

    /// Where rows differ in another kernel than the one whose bound they name, a note tells it.
    #[test]
    fn a_kernel_that_decides_a_comparison_is_told() {
        let of = |schedulers: &[&str]| {
            let page = page_of(&Comparison {
                input: Input::workload("kmeans", Size::Test, 1).unwrap(),
                sets: Vec::new(),
                vary: vec![Vary {
                    key: "sm.warp_scheduler".to_owned(),
                    values: schedulers.iter().map(|name| (*name).to_owned()).collect(),
                }],
                ..comparison()
            });
            let mut notes = page.notes.into_iter();
            notes.find(|note| note.contains("rows differ most"))
        };
        let told = of(&["gto", "ccws"]).unwrap();
        assert!(
            told.starts_with("rows differ most in `invert_mapping`, which takes ")
                && told.ends_with("takes the most cycles, `kmeansPoint` in row gto"),
            "{told}"
        );
        assert_eq!(of(&["gto"]), None);
    }
}
