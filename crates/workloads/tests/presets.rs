//! Every workload computes what its reference says on every preset, with timing.

use std::ops::ControlFlow;
use warploom_config::{PRESETS, preset};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, all};

#[test]
fn workloads_run_correctly_on_every_preset() {
    for built_in in PRESETS {
        let gpu = preset(built_in.name).unwrap_or_else(|errors| panic!("{errors}"));
        for workload in all() {
            let target = Target::resolve(workload.name).unwrap();
            let result = Session::new(gpu.clone(), Options::default())
                .run(target.program(Size::Test, 1).as_mut(), &mut |_| {
                    ControlFlow::Continue(())
                })
                .unwrap();
            let what = format!("{} on {}", workload.name, built_in.name);
            assert_eq!(result.outcome, Outcome::Finished, "{what}");
            assert!(!result.checks.is_empty(), "{what}");
            for check in &result.checks {
                assert!(check.passed, "{what}: {}: {}", check.name, check.detail);
            }
        }
    }
}
