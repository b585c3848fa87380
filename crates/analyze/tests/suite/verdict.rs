//! Verdicts on results made by hand. Where a comment says so, the counters are those of a run.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, Category, KernelAnalysis, LoadClass, Part};

/// Counters of a transposition in shared memory without padding on `gtx480`.
const TILED: [(&str, u64); 14] = [
    ("sm.active_cycles", 1_763_818),
    ("sm.warp_instructions", 483_328),
    ("sm.thread_instructions", 15_466_496),
    ("sm.memory_instructions", 65_536),
    ("sm.memory_transactions", 65_536),
    ("sm.shared_instructions", 65_536),
    ("sm.shared_conflict_cycles", 1_015_808),
    ("sm.ldst_stalls.global_load.reservation", 481_957),
    ("sm.ldst_stalls.shared.bank_conflict", 1_015_808),
    ("l1d.fails.global_read.line_alloc", 476_459),
    ("sm.slots.issued", 483_328),
    ("sm.slots.memory_pipe", 2_546_685),
    ("sm.slots.memory_dependence", 412_051),
    ("sm.slots.no_warp", 37_996),
];

#[test]
fn shared_memory_with_bank_conflicts_is_the_bound_whatever_the_class() {
    let found = analysed("gtx480", launched(118_194, &TILED));
    let verdict = "Shared memory bounds `k`: it is busy in 61% of the cycles, and an access to \
                   shared memory waits 15.5 cycles for bank conflicts.";
    told(
        &found,
        Bound::Shared,
        verdict,
        "Next: change the layout in shared memory",
    );
    // GPUDuet's six parts do not have shared memory among them.
    assert_eq!(found.category, Category::Underutilised);
    assert_eq!(found.class, LoadClass::Underutilised);
    let advice = found.advice.join("\n");
    assert!(advice.contains("More warps would not help: they would queue at the shared memory"));
    assert!(!advice.contains("Latency"), "{advice}");
}

/// Schedulers at 65 %, above their threshold of 60, and shared memory at `shared` of the cycles.
fn busy_schedulers_and_shared_memory(shared: f64) -> KernelAnalysis {
    // 15 SMs with two schedulers and one shared memory each.
    let sm_cycles = 15 * 100_000;
    let busy = (shared * sm_cycles as f64).round() as u64;
    let counts = [
        ("sm.active_cycles", sm_cycles),
        ("sm.warp_instructions", 2 * sm_cycles * 65 / 100),
        ("sm.thread_instructions", 64 * sm_cycles * 65 / 100),
        ("sm.shared_instructions", busy / 2),
        ("sm.shared_conflict_cycles", busy - busy / 2),
        ("sm.slots.issued", 65),
        ("sm.slots.memory_pipe", 35),
    ];
    analysed("gtx480", launched(100_000, &counts))
}

#[test]
fn the_busier_of_a_part_and_shared_memory_is_the_bound() {
    let found = busy_schedulers_and_shared_memory(0.95);
    assert_eq!(found.category, Category::Compute, "GPUDuet's part");
    let verdict = "Shared memory bounds `k`: it is busy in 95% of the cycles";
    told(
        &found,
        Bound::Shared,
        verdict,
        "Next: change the layout in shared memory",
    );
    let found = busy_schedulers_and_shared_memory(0.64);
    assert_eq!(found.bound, Bound::Part(Part::Scheduler));
    let found = busy_schedulers_and_shared_memory(0.4);
    assert_eq!(found.bound, Bound::Part(Part::Scheduler));
}

/// Counters of the same transposition with a padding column: each element is read once.
const PADDED: [(&str, u64); 18] = [
    ("sm.active_cycles", 1_578_357),
    ("sm.memory_instructions", 65_536),
    ("sm.memory_transactions", 65_536),
    ("sm.memory_accesses.load", 32_768),
    ("sm.memory_accesses.store", 32_768),
    ("sm.access_bytes.load", 4_194_304),
    ("sm.access_bytes.store", 4_194_304),
    ("sm.access_transactions.load", 32_768),
    ("sm.access_transactions.store", 32_768),
    ("sm.ldst_stalls.global_load.reservation", 1_009_818),
    ("sm.ldst_stalls.global_store.reservation", 297_150),
    ("l1d.accesses.miss.global_read", 32_768),
    ("l1d.fails.global_read.line_alloc", 746_041),
    ("l1d.fails.global_read.miss_queue_full", 263_777),
    ("l1d.fails.global_write.miss_queue_full", 297_150),
    ("l2.accesses.miss.global_read", 32_768),
    ("sm.slots.issued", 466_944),
    ("sm.slots.memory_pipe", 2_274_216),
];

/// Twelve percent faster past L1D, eleven with four times the ways, eight with four times the sets;
/// not faster with more MSHRs or a longer queue of misses.
#[test]
fn short_lines_of_a_set_are_told_from_other_resources_of_l1d() {
    let found = analysed("gtx480", launched(106_271, &PADDED));
    let verdict = "loads find all lines of their set in L1D reserved for misses on their way \
                   (l1d.sets is 32, l1d.ways 4).";
    let next = "Next: load past L1D (`__ldcg`, `ld.global.cg`), since it hits 0% of the loads; or \
                pad rows whose distance is a multiple of 4096 bytes, which share a set; or compare \
                machines by l1d.ways, l1d.sets";
    told(&found, Bound::LoadStore, verdict, next);

    let mut again = PADDED.to_vec();
    again.push(("l1d.accesses.hit.global_read", 32_768));
    let found = analysed("gtx480", launched(106_271, &again));
    let next = "Next: load less: keep data that is read again in registers or shared memory \
                (with lines that are on their way, L1D hits 50% of the loads, L2 0%)";
    told(&found, Bound::LoadStore, verdict, next);
}

/// Seventeen transactions of a store, which reserves no line on `gtx480`, and one of a load.
#[test]
fn stores_that_wait_are_named_as_stores() {
    let mut scattered = PADDED.to_vec();
    scattered.extend([
        ("sm.active_cycles", 12_818_529),
        ("sm.memory_transactions", 589_824),
        ("sm.access_transactions.store", 557_056),
        ("sm.ldst_stalls.global_store.reservation", 8_989_323),
        ("l1d.fails.global_write.miss_queue_full", 8_989_323),
    ]);
    let found = analysed("gtx480", launched(855_309, &scattered));
    let verdict = "mostly because stores find the queue from L1D to the network full \
                   (l1d.miss_queue is 8)";
    let next = "Next: let neighbouring threads access neighbouring words; a store then needs 1.0 \
                transactions at best instead of 17.0";
    told(&found, Bound::LoadStore, verdict, next);
    let kinds = "; a load takes 1.0 transactions and a store 17.0 (1.0 with neighbouring words).";
    assert!(found.explanation[3].ends_with(kinds), "{found:#?}");
}

/// Atomics of all lanes on one word, on `gtx480`: `atomicAdd(&o[d[i]], 1)` where all `d[i]` are 0.
#[test]
fn atomics_on_one_word_are_named_as_atomics() {
    let counts = [
        ("gpu.atomics", 65_536),
        ("sm.active_cycles", 2_900_000),
        ("sm.memory_instructions", 4096),
        ("sm.memory_transactions", 67_584),
        ("sm.memory_accesses.load", 2048),
        ("sm.memory_accesses.atomic", 2048),
        ("sm.access_bytes.load", 262_144),
        ("sm.access_bytes.atomic", 262_144),
        ("sm.access_transactions.load", 2048),
        ("sm.access_transactions.atomic", 65_536),
        ("sm.ldst_stalls.global_load.network", 2_864_521),
        ("sm.ldst_stalls.global_load.coalesce", 63_488),
        ("sm.packets_sent.global_atomic", 65_536),
        ("sm.packets_sent.global_read", 512),
        ("sm.slots.issued", 30_000),
        ("sm.slots.memory_pipe", 4_969_129),
    ];
    let found = analysed("gtx480", launched(198_491, &counts));
    let verdict = "mostly because the network does not take further atomics.";
    let next = "Next: let a warp or a block combine its values first, by shuffles or in shared \
                memory, and update a word with one atomic (atomics are 97% of the transactions, of \
                1.0 lanes each: lanes on the same word, or on different lines, take turns).";
    told(&found, Bound::LoadStore, verdict, next);
    let kinds = "; a load takes 1.0 transactions and an atomic 32.0 (1.0 with neighbouring words).";
    assert!(found.explanation[3].ends_with(kinds), "{found:#?}");
    // The loads are coalesced.
    assert!(!found.advice.join(" ").contains("neighbour"), "{found:#?}");
    // Loads that are more than the atomics are advised as before.
    let mut loads = counts.to_vec();
    loads.extend([
        ("sm.memory_instructions", 14_096),
        ("sm.memory_transactions", 387_584),
        ("sm.memory_accesses.load", 12_048),
        ("sm.access_bytes.load", 1_542_144),
        ("sm.access_transactions.load", 322_048),
        ("sm.packets_sent.global_read", 320_000),
    ]);
    let found = analysed("gtx480", launched(198_491, &loads));
    let verdict = "the network does not take further loads.";
    let next = "Next: let neighbouring threads access neighbouring words";
    told(&found, Bound::LoadStore, verdict, next);
    let advice = found.advice.join(" ");
    assert_eq!(advice.matches("neighbouring words").count(), 1, "{advice}");
}

/// Warps that wait for atomics alone are at no barrier.
#[test]
fn atomics_are_told_from_barriers() {
    let mut counts = vec![
        ("gpu.atomics", 65_536),
        ("sm.active_cycles", 2_900_000),
        ("sm.memory_instructions", 2048),
        ("sm.memory_transactions", 65_536),
        ("sm.packets_sent.global_atomic", 65_536),
        ("sm.slots.issued", 30_000),
        ("sm.slots.barrier", 4_969_129),
    ];
    let verdict =
        "The latency of atomics bounds `k`: in 99% of the scheduler cycles all warps wait";
    let next = "Next: let a warp or a block combine";
    let found = analysed("gtx480", launched(198_491, &counts));
    told(&found, Bound::Atomics, verdict, next);
    let cause = "in 99%, for atomics (`barrier`: barrier, fence or atomic).";
    assert!(found.explanation[1].ends_with(cause), "{found:#?}");
    // A result of an earlier version does not tell what warps wait for beside barriers.
    counts.push(("sm.barriers", 64));
    let verdict = "all warps wait at barriers, at fences or for atomics.";
    let found = analysed("gtx480", launched(198_491, &counts));
    told(&found, Bound::Barriers, verdict, "Next: use smaller blocks");
}

/// A list in each thread that a variable indexes lies in local memory, and its stores fill the
/// network.
#[test]
fn local_memory_is_named_where_it_fills_the_network() {
    let of = |local: u64| {
        let mut counts = PADDED.to_vec();
        counts.extend([
            ("sm.active_cycles", 12_818_529),
            ("sm.ldst_stalls.local_store.reservation", 8_989_323),
            ("l1d.fails.local_write.miss_queue_full", 8_989_323),
            ("sm.packets_sent.local_write", local / 4),
            ("sm.packets_sent.l1_write_back", local / 4 * 3),
            ("sm.packets_sent.global_write", 200_000),
        ]);
        analysed("gtx480", launched(855_309, &counts))
    };
    let verdict = "stores to local memory find the queue from L1D to the network full";
    let next = "Next: use less local memory, which causes 80% of the packets with data of stores: ";
    told(&of(800_000), Bound::LoadStore, verdict, next);
    told(
        &of(100_000),
        Bound::LoadStore,
        verdict,
        "Next: store less: keep",
    );
}

/// Counters of the padded transposition on `qv100-volta`, whose launches need 5,000 cycles before
/// their first block.
const VOLTA: [(&str, u64); 8] = [
    ("sm.active_cycles", 603_446),
    ("sm.blocks_started", 1024),
    ("sm.slots.issued", 466_944),
    ("sm.slots.no_warp", 1_972_119),
    ("sm.slots.memory_dependence", 1_294_707),
    ("sm.slots.execution_pipe", 201_445),
    ("sm.slots.memory_pipe", 181_041),
    ("sm.slots.execution_dependence", 42_771),
];

#[test]
fn sms_without_blocks_come_before_the_latency_of_loads_unless_they_wait_for_the_launch() {
    let mut of_slots = launched(13_049, &VOLTA);
    (of_slots.blocks_per_sm, of_slots.occupancy_limit) = (8, "threads".to_owned());
    let found = analysed("qv100-volta", of_slots.clone());
    let verdict = "The kernel is short: 5000 of 13049 cycles pass before the first block starts \
                   (gpu.kernel_launch_cycles is 5000), whatever the SMs do.";
    let next = "Next: issue independent instructions earlier";
    told(&found, Bound::Loads, verdict, next);
    let schedulers = "Schedulers issue in 18% of their cycles after the launch, and wait most often, \
                      in 50%, for loads (`memory_dependence`).";
    assert_eq!(found.explanation[1], schedulers);
    let advice = found.advice.join("\n");
    assert!(!advice.contains("GPUDuet"), "{advice}");

    // The same share of idle cycles in a longer launch is the end of the grid.
    for (name, n) in &mut of_slots.figures.statistics {
        if name != "sm.blocks_started" {
            *n *= 10;
        }
    }
    of_slots.figures.cycles *= 10;
    let found = analysed("qv100-volta", of_slots);
    let verdict = "4% before the first block of a launch starts (5000 of 130490 cycles; \
                   gpu.kernel_launch_cycles is 5000), and 38% after the last block of an SM";
    told(
        &found,
        Bound::IdleSms,
        verdict,
        "Next: let blocks be small and take equally long",
    );
}

#[test]
fn full_warp_slots_are_named_where_more_warps_would_help() {
    let mut waits = launched(
        13_049,
        &[
            ("sm.active_cycles", 80 * 13_049),
            ("sm.slots.issued", 3),
            ("sm.slots.memory_dependence", 7),
        ],
    );
    waits.blocks_per_sm = 8;
    let found = analysed("qv100-volta", waits);
    let next = "Next: issue independent instructions earlier";
    told(
        &found,
        Bound::Loads,
        "The latency of loads bounds `k`",
        next,
    );
    let advice = found.advice.join("\n");
    let slots = "More warps would help, but all warp slots are taken";
    assert!(advice.contains(slots), "{advice}");
}

/// 26 instructions of 32 threads, one of them a branch that no thread takes.
#[test]
fn a_branch_that_no_lane_takes_masks_no_lane() {
    let lanes = |without: u64| {
        let counts = [
            ("sm.warp_instructions", 26),
            ("sm.thread_instructions", 25 * 32),
            ("sm.issued_without_lanes", without),
            ("sm.slots.issued", 1),
        ];
        analysed("gtx480", launched(1000, &counts)).explanation[2].clone()
    };
    let ends = "an instruction that takes effect does so in 32.0 of 32 lanes.";
    assert!(lanes(1).ends_with(ends), "{}", lanes(1));
    assert!(lanes(0).contains(" 30.8 of 32 "), "{}", lanes(0));
}

/// Schedulers at 65 %, 21 of 32 lanes, and accesses that wait 2.3 cycles for bank conflicts, as in
/// a reduction with interleaved addresses.
#[test]
fn idle_lanes_and_conflicts_come_before_fewer_instructions() {
    let sm_cycles = 15 * 100_000;
    let issued = 2 * sm_cycles * 65 / 100;
    let counts = [
        ("sm.active_cycles", sm_cycles),
        ("sm.warp_instructions", issued),
        ("sm.thread_instructions", 21 * issued),
        ("sm.shared_instructions", 100_000),
        ("sm.shared_conflict_cycles", 230_000),
        ("sm.slots.issued", 65),
        ("sm.slots.execution_dependence", 35),
    ];
    let mut launch = launched(100_000, &counts);
    launch.blocks_per_sm = 6;
    let found = analysed("gtx480", launch);
    let scheduler = Bound::Part(Part::Scheduler);
    let next = "Next: let neighbouring threads branch alike (an instruction takes effect in 21.0 \
                of 32 lanes); change the layout in shared memory";
    told(&found, scheduler, "Instruction issue bounds `k`", next);
    let last = "(an access to shared memory waits 2.3 cycles for bank conflicts); execute fewer \
                instructions";
    assert!(
        found.explanation[4].contains(last),
        "{}",
        found.explanation[4]
    );
    // Of blocks of 256 threads six take all 48 warp slots.
    let advice = found.advice.join("\n");
    let full = "All warp slots are taken; more loads or arithmetic in flight in each warp help to a \
                limit: throughput can grow at most 1.";
    assert!(
        advice.contains(full) && !advice.contains("More warps"),
        "{advice}"
    );
}

/// A histogram in shared memory whose bins conflict, with few warps: shared memory is busier than
/// any other part, so that it limits what more warps can gain, and its conflicts come first.
#[test]
fn conflicts_that_make_loads_slow_come_before_more_warps() {
    let counts = [
        ("sm.active_cycles", 150_000),
        ("sm.warp_instructions", 60_000),
        ("sm.thread_instructions", 1_920_000),
        ("sm.memory_instructions", 10_000),
        ("sm.memory_transactions", 10_000),
        ("sm.shared_instructions", 12_600),
        ("sm.shared_conflict_cycles", 44_100),
        ("sm.slots.issued", 60_000),
        ("sm.slots.memory_dependence", 200_000),
        ("sm.slots.memory_pipe", 40_000),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let busy = (12_600.0 + 44_100.0) / 150_000.0;
    assert!((found.utilisation.shared - busy).abs() < 1e-9);
    let verdict = "is used above 38% while SMs hold blocks (shared memory); an access to shared \
                   memory waits 3.5 cycles for bank conflicts";
    told(
        &found,
        Bound::Loads,
        verdict,
        "Next: change the layout in shared memory",
    );
    let room = "at most 2.6-fold, until the shared memory is saturated (now 38%, full at 100%)";
    assert!(
        found.advice.iter().any(|line| line.contains(room)),
        "{:#?}",
        found.advice
    );
}

/// Counters of a convolution whose threads read a row apart: 16.4 transactions of a load, all of a
/// warp's in the same bank of L1D. Two of its accesses fill the two collectors of a sub-core, so
/// that arithmetic finds its pipe full (`rtx3070-ampere`).
const COLUMNS: [(&str, u64); 21] = [
    ("sm.active_cycles", 1_784_827),
    ("sm.warp_instructions", 515_376),
    ("sm.thread_instructions", 16_286_882),
    ("sm.memory_instructions", 103_968),
    ("sm.memory_transactions", 1_739_572),
    ("sm.memory_accesses.load", 101_920),
    ("sm.memory_accesses.store", 2048),
    ("sm.access_bytes.load", 12_984_608),
    ("sm.access_bytes.store", 262_144),
    ("sm.access_transactions.load", 1_674_036),
    ("sm.access_transactions.store", 65_536),
    ("sm.ldst_stalls.global_load.bank_conflict", 1_572_116),
    ("sm.ldst_stalls.global_store.bank_conflict", 63_488),
    ("sm.pipe_cycles.int", 294_912),
    ("sm.pipe_cycles.sp", 50_960),
    ("sm.slots.issued", 515_376),
    ("sm.slots.execution_pipe", 4_954_513),
    ("sm.slots.memory_pipe", 1_510_361),
    ("sm.slots.memory_dependence", 37_148),
    ("sm.slots.no_warp", 1_625_830),
    ("l1d.accesses.hit.global_read", 1_630_830),
];

/// The same counters with what fills the pipes of function units.
fn columns(blockers: &[(&str, u64)]) -> KernelAnalysis {
    analysed(
        "rtx3070-ampere",
        launched(47_019, &[&COLUMNS, blockers].concat()),
    )
}

#[test]
fn accesses_that_hold_the_collectors_are_not_full_function_units() {
    let blockers = [
        ("sm.execution_pipe_slots.load_store", 4_900_000),
        ("sm.execution_pipe_slots.units", 40_000),
        ("sm.execution_pipe_slots.operands", 14_513),
    ];
    let found = columns(&blockers);
    let verdict = "The load/store units bound `k`: they are full in 74% of the scheduler cycles, \
                   mostly because L1D takes 16.4 transactions of a load one after the other; in \
                   76% of these cycles accesses that wait hold the operand collectors, which keeps \
                   arithmetic out.";
    let next = "Next: let neighbouring threads access neighbouring words; a load then needs 4.0 \
                transactions at best instead of 16.4";
    told(&found, Bound::LoadStore, verdict, next);
    let waits = "for function units behind accesses that hold the operand collectors \
                 (`execution_pipe`)";
    assert!(found.explanation[1].contains(waits), "{found:#?}");
    let ideal = "; a load takes 16.4 transactions (4.0 with neighbouring words) and a \
                 store 32.0 (4.0).";
    assert!(found.explanation[3].ends_with(ideal), "{found:#?}");
    let advice = found.advice.join(" ");
    assert!(
        advice.contains("the load/store units are full in 74%"),
        "{advice}"
    );
    // 1,739,572 of 46 x 47,019 cycles, and one transaction in each of them.
    assert!((found.units.load_store - 0.804).abs() < 1e-3);
    assert!((found.units.transactions_per_cycle - 1.0).abs() < 1e-3);
}

#[test]
fn full_function_units_are_named_with_the_use_of_their_pipe() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.pipe_cycles.sp", 15 * 8_000),
        ("sm.pipe_cycles.sfu", 15 * 9_300),
        ("sm.execution_pipe_slots.units", 190_000),
        ("sm.execution_pipe_slots.operands", 10_000),
        ("sm.slots.issued", 50_000),
        ("sm.slots.execution_pipe", 200_000),
        ("sm.slots.memory_dependence", 50_000),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let verdict = "Function units bound `k`: in 63% of the scheduler cycles instructions wait for one \
                   that is taken, and those of the pipe `sfu` (special functions and divisions) \
                   are in use in 93% of the cycles.";
    let next = "Next: execute fewer instructions of the pipe `sfu`: use cheaper approximations";
    told(&found, Bound::Units, verdict, next);
    // A result without the counters of what fills the pipes.
    let found = analysed(
        "gtx480",
        launched(10_000, &[counts[0], counts[5], counts[6]]),
    );
    let verdict = "Function units bound `k`: in 80% of the scheduler cycles instructions wait for one \
                   that is taken.";
    told(&found, Bound::Units, verdict, "Next: execute fewer");
}

#[test]
fn operands_that_wait_for_banks_are_not_full_function_units() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.execution_pipe_slots.operands", 150_000),
        ("sm.execution_pipe_slots.units", 50_000),
        ("sm.slots.issued", 50_000),
        ("sm.slots.execution_pipe", 200_000),
        ("sm.slots.memory_dependence", 50_000),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let verdict = "The operand collectors bound `k`: in 50% of the scheduler cycles";
    told(
        &found,
        Bound::Operands,
        verdict,
        "Next: use instructions with fewer registers",
    );
    assert!(found.explanation[1].contains("for the operand collectors (`execution_pipe`)"));
}

/// The tiled convolution reads a word of shared memory for each product, without conflicts.
#[test]
fn shared_memory_without_conflicts_is_not_told_to_change_its_layout() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.shared_instructions", 15 * 5_300),
        ("sm.slots.issued", 100_000),
        ("sm.slots.memory_pipe", 200_000),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let verdict = "Shared memory bounds `k`: it is busy in 53% of the cycles, with many accesses and \
                   hardly a bank conflict.";
    told(
        &found,
        Bound::Shared,
        verdict,
        "Next: access shared memory less often",
    );
}
