//! Parts that warps wait for in cycles with the causes `execution_dependence` and `memory_pipe`:
//! function units that are taken, loads from shared memory, and arithmetic.

use crate::support::{analysed, launched, told};
use warploom_analyze::Bound;

/// Counters of a decomposition in double precision on `rtx3070-ampere`, where a unit takes an
/// instruction in 64 cycles. It takes 440,154 cycles, with units that take one in 16 cycles
/// 268,254, and with twice the warps 410,747.
const DOUBLES: [(&str, u64); 13] = [
    ("sm.active_cycles", 19_385_277),
    ("sm.shared_instructions", 1_750_000),
    ("sm.pipe_cycles.dp", 65_011_712),
    ("sm.pipe_cycles.int", 2_280_448),
    ("sm.execution_dependence_slots.units", 53_729_419),
    ("sm.execution_dependence_slots.shared", 6_254_903),
    ("sm.execution_dependence_slots.arithmetic", 3_352_435),
    ("sm.slots.execution_dependence", 63_336_757),
    ("sm.slots.issued", 4_368_384),
    ("sm.slots.memory_dependence", 7_666_577),
    ("sm.slots.memory_pipe", 84_657),
    ("sm.slots.no_warp", 5_525_455),
    ("sm.slots.execution_pipe", 3_084),
];

#[test]
fn warps_that_wait_in_the_queue_of_a_full_unit_are_told_from_latency() {
    let found = analysed("rtx3070-ampere", launched(440_154, &DOUBLES));
    let verdict = "in 66% of the scheduler cycles instructions wait for one that is taken, and those \
                   of the pipe `dp` (double precision) are in use in 84% of the cycles.";
    let next = "Next: execute fewer instructions of the pipe `dp`: use single precision";
    told(&found, Bound::Units, verdict, next);
    let schedulers = "for results of function units that are taken (`execution_dependence`).";
    assert!(found.explanation[1].ends_with(schedulers), "{found:#?}");
    let more = "More warps would not help: they would queue at the function units.";
    assert!(found.advice.iter().any(|told| told == more), "{found:#?}");
}

/// The same without an instruction in a queue: the units are the part that is nearest to full.
#[test]
fn function_units_are_named_beside_a_latency() {
    let mut counts = DOUBLES.to_vec();
    counts[4].1 = 0;
    counts[6].1 = 57_081_854;
    let found = analysed("rtx3070-ampere", launched(440_154, &counts));
    let verdict = "The latency of arithmetic bounds `k`: in 70% of the scheduler cycles its warps \
                   wait for results, and none of schedulers, function units, memories and networks \
                   is used above 84% while SMs hold blocks (function units).";
    told(
        &found,
        Bound::Arithmetic,
        verdict,
        "Next: issue independent",
    );
}

/// Warps wait for results in more cycles than for loads, with and without an instruction in the
/// queue of a unit; neither part has more alone.
#[test]
fn waits_for_results_are_not_divided_before_they_are_compared() {
    let of = |units: u64| {
        let counts = [
            ("sm.active_cycles", 46 * 100_000),
            ("sm.execution_dependence_slots.units", units),
            ("sm.execution_dependence_slots.arithmetic", 310 - units),
            ("sm.slots.execution_dependence", 310),
            ("sm.slots.memory_dependence", 250),
            ("sm.slots.issued", 440),
        ];
        analysed("rtx3070-ampere", launched(100_000, &counts)).bound
    };
    assert_eq!(of(190), Bound::Units);
    assert_eq!(of(120), Bound::Arithmetic);
}

/// Counters of a decomposition in single precision on `a100-ampere`: 39,587 cycles, 50,847 with
/// twice the latency of shared memory, and 43,218 with that of arithmetic.
const SINGLES: [(&str, u64); 11] = [
    ("sm.active_cycles", 3_640_000),
    ("sm.shared_instructions", 1_684_480),
    ("sm.execution_dependence_slots.units", 310_065),
    ("sm.execution_dependence_slots.shared", 4_435_706),
    ("sm.execution_dependence_slots.arithmetic", 762_607),
    ("sm.slots.execution_dependence", 5_508_378),
    ("sm.slots.issued", 4_546_560),
    ("sm.slots.memory_dependence", 279_718),
    ("sm.slots.memory_pipe", 3_351_089),
    ("sm.slots.no_warp", 3_320_223),
    ("sm.slots.instruction_buffer", 92_448),
];

#[test]
fn loads_from_shared_memory_are_told_from_arithmetic() {
    let found = analysed("a100-ampere", launched(39_587, &SINGLES));
    let verdict = "The latency of shared memory bounds `k`: in 26% of the scheduler cycles its warps \
                   wait for loads from it, which take";
    let next = "Next: load several values from shared memory before the first is used (unroll)";
    told(&found, Bound::SharedLoads, verdict, next);
    assert_eq!(found.bound.key(), "shared-latency");
    let schedulers = "for loads from shared memory (`execution_dependence`).";
    assert!(found.explanation[1].ends_with(schedulers), "{found:#?}");
}

/// The pipe of the load/store unit is full in 40 of 100 cycles: in most of them because collectors
/// hold instructions for function units, or their operands are read.
#[test]
fn what_fills_the_pipe_of_accesses_is_told() {
    let of = |blockers: [u64; 3]| {
        let counts = [
            ("sm.active_cycles", 46 * 100_000),
            ("sm.pipe_cycles.dp", 46 * 90_000),
            ("sm.memory_pipe_slots.load_store", blockers[0]),
            ("sm.memory_pipe_slots.units", blockers[1]),
            ("sm.memory_pipe_slots.operands", blockers[2]),
            ("sm.slots.issued", 30),
            ("sm.slots.memory_pipe", 40),
            ("sm.slots.memory_dependence", 25),
            ("sm.slots.execution_pipe", 5),
            ("sm.execution_pipe_slots.units", 5),
        ];
        analysed("rtx3070-ampere", launched(100_000, &counts))
    };
    let found = of([5, 35, 0]);
    assert_eq!(found.bound, Bound::Units);
    assert!(found.explanation[0].contains("in 40% of the scheduler cycles"));
    let schedulers = "for room in operand collectors, which instructions hold that wait for \
                      function units (`memory_pipe`).";
    assert!(found.explanation[1].ends_with(schedulers), "{found:#?}");
    let found = of([5, 0, 35]);
    assert_eq!(found.bound, Bound::Operands);
    assert!(found.explanation[1].ends_with("for the operand collectors (`memory_pipe`)."));
    assert_eq!(of([35, 5, 0]).bound, Bound::LoadStore);
    assert_eq!(
        of([0, 0, 0]).bound,
        Bound::LoadStore,
        "of an earlier version"
    );
}
