//! Sentences on why one run is faster than another one. Results are made by hand.

use crate::support::{launched, run};
use warploom_analyze::{ComparedRun, Machine, explain_difference};
use warploom_config::preset;
use warploom_stats::result::{KernelReport, RunReport};

/// A run of one launch with 1,000 warp instructions.
fn of(cycles: u64, blocks: u32, counts: &[(&str, u64)]) -> RunReport {
    let mut launch: KernelReport = launched(cycles, counts);
    launch.figures.warp_instructions = 1000;
    launch.blocks_per_sm = blocks;
    let figures = launch.figures.clone();
    run(vec![launch], figures, None)
}

/// Sentences on the run `new` against `old` on `gtx480`.
fn told(old: &RunReport, new: &RunReport, bound: Option<&str>) -> Vec<String> {
    let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    let machine = Machine::new(&gpu, 0.7);
    let compared = |name: &'static str, run| ComparedRun {
        name,
        machine: &machine,
        run,
        bound: None,
    };
    let new = ComparedRun {
        bound,
        ..ComparedRun {
            run: new,
            ..compared("sets 64", new)
        }
    };
    explain_difference(compared("sets 16", old), new).expect("both issued instructions")
}

/// L1D hits 1 or 6 of 10 loads; warps wait 8 or 3 cycles for loads for each instruction.
fn hits(hits: u64, cycles: u64, waits: u64, warps: u64) -> RunReport {
    let active = 15 * cycles;
    let counts = [
        ("sm.active_cycles", active),
        ("sm.resident_warp_cycles", warps * active),
        ("sm.slots.issued", 1000),
        ("sm.slots.memory_dependence", waits * 1000),
        ("sm.slots.barrier", 300),
        ("l1d.accesses.hit.global_read", hits),
        ("l1d.accesses.miss.global_read", 10 - hits),
        ("partition.packets", 10 - hits),
        ("dram.reads", 4),
    ];
    of(cycles, 4, &counts)
}

#[test]
fn a_faster_run_is_explained_by_cycles_hits_warps_and_bounds() {
    let sentences = told(&hits(1, 9000, 8, 24), &hits(6, 4000, 3, 24), None);
    assert_eq!(
        sentences[0],
        "`sets 64` is 2.25 times faster than `sets 16`: 4000 cycles instead of 9000."
    );
    assert_eq!(
        sentences[1],
        "For each warp instruction its schedulers spend 3.00 cycles waiting for loads instead of 8.00."
    );
    assert_eq!(
        sentences[2],
        "In memory, L1D hits 60% of its accesses instead of 10%, and L2 is asked 0.44 times as much."
    );
    assert_eq!(
        sentences[3],
        "An SM holds 24.0 warps in both; the bound is the same: latency of loads."
    );
    assert!(
        sentences[4].starts_with("Next, for `sets 64`: "),
        "{sentences:#?}"
    );
    assert_eq!(sentences.len(), 5);
}

#[test]
fn a_slower_run_with_other_warps_and_another_bound_is_told() {
    let sentences = told(
        &hits(6, 4000, 3, 24),
        &hits(6, 6000, 5, 12),
        Some("barriers"),
    );
    assert!(
        sentences[0].contains("is 1.50 times slower than"),
        "{sentences:#?}"
    );
    assert_eq!(
        sentences[2],
        "Hits of the caches and traffic of L2 and DRAM are the same."
    );
    let warps = "An SM with work holds 12.0 warps instead of 24.0; the bound is barriers, and was latency of loads.";
    assert_eq!(sentences[3], warps);
}

/// A policy that holds warps back makes waits for loads shorter: the gain comes before its price,
/// which is the larger number.
#[test]
fn what_makes_a_run_faster_is_told_before_what_it_costs() {
    let mut new = hits(6, 8000, 6, 24);
    let held = [
        ("sm.slots.policy", 9000),
        ("sm.slots.memory_dependence", 1000),
    ];
    for (name, count) in held {
        new.totals.figures.statistics.insert(name.to_owned(), count);
    }
    new.totals.figures.stalls.insert("policy".to_owned(), 0.5);
    let sentences = told(&hits(1, 9000, 8, 24), &new, None);
    assert_eq!(
        sentences[1],
        "For each warp instruction its schedulers spend 1.00 cycles waiting for loads instead of \
         8.00, but 9.00 cycles waiting because the scheduling policy holds warps back instead of \
         0.00."
    );
}

/// Runs that were cut at the same cycle did different work.
#[test]
fn cut_runs_are_compared_by_the_cycles_of_an_instruction() {
    let (old, mut new) = (hits(1, 4000, 8, 24), hits(6, 4000, 3, 24));
    new.totals.figures.warp_instructions = 2000;
    let sentences = told(&old, &new, None);
    let time = "`sets 64` is 2.00 times faster than `sets 16`: 2.000 cycles for a warp instruction \
                instead of 4.000.";
    assert_eq!(sentences[0], time);
}
