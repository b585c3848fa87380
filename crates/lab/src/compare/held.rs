//! Bounds of the runs of a comparison. A policy that holds ready warps back is not the bound if
//! the comparison shows that this costs no time.

use super::speedup;
use crate::bound::{RunBound, bound};
use crate::spec::RunSpec;
use warploom_config::GpuSpec;
use warploom_report::holds_at_no_cost;
use warploom_stats::result::RunReport;

/// A run of a comparison, if it has a result.
pub(super) type Compared<'a> = (&'a RunSpec, Option<&'a RunReport>);

/// Bound of a run of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// Bound of the run; `None` where nothing was timed.
    pub bound: Option<String>,
    /// True if what its policy holds back costs no time.
    pub at_no_cost: bool,
}

/// Bounds of all runs of a comparison.
pub(super) fn judged(runs: &[Compared<'_>]) -> Vec<Judged> {
    let of = |(spec, report): &Compared<'_>| {
        let machine = &spec.machine.spec;
        bound(machine, warploom_noc::sustainable(machine), (*report)?)
    };
    let bounds: Vec<Option<RunBound>> = runs.iter().map(of).collect();
    let judge = |at: usize| {
        let Some(own) = &bounds[at] else {
            return Judged::default();
        };
        let others = (0..runs.len()).filter(|other| {
            let no_policy = bounds[*other]
                .as_ref()
                .is_some_and(|of| of.without_policy.is_none());
            no_policy && differ_in_scheduler(runs[at].0, runs[*other].0)
        });
        let speedups = others.filter_map(|other| Some(speedup(runs[at].1?, runs[other].1?)));
        let at_no_cost = holds_at_no_cost(speedups);
        let next = own.without_policy.filter(|_| at_no_cost);
        Judged {
            bound: Some(next.unwrap_or(&own.name).to_owned()),
            at_no_cost,
        }
    };
    (0..runs.len()).map(judge).collect()
}

/// True if the machines of two runs of a comparison differ in the warp scheduler alone.
fn differ_in_scheduler(run: &RunSpec, other: &RunSpec) -> bool {
    let (own, mut other) = (&*run.machine.spec, GpuSpec::clone(&other.machine.spec));
    let differ = own.sm.warp_scheduler != other.sm.warp_scheduler;
    other.sm.warp_scheduler = own.sm.warp_scheduler;
    differ && *own == other
}

#[cfg(test)]
mod tests {
    use crate::compare::tests::{comparison, page_of};
    use crate::compare::{Comparison, Vary};
    use crate::spec::Input;
    use warploom_report::Chart;
    use warploom_report::page::{Cell, Page};
    use warploom_workloads::Size;

    /// A policy that holds warps back is the bound of its run unless the run is no slower than that
    /// of another policy.
    #[test]
    fn a_policy_that_costs_no_time_is_not_the_bound() {
        let page = |schedulers: &[&str], active_warps: u32| {
            page_of(&Comparison {
                input: Input::workload("nn", Size::Test, 1).unwrap(),
                sets: vec![
                    "gpu.sms=2".to_owned(),
                    format!("two-level.active_warps={active_warps}"),
                ],
                max_cycles: Some(1500),
                vary: vec![Vary {
                    key: "sm.warp_scheduler".to_owned(),
                    values: schedulers.iter().map(|name| (*name).to_owned()).collect(),
                }],
                ..comparison()
            })
        };
        let last = |page: &Page, column: &str| {
            let at = page.table.columns.iter().position(|c| c.name == column);
            page.table.rows.last().unwrap()[at.unwrap()].clone()
        };
        let has_part = |page: &Page, name: &str| {
            let [Chart::Stacks(causes)] = page.further_charts.as_slice() else {
                panic!("{:?}", page.further_charts)
            };
            causes.series.iter().any(|part| part.name == name)
        };
        let policy = Cell::from("scheduling policy");
        for (schedulers, warps, costs) in [
            (&["lrr", "two-level"][..], 3, false),
            (&["two-level"], 3, true),
            (&["lrr", "two-level"], 2, true),
        ] {
            let page = page(schedulers, warps);
            let speedup = last(&page, "speedup").number().unwrap();
            assert_eq!(speedup < 0.98 || schedulers.len() == 1, costs, "{speedup}");
            let bound = last(&page, "bound");
            assert_eq!(bound == policy, costs, "{schedulers:?} {warps}: {bound:?}");
            assert_eq!(has_part(&page, "policy"), costs);
            assert_eq!(has_part(&page, "policy, at no cost"), !costs);
        }
    }
}
