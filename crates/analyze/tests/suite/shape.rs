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

/// A halo grows as a block becomes flatter: that of 32 x 16 took 358,160 cycles of a stencil on
/// `gtx480`, that of 32 x 4 x 4 took 229,888, and that of 8 x 8 x 8 took 300,755.
#[test]
fn a_solid_block_stays_solid_and_a_flat_one_is_warned_of_its_halo() {
    let step = |block: [u32; 3], shared_bytes: u32| {
        let rows = u64::from(32 / block[0]);
        let mut launch = loads(block, 10 * rows);
        launch.shared_bytes = shared_bytes;
        analysed("gtx480", launch).explanation[4].clone()
    };
    let halo = "and tiles in shared memory need the new shape: the flatter, the larger a halo)";
    for (block, wider) in [
        ([8, 8, 8], "32 x 4 x 4 threads instead of 8 x 8 x 8"),
        ([8, 8, 4], "32 x 4 x 2 threads instead of 8 x 8 x 4"),
        ([16, 4, 3], "32 x 3 x 2 threads instead of 16 x 4 x 3"),
    ] {
        let solid = step(block, 4000);
        assert!(solid.contains(wider), "{solid}");
        let same = "and tiles in shared memory need the new shape)";
        assert!(solid.contains(same), "{solid}");
    }
    let flat = step([16, 16, 1], 4000);
    assert!(flat.contains("32 x 8 threads instead of 16 x 16"), "{flat}");
    assert!(flat.contains(halo), "{flat}");
    assert!(!step([16, 16, 1], 0).contains("halo)"), "no tile");
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
