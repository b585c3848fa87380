//! L2 banks that are hot at a time only, beside other counters that waits for them fill. The
//! counters are those of runs on `h200-hopper`.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis, Part};
use warploom_stats::result::HotBanks;

/// Products of 32,768 keys with one query for each 2,048 of them, which all blocks read at the same
/// time. A copy of the query for each block makes 8,351 cycles of 11,601. `crowded` and
/// `packet_cycles` are L2 cycles in which requests wait for few banks, and cycles of the network
/// that requests are in it.
fn query(crowded: u64, packet_cycles: u64) -> KernelAnalysis {
    let counts = [
        ("gpu.crowded_cycles", crowded),
        ("l1d.accesses.hit.global_read", 27_209),
        ("l1d.accesses.miss.global_read", 275_480),
        ("l1d.fails.global_read.miss_queue_full", 116_639),
        ("l1d.fails.global_read.mshr_entry", 1_374_404),
        ("l2.accesses.hit.global_read", 275_480),
        ("noc_to_l2.cycles", 17_401),
        ("noc_to_l2.flits", 291_864),
        ("noc_to_l2.packet_cycles", packet_cycles),
        ("noc_to_l2.packets", 291_864),
        ("partition.cycles", 3_340_992),
        ("partition.packets", 291_864),
        ("sm.active_cycles", 1_085_147),
        ("sm.execution_pipe_slots.load_store", 1_705_322),
        ("sm.execution_pipe_slots.units", 82_085),
        ("sm.fetch_cycles", 310_491_523),
        ("sm.fetches", 291_864),
        ("sm.ldst_stalls.global_load.bank_conflict", 607_962),
        ("sm.memory_pipe_slots.load_store", 546_017),
        ("sm.slots.execution_pipe", 1_787_407),
        ("sm.slots.issued", 851_968),
        ("sm.slots.memory_dependence", 764_379),
        ("sm.slots.memory_pipe", 546_114),
        ("sm.slots.no_warp", 1_965_895),
    ];
    let mut launch = launched(11_601, &counts);
    launch.figures.hot_banks = Some(HotBanks {
        of_banks: 192,
        banks: 7,
        of_channels: 192,
        channels: 7,
        wait_cycles: 22_820_174,
        longest_wait_cycles: 22_820_174,
        packets: 17_208,
        loads: 16_312,
        stores: 896,
        misses: 224,
        busy_cycles: 3243,
        ..HotBanks::default()
    });
    analysed("h200-hopper", launch)
}

#[test]
fn banks_that_all_blocks_read_at_a_time_come_before_mshrs() {
    let found = query(4352, 273_400_409);
    let verdict = "Few L2 banks at a time bound `k`: in 25% of the cycles at least as many \
                   requests wait in the network as there are banks (192), and all that come out \
                   of it go to at most half of them. The requests are mostly loads, and are in \
                   the network for 59% of the time that accesses take.";
    told(
        &found,
        Bound::HotBanks,
        verdict,
        "Next: let warps that read the same data",
    );
    let copies = "where each block reads the same few lines once, let a block do more with them, or \
                  give groups of blocks a copy each";
    assert!(found.explanation[4].contains(copies), "{found:#?}");
}

/// With few requests in the network, or requests for many banks, MSHRs are what loads wait for.
#[test]
fn requests_that_do_not_wait_for_few_banks_leave_mshrs_the_bound() {
    for found in [query(4352, 173_400_409), query(2000, 273_400_409)] {
        let verdict = "mostly because loads find no free MSHR in L1D";
        told(&found, Bound::LoadStore, verdict, "Next: ");
    }
}

/// The largest of 262,144 values on `gtx480`, found by an atomic for each warp, whose result has no
/// use: 37,167 cycles, and 34,267 without the atomics. Warps wait for loads in `loads` of the
/// scheduler cycles.
fn largest(loads: u64, atomics: u32) -> KernelAnalysis {
    let counts = [
        ("gpu.atomics", 8192),
        ("gpu.crowded_cycles", 26_704),
        ("noc_to_l2.cycles", 37_167),
        ("noc_to_l2.packet_cycles", 3_624_588),
        ("partition.cycles", 446_004),
        ("partition.packets", 16_384),
        ("sm.active_cycles", 551_599),
        ("sm.blocks_started", 1024),
        ("sm.fetch_cycles", 8_336_024),
        ("sm.fetches", 16_399),
        ("sm.memory_accesses.atomic", 8192),
        ("sm.memory_accesses.load", 8192),
        ("sm.memory_pipe_slots.load_store", 46_925),
        ("sm.slots.barrier", 12_262),
        ("sm.slots.execution_pipe", 190_949),
        ("sm.slots.issued", 614_434),
        ("sm.slots.memory_dependence", loads),
        ("sm.slots.memory_pipe", 52_303),
        ("sm.slots.no_warp", 20_000),
    ];
    let mut launch = launched(37_167, &counts);
    launch.figures.hot_banks = Some(HotBanks {
        of_banks: 12,
        banks: 1,
        of_channels: 6,
        channels: 1,
        wait_cycles: 2_575_762,
        longest_wait_cycles: 2_575_762,
        packets: 8874,
        loads: u64::from(8874 - atomics),
        atomics: u64::from(atomics),
        misses: 683,
        busy_cycles: 8874,
        ..HotBanks::default()
    });
    analysed("gtx480", launch)
}

#[test]
fn atomics_whose_waits_other_warps_cover_leave_instruction_issue_the_bound() {
    let issue = Bound::Part(Part::Scheduler);
    let verdict = "Instruction issue bounds `k`: the schedulers issue 56% of what they can.";
    let next = "Next: execute fewer instructions";
    told(&largest(202_656, 8192), issue, verdict, next);
    let banks = "Few L2 banks at a time bound `k`: ";
    let found = largest(302_656, 8192);
    told(&found, Bound::HotBanks, banks, "Next: combine the values");
    let found = largest(202_656, 682);
    told(&found, Bound::HotBanks, banks, "Next: let warps that read");
}
