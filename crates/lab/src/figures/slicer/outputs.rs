//! Runs that test that outputs are correct when kernels share an SM: every pair and triple of the
//! paper under every policy, each program once to its end.

use super::{PAPER, all_pairs, triples};
use crate::figure::Scale;
use crate::spec::{Input, MachineVariant, Mix, RunSpec, SEED};
use warploom_stats::result::RunReport;
use warploom_workloads::Size;

/// Few SMs, which small grids fill, and profiles that end before the grids do.
const SETS: [&str; 8] = [
    "gpu.sms=4",
    "warped-slicer.warmup_cycles=500",
    "warped-slicer.profile_cycles=300",
    "smk.warmup_cycles=500",
    "smk.profile_cycles=300",
    "fixed.first=2",
    "fixed.second=1",
    "fixed.third=1",
];

/// Every pair and triple of Warped-Slicer under every multiprogramming policy, at a size of its
/// inputs.
pub fn every_mix(size: Size) -> Vec<RunSpec> {
    let policies = warploom_policy::all().filter(|policy| policy.key == "gpu.multiprogram");
    let policies: Vec<&str> = policies.map(|policy| policy.name).collect();
    let groups = all_pairs().into_iter().chain(triples(Scale::Paper));
    let groups: Vec<super::Group> = groups.collect();
    let under_all = |group: &super::Group| -> Vec<RunSpec> {
        let under = policies
            .iter()
            .map(|policy| mix(&group.names, policy, size));
        under.collect()
    };
    groups.iter().flat_map(under_all).collect()
}

/// True if every program of a mix finished, and all of its outputs are correct.
pub fn is_right(report: &RunReport) -> bool {
    report.succeeded() && report.checks.len() >= report.processes.len()
}

fn mix(names: &[&str], policy: &str, size: Size) -> RunSpec {
    let input = |name: &&str| {
        let input = Input::workload(&format!("{PAPER}/{name}"), size, SEED);
        input.unwrap_or_else(|unknown| panic!("{unknown}"))
    };
    let multiprogram = format!("gpu.multiprogram={policy}");
    let sets = [&SETS[..], &[multiprogram.as_str()]].concat();
    let machine = MachineVariant::preset(policy, super::GPU, &sets);
    let machine = machine.unwrap_or_else(|errors| panic!("{errors}"));
    RunSpec {
        mix: Some(Mix {
            others: names[1..].iter().map(input).collect(),
            ..Mix::default()
        }),
        ..RunSpec::new(&input(&names[0]), &machine)
    }
}

#[cfg(test)]
mod tests {
    use super::{every_mix, is_right};
    use crate::runner::{Results, Runner};
    use crate::spec::{Input, RunSpec};
    use std::collections::{BTreeMap, BTreeSet};
    use warploom_workloads::Size;

    /// Names of the programs of a mix.
    fn programs(spec: &RunSpec) -> Vec<&str> {
        let others = spec.mix.iter().flat_map(|mix| &mix.others);
        [&spec.input]
            .into_iter()
            .chain(others)
            .map(Input::name)
            .collect()
    }

    /// Every pair and triple under some policy, and every policy with a quarter of them. `cargo xtask
    /// workloads --check --mixes` makes all of these runs at size `small`.
    #[test]
    fn outputs_are_right_whatever_shares_an_sm() {
        let all = every_mix(Size::Test);
        let groups: BTreeSet<_> = all.iter().map(programs).collect();
        let policies = all.len() / groups.len();
        let is_tried = |at: &usize| (at / policies + at % policies).is_multiple_of(4);
        let specs: Vec<_> = (0..all.len())
            .filter(is_tried)
            .map(|at| all[at].clone())
            .collect();
        let tried: BTreeSet<_> = specs.iter().map(programs).collect();
        assert_eq!(tried, groups, "each group runs under some policy");
        let runner = Runner {
            store: None,
            threads: 2,
            observer: &|_| (),
            interrupted: &|| false,
        };
        let mut results = Results::default();
        runner
            .run(&specs, &mut results)
            .expect("no store, no error");
        let mut verdicts = BTreeMap::new();
        for spec in &specs {
            let key = spec.key();
            let why = results.failure(&key);
            assert!(why.is_none(), "{}: {why:?}", spec.command());
            let report = results.get(&key).expect("it ran");
            let verdict = is_right(report);
            assert!(verdict, "{}: {:?}", spec.command(), report.checks);
            for decision in &report.decisions {
                *verdicts.entry(decision.verdict.clone()).or_insert(0) += 1;
            }
        }
        for verdict in ["profile", "shared", "spatial"] {
            assert!(verdicts.contains_key(verdict), "{verdict}: {verdicts:?}");
        }
    }
}
