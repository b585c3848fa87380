//! Verdicts on warps that wait for atomics, at fences or at barriers, all of which are the cause
//! `barrier`, and on L2 banks that atomics keep busy. Results are made by hand.

use crate::support::{analysed, launched, told};
use warploom_analyze::{Bound, KernelAnalysis};
use warploom_stats::result::{HotBanks, KernelReport};

/// A kernel on `h200-hopper` with a barrier at each end of a block. In half of the scheduler cycles
/// all warps wait, and of 100 warps on average `at_barriers` are at a barrier.
fn waiting(at_barriers: u64, more: &[(&str, u64)]) -> KernelReport {
    let mut counts = vec![
        ("sm.active_cycles", 132 * 10_000),
        ("sm.resident_warp_cycles", 100 * 132 * 10_000),
        ("sm.barrier_warp_cycles", at_barriers * 132 * 10_000),
        ("sm.barriers", 16_896),
        ("sm.memory_instructions", 16_896),
        ("sm.memory_transactions", 16_896),
        ("sm.fetches", 10_000),
        ("sm.fetch_cycles", 10_000 * 400),
        ("sm.slots.issued", 20),
        ("sm.slots.barrier", 50),
        ("sm.slots.execution_dependence", 30),
    ];
    counts.extend_from_slice(more);
    launched(10_000, &counts)
}

fn found(at_barriers: u64, more: &[(&str, u64)]) -> KernelAnalysis {
    analysed("h200-hopper", waiting(at_barriers, more))
}

/// In the half of the time in which all warps wait, 25 of 100 at barriers on average over the whole
/// time are half of those that wait.
#[test]
fn warps_that_hardly_wait_at_barriers_wait_for_atomics() {
    let atomics = [("sm.memory_accesses.atomic", 16_896), ("gpu.atomics", 1)];
    let verdict = "The latency of atomics bounds `k`: in 50% of the scheduler cycles all warps wait \
                   for theirs.";
    let next = "Next: let a warp or a block combine its values first";
    let few = found(3, &atomics);
    told(&few, Bound::Atomics, verdict, next);
    let cause = "in 50%, for atomics (`barrier`: barrier, fence or atomic).";
    assert!(few.explanation[1].ends_with(cause), "{few:#?}");
    told(&found(24, &atomics), Bound::Atomics, verdict, next);
    let verdict = "Barriers bound `k`";
    told(&found(25, &atomics), Bound::Barriers, verdict, "Next: use");
}

#[test]
fn without_atomics_warps_wait_at_fences() {
    let verdict = "Fences bound `k`: in 50% of the scheduler cycles all warps wait there";
    let next = "Next: let fewer warps execute a fence";
    let fences = found(3, &[]);
    told(&fences, Bound::Fences, verdict, next);
    assert!(fences.explanation[1].contains("at fences"), "{fences:#?}");
}

/// 10,000 atomics of shared memory take longer than 100 on global memory of 400 cycles each.
#[test]
fn atomics_of_shared_memory_are_told_from_those_of_global_memory() {
    let global = ("sm.memory_accesses.atomic", 100);
    let shared = ("sm.shared_atomics", 10_000);
    let accesses = ("sm.shared_instructions", 10_000);
    let turns = ("sm.shared_atomic_cycles", 27_000);
    let conflicts = ("sm.shared_conflict_cycles", 27_000);
    let verdict = "The latency of atomics of shared memory bounds `k`: in 50% of the scheduler \
                   cycles all warps wait for theirs; an atomic of shared memory waits 2.7 cycles, \
                   because its lanes";
    let next = "Next: let fewer lanes of a warp update the same word of shared memory: give each \
                lane a copy of the array (`copies[i * 32 + lane]`";
    let serial = found(2, &[global, shared, accesses, turns, conflicts]);
    told(&serial, Bound::Atomics, verdict, next);
    let verdict = "in 50% of the scheduler cycles all warps wait for theirs.";
    let next = "Next: update shared memory less often";
    let apart = found(2, &[global, shared, accesses]);
    told(&apart, Bound::Atomics, verdict, next);
    // As many on global memory take longer.
    let global = ("sm.memory_accesses.atomic", 10_000);
    let verdict = "The latency of atomics bounds `k`";
    let both = found(2, &[global, shared, accesses]);
    told(
        &both,
        Bound::Atomics,
        verdict,
        "Next: let a warp or a block",
    );
}

/// A single bank of 192, to which 9,000 of 100,000 packets go, with these waits, in kernels of
/// 12,000 L2 cycles.
fn with_hot_bank(mut launch: KernelReport, wait_cycles: u64, busy_cycles: u64) -> KernelReport {
    let counts = [
        ("partition.cycles", 192 * 12_000),
        ("partition.packets", 100_000),
    ];
    let counts = counts.map(|(name, n)| (name.to_owned(), n));
    launch.figures.statistics.extend(counts);
    launch.figures.hot_banks = Some(HotBanks {
        of_banks: 192,
        banks: 1,
        of_channels: 192,
        channels: 1,
        wait_cycles,
        longest_wait_cycles: wait_cycles,
        packets: 9000,
        atomics: 8500,
        loads: 500,
        busy_cycles,
        ..HotBanks::default()
    });
    launch
}

/// Atomics wait half of the 4,000,000 cycles of all accesses for one bank. The barriers of the
/// kernel, at which hardly any warp waits, hide nothing of it.
#[test]
fn barriers_do_not_hide_the_bank_that_atomics_wait_for() {
    let atomics = [("sm.memory_accesses.atomic", 16_896)];
    let of = |at_barriers: u64| {
        let launch = with_hot_bank(waiting(at_barriers, &atomics), 2_000_000, 600);
        analysed("h200-hopper", launch)
    };
    let verdict = "One of 192 L2 banks bounds `k`: 9% of the requests, mostly atomics, go to it, and \
                   wait 222 cycles for it on average, 50% of the time that accesses take.";
    let next = "Next: let each block update a copy of its own";
    told(&of(3), Bound::HotBanks, verdict, next);
    told(&of(60), Bound::Barriers, "Barriers bound `k`", "Next: use");
}

/// A tail of atomics on one bank: requests wait a tenth of the time of accesses for it, and it is
/// busy for 5,640 of 12,000 cycles, 10 times as long as a bank on average. All warps of a scheduler
/// wait for 40 of 90 cycles. A bank that is busy for 5,280 is named beside that, and one with 2,400
/// is not.
#[test]
fn a_bank_that_is_busy_for_long_is_named() {
    let atomics = ("sm.memory_accesses.atomic", 16_896);
    let with = |busy_cycles: u64, more: &[(&str, u64)]| {
        let counts = [&[atomics, ("sm.slots.barrier", 40)], more].concat();
        let launch = with_hot_bank(waiting(3, &counts), 400_000, busy_cycles);
        analysed("h200-hopper", launch)
    };
    let of = |busy_cycles| with(busy_cycles, &[]);
    let verdict = "10% of the time that accesses take; it is busy in 47% of the cycles.";
    let next = "Next: let each block update a copy of its own";
    let long = of(5640);
    told(&long, Bound::HotBanks, verdict, next);
    assert_eq!(long.hot_l2_bank, Some(0.47));
    assert!(!long.explanation[3].contains("L2 banks"), "{long:#?}");
    // A block has a copy of its own in shared memory already.
    let next = "Next: launch fewer blocks that work on more each";
    told(
        &with(
            5640,
            &[("sm.shared_instructions", 1), ("sm.shared_atomics", 1)],
        ),
        Bound::HotBanks,
        verdict,
        next,
    );
    let beside = of(5280);
    assert_eq!(beside.bound, Bound::Atomics);
    let clause = "; one of 192 L2 banks is busy in 44% of the cycles, mostly with atomics";
    assert!(beside.explanation[3].contains(clause), "{beside:#?}");
    assert!(!of(2400).explanation[3].contains("L2 banks"));
}

/// A bank that is busy for as long, but for which requests wait a hundredth of the time: a kernel
/// whose atomics were spread over eight lines took 4 % less.
#[test]
fn a_busy_bank_for_which_hardly_anything_waits_is_named_beside_the_bound() {
    let atomics = [
        ("sm.memory_accesses.atomic", 16_896),
        ("sm.slots.barrier", 40),
    ];
    let launch = with_hot_bank(waiting(3, &atomics), 40_000, 5640);
    let found = analysed("h200-hopper", launch);
    assert_eq!(found.bound, Bound::Atomics);
    let clause = "; one of 192 L2 banks is busy in 47% of the cycles, mostly with atomics";
    assert!(found.explanation[3].contains(clause), "{found:#?}");
}

/// All banks are busy for 5,000 of 12,000 cycles on average, so that one with 5,640 is like others.
#[test]
fn a_bank_among_busy_ones_is_not_named() {
    let atomics = [("sm.memory_accesses.atomic", 16_896)];
    let mut launch = with_hot_bank(waiting(3, &atomics), 400_000, 5640);
    let packets = ("partition.packets".to_owned(), 192 * 5000);
    launch.figures.statistics.extend([packets]);
    assert_eq!(analysed("h200-hopper", launch).bound, Bound::Atomics);
}

/// SMs hold no block for 30% of the cycles, and for 29% before the first block starts. A bank that
/// is busy for longer than the former is the bound.
#[test]
fn a_bank_that_is_busy_for_longer_than_sms_are_idle_comes_first() {
    let of = |busy_cycles: u64| {
        let counts = [
            ("sm.active_cycles", 132 * 4100),
            ("sm.memory_accesses.atomic", 16_896),
            ("sm.slots.issued", 15),
            ("sm.slots.no_warp", 64),
            ("sm.slots.memory_pipe", 21),
        ];
        let launch = with_hot_bank(launched(10_000, &counts), 400_000, busy_cycles);
        analysed("h200-hopper", launch).bound
    };
    // Of the cycles without a warp after the launch, 30 of 35 are those of idle SMs.
    assert_eq!(of(0), Bound::IdleSms);
    assert_eq!(of(3600), Bound::IdleSms);
    assert_eq!(of(5640), Bound::HotBanks);
}

/// Load/store units that are full while loads wait in the queue of misses for 83,000 cycles.
fn full_units(more: &[(&str, u64)]) -> KernelAnalysis {
    let mut counts = vec![
        ("sm.active_cycles", 132 * 6600),
        ("sm.ldst_stalls.global_load.bank_conflict", 83_000),
        ("l1d.fails.global_read.miss_queue_full", 169_000),
        ("l2.accesses.hit.global_read", 100),
        ("sm.slots.issued", 50),
        ("sm.slots.memory_pipe", 50),
    ];
    counts.extend_from_slice(more);
    analysed("h200-hopper", launched(6700, &counts))
}

/// Units spend more cycles on 182,000 accesses to shared memory, most of them atomics, than loads
/// wait there. Of 100 hits in L2, 98 are of data that copies left.
#[test]
fn accesses_to_shared_memory_that_fill_the_units_are_advised_on() {
    let verdict = "most often with accesses to shared memory, which take 10% of their cycles";
    let shared = ("sm.shared_instructions", 82_000);
    let atomics = ("sm.shared_atomics", 60_000);
    let next = "Next: update shared memory less often: let a thread combine";
    let turns = ("sm.shared_conflict_cycles", 1001);
    let most = full_units(&[shared, atomics, turns]);
    told(&most, Bound::LoadStore, verdict, next);
    let next = "Next: access shared memory less often";
    told(
        &full_units(&[shared, turns]),
        Bound::LoadStore,
        verdict,
        next,
    );
    let next = "Next: load fewer bytes, for example smaller types; hardly a line is read again (with \
                lines that are on their way, L1D hits - of the loads, L2 2% beside what copies left";
    let copied = ("partition.copied_hits", 98);
    let verdict = "loads find the queue from L1D to the network full";
    let loads = full_units(&[shared, atomics, copied]);
    told(&loads, Bound::LoadStore, verdict, next);
}

/// Loads of a byte a lane, beside atomics of shared memory that take turns: turns are no reason for
/// slow loads, so that loads come first.
#[test]
fn remedies_for_slow_loads_come_before_those_for_atomics() {
    let of = |bytes: u64| {
        let counts = [
            ("sm.active_cycles", 132 * 1000),
            ("sm.resident_warp_cycles", 64 * 132 * 1000),
            ("sm.memory_instructions", 100),
            ("sm.memory_transactions", 100),
            ("sm.memory_accesses.load", 100),
            ("sm.access_bytes.load", 100 * bytes),
            ("sm.access_transactions.load", 100 * bytes.div_ceil(32)),
            ("sm.shared_instructions", 10_000),
            ("sm.shared_atomics", 10_000),
            ("sm.shared_conflict_cycles", 27_000),
            ("sm.shared_atomic_cycles", 27_000),
            ("sm.slots.issued", 10),
            ("sm.slots.memory_dependence", 90),
        ];
        analysed("h200-hopper", launched(1000, &counts)).explanation[4].clone()
    };
    let byte = of(32);
    let wider = "; or load wider words, such as `float4` or `uint4` (a load of a warp moves 32 bytes, \
                 of up to 512); then let fewer lanes of a warp update the same word";
    assert!(byte.contains(wider), "{byte}");
    assert!(!byte.starts_with("Next: let fewer lanes"), "{byte}");
    assert!(!of(512).contains("wider words"), "{}", of(512));
}
