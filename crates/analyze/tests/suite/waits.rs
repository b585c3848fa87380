//! Verdicts on requests that wait: for a few L2 banks, in queues, for atomics of shared memory, at
//! barriers. Results are made by hand.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, Part};
use warploom_config::preset;
use warploom_stats::result::{HotBanks, KernelReport};

/// 1,000 packets, of which 960 go to four of 192 L2 banks and wait 300 cycles each, of 320,000
/// cycles that accesses take in all.
fn histogram(hot: HotBanks) -> KernelReport {
    let counts = [
        ("sm.active_cycles", 132 * 10_000),
        ("sm.fetch_cycles", 320_000),
        ("partition.packets", 1000),
        ("partition.arrival_cycles", 290_000),
        ("sm.slots.issued", 1),
        ("sm.slots.memory_dependence", 9),
    ];
    let mut launch = launched(10_000, &counts);
    launch.figures.hot_banks = Some(HotBanks {
        of_banks: 192,
        banks: 4,
        of_channels: 192,
        channels: 4,
        wait_cycles: 288_000,
        longest_wait_cycles: 288_000,
        packets: 960,
        ..hot
    });
    launch
}

/// Atomics on few lines of global memory: means over the banks show no busy part.
#[test]
fn banks_that_atomics_wait_for_are_named() {
    let atomics = HotBanks {
        atomics: 950,
        loads: 10,
        misses: 20,
        ..HotBanks::default()
    };
    let found = analysed("h200-hopper", histogram(atomics));
    let verdict = "4 of 192 L2 banks bound `k`: 96% of the requests, mostly atomics, go to them, \
                   and wait 300 cycles for them on average, 90% of the time that accesses take.";
    let next = "Next: let each block update a copy of its own in shared memory (privatisation)";
    told(&found, Bound::HotBanks, verdict, next);
    let advice = found.advice.join("\n");
    let more = "More warps would not help: their requests would queue for the same few banks.";
    assert!(advice.contains(more), "{advice}");
}

#[test]
fn loads_of_few_lines_and_stores_are_advised_otherwise() {
    let loads = HotBanks {
        loads: 950,
        stores: 10,
        ..HotBanks::default()
    };
    let found = analysed("h200-hopper", histogram(loads));
    let verdict = "96% of the requests, mostly loads, go to them";
    let next = "Next: load lines that all blocks read once for a block";
    told(&found, Bound::HotBanks, verdict, next);
    let stores = HotBanks {
        stores: 960,
        ..HotBanks::default()
    };
    let mut one = histogram(stores);
    if let Some(hot) = &mut one.figures.hot_banks {
        hot.banks = 1;
    }
    let verdict = "One of 192 L2 banks bounds `k`: 96% of the requests, mostly stores, go to it";
    let next = "Next: pad the rows of arrays";
    told(
        &analysed("h200-hopper", one),
        Bound::HotBanks,
        verdict,
        next,
    );
}

/// Requests that miss in L2 wait for the DRAM behind the banks.
#[test]
fn channels_that_misses_wait_for_are_named() {
    let misses = HotBanks {
        loads: 960,
        misses: 900,
        ..HotBanks::default()
    };
    let found = analysed("h200-hopper", histogram(misses));
    let verdict = "4 of 192 DRAM channels bound `k`: 96% of the requests";
    let next = "Next: pad the rows of arrays, or let blocks begin at different rows";
    told(&found, Bound::HotBanks, verdict, next);
}

/// With 97 of 192 banks the requests are spread, and with a third of the time the waits are short.
#[test]
fn waits_for_many_banks_and_short_waits_are_no_hot_banks() {
    let mut spread = histogram(HotBanks::default());
    if let Some(hot) = &mut spread.figures.hot_banks {
        hot.banks = 97;
    }
    spread
        .figures
        .statistics
        .insert("dram.cycles".to_owned(), 100);
    let idle = preset("h200-hopper").map(|gpu| gpu.latencies().dram.into());
    let idle: u64 = idle.unwrap_or_else(|errors| panic!("{errors}"));
    let taken = [
        ("dram.data_cycles", 40),
        ("sm.fetches", 1000),
        ("sm.fetch_cycles", 10_000 * idle),
    ];
    let taken = taken.map(|(name, n)| (name.to_owned(), n));
    spread.figures.statistics.extend(taken);
    let next = "Next: move fewer bytes: smaller types";
    let verdict = "is used above 40% while SMs hold blocks (DRAM); accesses spend 90% of their time in queues of the memory system.";
    let found = analysed("h200-hopper", spread);
    told(&found, Bound::Loads, verdict, next);
    let advice = found.advice.join("\n");
    let queues = "More warps would hardly help: accesses spend 90% of their time in queues";
    assert!(advice.contains(queues), "{advice}");

    let mut short = histogram(HotBanks::default());
    let counts = &mut short.figures.statistics;
    counts.insert("sm.fetch_cycles".to_owned(), 3 * 288_000);
    counts.insert("sm.fetches".to_owned(), 3000);
    let verdict = "The latency of loads bounds `k`";
    let found = analysed("h200-hopper", short);
    told(&found, Bound::Loads, verdict, "Next: ");
    assert!(!found.explanation[0].contains("queues"), "{found:#?}");
}

/// Where copies of the host have left inputs in L2, hits do not come from reuse.
#[test]
fn hits_that_copies_of_the_host_made_are_named() {
    let of = |copied: u64| {
        let counts = [
            ("sm.active_cycles", 80 * 10_000),
            ("sm.memory_instructions", 1),
            ("sm.memory_transactions", 1),
            ("l2.accesses.hit.global_read", 900),
            ("l2.accesses.miss.global_read", 100),
            ("partition.copied_hits", copied),
            ("sm.slots.issued", 1),
            ("sm.slots.memory_dependence", 9),
        ];
        analysed("qv100-volta", launched(10_000, &counts)).explanation[3].clone()
    };
    let told = "L2 90% (60% only because the host's copies left the data there; \
                `--set gpu.copies_warm_l2=false` begins without them)";
    assert!(of(600).contains(told), "{}", of(600));
    assert!(of(99).contains("L2 90%; an access takes"), "{}", of(99));
}

/// The largest of a block's values of 64 bits on `h200-hopper`: 5,774 cycles with a copy for each
/// lane, 7,151 with shuffles, two for each value, and 6,783 with neither.
#[test]
fn copies_of_few_words_are_advised_alone() {
    let step = |shared_bytes| {
        let counts = [
            ("sm.active_cycles", 132 * 400),
            ("sm.shared_instructions", 1800),
            ("sm.shared_atomics", 900),
            ("sm.shared_conflict_cycles", 27_900),
            ("sm.shared_atomic_cycles", 27_900),
            ("sm.slots.issued", 1),
            ("sm.slots.memory_pipe", 9),
        ];
        let mut launch = launched(400, &counts);
        launch.shared_bytes = shared_bytes;
        let found = analysed("h200-hopper", launch);
        let verdict = "Shared memory bounds `k`: ";
        let next = "Next: let fewer lanes of a warp update the same word of shared memory: give each \
                    lane a copy of the array (`copies[i * 32 + lane]`";
        told(&found, Bound::Shared, verdict, next);
        found.explanation[4].clone()
    };
    let few = step(8);
    let copies = "`copies[i * 32 + lane]`) and add the copies at the end.";
    assert!(few.ends_with(copies), "{few}");
    let many = step(4096);
    let shuffles =
        "or combine the values of a warp first (shuffles, two for each value of 64 bits;";
    assert!(many.contains(shuffles), "{many}");
}

/// 900 atomics of shared memory whose lanes take turns for 27,900 cycles, beside 900 loads without
/// conflicts; and loads with conflicts beside few such atomics.
#[test]
fn serialised_atomics_are_told_from_bank_conflicts() {
    let of = |of_atomics: u64| {
        let counts = [
            ("sm.active_cycles", 132 * 400),
            ("sm.shared_instructions", 1800),
            ("sm.shared_atomics", 900),
            ("sm.shared_conflict_cycles", 27_900),
            ("sm.shared_atomic_cycles", of_atomics),
            ("sm.slots.issued", 1),
            ("sm.slots.memory_pipe", 9),
        ];
        analysed("h200-hopper", launched(400, &counts))
    };
    let verdict = "Shared memory bounds `k`: it is busy in 56% of the cycles, and an atomic of \
                   shared memory waits 31.0 cycles, because its lanes update the same word, or \
                   words of the same bank, one after the other.";
    let next = "Next: let fewer lanes of a warp update the same word of shared memory: give each lane \
                a copy of the array";
    told(&of(27_900), Bound::Shared, verdict, next);
    let found = of(900);
    assert!(
        !found.advice.join(" ").contains("__match_any_sync"),
        "{found:#?}"
    );
    let verdict = "and an access to shared memory waits 30.0 cycles for bank conflicts.";
    let next = "Next: change the layout in shared memory";
    told(&found, Bound::Shared, verdict, next);
}

/// A single warp of eight works while the others wait at a barrier: their scheduler waits for
/// arithmetic.
#[test]
fn barriers_are_named_where_most_warps_wait_at_them() {
    let of = |waiting: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 1000),
            ("sm.resident_warp_cycles", 8 * 15 * 1000),
            ("sm.barrier_warp_cycles", waiting * 15 * 1000),
            ("sm.barriers", 100),
            ("sm.slots.issued", 30),
            ("sm.slots.barrier", 20),
            ("sm.slots.execution_dependence", 50),
        ];
        analysed("gtx480", launched(1000, &counts))
    };
    let verdict = "Barriers bound `k`: in 20% of the scheduler cycles all warps wait at barriers, at \
                   fences or for atomics, and on average 75% of the warps on an SM wait at one.";
    let next = "Next: use smaller blocks, so that another block runs while one waits, or fewer \
                barriers; and give all warps of a block the same work";
    told(&of(6), Bound::Barriers, verdict, next);
    let verdict = "The latency of arithmetic bounds `k`";
    told(&of(4), Bound::Arithmetic, verdict, "Next: ");
}

/// An instruction such as a remainder keeps its scheduler for several cycles.
#[test]
fn schedulers_that_issue_long_instructions_are_busy() {
    let counts = [
        ("sm.active_cycles", 15 * 1000),
        ("sm.warp_instructions", 2 * 15 * 1000 / 10),
        ("sm.thread_instructions", 32 * 2 * 15 * 1000 / 10),
        ("sm.slots.issued", 70),
        ("sm.slots.no_warp", 25),
        ("sm.slots.execution_pipe", 5),
    ];
    let found = analysed("gtx480", launched(1000, &counts));
    let scheduler = Bound::Part(Part::Scheduler);
    let verdict = "Instruction issue bounds `k`: the schedulers issue 70% of what they can.";
    told(
        &found,
        scheduler,
        verdict,
        "Next: execute fewer instructions",
    );
}

/// Loads that wait for all banks equally long, but in this percentage of the cycles for at most
/// half of them at a time. SMs hold a block in half of the cycles.
fn in_turn(percent: u64, kinds: HotBanks) -> KernelReport {
    let mut launch = histogram(HotBanks {
        banks: 192,
        packets: 1000,
        ..kinds
    });
    let counts = [
        ("sm.active_cycles", 132 * 5_000),
        ("partition.cycles", 192 * 10_000),
        ("gpu.crowded_cycles", 100 * percent),
        ("sm.memory_instructions", 1000),
        ("sm.memory_transactions", 1000),
    ];
    let counts = counts.map(|(name, n)| (name.to_owned(), n));
    launch.figures.statistics.extend(counts);
    if let Some(hot) = &mut launch.figures.hot_banks {
        hot.banks = 192;
    }
    launch
}

/// As of warps that all read 64 KB past L1D in the same order: on `rtx3070-ampere` 1,696,558
/// cycles, and 137,171 if blocks begin at different places.
#[test]
fn banks_that_are_hot_in_turn_are_named() {
    let loads = HotBanks {
        loads: 1000,
        ..HotBanks::default()
    };
    let found = analysed("h200-hopper", in_turn(26, loads));
    let verdict = "Few L2 banks at a time bound `k`: in 26% of the cycles at least as many requests \
                   wait in the network as there are banks (192), and all that come out of it go to \
                   at most half of them, which change during the run. The requests are mostly loads.";
    let next =
        "Next: let warps that read the same data in the same order begin at different places";
    told(&found, Bound::HotBanks, verdict, next);
    let stores = HotBanks {
        stores: 1000,
        ..HotBanks::default()
    };
    let found = analysed("h200-hopper", in_turn(26, stores));
    let next = "Next: pad the rows of arrays";
    told(&found, Bound::HotBanks, "are mostly stores", next);

    let found = analysed("h200-hopper", in_turn(24, loads));
    told(&found, Bound::Loads, "The latency of loads", "Next: ");
    let beside = "; in 24% of the cycles requests wait for at most half of the L2 banks;";
    assert!(found.explanation[3].contains(beside), "{found:#?}");
    let found = analysed("h200-hopper", in_turn(19, loads));
    assert!(
        !found.explanation[3].contains("half of the L2"),
        "{found:#?}"
    );
}

/// Each lane of a load reads a row of its own on `gtx480`, whose lines L1D loses before their other
/// words are read. `hits` of 100 loads that miss in L1D find their line in L2.
#[test]
fn lines_that_are_fetched_again_are_told_with_the_mshrs_that_they_fill() {
    let of = |hits: u64, transactions: u64, misses: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 10_000),
            ("sm.memory_accesses.load", 1000),
            ("sm.access_bytes.load", 128_000),
            ("sm.access_transactions.load", transactions * 1000),
            ("sm.ldst_stalls.global_load.reservation", 90_000),
            ("l1d.fails.global_read.mshr_entry", 90_000),
            ("l1d.accesses.hit.global_read", misses / 2),
            ("l1d.accesses.miss.global_read", misses),
            ("l2.accesses.hit.global_read", hits),
            ("l2.accesses.miss.global_read", 100 - hits),
            ("sm.slots.issued", 10),
            ("sm.slots.memory_pipe", 90),
        ];
        analysed("gtx480", launched(10_000, &counts))
    };
    let clause = ", and lines leave L1D before all of their words are used, since 95% of the loads that \
                  miss there find in L2 what was loaded before";
    let next = "Next: let neighbouring threads access neighbouring words";
    let again = of(95, 16, 4000);
    told(&again, Bound::LoadStore, clause, next);
    let fewer = "; or let fewer warps run at a time, so that L1D keeps lines";
    assert!(again.explanation[4].contains(fewer), "{again:#?}");
    // Lines that come once, loads that use whole lines, and lines for which there is room.
    for once in [of(50, 16, 4000), of(95, 1, 4000), of(95, 16, 3000)] {
        let told = once.explanation.join("\n");
        assert!(
            !told.contains("lines leave L1D") && !told.contains(fewer),
            "{told}"
        );
    }
}
