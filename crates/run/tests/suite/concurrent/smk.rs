//! The multiprogramming policy `smk` in the whole machine.

use super::script::{Script, Step, mix, participant};
use warploom_config::{Base, resolve};
use warploom_stats::result::{Outcome, RunReport};

/// Two programs, of which the second waits for memory most of the time, on four SMs.
fn two(more: &[&str]) -> RunReport {
    let sets = [
        "gpu.multiprogram=smk",
        "gpu.sms=4",
        "smk.warmup_cycles=400",
        "smk.profile_cycles=400",
    ];
    let sets = sets.iter().chain(more).map(|set| (*set).to_owned());
    let spec = resolve(
        &Base::Preset("fermi-slicer".to_owned()),
        &sets.collect::<Vec<_>>(),
    );
    let spec = spec.unwrap_or_else(|errors| panic!("{errors}"));
    let adder = Script::new(&[Step::Launch(0, "inc", 100, 60)], &[(0, 1), (63, 1)]);
    let loader = Script::new(&[Step::Launch(0, "load", 100, 8)], &[(0, 0)]);
    let programs = vec![participant("adder", &adder), participant("loader", &loader)];
    let report = mix(&spec, programs, 1);
    assert_eq!(report.outcome, Outcome::Finished);
    assert!(report.succeeded(), "{:?}", report.checks);
    report
}

/// Kernels are measured on SMs of their own, then share every SM: blocks join those of the other
/// program. Without quotas of instructions they share at once, and the times are others.
#[test]
fn smk_measures_and_then_shares() {
    let joined = |report: &RunReport| {
        report
            .processes
            .iter()
            .map(|p| p.joined_blocks)
            .sum::<u64>()
    };
    let quotas = two(&[]);
    let kinds: Vec<&str> = quotas
        .decisions
        .iter()
        .map(|d| d.verdict.as_str())
        .collect();
    assert_eq!(kinds, ["profile", "shared"]);
    assert!(joined(&quotas) > 0);
    let blocks = two(&["smk.issue_quotas=false"]);
    assert_eq!(blocks.decisions.len(), 1);
    assert!(joined(&blocks) > 0);
    let cycles = |report: &RunReport| report.totals.figures.cycles;
    assert_ne!(cycles(&quotas), cycles(&blocks));
    // Quotas of one instruction each make programs take turns, which other quotas do not.
    let turns = two(&["smk.epoch_instructions=2"]);
    assert_ne!(cycles(&quotas), cycles(&turns));
}
