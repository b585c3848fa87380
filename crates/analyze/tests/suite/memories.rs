//! Memories of loads, loads of constants, and atomics of one lane.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis};

/// Warps wait for loads in most cycles. Some of 10,000 loads are from local memory.
fn waiting(gpu: &str, more: &[(&str, u64)]) -> KernelAnalysis {
    let mut counts = vec![
        ("sm.active_cycles", 108 * 100_000),
        ("sm.memory_instructions", 10_000),
        ("sm.memory_transactions", 10_000),
        ("sm.memory_accesses.load", 10_000),
        ("sm.access_transactions.load", 10_000),
        ("sm.access_bytes.load", 1_280_000),
        ("sm.slots.issued", 10),
        ("sm.slots.memory_dependence", 80),
        ("sm.slots.memory_pipe", 10),
    ];
    counts.extend(more);
    analysed(gpu, launched(100_000, &counts))
}

#[test]
fn the_memory_of_loads_is_named() {
    let global = waiting("gtx480", &[]);
    let verdict = "The latency of loads from global memory bounds `k`";
    told(&global, Bound::Loads, verdict, "Next: issue independent");
    let local = waiting("gtx480", &[("sm.local_accesses.load", 9_000)]);
    let verdict = "The latency of loads from local memory bounds `k`";
    let next =
        "Next: use less local memory, which 90% of the loads read: the compiler puts an array";
    told(&local, Bound::Loads, verdict, next);
    let advice = local.advice.join("\n");
    assert!(!advice.contains("wider words") && !advice.contains("share it in shared memory"));
}

/// Loads take 25 transactions instead of 4, and most of them are from local memory, where no other
/// address helps.
#[test]
fn split_accesses_to_local_memory_are_told() {
    let split = [
        ("sm.access_transactions.load", 250_000),
        ("sm.local_accesses.load", 9_000),
    ];
    let found = waiting("a100-ampere", &split);
    let told = [found.explanation.join("\n"), found.advice.join("\n")].concat();
    let next = "Next: use less local memory, which 90% of the loads access: the compiler puts";
    assert!(told.contains(next), "{told}");
    assert!(!told.contains("neighbouring threads"), "{told}");
}

/// The 4 lines of a load of constants are told, and that they cost nothing where the constant cache
/// always hits.
#[test]
fn lines_of_constants_are_told() {
    let constants = [("sm.constant_loads", 1_000), ("sm.constant_lines", 4_000)];
    let of = |gpu: &str, more: &[(&str, u64)]| {
        let counts = [&constants[..], more].concat();
        waiting(gpu, &counts)
    };
    let memory = of("gtx480", &[]).explanation[3].clone();
    assert!(
        memory.ends_with("a load of constants reads 4.0 lines."),
        "{memory}"
    );
    let free = of("a100-ampere", &[]).explanation[3].clone();
    assert!(
        free.contains("4.0 lines, at no cost on this machine (sm.perfect_"),
        "{free}"
    );
}

/// Warps wait for atomics on global memory of one lane each: one for each warp, or for each block.
#[test]
fn atomics_of_one_lane_are_not_told_to_be_combined_by_shuffles() {
    let of = |blocks: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 100_000),
            ("sm.blocks_started", blocks),
            ("sm.memory_instructions", 8_000),
            ("sm.memory_transactions", 8_000),
            ("sm.memory_accesses.atomic", 8_000),
            ("sm.access_transactions.atomic", 8_000),
            ("sm.access_bytes.atomic", 32_000),
            ("sm.packets_sent.global_atomic", 8_000),
            ("gpu.atomics", 8_000),
            ("sm.slots.issued", 10),
            ("sm.slots.barrier", 90),
        ];
        analysed("gtx480", launched(100_000, &counts))
    };
    let verdict = "The latency of atomics bounds `k`";
    let next = "Next: combine the values of a block in shared memory, and let one thread of the \
                block update the word; or let each thread work on more elements (an atomic takes \
                effect in one lane, so that warps combine their values already; a block executes \
                8.0 of them).";
    told(&of(1_000), Bound::Atomics, verdict, next);
    let next =
        "Next: launch fewer blocks that work on more each (an atomic takes effect in one lane";
    told(&of(8_000), Bound::Atomics, verdict, next);
}
