//! How far throughput can grow by more warps: the least of several limits. Results are made by
//! hand.

use crate::support::{analysed, launched};

/// Advice on a kernel whose SMs hold 24 of 48 warps, and whose schedulers issue in 10 of 100 cycles
/// and wait in `lost` for loads. Other counters are added.
fn advised(lost: u64, others: &[(&str, u64)]) -> String {
    let mut counts = vec![
        ("sm.active_cycles", 15 * 10_000),
        ("sm.resident_warp_cycles", 15 * 10_000 * 24),
        ("sm.slots.issued", 10),
        ("sm.slots.memory_dependence", lost),
        ("sm.slots.memory_pipe", 90 - lost),
    ];
    counts.extend(others);
    let mut launch = launched(10_000, &counts);
    launch.blocks_per_sm = 3;
    analysed("gtx480", launch).advice.join("\n")
}

#[test]
fn the_least_limit_of_growth_is_told() {
    let slots = "More warps would help: throughput can grow at most 2.0-fold, until all warp slots \
                 are taken (now 24.0 of 48).";
    let told = advised(70, &[]);
    assert!(told.contains(slots), "{told}");

    let dram = [("dram.cycles", 100), ("dram.data_cycles", 45)];
    let told = advised(70, &dram);
    let full = "at most 1.6-fold, until the DRAM is saturated (now 45%, full at 70%)";
    assert!(told.contains(full), "{told}");

    let pipe = [("sm.pipe_cycles.sfu", 15 * 9_700)];
    let told = advised(70, &pipe);
    let full = "More warps would hardly help: throughput can grow at most 1.0-fold, until the units of the \
                pipe `sfu` never idle (now 97%, full at 100%).";
    assert!(told.contains(full), "{told}");

    let accesses = [("sm.memory_instructions", 15 * 8_500)];
    let told = advised(70, &accesses);
    let full = "at most 1.2-fold, until load/store units always have an access to finish (now 85%, \
                full at 100%)";
    assert!(told.contains(full), "{told}");
}

/// Schedulers issue in 50 of 100 cycles and wait for results in 35, which more warps can fill.
#[test]
fn more_warps_fill_only_cycles_that_wait_for_results() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.slots.issued", 50),
        ("sm.slots.memory_dependence", 20),
        ("sm.slots.execution_dependence", 15),
        ("sm.slots.memory_pipe", 15),
    ];
    let told = analysed("gtx480", launched(10_000, &counts))
        .advice
        .join("\n");
    let lost = "at most 1.7-fold, until schedulers issue in all cycles in which their warps now wait \
                for results (35%)";
    assert!(told.contains(lost), "{told}");
}
