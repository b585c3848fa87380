//! Verdicts on kernels with two bounds that are nearly equal. Results are made by hand.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis, Part};

/// Schedulers wait in 100 of 300 cycles for loads, and in `arithmetic` for arithmetic.
fn latencies(arithmetic: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.slots.memory_dependence", 100),
        ("sm.slots.execution_dependence", arithmetic),
        ("sm.slots.issued", 200 - arithmetic),
    ];
    analysed("gtx480", launched(10_000, &counts))
}

#[test]
fn a_second_cause_is_told_from_four_fifths_of_the_first_on() {
    let found = latencies(80);
    let verdict = "The latency of loads bounds `k`: in 33% of the scheduler cycles its warps wait for \
                   one, and none of schedulers, function units, memories and networks is used \
                   above 0% while SMs hold blocks (DRAM). Close behind: latency of arithmetic (27% of the scheduler cycles).";
    told(&found, Bound::Loads, verdict, "Next: ");
    assert_eq!(found.bound_beside, Some(Bound::Arithmetic));
    assert_eq!(found.bounds(), "latency of loads + latency of arithmetic");
    assert_eq!(found.bound_keys(), "load-latency + arithmetic-latency");

    let found = latencies(79);
    assert_eq!(found.bound_beside, None);
    assert_eq!(found.bounds(), "latency of loads");
    assert!(!found.explanation[0].contains("Close"), "{found:#?}");
}

/// DRAM moves data in 65 % of its cycles, of 70 % that count as full, and shared memory is busy in
/// this percentage.
fn memories(shared: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.shared_instructions", 15 * 100 * shared),
        ("dram.cycles", 100),
        ("dram.data_cycles", 65),
        ("sm.slots.memory_dependence", 100),
    ];
    analysed("gtx480", launched(10_000, &counts))
}

/// 65 over 70 is 0.93: four fifths of that are 74 % of the time of shared memory.
#[test]
fn a_second_part_is_told_by_how_near_both_are_to_saturation() {
    let found = memories(75);
    assert_eq!(found.bound, Bound::Shared);
    assert_eq!(found.bound_beside, Some(Bound::Part(Part::Dram)));
    let close = "Close behind: DRAM (65% used while SMs hold blocks, full from 70% on).";
    told(&found, Bound::Shared, close, "Next: access shared memory");
    let next = "; against the DRAM: move fewer bytes";
    assert!(found.explanation[4].contains(next), "{found:#?}");

    let found = memories(64);
    assert_eq!(
        (found.bound, found.bound_beside),
        (Bound::Part(Part::Dram), Some(Bound::Loads))
    );
    // Below its lower threshold no part counts.
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("noc_to_sm.cycles", 10_000),
        ("noc_to_sm.flits", 10_000 * 12 * 59 * 7 / 1000),
        ("dram.cycles", 100),
        ("dram.data_cycles", 51),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    assert_eq!(
        (found.bound, found.bound_beside),
        (Bound::Part(Part::Dram), None)
    );
}

/// SMs hold a block in this percentage of their cycles, in which loads are what they wait for.
#[test]
fn what_bounds_the_time_with_blocks_stands_beside_idle_sms() {
    let held = |percent: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 100 * percent),
            ("sm.slots.no_warp", 100 - percent),
            ("sm.slots.memory_dependence", percent),
        ];
        analysed("gtx480", launched(10_000, &counts)).bounds()
    };
    assert_eq!(held(45), "SMs without a block + latency of loads");
    assert_eq!(held(44), "SMs without a block");
}

/// SMs hold a block in 70 % of their cycles, and their schedulers issue in 65 % of these. They most
/// often have no warp, so that idle SMs are told as well.
#[test]
fn idle_sms_stand_beside_a_part_that_is_full_where_blocks_are() {
    let counts = [
        ("sm.active_cycles", 15 * 7_000),
        ("sm.slots.issued", 45),
        ("sm.slots.no_warp", 35),
        ("sm.slots.execution_dependence", 20),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let close = "Close behind: SMs without a block (they hold none in 30% of their cycles).";
    let next = "Next: execute fewer instructions";
    told(&found, Bound::Part(Part::Scheduler), close, next);
    let against = "; against the SMs without a block: let blocks be small";
    assert!(found.explanation[4].contains(against), "{found:#?}");
}

/// SMs hold no block in 17 % of their cycles, and have too few warps in another 13 %: more than
/// schedulers wait for arithmetic, but no block is not what costs most.
#[test]
fn idle_sms_come_first_only_if_they_are_idle_for_longest() {
    let idle = |percent: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 100 * (100 - percent)),
            ("sm.slots.issued", 35),
            ("sm.slots.memory_dependence", 10),
            ("sm.slots.no_warp", 30),
            ("sm.slots.execution_dependence", 25),
        ];
        analysed("gtx480", launched(10_000, &counts)).bound
    };
    assert_eq!(idle(17), Bound::Arithmetic);
    assert_eq!(idle(26), Bound::IdleSms);
}

/// The direction in which packets take longer is the bound although it is used for 58 %, below its
/// lower threshold, and the other one for 61 %.
#[test]
fn the_other_direction_of_the_network_is_told() {
    let flits = |ports: u64, percent: u64| 10_000 * ports * percent * 7 / 1000;
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("noc_to_l2.cycles", 10_000),
        ("noc_to_l2.flits", flits(15, 58)),
        ("noc_to_l2.packets", 1000),
        ("noc_to_l2.packet_cycles", 300_000),
        ("noc_to_sm.cycles", 10_000),
        ("noc_to_sm.flits", flits(12, 61)),
        ("noc_to_sm.packets", 1000),
        ("noc_to_sm.packet_cycles", 20_000),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    assert_eq!(found.bound, Bound::Part(Part::NocToL2));
    assert_eq!(found.bound_beside, Some(Bound::Part(Part::NocToSm)));
}

/// DRAM moves data in this percentage of its cycles, and schedulers wait for loads in 60 % of
/// theirs.
#[test]
fn latency_is_told_beside_a_part_that_is_not_saturated() {
    let found = |data: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 10_000),
            ("dram.cycles", 100),
            ("dram.data_cycles", data),
            ("sm.slots.memory_dependence", 60),
            ("sm.slots.issued", 40),
        ];
        analysed("gtx480", launched(10_000, &counts))
    };
    let dram = Bound::Part(Part::Dram);
    let close = "Close behind: latency of loads (60% of the scheduler cycles).";
    told(&found(60), dram, close, "Next: move fewer bytes");
    assert_eq!(found(70).bound_beside, None, "saturated");
}

/// Packets to L2 are requests of loads, for which nothing is stored.
#[test]
fn a_network_full_of_requests_is_answered_with_fewer_loads() {
    let found = |writes: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 10_000),
            ("noc_to_l2.cycles", 10_000),
            ("noc_to_l2.flits", 10_000 * 15 * 65 * 7 / 1000),
            ("sm.packets_sent.global_read", 100 - writes),
            ("sm.packets_sent.global_write", writes),
        ];
        analysed("gtx480", launched(10_000, &counts)).explanation[4].clone()
    };
    assert!(found(20).contains("load fewer bytes"), "{}", found(20));
    assert!(found(80).contains("store less"), "{}", found(80));
}

/// A part that is used by three tenths more than its lower threshold on SMs with free warp slots,
/// whose loads of 128 bytes take this many transactions.
fn half_full(part: (&str, u64), transactions: u64) -> String {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.memory_accesses.load", 1000),
        ("sm.access_bytes.load", 128 * 1000),
        ("sm.access_transactions.load", 1000 * transactions),
        ("noc_to_sm.cycles", 10_000),
        ("dram.cycles", 10_000),
        ("sm.slots.issued", 3),
        ("sm.slots.memory_dependence", 1),
        part,
    ];
    let mut launch = launched(10_000, &counts);
    launch.blocks_per_sm = 2;
    analysed("gtx480", launch).explanation[4].clone()
}

/// With more warps a stencil whose loads take 4.9 transactions each needed 304,630 cycles instead
/// of 300,755.
#[test]
fn more_warps_are_not_advised_beside_split_accesses_or_a_network_that_is_the_bound() {
    let dram = ("dram.data_cycles", 5500);
    let more = "; or, since it is full at 70% only, add warps (";
    assert!(half_full(dram, 1).contains(more), "{}", half_full(dram, 1));
    let split = half_full(dram, 5);
    assert!(split.contains("let neighbouring threads access"), "{split}");
    assert!(!split.contains("add warps"), "{split}");
    let network = half_full(("noc_to_sm.flits", 10_000 * 12 * 65 * 7 / 1000), 1);
    assert!(network.starts_with("Next: load fewer bytes"), "{network}");
    assert!(!network.contains("add warps"), "{network}");
}
