//! Verdicts on short kernels, of whose time a large part passes before the first block starts.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis, Part};

/// A launch of this many cycles on `h200-hopper`, 2,900 of which pass before the first block, and
/// in whose other cycles all SMs hold blocks whose warps wait for loads.
fn short(cycles: u64) -> KernelAnalysis {
    let after = cycles - 2900;
    let counts = [
        ("sm.active_cycles", 132 * after),
        ("sm.slots.no_warp", 2900),
        ("sm.slots.memory_dependence", after * 8 / 10),
        ("sm.slots.issued", after * 2 / 10),
    ];
    analysed("h200-hopper", launched(cycles, &counts))
}

#[test]
fn a_short_kernel_is_told_with_the_bound_of_the_time_with_blocks() {
    let found = short(8000);
    let verdict = "The kernel is short: 2900 of 8000 cycles pass before the first block starts \
                   (gpu.kernel_launch_cycles is 2900), whatever the SMs do.";
    told(&found, Bound::Loads, verdict, "Next: ");
    let explanation = &found.explanation;
    assert!(
        explanation[0].starts_with("The latency of loads bounds `k`"),
        "{explanation:#?}"
    );
    assert!(
        explanation[4].ends_with(
            "; against the time of the launch: give the launch more work, by a larger problem."
        ),
        "{explanation:#?}"
    );
    // Nothing is told twice.
    assert!(
        !explanation[2].contains("hold no block"),
        "{explanation:#?}"
    );
}

#[test]
fn a_launch_that_takes_most_of_the_time_is_the_bound() {
    let found = short(5000);
    let verdict = "The launch itself bounds `k`: 2900 of 5000 cycles pass before the first block \
                   starts (gpu.kernel_launch_cycles is 2900). In the time with blocks, the bound \
                   is: latency of loads.";
    let next = "Next: give the launch more work, by a larger problem; for the time with blocks: ";
    told(&found, Bound::IdleSms, verdict, next);
}

#[test]
fn a_long_kernel_has_no_word_on_its_launch() {
    let told = short(100_000).explanation.join("\n");
    assert!(!told.contains("launch"), "{told}");
}

/// SMs hold no block for 3,000 of the 7,100 cycles after the launch: these are the bound, and the
/// time of the launch is one of the reasons.
#[test]
fn sms_that_idle_after_the_launch_are_told_as_before() {
    let counts = [
        ("sm.active_cycles", 132 * 4100),
        ("sm.slots.no_warp", 5900),
        ("sm.slots.memory_dependence", 2100),
        ("sm.slots.issued", 2000),
    ];
    let found = analysed("h200-hopper", launched(10_000, &counts));
    let verdict = "Idle SMs bound `k`: they hold no block in 59% of their cycles: 29% before the \
                   first block of a launch starts";
    told(&found, Bound::IdleSms, verdict, "Next: let blocks be small");
}

/// DRAM is full in the time after the launch, which is 65 % of all.
#[test]
fn a_part_that_is_full_after_the_launch_is_the_bound() {
    let counts = [
        ("sm.active_cycles", 132 * 5200),
        ("dram.cycles", 100),
        ("dram.data_cycles", 45),
        ("sm.slots.no_warp", 35),
        ("sm.slots.memory_dependence", 65),
    ];
    let found = analysed("h200-hopper", launched(8100, &counts));
    let verdict = "The kernel is short: 2900 of 8100 cycles";
    told(
        &found,
        Bound::Part(Part::Dram),
        verdict,
        "Next: move fewer bytes",
    );
}

/// Blocks that find their largest value by shuffles of 64-bit words on `h200-hopper`: function
/// units are the largest cause, of this many cycles of 4,251 after the launch.
#[test]
fn units_that_explain_few_cycles_are_not_the_bound() {
    let first = |units: u64| {
        let counts = [
            ("sm.active_cycles", 132 * 4251),
            ("sm.execution_pipe_slots.units", units),
            ("sm.slots.barrier", 250),
            ("sm.slots.execution_pipe", units),
            ("sm.slots.instruction_buffer", 286),
            ("sm.slots.issued", 1788),
            ("sm.slots.memory_dependence", 279),
            ("sm.slots.no_warp", 4548 - units),
        ];
        analysed("h200-hopper", launched(7151, &counts)).explanation[0].clone()
    };
    let none = "No single cause bounds `k`: function units, the largest one, takes 7% of the \
                scheduler cycles after the launch; in 42% schedulers issue, and in 31% they have \
                no warp that runs. Close behind:";
    assert!(first(315).starts_with(none), "{}", first(315));
    let bound = "Function units bound `k`: in 8% of the scheduler cycles instructions wait";
    assert!(first(600).starts_with(bound), "{}", first(600));
}
