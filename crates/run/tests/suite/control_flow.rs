//! Distances between instructions that the control codes of machine code keep (docs/model/sm.md,
//! Control flow), and between the lines of a load (docs/model/load-store.md, Access rate of L1D).

use crate::timing::{cost, run_on};
use warploom_config::{GpuSpec, preset};

/// An H200 whose front end is not tested, and which runs the text in its order.
fn h200() -> GpuSpec {
    let mut spec = preset("h200-hopper").expect("a built-in preset");
    spec.sm.perfect_inst_const_cache = true;
    spec.sm.folds_instructions = false;
    spec.sm.instruction_order = warploom_config::InstructionOrder::Text;
    spec
}

const START: &str = "mov.u32 %r1, 1;\n";

/// A predicate reaches what it guards later than an instruction that has it as an operand.
#[test]
fn a_guard_waits_longer_than_an_operand() {
    let mut spec = h200();
    let guard = "setp.ne.u32 %p1, %r1, 0;\n@%p1 add.u32 %r1, %r1, 1;\n";
    let operand = "setp.ne.u32 %p1, %r1, 0;\nselp.u32 %r1, %r1, 7, %p1;\n";
    let apart = |spec: &GpuSpec, link| cost(spec, START, link, 64);
    let (guarded, selected) = (apart(&spec, guard), apart(&spec, operand));
    // The addition takes 5, and the comparison 13.
    assert_eq!(guarded, 18.0);
    spec.sm.guard_latency_cycles = 0;
    assert_eq!(apart(&spec, operand), selected);
    assert!(apart(&spec, guard) < 11.0);
}

/// The next instruction of a warp waits for a branch, also for one that is not taken, and for a
/// barrier.
#[test]
fn a_branch_holds_its_warp() {
    let mut spec = h200();
    let never = "setp.eq.u32 %p1, %r1, 0;\n";
    let branch = "{\n@%p1 bra ON;\nON:\n}\n";
    let apart = |spec: &GpuSpec, start: &str, link| cost(spec, start, link, 64);
    let start = format!("{START}{never}");
    assert_eq!(apart(&spec, &start, branch), 5.0);
    assert_eq!(apart(&spec, &start, "bar.sync 0;\n"), 5.0);
    spec.sm.branch_cycles = 7;
    assert_eq!(apart(&spec, &start, branch), 7.0);
    spec.sm.branch_cycles = 0;
    assert!(apart(&spec, &start, branch) < 3.0);
}

/// An exact division has a branch for rare operands, which nothing passes. An approximate one has
/// none.
#[test]
fn an_exact_division_holds_its_warp() {
    let mut spec = h200();
    let link = |division: &str| {
        let others: String = (2..12)
            .map(|r| format!("xor.b32 %r{r}, %r1, {r};\n"))
            .collect();
        format!("{division}.f32 %f1, %f1, 0f3F800000;\n{others}")
    };
    let start = "mov.u32 %r1, 1;\nmov.f32 %f1, 0f3F800000;\n";
    let apart = |spec: &GpuSpec, division| cost(spec, start, &link(division), 64);
    // The ten others issue after the 57 cycles of the division.
    assert_eq!(apart(&spec, "div.rn"), 67.0);
    let approximate = apart(&spec, "div.approx.ftz");
    assert_eq!(approximate, 21.0, "the others issue in its latency");
    spec.sm.branch_cycles = 0;
    assert_eq!(apart(&spec, "div.rn"), 57.0);
    assert_eq!(apart(&spec, "div.approx.ftz"), approximate);
}

/// A scheduler issues a memory instruction every four cycles.
#[test]
fn memory_instructions_of_a_scheduler_keep_apart() {
    let mut spec = h200();
    let start = "mov.u32 %r1, 0;\n";
    let apart = |spec: &GpuSpec| cost(spec, start, "st.shared.u32 [%r1], %r1;\n", 64);
    assert_eq!(apart(&spec), 4.0);
    spec.sm.memory_issue_cycles = 6;
    assert_eq!(apart(&spec), 6.0);
    spec.sm.memory_issue_cycles = 0;
    assert!(apart(&spec) < 4.0);
}

/// L1D takes the lines of a load one by one: the 32nd comes 31 cycles after the first, where four
/// banks have it after 7.
#[test]
fn lines_of_a_load_enter_l1d_one_by_one() {
    let mut spec = h200();
    let chain = |stride: u32| {
        let start = format!(
            "ld.param.u64 %rd1, [buf];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, {stride};\n\
             add.u64 %rd1, %rd1, %rd2;\nmov.u64 %rd3, 0;\n"
        );
        (
            start,
            "ld.global.ca.u64 %rd3, [%rd1];\nadd.u64 %rd1, %rd1, %rd3;\n",
        )
    };
    let further = |spec: &GpuSpec| {
        // Neighbouring lanes are in different lines and in different banks.
        let [apart, together] = [160, 0].map(|stride| {
            let (start, link) = chain(stride);
            cost(spec, &start, link, 64)
        });
        apart - together
    };
    assert_eq!(further(&spec), 31.0);
    spec.sm.l1d_one_line = false;
    assert_eq!(further(&spec), 7.0);
}

/// Statistics are the same where cycles without an instruction are not skipped.
#[test]
fn distances_count_the_same_without_skipped_cycles() {
    let mut spec = h200();
    let body = "mov.u32 %r1, 0;\n".to_owned()
        + &"ld.shared.u32 %r2, [%r1];\nld.shared.u32 %r3, [%r1+4];\nbar.sync 0;\n\
            setp.ne.u32 %p1, %r2, 0;\n@%p1 add.u32 %r1, %r3, 4;\n{\n@%p1 bra ON;\nON:\n}\n"
            .repeat(20);
    let skipping = run_on(&spec, &body, 3, 96, 1);
    spec.sim.skip_idle = false;
    let running = run_on(&spec, &body, 3, 96, 1);
    assert_eq!(skipping.totals.figures, running.totals.figures);
}
