//! Verdicts on L2 banks that recover from writes, on directions of the network, and on parts of the
//! memory system in the time after a launch has started. Results are made by hand.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis, Part};
use warploom_config::preset;

/// Core cycles of the launches here.
const CYCLES: u64 = 10_000;

/// L2 cycles of all banks of `h200-hopper` in a launch.
fn l2_cycles() -> u64 {
    let gpu = preset("h200-hopper").unwrap_or_else(|errors| panic!("{errors}"));
    let banks = u64::from(gpu.gpu.channels * gpu.gpu.sub_partitions_per_channel);
    banks * CYCLES * u64::from(gpu.clocks.l2_khz) / u64::from(gpu.clocks.core_khz)
}

/// Banks move data in a tenth of their cycles, and recover from writes in six tenths. A write of a
/// part of a sector takes 8 cycles on this preset, another 3.
#[test]
fn banks_that_recover_from_writes_are_in_use() {
    let recovery = l2_cycles() / 10 * 6;
    let stores = |partial: u64| {
        [
            ("sm.active_cycles", 132 * CYCLES),
            ("l2.data_port_hits", l2_cycles() / 10),
            ("partition.write_recovery_cycles", recovery),
            ("partition.partial_writes", partial),
            ("sm.slots.memory_dependence", 1),
        ]
    };
    let l2 = Bound::Part(Part::L2);
    let found = analysed("h200-hopper", launched(CYCLES, &stores(recovery / 7)));
    let verdict = "The L2 banks bound `k`: they are in use for 70% of their cycles, mostly for \
                   stores: a store to a part of a sector occupies its bank for 8 cycles";
    told(
        &found,
        l2,
        verdict,
        "Next: let a warp store whole sectors of 32 bytes",
    );
    let moved = found.throughput.l2;
    let share = moved.used_gb_per_s / moved.peak_gb_per_s;
    assert!((share - 0.1).abs() < 1e-3, "data moves in a tenth: {share}");

    let found = analysed("h200-hopper", launched(CYCLES, &stores(recovery / 15)));
    let verdict = "mostly for stores: a store occupies its bank for 3 cycles";
    told(&found, l2, verdict, "Next: store less");
    let mut local = stores(recovery / 15).to_vec();
    local.push(("sm.packets_sent.local_write", 100));
    let found = analysed("h200-hopper", launched(CYCLES, &local));
    told(
        &found,
        l2,
        verdict,
        "Next: use less local memory, which causes 100%",
    );

    let mut moves = stores(recovery / 7);
    moves[1].1 = l2_cycles() / 10 * 7;
    moves[2].1 = l2_cycles() / 10;
    let found = analysed("h200-hopper", launched(CYCLES, &moves));
    let verdict = "The L2 banks bound `k`: they are in use for 80% of their cycles.";
    told(&found, l2, verdict, "Next: read near data less often");
}

/// Both directions are full. The one in which a packet takes longer is named.
#[test]
fn of_two_full_directions_the_slower_one_is_the_bound() {
    let full = |to_l2: u64, to_sm: u64| {
        let counts = [
            ("sm.active_cycles", 132 * CYCLES),
            ("noc_to_l2.cycles", CYCLES),
            ("noc_to_l2.flits", 1_000_000_000),
            ("noc_to_l2.packets", 1000),
            ("noc_to_l2.packet_cycles", to_l2 * 1000),
            ("noc_to_sm.cycles", CYCLES),
            ("noc_to_sm.flits", 1_000_000_000),
            ("noc_to_sm.packets", 2000),
            ("noc_to_sm.packet_cycles", to_sm * 2000),
        ];
        analysed("h200-hopper", launched(CYCLES, &counts)).bound
    };
    assert_eq!(full(20, 300), Bound::Part(Part::NocToSm));
    assert_eq!(full(300, 20), Bound::Part(Part::NocToL2));
    assert_eq!(
        full(20, 20),
        Bound::Part(Part::NocToSm),
        "the paper's order"
    );
}

/// A launch of 10,000 cycles on `h200-hopper`, of which 2,900 pass before its first block, and in
/// whose other cycles SMs hold a block half of the time. DRAM moves data in 40 % of all cycles.
#[test]
fn parts_count_by_the_time_after_the_launch_where_sms_hold_blocks() {
    let counts = |data: u64| {
        [
            ("sm.active_cycles", 132 * 3550),
            ("sm.slots.no_warp", 3),
            ("sm.slots.memory_dependence", 1),
            ("dram.cycles", 100_000),
            ("dram.data_cycles", data),
        ]
    };
    let idle = Bound::IdleSms;
    let found = analysed("h200-hopper", launched(CYCLES, &counts(40_000)));
    let verdict = "Where they hold one, the bound is: DRAM (56% used in that time).";
    // The remedy against the time before the first block is told with the other one.
    let next = "Next: let blocks be small and take equally long, so that the last ones end \
                together, or solve a larger problem; for the time with blocks: move fewer bytes";
    told(&found, idle, verdict, next);
    let found = analysed("h200-hopper", launched(CYCLES, &counts(35_000)));
    told(
        &found,
        idle,
        "the bound is: latency of loads.",
        "Next: let blocks be small",
    );
}

/// A launch of 10,000 cycles, 2,900 of which pass before the first block, and whose SMs hold a
/// block in the given tenths of all. Shared memory is busy in 55 % of the cycles with a block.
fn shared_and_idle(tenths: u64) -> KernelAnalysis {
    let active = 132 * CYCLES / 10 * tenths;
    let counts = [
        ("sm.active_cycles", active),
        ("sm.shared_instructions", active * 55 / 100),
        ("sm.slots.no_warp", 100 - 10 * tenths),
        ("sm.slots.memory_dependence", 15),
        ("sm.slots.issued", 10 * tenths - 15),
    ];
    analysed("h200-hopper", launched(CYCLES, &counts))
}

#[test]
fn a_full_part_comes_before_sms_unless_they_idle_for_a_third_of_the_time() {
    let verdict =
        "it is busy in 38% of the cycles (55% while SMs hold a block), with many accesses";
    told(
        &shared_and_idle(7),
        Bound::Shared,
        verdict,
        "Next: access shared memory less often",
    );
    let verdict = "they hold no block in 60% of their cycles";
    told(
        &shared_and_idle(4),
        Bound::IdleSms,
        verdict,
        "Next: let blocks be small",
    );
}

/// Loads of 4 transactions and stores of 32, all of which neighbouring words would need 4 for.
fn stores(count: u64, loads: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 132 * CYCLES),
        ("sm.memory_accesses.load", loads),
        ("sm.access_bytes.load", 128 * loads),
        ("sm.access_transactions.load", 4 * loads),
        ("sm.memory_accesses.store", count),
        ("sm.access_bytes.store", 128 * count),
        ("sm.access_transactions.store", 32 * count),
        ("sm.ldst_stalls.global_load.coalesce", 1),
        ("sm.slots.memory_pipe", 1),
    ];
    analysed("h200-hopper", launched(CYCLES, &counts))
}

/// 28 of the 32 transactions of 10 stores could be saved: a fifth of all with 250 loads.
#[test]
fn few_scattered_stores_are_not_advised_on() {
    let scattered = "Next: let neighbouring threads access neighbouring words; a store then";
    let found = stores(10, 250);
    assert!(found.explanation[4].starts_with(scattered), "{found:#?}");
    let found = stores(10, 300);
    assert!(
        found.explanation[4].starts_with("Next: access memory less"),
        "{found:#?}"
    );
}

/// Spilled registers, or an array that a variable indexes, that miss in both caches.
#[test]
fn local_memory_is_named_where_dram_is_the_bound() {
    let moved = |local: u64| {
        let counts = [
            ("sm.active_cycles", 132 * CYCLES),
            ("dram.cycles", 100),
            ("dram.data_cycles", 80),
            ("sm.packets_sent.local_read", local),
            ("sm.packets_sent.global_read", 100),
        ];
        analysed("h200-hopper", launched(CYCLES, &counts))
    };
    let (dram, verdict) = (Bound::Part(Part::Dram), "80% of the peak.");
    told(
        &moved(110),
        dram,
        verdict,
        "Next: use less local memory, which causes 52%",
    );
    told(&moved(90), dram, verdict, "Next: move fewer bytes");
}

/// L2 has the sectors of 90 of 100 loads, some of them because a copy left these there.
#[test]
fn loads_of_what_was_loaded_before_are_advised_to_use_shared_memory() {
    let loads = |copied: u64| {
        let counts = [
            ("sm.active_cycles", 132 * CYCLES),
            ("l2.accesses.hit.global_read", 90),
            ("l2.accesses.miss.global_read", 10),
            ("l2.accesses.miss.global_write", 900),
            ("partition.copied_hits", copied),
            ("sm.slots.memory_dependence", 1),
        ];
        let found = analysed("h200-hopper", launched(CYCLES, &counts));
        found.explanation[4].clone()
    };
    let nearer = "let them share it in shared memory (80% of the loads that come to L2 find there";
    assert!(loads(10).contains(nearer), "{}", loads(10));
    assert!(!loads(16).contains("shared memory"), "{}", loads(16));
}

/// Shared memory is busy with 100 accesses and with conflicts, which take less than a cycle each.
#[test]
fn short_bank_conflicts_are_told_by_their_share() {
    let busy = |conflicts: u64| {
        let counts = [
            ("sm.active_cycles", 160),
            ("sm.shared_instructions", 100),
            ("sm.shared_conflict_cycles", conflicts),
        ];
        let mut launch = launched(CYCLES, &counts);
        launch.figures.statistics.insert("gpu.cycles".to_owned(), 1);
        analysed("h200-hopper", launch)
    };
    let found = busy(25);
    told(
        &found,
        Bound::Shared,
        "20% of that for bank conflicts",
        "Next: access shared",
    );
    assert!(
        found.explanation[4].contains("padding column"),
        "{found:#?}"
    );
    let found = busy(10);
    told(
        &found,
        Bound::Shared,
        "hardly a bank conflict",
        "Next: access shared",
    );
    assert!(!found.explanation[4].contains("padding"), "{found:#?}");
}

/// Loads make 3 transactions and stores 4, and the banks of L1D are full of loads.
#[test]
fn the_accesses_that_wait_are_named() {
    let counts = [
        ("sm.active_cycles", 132 * CYCLES),
        ("sm.memory_accesses.load", 1000),
        ("sm.access_bytes.load", 96 * 1000),
        ("sm.access_transactions.load", 3 * 1000),
        ("sm.memory_accesses.store", 10),
        ("sm.access_bytes.store", 32 * 10),
        ("sm.access_transactions.store", 4 * 10),
        ("sm.ldst_stalls.global_load.bank_conflict", 100),
        ("sm.ldst_stalls.global_store.bank_conflict", 1),
        ("sm.slots.memory_pipe", 1),
    ];
    let found = analysed("h200-hopper", launched(CYCLES, &counts));
    let verdict = "L1D takes 3.0 transactions of a load one after the other";
    told(&found, Bound::LoadStore, verdict, "Next:");
}

/// The network carries 70 % of what it sustains, for misses of loads that find their set full.
#[test]
fn sets_without_a_line_come_before_the_network_that_their_misses_fill() {
    let network = |percent: u64| {
        let counts = [
            ("sm.active_cycles", 15 * CYCLES),
            ("noc_to_sm.cycles", CYCLES),
            ("noc_to_sm.flits", CYCLES * 12 * percent * 7 / 1000),
            ("sm.ldst_stalls.global_load.reservation", 100),
            ("l1d.fails.global_read.line_alloc", 100),
            ("sm.slots.memory_pipe", 9),
            ("sm.slots.issued", 1),
        ];
        analysed("gtx480", launched(CYCLES, &counts))
    };
    let found = network(70);
    let verdict = "mostly because loads find all lines of their set in L1D reserved";
    told(&found, Bound::LoadStore, verdict, "Next:");
    let pad = "pad rows whose distance is a multiple of 4096 bytes, which share a set";
    assert!(found.explanation[4].contains(pad), "{found:#?}");
    assert_eq!(network(95).bound, Bound::Part(Part::NocToSm), "saturated");
}

/// DRAM makes 300 transfers: 100 load, 100 store, and 100 read the lines that are stored. A stream
/// on `gtx480` takes 84,900 cycles, and 49,642 with `l2.write_allocate=fetch-on-write`.
#[test]
fn reads_of_lines_that_are_stored_are_told() {
    let moved = |gpu: &str, allocated: u64| {
        let counts = [
            ("sm.active_cycles", 132 * CYCLES),
            ("sm.memory_instructions", 1),
            ("sm.memory_transactions", 1),
            ("dram.cycles", 100),
            ("dram.data_cycles", 60),
            ("dram.reads", 100),
            ("dram.allocate_reads", allocated),
            ("dram.writes", 60),
            ("dram.write_backs", 40),
        ];
        analysed(gpu, launched(CYCLES, &counts)).explanation
    };
    let told = moved("gtx480", 100);
    let share = "of which 33% is reads of lines that stores miss in L2 (l2.write_allocate);";
    assert!(told[3].contains(share), "{told:#?}");
    let step = "; and store less, or to lines that were loaded, since L2 of this machine reads each \
                line that a store misses, also if stores fill it (33% of what DRAM moves;";
    assert!(told[4].contains(step), "{told:#?}");
    // A tenth of 223 transfers are 22.3 of them.
    let told = moved("gtx480", 22);
    assert!(!told.join("").contains("write_allocate"), "{told:#?}");
    // L2 of this machine reads sectors beside those that loads miss.
    let told = moved("h200-hopper", 100);
    assert!(!told.join("").contains("write_allocate"), "{told:#?}");
}

/// Each lane of a warp reads another word of a table of constants.
#[test]
fn constants_that_are_read_one_after_the_other_are_told() {
    let counts = [
        ("sm.active_cycles", 15 * CYCLES),
        ("sm.ldst_stalls.constant.coalesce", 100),
        ("sm.slots.memory_pipe", 1),
    ];
    let found = analysed("gtx480", launched(CYCLES, &counts));
    let verdict = "mostly because the lanes of a read of constants use different words, which are \
                   read one after the other.";
    let next = "Next: let the lanes of a warp read the same constant at a time";
    told(&found, Bound::LoadStore, verdict, next);
}
