//! Steps against too many instructions by the lines that issue them, and loads that stand before
//! their uses. Results and lines are made by hand.

use crate::support::{analysed, analysed_with, launched};
use warploom_analyze::{IssuedLine, Work};

/// A line of the kernel `k` with these issue slots.
fn line(line: &str, slots: &[(Work, u64)]) -> IssuedLine {
    IssuedLine {
        kernel: "k".to_owned(),
        line: line.to_owned(),
        slots: slots.iter().copied().collect(),
    }
}

/// The step of a kernel that schedulers bound, whose lines these are.
fn step(lines: &[IssuedLine]) -> String {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.slots.issued", 90),
        ("sm.slots.memory_dependence", 10),
    ];
    let launch = launched(10_000, &counts);
    analysed_with("gtx480", launch, lines).explanation[4].clone()
}

#[test]
fn the_lines_that_issue_most_are_named_with_their_work() {
    let lines = [
        line("k.cu:7", &[(Work::Float, 10), (Work::Access, 10)]),
        line(
            "k.cu:9",
            &[(Work::IntegerDivision, 450), (Work::Integer, 150)],
        ),
        line("k.cu:8", &[(Work::Access, 380)]),
    ];
    let told = step(&lines);
    let places = "Next: execute fewer instructions, 60% of them at k.cu:9 (75% divisions and remainders \
                  of integers, 25% integer and address arithmetic) and 38% of them at k.cu:8 (100% \
                  loads and stores): divide unsigned numbers by constant powers of two";
    assert!(told.starts_with(places), "{told}");
    assert!(told.contains("; and use wider loads (`float4`)"), "{told}");
    assert!(!told.contains("k.cu:7"), "{told}");
}

#[test]
fn exponentials_and_divisions_have_steps_of_their_own() {
    let lines = [line(
        "k.cu:3",
        &[(Work::SpecialFunction, 60), (Work::Division, 40)],
    )];
    let told = step(&lines);
    assert!(told.contains("use fast forms (`__expf`"), "{told}");
    assert!(
        told.contains("multiply by the reciprocal, or use `__fdividef`"),
        "{told}"
    );
}

/// Twenty lines of equal weight, none of which is named.
#[test]
fn work_that_is_spread_over_many_lines_is_told_as_such() {
    let lines: Vec<_> = (0..20)
        .map(|n| {
            line(
                &format!("PTX line {n}"),
                &[(Work::Integer, 3), (Work::Float, 1)],
            )
        })
        .collect();
    let told = step(&lines);
    let spread = "Next: execute fewer instructions, which are spread over many lines (75% integer and \
                  address arithmetic, 25% arithmetic of floats): hoist index arithmetic";
    assert!(told.starts_with(spread), "{told}");
}

#[test]
fn without_lines_of_the_kernel_the_step_is_general() {
    let other = IssuedLine {
        kernel: "other".to_owned(),
        ..line("k.cu:3", &[(Work::Float, 9)])
    };
    let general =
        "Next: execute fewer instructions: hoist index arithmetic out of loops, unroll, use";
    assert!(step(&[]).starts_with(general), "{}", step(&[]));
    assert_eq!(step(&[other]), step(&[]));
}

/// Warps wait for loads, and all warp slots are taken.
#[test]
fn unrolling_has_a_condition_where_instructions_issue_in_the_order_of_the_text() {
    let step = |gpu: &str| {
        let counts = [
            ("sm.active_cycles", 132 * 100_000),
            ("sm.slots.issued", 10),
            ("sm.slots.memory_dependence", 90),
        ];
        let mut launch = launched(100_000, &counts);
        launch.blocks_per_sm = 8;
        analysed(gpu, launch).explanation[4].clone()
    };
    let condition = "unrolling helps only if the PTX has the loads before their first use; `--set \
                     sm.instruction_order=assembler`";
    assert!(step("gtx480").contains(condition), "{}", step("gtx480"));
    let reordered = step("h200-hopper");
    assert!(
        reordered.contains(", unroll so that several loads"),
        "{reordered}"
    );
    assert!(!reordered.contains("sm.instruction_order"), "{reordered}");
}
