//! Tests of locality-aware scheduling where it acts: hotspot's blocks share rows of lines.

use std::ops::ControlFlow;

use warploom_config::{Base, resolve};
use warploom_run::{Options, Session};
use warploom_stats::result::RunReport;
use warploom_workloads::{Size, Target};

fn run(settings: &[&str], size: Size, threads: usize) -> RunReport {
    let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let gpu = resolve(&Base::Preset("fermi-locality".to_owned()), &settings);
    let gpu = gpu.unwrap_or_else(|errors| panic!("{errors}"));
    let options = Options {
        threads,
        ..Options::default()
    };
    let mut program = Target::resolve("hotspot").unwrap().program(size, 1);
    Session::new(gpu, options)
        .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn count(report: &RunReport, name: &str) -> u64 {
    // Counters with the value 0 are omitted.
    let counts = &report.totals.figures.statistics;
    counts.get(name).copied().unwrap_or(0)
}

const BOTH: [&str; 2] = ["gpu.block_scheduler=locality", "sm.warp_scheduler=locality"];

/// A dispatch differs from the grid's order, warps leave the group and enter for shared lines, L1D
/// has more hits, and outputs are correct.
#[test]
fn locality_acts() {
    let (plain, local) = (run(&[], Size::Small, 1), run(&BOTH, Size::Small, 1));
    assert!(local.checks.iter().all(|check| check.passed) && !local.checks.is_empty());
    assert_eq!(count(&plain, "gpu.blocks_reordered"), 0);
    for name in [
        "gpu.blocks_reordered",
        "warp_policy.demotions",
        "warp_policy.promotions",
    ] {
        assert!(count(&local, name) > 0, "{name}");
    }
    let hits = |report: &RunReport| report.totals.figures.l1d.hit_rate;
    assert!(
        hits(&local) > hits(&plain),
        "{:?} {:?}",
        hits(&local),
        hits(&plain)
    );
}

#[test]
fn results_depend_on_neither_threads_nor_skipped_cycles() {
    let results = |settings: &[&str], threads: usize| {
        let report = run(settings, Size::Test, threads);
        (report.digest, report.totals)
    };
    let one = results(&BOTH, 1);
    assert_eq!(results(&BOTH, 2), one);
    let awake = [BOTH[0], BOTH[1], "sim.skip_idle=false"];
    assert_eq!(results(&awake, 1), one);
}
