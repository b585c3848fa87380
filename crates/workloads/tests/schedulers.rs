//! Outputs depend on no warp scheduler: every workload, timed, under three of them. `cargo xtask
//! workloads --check` does the same with every variant at size `small`.

use std::ops::ControlFlow;
use std::thread;

use warploom_config::{Base, resolve};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, all};

#[test]
fn outputs_are_right_under_three_warp_schedulers() {
    thread::scope(|scope| {
        for scheduler in ["lrr", "gto", "two-level"] {
            scope.spawn(move || demand_all(scheduler));
        }
    });
}

fn demand_all(scheduler: &str) {
    let setting = format!("sm.warp_scheduler={scheduler}");
    let gpu = resolve(&Base::Preset("gtx480".to_owned()), &[setting]);
    let gpu = gpu.unwrap_or_else(|errors| panic!("{errors}"));
    let session = Session::new(gpu, Options::default());
    for workload in all() {
        let name = workload.name;
        let mut program = Target::resolve(name).unwrap().program(Size::Test, 1);
        let result = session
            .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(result.outcome, Outcome::Finished, "{name}, {scheduler}");
        assert!(!result.checks.is_empty(), "{name}");
        for check in &result.checks {
            let what = format!("{name}, {scheduler}: {}: {}", check.name, check.detail);
            assert!(check.passed, "{what}");
        }
    }
}
