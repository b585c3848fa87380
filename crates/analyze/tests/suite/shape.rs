//! Advice on the shape of blocks. Results are made by hand.

use crate::support::{analysed, launched};
use warploom_analyze::KernelAnalysis;
use warploom_stats::result::{KernelReport, Size};

/// A product of matrices with blocks of this shape on `gtx480`, whose loads of 128 bytes take
/// `transactions` each and are what load/store units wait for.
fn product(block: [u32; 3], transactions: u64) -> KernelAnalysis {
    analysed("gtx480", loads(block, 10 * transactions))
}

/// A launch with ten loads in `tenths` transactions.
fn loads(block: [u32; 3], tenths: u64) -> KernelReport {
    let counts = [
        ("sm.active_cycles", 15 * 10_000),
        ("sm.memory_accesses.load", 1000),
        ("sm.access_bytes.load", 128 * 1000),
        ("sm.access_transactions.load", tenths * 100),
        ("sm.ldst_stalls.global_load.coalesce", 1),
        ("sm.slots.memory_pipe", 1),
    ];
    let mut launch = launched(10_000, &counts);
    launch.block = Size(block);
    launch
}

/// A warp of a block that is 16 threads wide takes words of two rows.
#[test]
fn a_wider_block_is_advised_where_its_rows_explain_the_transactions() {
    let found = product([16, 16, 1], 2);
    let wider = "Next: launch blocks of 32 x 8 threads instead of 16 x 16, if neighbouring words \
                 belong to neighbouring `threadIdx.x`: a warp then takes words of one row instead \
                 of 2 (a load takes 2.0 transactions now, some of which remain where rows begin \
                 within a line or have halos).";
    assert_eq!(found.explanation[4], wider);
    assert!(
        !found.advice.join("\n").contains("neighbouring threads"),
        "{found:#?}"
    );
    // A quarter of rows that begin within a segment.
    let unaligned = analysed("gtx480", loads([16, 16, 1], 24));
    let wider = "instead of 2 (a load takes 2.4 transactions now, some of which";
    assert!(unaligned.explanation[4].contains(wider), "{unaligned:#?}");
    // Half of the loads take words of one row: `a[row * n + k]` beside `b[k * n + column]`.
    let half = analysed("gtx480", loads([16, 16, 1], 15));
    let wider = "(a load takes 1.5 transactions now,";
    assert!(half.explanation[4].contains(wider), "{half:#?}");
    let found = product([4, 4, 4], 8);
    let wider = "blocks of 32 x 2 threads instead of 4 x 4 x 4";
    assert!(found.explanation[4].contains(wider), "{found:#?}");
}

#[test]
fn other_accesses_are_not_advised_a_wider_block() {
    for (block, transactions) in [
        ([16, 16, 1], 3),
        ([32, 8, 1], 2),
        ([256, 1, 1], 2),
        ([16, 1, 1], 2),
    ] {
        let found = product(block, transactions);
        let next = "Next: let neighbouring threads access neighbouring words";
        assert!(
            found.explanation[4].starts_with(next),
            "{block:?} {found:#?}"
        );
    }
}

/// Blocks of 40 threads have two warps, of 20 threads each on average.
#[test]
fn lanes_without_a_thread_are_told_from_branches() {
    let told = |threads: u32, lanes: u64| {
        let counts = [
            ("sm.active_cycles", 15 * 10_000),
            ("sm.warp_instructions", 1000),
            ("sm.thread_instructions", lanes * 1000),
            ("sm.slots.memory_dependence", 1),
        ];
        let mut launch = launched(10_000, &counts);
        launch.block = Size([threads, 1, 1]);
        analysed("gtx480", launch).advice.join("\n")
    };
    let partial = "takes effect in 20.0 of 32 lanes: blocks have 40 threads, which are no whole \
                   warps: use a multiple of 32.";
    assert!(told(40, 20).contains(partial), "{}", told(40, 20));
    assert!(told(40, 15).contains("in 15.0 of 32 lanes: branches diverge."));
    assert!(told(64, 20).contains("in 20.0 of 32 lanes: branches diverge."));
}
