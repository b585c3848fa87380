//! Every workload computes what its reference says, without timing.

use warploom_run::{FunctionalRun, Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, Times, all};

/// Most warp instructions at size `test`.
const TEST_WARP_INSTRUCTIONS: u64 = 200_000;

fn run(target: &Target, size: Size, seed: u64) -> FunctionalRun {
    let gpu = warploom_config::preset("gtx480").unwrap();
    let session = Session::new(gpu, Options::default());
    session
        .run_functional(target.program(size, seed).as_mut())
        .unwrap()
}

/// Runs a target, demands that all its checks pass, and returns its warp instructions.
fn demand(name: &str, size: Size, seed: u64) -> u64 {
    let target = Target::resolve(name).unwrap();
    let run = run(&target, size, seed);
    assert!(
        matches!(run.outcome, Outcome::Finished),
        "{name} {size}: {:?}",
        run.outcome
    );
    assert!(!run.checks.is_empty(), "{name}");
    for check in &run.checks {
        assert!(
            check.passed,
            "{name} {size}: {}: {}",
            check.name, check.detail
        );
    }
    run.launches
        .iter()
        .map(|(_, stats)| stats.warp_instructions)
        .sum()
}

fn every_target() -> Vec<String> {
    let mut targets = Vec::new();
    for workload in all() {
        for variant in workload.variants {
            let name = format!("{}@{}", workload.name, variant.name);
            let kernels = workload.kernels.iter().filter(|kernel| kernel.alone);
            targets.extend(kernels.map(|kernel| format!("{name}:{}", kernel.name)));
            targets.push(name);
        }
    }
    targets
}

#[test]
fn outputs_equal_references_at_size_test() {
    for name in every_target() {
        for seed in [0, 1] {
            let instructions = demand(&name, Size::Test, seed);
            let range = 500..TEST_WARP_INSTRUCTIONS;
            assert!(
                range.contains(&instructions),
                "{name}: {instructions} warp instructions"
            );
        }
    }
}

#[test]
fn announced_launches_are_made() {
    for workload in all() {
        let target = Target::resolve(workload.name).unwrap();
        let made = run(&target, Size::Test, 0).launches.len();
        let shapes = target.launches(Size::Test);
        let fixed = shapes.iter().map(|shape| match shape.times {
            Times::Fixed(times) => times as usize,
            // The first level and at least one more.
            Times::UntilDone => 2,
        });
        let least: usize = fixed.sum();
        let exact = shapes.iter().all(|shape| shape.times != Times::UntilDone);
        assert!(
            made == least || (!exact && made > least),
            "{}: {made}",
            workload.name
        );
    }
}

fn demand_all(size: Size) {
    for name in every_target().iter().filter(|name| !name.contains(':')) {
        demand(name, size, 0);
    }
}

#[test]
#[ignore = "tens of seconds"]
fn outputs_equal_references_at_size_small() {
    demand_all(Size::Small);
}

#[test]
#[ignore = "minutes, and a gigabyte of memory"]
fn outputs_equal_references_at_size_paper() {
    demand_all(Size::Paper);
}
