//! Instructions of PTX that are several machine instructions (docs/model/sm.md, Machine
//! instructions).

use crate::timing::{cost, cycles, run_on};
use warploom_config::{GpuSpec, preset};

/// An H200 whose front end is not tested, and whose programs keep what nothing reads.
fn h200() -> GpuSpec {
    let mut spec = preset("h200-hopper").expect("a built-in preset");
    spec.sm.perfect_inst_const_cache = true;
    spec.sm.folds_instructions = false;
    spec
}

/// Division and roots have the latencies that were measured on an H200.
#[test]
fn functions_of_several_machine_instructions_have_the_measured_latency() {
    let start = "mov.f32 %f1, 0f3F800000;\nmov.u32 %r1, 1;\n";
    let apart = |spec: &GpuSpec, link| cost(spec, start, link, 64);
    let mut spec = h200();
    assert_eq!(apart(&spec, "div.rn.f32 %f1, %f1, 0f3F800000;\n"), 57.0);
    assert_eq!(apart(&spec, "sqrt.rn.f32 %f1, %f1;\n"), 42.0);
    assert_eq!(apart(&spec, "ex2.approx.ftz.f32 %f1, %f1;\n"), 17.0);
    // Thirteen from the comparison to the product before, four for each product.
    assert_eq!(apart(&spec, "ex2.approx.f32 %f1, %f1;\n"), 38.0);
    assert_eq!(
        apart(&spec, "div.approx.ftz.f32 %f1, %f1, 0f3F800000;\n"),
        21.0
    );
    spec.sm.machine_instructions = false;
    assert_eq!(apart(&spec, "sqrt.rn.f32 %f1, %f1;\n"), 17.0);
    assert_eq!(
        apart(&spec, "div.approx.ftz.f32 %f1, %f1, 0f3F800000;\n"),
        57.0
    );
}

/// Cycles of one more division in every warp of a block, each of which needs the one before.
fn division_of_each(spec: &GpuSpec, warps: u32) -> f64 {
    let body = |divisions: usize| {
        let start = "mov.f32 %f1, 0f3F800000;\n".to_owned();
        start + &"div.rn.f32 %f1, %f1, 0f3F800000;\n".repeat(divisions)
    };
    let cycles = |divisions| cycles(spec, &body(divisions), 32 * warps) as f64;
    (cycles(128) - cycles(64)) / 64.0
}

/// The ten machine instructions of a division take ten issue slots of a scheduler: warps fill the
/// time of each other's latencies, and no more.
#[test]
fn machine_instructions_take_the_slots_of_their_scheduler() {
    let mut spec = h200();
    let independent: String = (1..16)
        .map(|r| format!("xor.b64 %rd{r}, %rd0, 5;\n"))
        .collect();
    let start = "mov.u64 %rd0, 1;\n";
    assert_eq!(cost(&spec, start, &independent, 8), 30.0);
    assert_eq!(division_of_each(&spec, 4), 57.0);
    assert_eq!(division_of_each(&spec, 4 * 4), 57.0);
    // Eighty, and the end of the last round.
    let full = division_of_each(&spec, 4 * 8);
    assert!((80.0..86.0).contains(&full), "{full}");
    spec.sm.machine_instructions = false;
    assert_eq!(cost(&spec, start, &independent, 8), 15.0);
    let full = division_of_each(&spec, 4 * 8);
    assert!((64.0..70.0).contains(&full), "{full}");
}

/// Statistics are the same where cycles without a free slot are not skipped.
#[test]
fn taken_slots_count_the_same_without_skipped_cycles() {
    let mut spec = h200();
    let body = "mov.f32 %f1, 0f3F800000;\n".to_owned()
        + &"div.rn.f32 %f1, %f1, 0f3F800000;\nxor.b64 %rd1, %rd1, 5;\n".repeat(40);
    let skipping = run_on(&spec, &body, 3, 96, 1);
    spec.sim.skip_idle = false;
    let running = run_on(&spec, &body, 3, 96, 1);
    assert_eq!(skipping.totals.figures, running.totals.figures);
    let issued = skipping.totals.figures.statistics["sm.slots.issued"];
    assert!(issued > 2 * skipping.totals.figures.warp_instructions);
}
