//! Tests of a divided register file (FineReg). Registers of two blocks are present, 20 units each.
//! A block that leaves at the load keeps ten units in the part for absent warps.

use super::{BY_WARP, Bench, back, out};
use crate::context::tables::State;
use std::sync::Arc;
use warploom_config::{ContextRules, ContextStorage, ExtraBlocks};
use warploom_stats::Peak;

const DIVIDED: ContextRules = ContextRules {
    by_warp: false,
    shared: false,
    slots_anywhere: false,
    extra: ExtraBlocks::Most,
    barriers: true,
    compress: false,
    active_percent: 50,
    ..BY_WARP
};

/// An SM with `pending` units for registers of absent warps, for up to four blocks.
fn divided(pending: u32) -> Bench {
    let storage = ContextStorage {
        registers: 40,
        shared: 28,
        l1d: 0,
        pending,
    };
    let mut bench = Bench::stored(DIVIDED, (true, false), storage);
    let kernel = bench.kernels[0].as_mut().and_then(Arc::get_mut);
    let contexts = kernel.and_then(|kernel| kernel.contexts.as_mut());
    contexts.expect("nobody else has it").plan.bound = 2;
    bench
}

fn miss_both(bench: &mut Bench, block: usize) {
    bench.miss(2 * block);
    bench.miss(2 * block + 1);
}

fn arrive_both(bench: &mut Bench, block: usize) {
    bench.arrive(2 * block);
    bench.arrive(2 * block + 1);
}

/// Fourteen units have room for one block's live registers. Block 0 stalls, and block 2 takes its
/// place: the contents of two slots and ten registers leave, two slots' contents come in. Then a
/// fourth block is added, out. Block 1 stalls, and its ten registers have no room beside those of
/// block 0. It stays until the loads of block 0 have come: these two change places, although the
/// fourth block has been ready for longer.
#[test]
fn blocks_are_added_while_there_is_room_and_then_change_places() {
    let mut bench = divided(14);
    for block in 0..3 {
        assert!(bench.has_room());
        bench.launch(block);
    }
    assert!(!bench.has_room(), "the third block has not come in yet");
    // Registers of four warps, contents of two slots, and shared memory of three blocks. A warp
    // that has not begun has no live register.
    let counters = &bench.contexts.counters;
    assert_eq!(counters.units_max, Peak(4 * 10 + 2 * 2 + 3 * 4));
    miss_both(&mut bench, 0);
    assert!(!bench.contexts.gained_room);
    bench.step(20);
    assert_eq!(bench.moved, [(20, out(0)), (20, out(1))]);
    assert!(bench.contexts.gained_room, "the dispatcher is asked again");
    assert_eq!(bench.contexts.next_event(), Some(20 + 2 * (2 + 5)));
    bench.run(21..38);
    assert_eq!(bench.moved.len(), 2);
    bench.step(38);
    assert_eq!(bench.moved[2..], [(38, back(0)), (38, back(1))]);
    assert!(bench.has_room(), "the third block has come in");
    bench.launch(3);
    assert_eq!(bench.states(6..8), [State::Ready; 2]);
    miss_both(&mut bench, 1);
    bench.run(39..60);
    assert_eq!(bench.moved.len(), 4, "four units are left");
    arrive_both(&mut bench, 0);
    bench.step(60);
    assert_eq!(bench.moved[4..], [(60, out(2)), (60, out(3))]);
    // Seven units of each warp leave, and as many come in.
    bench.run(61..89);
    assert_eq!(bench.moved[6..], [(88, back(2)), (88, back(3))]);
    assert_eq!(bench.states(0..2), [State::Running; 2], "block 0");
    assert_eq!(bench.states(2..4), [State::Absent; 2], "block 1");
    assert_eq!(bench.states(6..8), [State::Ready; 2], "block 3");
}

/// With room for two blocks' registers, block 1 leaves for the fourth block at once.
#[test]
fn two_blocks_wait_where_both_have_room() {
    let mut bench = divided(20);
    (0..3).for_each(|block| bench.launch(block));
    miss_both(&mut bench, 0);
    bench.run(0..19);
    bench.launch(3);
    miss_both(&mut bench, 1);
    bench.run(19..38);
    let leaves: Vec<_> = bench.moved.iter().map(|(at, _)| *at).collect();
    assert_eq!(leaves, [0, 0, 18, 18, 19, 19, 37, 37]);
    assert_eq!(bench.states(0..4), [State::Absent; 4]);
    // Both waiting blocks end after they have come back, and nothing remains.
    arrive_both(&mut bench, 0);
    arrive_both(&mut bench, 1);
    (4..8).for_each(|context| bench.end(context));
    bench.run(38..100);
    assert_eq!(bench.states(0..4), [State::Running; 4]);
    (0..4).for_each(|context| bench.end(context));
    (0..4).for_each(|block| bench.contexts.block_gone(warploom_base::BlockId(block)));
    assert_eq!(bench.contexts.leaks(), 0);
}

/// A stalled block stays where no other block can go on, whatever room there is.
#[test]
fn a_block_leaves_for_another_one_only() {
    let mut bench = divided(40);
    (0..3).for_each(|block| bench.launch(block));
    miss_both(&mut bench, 0);
    bench.run(0..19);
    assert_eq!(bench.moved.len(), 4, "block 2 took the place of block 0");
    miss_both(&mut bench, 1);
    bench.run(19..40);
    assert_eq!(bench.moved.len(), 4);
    assert_eq!(bench.states(2..4), [State::Stalled; 2]);
}

/// `room` counts as many blocks as `has_room` admits: two that are present and one that is out.
#[test]
fn one_block_at_a_time_waits_to_begin() {
    let mut bench = divided(40);
    let prepared = bench.prepared();
    let contexts = prepared.contexts.as_ref().expect("it is switched");
    for taken in 0..3 {
        let room = bench.contexts.room(&prepared, contexts, 9);
        assert_eq!(room, 3 - u32::from(taken));
        bench.launch(taken);
    }
    assert_eq!(bench.contexts.room(&prepared, contexts, 9), 0);
}
