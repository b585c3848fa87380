//! Tests that every workload computes the results of its reference, without timing.
//! `cargo xtask workloads --check --paper` compares its first blocks at size `paper`.

use warploom_exec::{LaunchContext, Observer, StepOut};
use warploom_run::{FirstBlocks, FunctionalRun, HostProgram, Options, Session, Substituted};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, Times, all};

/// Largest number of warp instructions at size `test`.
const TEST_WARP_INSTRUCTIONS: u64 = 200_000;

fn run(target: &Target, size: Size, seed: u64) -> FunctionalRun {
    let gpu = warploom_config::preset("gtx480").unwrap();
    let session = Session::new(gpu, Options::default());
    session
        .run_functional(target.program(size, seed).as_mut())
        .unwrap()
}

/// Runs a target, requires that all its checks pass, and returns its warp instructions.
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

/// Observer that sees every instruction, and counts those that it sees.
#[derive(Default)]
struct EachStep {
    seen: u64,
}

impl Observer for EachStep {
    fn begin(&mut self, _: &LaunchContext) {}

    fn stepped(&mut self, _: u64, _: u32, _: &StepOut) {
        self.seen += 1;
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {}
}

/// An observer that sees every instruction has them executed one by one, and else rows of them are
/// executed together. Both leave the same memory after the same instructions.
#[test]
fn rows_of_instructions_do_what_single_ones_do() {
    for name in every_target() {
        let target = Target::resolve(&name).unwrap();
        let gpu = warploom_config::preset("gtx480").unwrap();
        let session = Session::new(gpu, Options::default());
        let mut each = EachStep::default();
        let mut program = target.program(Size::Test, 0);
        let single = session.run_observed(program.as_mut(), &mut each).unwrap();
        let rows = run(&target, Size::Test, 0);
        assert_eq!(rows.memory, single.memory, "{name}");
        assert_eq!(rows.launches, single.launches, "{name}");
        let launches = single.launches.iter();
        let executed: u64 = launches.map(|(_, stats)| stats.warp_instructions).sum();
        assert_eq!(each.seen, executed, "{name}");
    }
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

#[test]
#[ignore = "tens of seconds"]
fn outputs_equal_references_at_size_small() {
    for name in every_target().iter().filter(|name| !name.contains(':')) {
        demand(name, Size::Small, 0);
    }
}

/// Instructions of some of the blocks of `vectoradd` at size `small`.
const SOME_BLOCKS: u64 = 50_000;

fn first_blocks(program: &mut dyn HostProgram) -> FirstBlocks {
    cut_after(SOME_BLOCKS, program)
}

fn cut_after(instructions: u64, program: &mut dyn HostProgram) -> FirstBlocks {
    let gpu = warploom_config::preset("gtx480").unwrap();
    let session = Session::new(gpu, Options::default());
    session.run_first_blocks(program, instructions).unwrap()
}

/// References match programs of several launches at every point where they are cut. Each target is
/// cut in one of four places: targets of a workload follow each other, and so differ in it.
#[test]
fn wherever_a_program_is_cut_nothing_differs() {
    let mut wrong = Vec::new();
    for (nth, name) in every_target().into_iter().enumerate() {
        let target = Target::resolve(&name).unwrap();
        let instructions = [1, 10_000, 2_000, 40_000][nth % 4];
        let run = cut_after(instructions, target.program(Size::Test, 0).as_mut());
        assert_eq!(run.outcome, Outcome::Finished, "{name} {instructions}");
        let checks = run.checks.iter();
        for check in checks.filter(|check| check.compared > 0 && !check.passed) {
            let (check, detail) = (&check.name, &check.detail);
            wrong.push(format!("{name} {instructions}: {check}: {detail}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn first_blocks_equal_their_part_of_the_reference() {
    let target = Target::resolve("vectoradd").unwrap();
    let run = first_blocks(target.program(Size::Small, 0).as_mut());
    let shape = target.launches(Size::Small)[0];
    let blocks = run.launches[0].1.blocks;
    assert!(!run.whole && blocks > 0 && blocks < shape.grid.count());
    let [check] = run.checks.as_slice() else {
        panic!("one output");
    };
    assert!(check.passed, "{}", check.detail);
    assert_eq!(check.compared, blocks * shape.block.count());
}

#[test]
fn first_blocks_of_a_wrong_kernel_differ() {
    let target = Target::resolve("vectoradd").unwrap();
    let right = target.workload.ptx;
    let wrong = right.replacen("add.f32", "sub.f32", 1);
    assert_ne!(right, wrong);
    let program = target.program(Size::Small, 0);
    let texts = vec![(right.to_owned(), wrong)];
    let run = first_blocks(&mut Substituted::new(program, texts));
    assert!(!run.whole && !run.checks[0].passed && run.checks[0].compared > 0);
}

/// Every block adds to the histogram, so a part of the blocks cannot be checked.
#[test]
fn what_all_blocks_make_is_not_checked_by_the_first() {
    let target = Target::resolve("histogram:histogram64").unwrap();
    let run = first_blocks(target.program(Size::Small, 0).as_mut());
    assert!(!run.whole, "{:?}", run.launches);
    let [check] = run.checks.as_slice() else {
        panic!("one output");
    };
    assert_eq!((check.passed, check.compared), (false, 0));
}
