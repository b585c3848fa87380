//! Compares address slices with the addresses that workloads issue: for two blocks of each launch
//! here, and for more in `cargo xtask slices`.

use warploom_config::preset;
use warploom_run::{Options, Session};
use warploom_slices::{PredictionCheck, Tally};
use warploom_workloads::{Size, Target, all};

fn truth(name: &str) -> PredictionCheck {
    let session = Session::new(preset("gtx480").unwrap(), Options::default());
    let mut truth = PredictionCheck::new(2);
    let mut program = Target::resolve(name).unwrap().program(Size::Test, 1);
    session.run_observed(program.as_mut(), &mut truth).unwrap();
    truth
}

fn sum(truth: &PredictionCheck) -> Tally {
    let mut sum = Tally::default();
    for kernel in truth.kernels() {
        kernel.tallies.iter().for_each(|tally| sum.add(tally));
    }
    sum
}

#[test]
fn no_prediction_is_wrong() {
    for workload in all() {
        let truth = truth(workload.name);
        let sum = sum(&truth);
        assert!(sum.issued > 0, "{}", workload.name);
        for kernel in truth.kernels() {
            assert_eq!(
                kernel.first_wrong, None,
                "{}: {}",
                workload.name, kernel.name
            );
        }
    }
}

/// Workloads without data-dependent addresses are covered completely, and a traversal of a graph is
/// not.
#[test]
fn coverage_is_that_of_the_algorithms() {
    for name in ["vectoradd", "transpose", "hotspot", "srad", "matrixmul"] {
        let sum = sum(&truth(name));
        assert_eq!(sum.covered, sum.issued, "{name}: {sum:?}");
    }
    let graph = sum(&truth("bfs"));
    assert!(graph.covered > 0, "{graph:?}");
    assert!(
        graph.issued > graph.covered + graph.approximated,
        "{graph:?}"
    );
}
