//! Outputs never depend on the warp scheduler: every workload with timing under three of them.

use std::ops::ControlFlow;

use warploom_config::{Base, resolve};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, all};

const SCHEDULERS: [&str; 3] = ["gto", "lrr", "two-level"];
const SEED: u64 = 2;

fn demand_right_outputs(name: &str, scheduler: &str, size: Size) {
    let base = Base::Preset("gtx480".to_owned());
    let set = format!("sm.warp_scheduler={scheduler}");
    let gpu = resolve(&base, &[set]).unwrap();
    let mut program = Target::resolve(name).unwrap().program(size, SEED);
    let session = Session::new(gpu, Options::default());
    let result = session
        .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let what = format!("{name} {size} under {scheduler}");
    eprintln!(
        "{what}: {} cycles {} warp instructions {} ",
        result.totals.figures.cycles,
        result.totals.figures.warp_instructions,
        result.kernels.len()
    );
    assert_eq!(result.outcome, Outcome::Finished, "{what}");
    assert!(!result.checks.is_empty(), "{what}");
    for check in &result.checks {
        assert!(check.passed, "{what}: {}: {}", check.name, check.detail);
    }
}

fn demand_all(size: Size) {
    let only = std::env::var("ONLY").unwrap_or_default();
    for workload in all() {
        if !only.is_empty() && !only.split(',').any(|o| o == workload.name) {
            continue;
        }
        for scheduler in SCHEDULERS {
            demand_right_outputs(workload.name, scheduler, size);
        }
    }
}

#[test]
fn outputs_are_right_under_every_scheduler_at_size_test() {
    demand_all(Size::Test);
}

#[test]
#[ignore = "minutes"]
fn outputs_are_right_under_every_scheduler_at_size_small() {
    demand_all(Size::Small);
}
