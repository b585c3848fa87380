//! Compares address slices with the addresses that workloads issue, for two blocks of each launch
//! here, and for more in `cargo xtask slices`. Compares rectangles with the lines that all blocks
//! touch.

use warploom_config::preset;
use warploom_run::{Options, Session};
use warploom_slices::{PredictionCheck, Tally, TouchCheck, TouchTally};
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

/// The largest number of arrays of a launch that policies see.
const ARRAYS: usize = 16;

/// The benchmarks of Chen's thesis.
const THESIS: [&str; 12] = [
    "backprop",
    "convolutionseparable",
    "gabor",
    "gaussian",
    "histogram",
    "hotspot",
    "lud",
    "nn",
    "nw",
    "sift",
    "srad",
    "transpose",
];

/// Compares the rectangles of all blocks with the lines that the blocks touch.
fn touched(name: &str) -> TouchTally {
    let session = Session::new(preset("gtx480").unwrap(), Options::default());
    let mut check = TouchCheck::new(ARRAYS);
    let mut program = Target::resolve(name).unwrap().program(Size::Test, 1);
    session.run_observed(program.as_mut(), &mut check).unwrap();
    check.tally()
}

/// Rectangles contain all lines that blocks touch by computed addresses, except for lines of later
/// iterations of loops. Four workloads have others. Loops of `estimatepi` and `neuralnet` are cut
/// after 4,096 instructions. In `dwt2d` and `sad`, threads between the first and the last one touch
/// lines outside of the rectangle of both.
#[test]
fn rectangles_contain_the_lines_that_blocks_touch() {
    let mut others = Vec::new();
    for workload in all() {
        let tally = touched(workload.name);
        assert!(tally.touched + tally.other > 0, "{}", workload.name);
        assert!(tally.inside <= tally.computed, "{tally:?}");
        if tally.inside + tally.later < tally.touched {
            others.push(workload.name);
        }
    }
    assert_eq!(others, ["dwt2d", "estimatepi", "neuralnet", "sad"]);
}

/// On the benchmarks of the thesis, rectangles contain few lines that blocks do not touch, and
/// their overlap is near the number of lines that neighbours share. SIFT reads the neighbours of a
/// pixel only if the pixel may be an extremum. Rectangles contain these lines whether or not they
/// are read.
#[test]
fn overlaps_are_near_the_lines_that_blocks_share() {
    for name in THESIS {
        let tally = touched(name);
        let filled = tally.inside as f64 / tally.computed as f64;
        let shared = tally.next.touched + tally.below.touched;
        let computed = tally.next.computed + tally.below.computed;
        let ratio = match shared {
            0 => 1.0 + computed as f64,
            shared => computed as f64 / shared as f64,
        };
        let (least_filled, most) = match name {
            "sift" => (0.7, 0.5),
            _ => (0.9, 0.15),
        };
        assert!(filled >= least_filled, "{name}: {tally:?}");
        assert!((ratio - 1.0).abs() <= most, "{name}: {ratio} {tally:?}");
    }
}
