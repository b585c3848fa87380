//! Every workload computes what its reference says on every preset, with timing.

use std::ops::ControlFlow;
use std::thread;
use warploom_config::{GpuSpec, PRESETS, preset};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, all};

#[test]
fn workloads_run_correctly_on_every_preset() {
    thread::scope(|scope| {
        for built_in in PRESETS {
            let mut gpu = preset(built_in.name).unwrap_or_else(|errors| panic!("{errors}"));
            // Time in which nothing runs.
            gpu.gpu.kernel_launch_cycles = 0;
            scope.spawn(move || demand_all(&gpu));
        }
    });
}

fn demand_all(gpu: &GpuSpec) {
    for workload in all() {
        let target = Target::resolve(workload.name).unwrap();
        let session = Session::new(gpu.clone(), Options::default());
        let mut program = target.program(Size::Test, 1);
        let result = session
            .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        let what = format!("{} on {}", workload.name, gpu.name);
        assert_eq!(result.outcome, Outcome::Finished, "{what}");
        assert!(!result.checks.is_empty(), "{what}");
        for check in &result.checks {
            assert!(check.passed, "{what}: {}: {}", check.name, check.detail);
        }
    }
}
