//! Verdicts and steps whose effect was measured by changing the kernel as advised. Results are made
//! by hand; where a comment says so, the counters are those of a run.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis, Part};
use warploom_stats::result::{BlockTimes, HotBanks, KernelReport, Size};

/// Limits the blocks of a launch by a grid of `blocks`.
fn of_grid(mut launch: KernelReport, blocks: u32, per_sm: u32) -> KernelReport {
    launch.grid = Size([blocks, 1, 1]);
    (launch.blocks_per_sm, launch.occupancy_limit) = (per_sm, "grid".to_owned());
    launch
}

/// Counters of a histogram in shared memory on `h200-hopper`, whose blocks add 256 sums each to the
/// same words at their ends. With blocks of 1,024 threads it takes 7,702 cycles instead of 11,630,
/// with loads of four bytes 7,593, and with 132 blocks 16,766.
fn histogram(loads: u64, atomics: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 1_125_322),
        ("sm.resident_warp_cycles", 16_366_096),
        ("sm.fetches", 40_960),
        ("sm.fetch_cycles", 20_496_509),
        ("sm.memory_accesses.load", 32_768),
        ("sm.memory_accesses.atomic", 2048),
        ("sm.access_bytes.load", 1_048_576),
        ("sm.access_transactions.load", 32_768),
        ("sm.shared_instructions", 36_864),
        ("sm.shared_atomics", 32_768),
        ("l2.accesses.hit.global_read", 32_768),
        ("partition.cycles", 3_349_440),
        ("partition.packets", 40_960),
        ("sm.slots.barrier", 979_294),
        ("sm.slots.issued", 315_392),
        ("sm.slots.memory_dependence", 2_849_969),
        ("sm.slots.no_warp", 1_708_564),
    ];
    let mut launch = of_grid(launched(11_630, &counts), 256, 2);
    launch.figures.hot_banks = Some(HotBanks {
        of_banks: 192,
        banks: 4,
        of_channels: 192,
        channels: 4,
        wait_cycles: 7_083_455,
        longest_wait_cycles: 7_083_455,
        packets: 8864,
        loads,
        atomics,
        busy_cycles: 2216,
        ..HotBanks::default()
    });
    analysed("h200-hopper", launch)
}

#[test]
fn banks_that_nobody_waits_for_are_not_the_bound() {
    let found = histogram(672, 8192);
    let verdict =
        "The latency of loads from global memory bounds `k`: in 49% of the scheduler cycles";
    let next = "Next: add warps: the grid has 256 blocks for 132 SMs; let more threads share the \
                work, or launch a larger problem; or load wider words, such as `float4`";
    told(&found, Bound::Loads, verdict, next);
    let advice = found.advice.join("\n");
    assert!(advice.contains("More warps would help"), "{advice}");
    assert!(!advice.contains("fewer blocks"), "{advice}");

    // Of loads that wait for these banks, warps do wait. More warps are not advised then.
    let found = histogram(8192, 672);
    let next = "Next: load lines that all blocks read once for a block";
    told(&found, Bound::HotBanks, "mostly loads, go to them", next);
    let advice = found.advice.join("\n");
    let occupancy = "warps resident on average), limited by the grid.";
    assert!(advice.contains(occupancy), "{advice}");
}

/// A histogram of 512 blocks of 256 threads takes 10,232 cycles on `h200-hopper`, with 128 blocks
/// of 1,024 threads 8,299.
#[test]
fn blocks_that_add_to_the_same_words_are_to_be_larger_where_warps_are_few() {
    let counts = [
        ("sm.active_cycles", 132 * 10_000),
        ("sm.fetch_cycles", 1_000_000),
        ("sm.memory_accesses.atomic", 1000),
        ("sm.shared_instructions", 1),
        ("sm.shared_atomics", 1),
        ("partition.packets", 2000),
        ("sm.slots.issued", 10),
        ("sm.slots.barrier", 90),
    ];
    let step = |per_sm: u32| {
        let mut launch = of_grid(launched(10_000, &counts), 512, per_sm);
        launch.figures.hot_banks = Some(HotBanks {
            of_banks: 192,
            banks: 4,
            wait_cycles: 600_000,
            packets: 1000,
            atomics: 1000,
            ..HotBanks::default()
        });
        analysed("h200-hopper", launch).explanation[4].clone()
    };
    let larger = "Next: launch fewer and larger blocks, of as many threads in all, since";
    assert!(step(4).starts_with(larger), "{}", step(4));
    // Eight blocks of 256 threads take all warp slots.
    let fewer = "Next: launch fewer blocks that work on more each, since";
    assert!(step(8).starts_with(fewer), "{}", step(8));
}

/// SMs hold a block in 12 of 100 cycles, and this many warps on average.
fn few_blocks(warps: u64, issued: u64, waits: u64) -> KernelAnalysis {
    let active = 132 * 1200;
    let counts = [
        ("sm.active_cycles", active),
        ("sm.resident_warp_cycles", warps * active),
        ("sm.slots.no_warp", 88),
        ("sm.slots.issued", issued),
        ("sm.slots.execution_dependence", waits),
    ];
    let mut launch = of_grid(launched(10_000, &counts), 16, 1);
    launch.figures.block_times = Some(BlockTimes {
        unused_sm_cycles: 132 * 8800,
        ..BlockTimes::default()
    });
    analysed("h200-hopper", launch)
}

/// All pairs of 4,096 bodies on `h200-hopper`: 16 blocks of 256 threads take 188,786 cycles, 64 of
/// 64 threads 184,021, and eight times the threads for the same work 28,900.
#[test]
fn few_warps_on_few_sms_are_not_to_be_split_but_more() {
    let next = "Next: let more threads share the work, in more blocks, or solve a larger problem (the \
                same threads in smaller blocks are hardly faster: a warp waits for its own results)";
    let few = few_blocks(8, 10, 2);
    told(&few, Bound::IdleSms, "Idle SMs bound `k`", next);
    let advice = few.advice.join("\n");
    assert!(
        advice.contains("More warps help if they share the work"),
        "{advice}"
    );
    // Latency with many warps.
    told(
        &few_blocks(32, 3, 9),
        Bound::IdleSms,
        "latency of arithmetic.",
        next,
    );
    let latency = few_blocks(32, 3, 9).explanation[4].clone();
    let within = "; for the time with blocks: issue independent instructions earlier";
    assert!(latency.contains(within), "{latency}");
    let next = "Next: launch more blocks: smaller ones, or a larger problem; for the time with \
                blocks: execute fewer instructions";
    told(
        &few_blocks(32, 10, 2),
        Bound::IdleSms,
        "warp schedulers.",
        next,
    );
}

/// Blocks of a warp each on SMs with four schedulers.
#[test]
fn schedulers_without_a_warp_are_told() {
    let counts = [
        ("sm.active_cycles", 132 * 9000),
        ("sm.resident_warp_cycles", 132 * 9000),
        ("sm.slots.no_warp", 78),
        ("sm.slots.issued", 14),
        ("sm.slots.memory_dependence", 8),
    ];
    let found = analysed("h200-hopper", of_grid(launched(10_000, &counts), 132, 1));
    let verdict = "; in 68%, schedulers of SMs that hold a block have no warp.";
    told(&found, Bound::Loads, verdict, "Next: add warps");
    let warps =
        "limited by the grid; in 76% of that time a scheduler has no warp (an SM has 4 of them)";
    assert!(found.explanation[2].contains(warps), "{found:#?}");
}

/// Atomics of 32 lanes in 32 transactions on `gtx480`, that keep the network full.
fn atomics(words: u64, exchanges: u64) -> String {
    let counts = [
        ("gpu.atomics", 32_000),
        ("sm.active_cycles", 2_900_000),
        ("sm.memory_transactions", 32_000),
        ("sm.memory_accesses.atomic", 1000),
        ("sm.access_bytes.atomic", 128_000),
        ("sm.access_transactions.atomic", 32_000),
        ("sm.atomic_words", words),
        ("sm.atomic_exchanges", exchanges),
        ("sm.ldst_stalls.global_load.network", 2_864_521),
        ("sm.packets_sent.global_atomic", 32_000),
        ("l2.accesses.hit.global_atomic", 20_000),
        ("l2.accesses.miss.global_atomic", 12_000),
        ("sm.slots.issued", 30_000),
        ("sm.slots.memory_pipe", 4_969_129),
    ];
    analysed("gtx480", launched(198_491, &counts)).explanation[4].clone()
}

/// Insertion into a hash table takes 250,857 cycles on `gtx480`, with sorted keys 90,695.
#[test]
fn exchanges_are_not_combined() {
    let apart = atomics(32_000, 1000);
    let sorted = "Next: let neighbouring threads update neighbouring words, for example by sorting \
                  the updates by address; an atomic then needs 1.0 transactions at best instead of \
                  32.0; or let a thread need fewer atomics";
    assert!(apart.starts_with(sorted), "{apart}");
    assert!(!apart.contains("combine"), "{apart}");
    let one = atomics(1000, 1000);
    assert!(
        one.starts_with("Next: let one thread of a warp or block do the exchange"),
        "{one}"
    );
}

#[test]
fn lanes_on_one_word_are_told_from_lanes_on_several_lines() {
    let one = atomics(1000, 0);
    let warp =
        "Next: let a warp or a block combine its values first, by shuffles or in shared memory";
    assert!(one.starts_with(warp), "{one}");
    let same = "97% of the lanes update the word of another lane of their warp, and take turns";
    assert!(one.contains(same), "{one}");
    let apart = atomics(31_000, 0);
    let block = "Next: let a block combine its values first, in shared memory, and update";
    assert!(apart.starts_with(block), "{apart}");
    let lines = "lanes of a warp are mostly on different lines";
    assert!(apart.contains(lines), "{apart}");
}

/// DRAM moves data in 62 % of its cycles, of 70 that count as full, while load/store units whose
/// loads find no line are full in `full` of 100 cycles. A softmax on `gtx480` that reads its input
/// three times takes 133,842 cycles, past L1D 137,742, and with one pass 73,126.
fn no_lines(full: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("dram.cycles", 100),
        ("dram.data_cycles", 62),
        ("sm.ldst_stalls.global_load.reservation", 100_000),
        ("l1d.fails.global_read.line_alloc", 100_000),
        ("l1d.accesses.miss.global_read", 100_000),
        ("sm.slots.memory_pipe", full),
        ("sm.slots.issued", 100 - full),
    ];
    analysed("gtx480", launched(10_000, &counts))
}

#[test]
fn a_part_that_misses_fill_is_told_beside_lines_of_l1d() {
    let found = no_lines(60);
    let close = "Close behind: load/store units (60% of the scheduler cycles).";
    told(
        &found,
        Bound::Part(Part::Dram),
        close,
        "Next: move fewer bytes",
    );
    let lines = "; against the load/store units: load past L1D";
    assert!(found.explanation[4].contains(lines), "{found:#?}");
    let found = no_lines(95);
    let close = "Close behind: DRAM (62% used while SMs hold blocks, full from 70% on).";
    told(&found, Bound::LoadStore, close, "Next: load past L1D");
}

/// Atomics of shared memory on `gtx480`, where lanes on one word take no turns. A histogram there
/// takes 22,606 cycles, with wider loads 13,547, and with eight copies 34,659.
#[test]
fn copies_come_after_fewer_instructions() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.shared_instructions", 20_000),
        ("sm.shared_atomics", 20_000),
        ("sm.shared_conflict_cycles", 42_000),
        ("sm.shared_atomic_cycles", 42_000),
        ("sm.slots.issued", 65),
        ("sm.slots.execution_dependence", 35),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let next = "Next: execute fewer instructions";
    told(
        &found,
        Bound::Part(Part::Scheduler),
        "Instruction issue bounds `k`",
        next,
    );
    let step = &found.explanation[4];
    let last = "; let a thread combine several values before it updates shared memory; or give groups \
                of lanes a copy of the array in other banks";
    assert!(step.contains(last), "{step}");
    assert!(
        step.contains("waits 2.1 cycles for bank conflicts"),
        "{step}"
    );
    assert!(
        !found.advice.join("\n").contains("__match_any_sync"),
        "{found:#?}"
    );
}

/// Two bounds with the same step: shared memory that such atomics fill, and schedulers.
#[test]
fn a_step_is_told_once() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.warp_instructions", 150_000),
        ("sm.thread_instructions", 32 * 150_000),
        ("sm.shared_instructions", 30_000),
        ("sm.shared_atomics", 30_000),
        ("sm.shared_conflict_cycles", 75_000),
        ("sm.shared_atomic_cycles", 75_000),
        ("sm.slots.issued", 61),
        ("sm.slots.memory_pipe", 39),
    ];
    let step = analysed("gtx480", launched(10_000, &counts)).explanation[4].clone();
    assert_eq!(step.matches("let a thread combine").count(), 1, "{step}");
    assert!(step.contains(": execute fewer instructions"), "{step}");
}

/// Shares of the cycles in which warps wait for results, of a run of all pairs on `gtx480`.
#[test]
fn results_of_several_parts_are_divided() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.execution_dependence_slots.arithmetic", 548),
        ("sm.execution_dependence_slots.shared", 175),
        ("sm.execution_dependence_slots.units", 111),
        ("sm.slots.execution_dependence", 47),
        ("sm.slots.issued", 47),
    ];
    let found = analysed("gtx480", launched(10_000, &counts));
    let results = "in 50%, for results (66% of arithmetic, 21% of loads from shared memory, 13% of \
                   function units that are taken) (`execution_dependence`).";
    assert!(found.explanation[1].ends_with(results), "{found:#?}");
}

/// A picture of the Mandelbrot set on `gtx480`: the longest block takes 122,922 of 126,037 cycles.
/// Blocks of 64 threads instead of 256 take 92,614.
#[test]
fn a_block_that_takes_all_of_the_time_comes_before_full_schedulers() {
    let of = |longest: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 90_000),
            ("sm.resident_warp_cycles", 29 * 15 * 90_000),
            ("sm.slots.issued", 45),
            ("sm.slots.no_warp", 35),
            ("sm.slots.execution_dependence", 20),
        ];
        let mut launch = launched(126_037, &counts);
        launch.figures.block_times = Some(BlockTimes {
            blocks: 256,
            cycles: 256 * 25_967,
            longest,
            ended_sm_cycles: 15 * 36_000,
            ..BlockTimes::default()
        });
        analysed("gtx480", launch)
    };
    let next = "Next: give all blocks the same work: divide that of the longest ones among more \
                threads; smaller blocks may spread that work over more SMs; for the time with \
                blocks: execute fewer instructions";
    told(
        &of(122_922),
        Bound::IdleSms,
        "(the longest block takes 122922 cycles",
        next,
    );
    assert_eq!(of(100_000).bound, Bound::Part(Part::Scheduler));
}

/// SMs hold no block in 47 of 100 cycles; in the others load/store units are full of transactions,
/// 32 for a load or one.
#[test]
fn scattered_accesses_come_before_idle_sms_that_cost_less() {
    let of = |transactions: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 5300),
            ("sm.memory_accesses.load", 1000),
            ("sm.access_bytes.load", 128_000),
            ("sm.access_transactions.load", 1000 * transactions),
            ("sm.ldst_stalls.global_load.coalesce", 75_000),
            ("sm.slots.no_warp", 47),
            ("sm.slots.memory_dependence", 45),
            ("sm.slots.issued", 8),
        ];
        analysed("gtx480", launched(10_000, &counts))
    };
    let found = of(32);
    let close = "Close behind: SMs without a block (they hold none in 47% of their cycles).";
    let next = "Next: let neighbouring threads access neighbouring words";
    told(&found, Bound::LoadStore, close, next);
    let held = "for loads, which the full load/store units hold up (`memory_dependence`).";
    assert!(of(1).explanation[1].ends_with(held), "{:#?}", of(1));
    assert_eq!(of(1).bound, Bound::IdleSms);
}

/// A product of matrices whose loads L1D hits fills the load/store units with transactions that
/// neighbouring words need as well.
#[test]
fn loads_that_hit_are_answered_with_tiles() {
    let counts = [
        ("sm.active_cycles", 132 * 10_000),
        ("sm.memory_accesses.load", 1000),
        ("sm.access_bytes.load", 64_000),
        ("sm.access_transactions.load", 2000),
        ("sm.ldst_stalls.global_load.bank_conflict", 9000),
        ("l1d.accesses.hit.global_read", 1740),
        ("l1d.accesses.miss.global_read", 260),
        ("sm.slots.issued", 40),
        ("sm.slots.memory_pipe", 60),
    ];
    let found = analysed("h200-hopper", launched(10_000, &counts));
    let next = "Next: load less: keep data that is read again in registers or shared memory";
    told(&found, Bound::LoadStore, "2.0 transactions of a load", next);
    assert!(
        found.explanation[4].ends_with("; and use wider words."),
        "{found:#?}"
    );
}

/// A product of matrices with tiles of 16 x 16 takes 1,517,537 cycles on `gtx480`, past L1D
/// 1,018,102.
#[test]
fn loads_that_find_no_line_and_miss_go_past_l1d_first() {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.memory_accesses.load", 1000),
        ("sm.access_bytes.load", 128_000),
        ("sm.access_transactions.load", 2000),
        ("sm.ldst_stalls.global_load.reservation", 90_000),
        ("l1d.fails.global_read.line_alloc", 90_000),
        ("l1d.accesses.miss.global_read", 2000),
        ("sm.slots.issued", 10),
        ("sm.slots.memory_pipe", 90),
    ];
    let mut launch = launched(10_000, &counts);
    (launch.block, launch.shared_bytes) = (Size([16, 16, 1]), 2048);
    let found = analysed("gtx480", launch);
    let next = "Next: load past L1D (`__ldcg`, `ld.global.cg`), since it hits 0% of the loads";
    told(
        &found,
        Bound::LoadStore,
        "find all lines of their set",
        next,
    );
    let wider = "; or launch blocks of 32 x 8 threads instead of 16 x 16";
    let tiles = "and tiles in shared memory need the new shape: the flatter, the larger a halo).";
    let step = &found.explanation[4];
    assert!(step.contains(wider) && step.ends_with(tiles), "{step}");
}

/// The time before the first block and a tail of equal blocks have the same remedy.
#[test]
fn a_larger_problem_is_advised_once() {
    let counts = [
        ("sm.active_cycles", 80 * 8_000),
        ("sm.slots.issued", 10),
        ("sm.slots.no_warp", 60),
        ("sm.slots.memory_dependence", 30),
    ];
    let mut launch = launched(20_000, &counts);
    launch.figures.block_times = Some(BlockTimes {
        ended_sm_cycles: 80 * 7_000,
        ..BlockTimes::default()
    });
    let step = analysed("qv100-volta", launch).explanation[4].clone();
    let next = "Next: let blocks be small and take equally long";
    assert!(step.starts_with(next), "{step}");
    assert!(!step.contains("give the launch more work"), "{step}");
}

/// Counters of a softmax with unrolled loops on `gtx480`, whose L1I holds 2 KiB: with 8 KiB it
/// takes 107,106 cycles instead of 175,363, and more warps gain 4 %. `lines` of code came, and
/// warps waited for code in `without_code` scheduler cycles.
fn unrolled(lines: u64, without_code: u64) -> KernelAnalysis {
    let counts = [
        ("sm.active_cycles", 2_600_000),
        ("sm.resident_warp_cycles", 99_840_000),
        ("sm.packets_sent.inst_read", lines),
        ("sm.slots.issued", 2_000_000),
        ("sm.slots.memory_dependence", 1_200_000),
        ("sm.slots.execution_dependence", 1_000_000),
        ("sm.slots.instruction_buffer", without_code),
    ];
    analysed("gtx480", launched(175_363, &counts))
}

#[test]
fn code_that_comes_again_and_again_is_to_be_smaller() {
    let next = |lines, waits| unrolled(lines, waits).explanation.pop().unwrap();
    let large = next(5040, 900_000);
    assert!(
        large.starts_with("Next: make the code smaller, for example unroll less: lines of it come"),
        "{large}"
    );
    assert!(
        large.contains("because L1I holds 2048 bytes; then "),
        "{large}"
    );
    assert!(
        !large.contains("unroll so that") && !large.contains(", unroll"),
        "{large}"
    );
    // Lines that come once are none too many, and those that no warp waits for cost little.
    for few in [next(240, 900_000), next(5040, 10_000)] {
        assert!(!few.contains("make the code smaller"), "{few}");
    }
}
