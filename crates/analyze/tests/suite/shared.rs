//! Cycles of shared memory for the width of accesses, for conflicts with a stride, and for
//! look-ups.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis};

/// Shared memory that is busy in 80 % of 100,000 cycles: with 40,000 accesses, and as many cycles
/// more for their width, or for conflicts, of which those without a pattern are given.
fn busy(width: u64, scattered: u64) -> KernelAnalysis {
    let sms = 108;
    let counts = [
        ("sm.active_cycles", 100_000 * sms),
        ("sm.shared_instructions", 40_000 * sms),
        ("sm.shared_conflict_cycles", 40_000 * sms),
        ("sm.shared_width_cycles", width * sms),
        ("sm.shared_scattered_cycles", scattered * sms),
        ("sm.slots.issued", 10),
        ("sm.slots.memory_pipe", 90),
    ];
    analysed("a100-ampere", launched(100_000, &counts))
}

/// With a pad after every 16 doubles such a kernel took half as long again on `a100-ampere`.
#[test]
fn cycles_that_doubles_need_are_no_conflicts() {
    let verdict = "with many accesses and hardly a bank conflict (without a conflict an access takes \
                   2.0 cycles on average: one of 8 bytes a lane takes two, one of 16 bytes four).";
    let next = "Next: access shared memory less often: values kept in registers";
    let found = busy(40_000, 0);
    told(&found, Bound::Shared, verdict, next);
    let advice = found.advice.join("\n");
    assert!(!advice.contains("padding column"), "{advice}");
}

#[test]
fn conflicts_are_told_by_the_pattern_of_addresses() {
    let verdict = "an access to shared memory waits 1.0 cycles for bank conflicts.";
    told(
        &busy(0, 0),
        Bound::Shared,
        verdict,
        "Next: change the layout in shared memory",
    );
    let next = "Next: the lanes' addresses follow no pattern, as those of look-ups in a table";
    told(&busy(0, 30_000), Bound::Shared, verdict, next);
    let advice = busy(0, 30_000).advice.join("\n");
    assert!(!advice.contains("padding column"), "{advice}");
}
