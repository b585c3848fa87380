//! Steps against too many instructions by the lines that issue them, and loads that stand before
//! their uses. Results and lines are made by hand.

use crate::support::{analysed, analysed_with, launched};
use warploom_analyze::{IssuedLine, Work};

/// A line of the kernel `k` with these issue slots.
fn line(line: &str, slots: &[(Work, u64)]) -> IssuedLine {
    IssuedLine {
        kernel: "k".to_owned(),
        line: line.to_owned(),
        in_loop: true,
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

/// A softmax of 256 values, unrolled by the compiler: a trip of its loop is a guard and a barrier.
#[test]
fn loops_are_to_be_unrolled_only_where_branches_go_back() {
    let reduction = |in_loop| {
        let slots = [(Work::Control, 53), (Work::Barrier, 27), (Work::Shared, 20)];
        step(&[IssuedLine {
            in_loop,
            ..line("k.cu:6", &slots)
        }])
    };
    let values =
        "; and let a thread hold several values and reduce them before threads exchange any";
    let straight = reduction(false);
    let told = "at k.cu:6 (53% comparisons and branches, 27% barriers): let warps without work \
                leave by one branch, and check bounds once";
    assert!(straight.contains(&format!("{told}{values}")), "{straight}");
    let back = reduction(true);
    let told = "unroll loops, so that they count and branch less often";
    assert!(back.contains(told) && back.contains(values), "{back}");
    assert!(!straight.contains(told), "{straight}");
    let indices = |in_loop| {
        step(&[IssuedLine {
            in_loop,
            ..line("k.cu:6", &[(Work::Integer, 90)])
        }])
    };
    assert!(indices(true).contains("out of loops"), "{}", indices(true));
    let once = "compute an index once for all that need it";
    assert!(indices(false).contains(once), "{}", indices(false));
    assert!(!indices(false).contains("loops"), "{}", indices(false));
}

/// Shuffles and barriers have one step.
#[test]
fn exchanges_are_named_by_what_they_are() {
    let told = |slots: &[(Work, u64)]| step(&[line("k.cu:6", slots)]);
    let shuffles = told(&[(Work::Exchange, 60), (Work::Barrier, 10), (Work::Float, 5)]);
    assert!(shuffles.contains("(80% shuffles and votes):"), "{shuffles}");
    let both = told(&[(Work::Exchange, 50), (Work::Barrier, 50)]);
    let names = "(50% shuffles and votes, 50% barriers): let a thread hold several values and reduce \
                 them before threads exchange any.";
    assert!(both.contains(names), "{both}");
    let fences = told(&[(Work::Wait, 50)]);
    assert!(fences.contains("fences and waits for copies"), "{fences}");
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
