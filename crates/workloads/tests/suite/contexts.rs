//! Tests of context switching with the workloads: outputs are correct although warps and blocks
//! leave and return. `cargo xtask workloads --check --contexts` does the same with every variant
//! and every number of extra blocks.

use std::ops::ControlFlow;
use std::thread;

use warploom_base::Rng;
use warploom_config::{Base, resolve};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, WorkloadInfo, all};

/// Systems of context switching, with the number of extra blocks.
const SYSTEMS: [&[&str]; 5] = [
    &["sm.context=duet", "duet.extra_blocks=1"],
    &["sm.context=duet", "duet.extra_blocks=30", "duet.l1d=always"],
    &["sm.context=duet-tb", "duet-tb.extra_blocks=2"],
    &["sm.context=virtual-thread"],
    &["sm.context=finereg"],
];

/// A machine of one SM with half of Maxwell's warp slots, so that small grids fill it.
const SMALL: [&str; 2] = ["gpu.sms=1", "sm.max_threads=1024"];

/// Runs every workload under one of the systems in turn, with random latencies.
#[test]
fn outputs_are_right_while_contexts_are_switched() {
    let workloads = all();
    let switched: usize = thread::scope(|scope| {
        let run = |first: usize| {
            let mine = workloads.iter().enumerate().skip(first).step_by(2);
            move || {
                mine.map(|(nth, workload)| usize::from(demand(nth, workload)))
                    .sum::<usize>()
            }
        };
        let halves = [0, 1].map(|first| scope.spawn(run(first)));
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(
        switched > workloads.len() / 4,
        "only {switched} switched anything"
    );
}

/// Runs and checks a workload. Returns whether any context was switched.
fn demand(nth: usize, workload: &WorkloadInfo) -> bool {
    let mut rng = Rng::new(nth as u64);
    let latency = format!("partition.rop_cycles={}", 50 + rng.below(400));
    let system = SYSTEMS[nth % SYSTEMS.len()];
    let settings = SMALL
        .iter()
        .chain(system)
        .copied()
        .chain([latency.as_str()]);
    let settings: Vec<_> = settings.map(str::to_owned).collect();
    let gpu = resolve(&Base::Preset("maxwell-duet".to_owned()), &settings);
    let gpu = gpu.unwrap_or_else(|errors| panic!("{errors}"));
    let name = workload.name;
    let mut program = Target::resolve(name).unwrap().program(Size::Test, 1);
    let result = Session::new(gpu, Options::default())
        .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(result.outcome, Outcome::Finished, "{name}, {system:?}");
    assert!(!result.checks.is_empty(), "{name}");
    for check in &result.checks {
        let what = format!("{name}, {system:?}: {}: {}", check.name, check.detail);
        assert!(check.passed, "{what}");
    }
    result
        .totals
        .figures
        .statistics
        .contains_key("context.bytes")
}
