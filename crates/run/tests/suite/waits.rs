//! Counts from which an analysis tells what warps wait for: accesses and their transactions by
//! kind, turns of atomics, warps at barriers, L2 banks that requests wait for, hits that copies
//! made.

use crate::timing::run_on;
use warploom_config::{GpuSpec, preset};
use warploom_stats::result::{HotBanks, RunReport};

fn gpu(name: &str) -> GpuSpec {
    preset(name).expect("a preset")
}

fn counts<const N: usize>(report: &RunReport, names: [&str; N]) -> [u64; N] {
    names.map(|name| {
        report
            .totals
            .figures
            .statistics
            .get(name)
            .copied()
            .unwrap_or(0)
    })
}

/// Address of the buffer, and of its word of this thread.
const ADDRESSES: &str = "ld.param.u64 %rd1, [buf];\nmov.u32 %r1, %tid.x;\n\
                         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";

/// The instructions of a warp: a load of neighbouring words, a store to a line for each lane, and
/// an atomic on one word, which takes the lanes one after the other.
#[test]
fn accesses_are_counted_by_kind() {
    let body = format!(
        "{ADDRESSES}ld.global.u32 %r2, [%rd3];\nmul.wide.u32 %rd4, %r1, 128;\n\
         add.s64 %rd5, %rd1, %rd4;\nst.global.u32 [%rd5], %r2;\n\
         atom.global.add.u32 %r3, [%rd1], 1;"
    );
    let report = run_on(&gpu("gtx480"), &body, 1, 32, 1);
    for (kind, transactions) in [("load", 1), ("store", 32), ("atomic", 32)] {
        let names = ["memory_accesses", "access_bytes", "access_transactions"];
        let names = names.map(|group| format!("sm.{group}.{kind}"));
        let found = counts(&report, [&names[0], &names[1], &names[2]]);
        assert_eq!(found, [1, 128, transactions], "{kind}");
    }
    let all = ["sm.memory_instructions", "sm.memory_transactions"];
    assert_eq!(counts(&report, all), [3, 65]);
}

/// 32 lanes of an atomic on one word of shared memory take turns, and words that are two apart use
/// each bank twice.
#[test]
fn turns_of_shared_atomics_are_told_from_conflicts() {
    let body = "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 3;\nmov.u32 %r3, s;\n\
                add.u32 %r4, %r3, %r2;\nld.shared.u32 %r5, [%r4];\n\
                atom.shared.add.u32 %r6, [%r3], 1;\nst.shared.u32 [%r3], %r5;";
    let report = run_on(&gpu("h200-hopper"), body, 1, 32, 1);
    let names = [
        "sm.shared_instructions",
        "sm.shared_conflict_cycles",
        "sm.shared_atomics",
        "sm.shared_atomic_cycles",
    ];
    assert_eq!(counts(&report, names), [3, 32, 1, 31]);
}

/// A warp waits at the barrier as long as the other one computes.
#[test]
fn warps_at_barriers_are_counted() {
    let of = |work: usize| {
        let chain = "add.u32 %r2, %r2, %r1;\n".repeat(work);
        let body = format!(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra B;\n\
             {chain}B:\nbar.sync 0;\nld.param.u64 %rd1, [buf];\nst.global.u32 [%rd1], %r2;"
        );
        let report = run_on(&gpu("gtx480"), &body, 1, 64, 1);
        let cycles = report.totals.figures.cycles;
        (counts(&report, ["sm.barrier_warp_cycles"])[0], cycles)
    };
    let ((few, short), (many, long)) = (of(100), of(164));
    assert!(long > short + 64);
    // The store at the end meets another cycle of the memory's clock.
    assert!((many - few).abs_diff(long - short) <= 4);
}

/// Atomics of 16,384 threads on one word go to one bank, and wait for it; loads of neighbouring
/// words go to all.
#[test]
fn the_bank_of_a_word_that_all_update_is_hot() {
    let hot = |body: &str| {
        let report = run_on(&gpu("qv100-volta"), body, 64, 256, 1);
        let figures = &report.totals.figures;
        let [packets, accesses] = counts(&report, ["partition.packets", "sm.fetch_cycles"]);
        assert_eq!(figures.hot_banks, report.kernels[0].figures.hot_banks);
        (figures.hot_banks.expect("requests wait"), packets, accesses)
    };
    let (bank, packets, accesses) = hot("ld.param.u64 %rd1, [buf];\nred.global.add.u32 [%rd1], 1;");
    let HotBanks {
        atomics,
        banks,
        of_banks,
        ..
    } = bank;
    assert_eq!((atomics, banks, of_banks), (16_384, 1, 64));
    assert!(
        10 * bank.packets > 9 * packets && 10 * bank.wait_cycles > 9 * accesses,
        "{bank:?}"
    );
    let spread = format!(
        "{ADDRESSES}mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd4, %r2, 1024;\n\
         add.s64 %rd5, %rd3, %rd4;\nld.global.u32 %r3, [%rd5];\nst.global.u32 [%rd5], %r3;"
    );
    let (banks, ..) = hot(&spread);
    assert!(2 * banks.banks > banks.of_banks, "{banks:?}");
}

/// A warp that reads 128 bytes twice, past L1D: four sectors, each found first because the buffer's
/// copy left it in L2.
#[test]
fn hits_that_a_copy_made_count_once_for_a_sector() {
    let body = format!(
        "{ADDRESSES}ld.global.cg.u32 %r2, [%rd3];\nadd.u32 %r3, %r2, %r1;\n\
         st.shared.u32 [s], %r3;\nld.global.cg.u32 %r4, [%rd3];\nst.shared.u32 [s+4], %r4;"
    );
    let names = ["l2.accesses.hit.global_read", "partition.copied_hits"];
    let warm = gpu("qv100-volta");
    assert_eq!(counts(&run_on(&warm, &body, 1, 32, 1), names), [8, 4]);
    let mut cold = warm;
    cold.gpu.copies_warm_l2 = false;
    assert_eq!(counts(&run_on(&cold, &body, 1, 32, 1), names), [4, 0]);
}
