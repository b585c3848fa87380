//! Test that kernels which the network bounds saturate it on the machine of GPUDuet (Lin, Mantor,
//! Zhou, TACO 2018). In section 3.1 they come close to 60 % of its peak.

use std::ops::ControlFlow;

use warploom_config::{GpuSpec, preset};
use warploom_run::{Options, Session};
use warploom_stats::result::Series;
use warploom_workloads::{Size, Target};

/// Share of the sustainable rate above which Table 3 calls the network saturated.
const SATURATED: f64 = 0.9;
/// Length in core cycles of the monitor's warm-up and of its first window.
const WINDOW: u64 = 10_000;

#[test]
fn kernels_bound_by_the_network_saturate_it_in_the_monitors_first_window() {
    let gpu = preset("maxwell-duet").unwrap_or_else(|errors| panic!("{errors}"));
    for workload in ["duet/SPMV", "duet/KM"] {
        let used = network_use(&gpu, workload);
        assert!(used > SATURATED, "{workload}: {used:.3}");
        // The crossbar sustains 0.602 of its peak under uniform traffic with 16 ports (Karol et
        // al. 1987).
        assert!(used < 1.05, "{workload}: {used:.3}");
    }
}

/// Flits per cycle from L2 to the SMs in the monitor's first window, over those that the network
/// sustains.
fn network_use(gpu: &GpuSpec, workload: &str) -> f64 {
    let options = Options {
        max_cycles: Some(2 * WINDOW),
        window_cycles: Some(WINDOW),
        ..Options::default()
    };
    let mut program = Target::resolve(workload).unwrap().program(Size::Paper, 1);
    let result = Session::new(gpu.clone(), options)
        .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let series = result.series.expect("windows were asked for");
    let count = |name| in_window(&series, name, 1) as f64;
    let percent = gpu.noc.sustainable_percent.expect("the paper gives it");
    let ports = f64::from(gpu.gpu.sms.min(gpu.l2_banks()));
    let sustained = ports * f64::from(percent) / 100.0;
    count("noc_to_sm.flits") / (count("noc_to_sm.cycles") * sustained)
}

/// A counter in a window.
fn in_window(series: &Series, name: &str, window: usize) -> u64 {
    series.columns[name][window]
}
