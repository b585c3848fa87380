//! Tests that outputs do not depend on the scheduler: every workload runs, timed, under two of
//! four, under one of which idle registers keep lines of L1D. `cargo xtask workloads --check` runs
//! every variant under all of them at size `small`, without such lines.

use std::ops::ControlFlow;
use std::thread;

use warploom_config::{Base, resolve};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, all};

#[test]
fn outputs_are_right_under_four_schedulers() {
    thread::scope(|scope| {
        for (nth, policies) in [
            ("lrr", "bcs", "none"),
            ("gto", "locality", "linebacker"),
            ("two-level", "rr", "none"),
            ("locality", "locality", "none"),
        ]
        .into_iter()
        .enumerate()
        {
            scope.spawn(move || demand_every_second(nth % 2, policies));
        }
    });
}

fn demand_every_second(first: usize, (scheduler, blocks, victims): (&str, &str, &str)) {
    let settings = [
        format!("sm.warp_scheduler={scheduler}"),
        format!("gpu.block_scheduler={blocks}"),
        format!("sm.l1d_victims={victims}"),
    ];
    let gpu = resolve(&Base::Preset("gtx480".to_owned()), &settings);
    let gpu = gpu.unwrap_or_else(|errors| panic!("{errors}"));
    let session = Session::new(gpu, Options::default());
    for workload in all().iter().skip(first).step_by(2) {
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
