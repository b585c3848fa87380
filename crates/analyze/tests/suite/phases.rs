//! Verdicts on kernels that leave SMs without blocks: for want of blocks, before the launch, or
//! after their last block. Results are made by hand.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis, Part};
use warploom_stats::result::BlockTimes;

/// A launch of 10,000 cycles on 8 of 15 SMs, one of which takes a block that is longer than others.
/// A block takes 4,000 cycles on average.
fn rows(longest: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 8 * 4000),
        ("sm.slots.no_warp", 80),
        ("sm.slots.memory_dependence", 20),
    ];
    let mut launch = launched(10_000, &counts);
    launch.figures.block_times = Some(BlockTimes {
        blocks: 8,
        cycles: 8 * 4000,
        longest,
        sms: 8,
        unused_sm_cycles: 7 * 10_000,
        ended_sm_cycles: 8 * 6000,
        tail_cycles: 6000,
        tail_sm_cycles: 6000,
    });
    analysed("gtx480", launch)
}

#[test]
fn the_longest_block_is_named_where_sms_wait_for_it() {
    let verdict = "they hold no block in 79% of their cycles: 47% because the grid has 1000 blocks \
                   for 15 SMs, and 32% after the last block of an SM, while others still run (the \
                   longest block takes 8000 cycles, one on average 4000)";
    let next = "Next: let more threads share the work, in more blocks, or solve a larger problem \
                (the same threads in smaller blocks are hardly faster: a warp waits for its own \
                results); and give all blocks the same work";
    told(&rows(8000), Bound::IdleSms, verdict, next);
    let verdict = "while others still run (the grid has 1000 blocks for";
    let found = rows(7999);
    told(&found, Bound::IdleSms, verdict, "Next: let more threads");
    let tail = "; and let blocks be small and take equally long";
    assert!(found.explanation[4].contains(tail), "{found:#?}");
}

/// The network to the SMs of `gtx480` carries packets for 45 % of the time. In the last 4,000 of
/// 10,000 cycles at most half of the SMs hold a block, and do a share of the work.
fn network(tail_work: u64) -> KernelAnalysis {
    let active = 15 * 10_000 * 8 / 10;
    let counts = [
        ("sm.active_cycles", active),
        ("noc_to_sm.cycles", 10_000),
        ("noc_to_sm.flits", 10_000 * 12 * 45 * 7 / 1000),
        ("sm.slots.memory_dependence", 80),
        ("sm.slots.no_warp", 20),
    ];
    let mut launch = launched(10_000, &counts);
    launch.figures.block_times = Some(BlockTimes {
        tail_cycles: 4000,
        tail_sm_cycles: active * tail_work / 100,
        ..BlockTimes::default()
    });
    analysed("gtx480", launch)
}

/// With a tenth of the work in the tail, the network carries 45 / 0.6 * 0.9 = 67 % before it.
#[test]
fn a_network_is_judged_while_most_sms_hold_blocks() {
    let found = network(10);
    let verdict = "45% (68% while most SMs hold a block)";
    assert_eq!(found.bound, Bound::Part(Part::NocToSm), "{found:#?}");
    assert!(found.explanation[0].contains(verdict), "{found:#?}");
    assert_eq!(network(40).bound, Bound::Loads);
}

/// Loads wait for each other in the load/store units, and warps for these loads.
#[test]
fn units_that_never_finish_are_named_instead_of_the_latency_of_loads() {
    let units = |stalls: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 1000),
            ("sm.ldst_stalls.global_load.reservation", stalls),
            ("l1d.fails.global_read.line_alloc", stalls),
            ("sm.slots.memory_dependence", 90),
            ("sm.slots.memory_pipe", 10),
        ];
        analysed("gtx480", launched(1000, &counts))
    };
    let found = units(15 * 950);
    let verdict = "they have an access that they have not finished in 95% of the cycles with a \
                   block, mostly because loads find all lines of their set in L1D reserved";
    told(&found, Bound::LoadStore, verdict, "Next:");
    assert_eq!(units(15 * 890).bound, Bound::Loads);
}

/// DRAM moves data in 60 % of the cycles, and in `held` of 100 scheduler cycles a policy holds
/// ready warps back, in 30 for which warps wait for loads otherwise.
#[test]
fn a_policy_that_holds_warps_back_comes_before_a_part_that_is_not_saturated() {
    let found = |held: u64, data: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 1000),
            ("dram.cycles", 100),
            ("dram.data_cycles", data),
            ("sm.slots.policy", held),
            ("sm.slots.memory_dependence", 30),
        ];
        analysed("gtx480", launched(1000, &counts))
    };
    let verdict = "The fullest part, DRAM, is used at 60% of its peak while SMs hold blocks; the \
                   scheduling policy holds ready warps of `k` back in 57% of the scheduler cycles, \
                   more than any other cause. Whether that costs time, cycles under another";
    let next = "Next: compare the cycles of other schedulers";
    told(&found(40, 60), Bound::Policy, verdict, next);
    assert_eq!(found(20, 60).bound, Bound::Part(Part::Dram));
    assert_eq!(found(40, 71).bound, Bound::Part(Part::Dram), "saturated");
    let without = |data: u64| found(40, data).bound_without_policy;
    assert_eq!(without(60), Some(Bound::Part(Part::Dram)));
    assert_eq!(without(71), None, "the policy is not the bound");
    assert_eq!(without(20), Some(Bound::Loads));
    let verdict = "The scheduling policy holds ready warps of `k` back in 57% of the scheduler \
                   cycles, more than any other cause, and none of schedulers, function \
                   units, memories and networks is used above 20% while SMs hold blocks (DRAM).";
    told(&found(40, 20), Bound::Policy, verdict, next);
}

/// Schedulers wait for loads most often, and SMs hold no block in a fifth of their cycles.
#[test]
fn sms_without_blocks_are_named_beside_another_bound() {
    let found = |active: u64| {
        let counts = [
            ("sm.active_cycles", 150 * active),
            ("sm.slots.memory_dependence", 80),
            ("sm.slots.no_warp", 20),
        ];
        analysed("gtx480", launched(1000, &counts)).explanation[2].clone()
    };
    let told = "; SMs hold no block in 20% of their cycles, after the last block of an SM, while \
                others still run (the grid has 1000 blocks for 90 places: 11.1 rounds); an";
    assert!(found(80).contains(told), "{}", found(80));
    assert!(!found(91).contains("hold no block"), "{}", found(91));
}
