//! Tests of new blocks, of their ends, of extra blocks, and of idle cycles.

use super::{BY_WARP, Bench, kernel};
use crate::context::tables::State;
use warploom_base::{BlockId, KernelSlot};
use warploom_config::{ContextRules, ExtraBlocks};
use warploom_stats::Peak;
use warploom_stats::trace::Activity;

/// Two blocks fill slots and registers. The warps of a third, extra block are out and ready. A
/// fourth block would exceed the number of extra blocks.
#[test]
fn blocks_beyond_those_present_start_out() {
    let mut bench = Bench::new(BY_WARP);
    assert!(!bench.contexts.holds_blocks() && bench.contexts.is_quiet());
    for block in 0..3 {
        assert!(bench.has_room());
        assert_eq!(
            bench.assign(block),
            2 * u32::from(block),
            "contexts in a row"
        );
    }
    assert!(!bench.has_room());
    assert!(bench.contexts.holds_blocks() && !bench.contexts.holds_started());
    assert_eq!(bench.states(0..6), [State::Assigned; 6]);
    (0..3).for_each(|block| bench.contexts.start(BlockId(block)));
    assert!(bench.contexts.holds_started() && !bench.contexts.is_quiet());
    let (running, ready) = ([State::Running; 4], [State::Ready; 2]);
    assert_eq!(bench.states(0..6), [&running[..], &ready].concat());
    let places: Vec<_> = (0..6).map(|c| bench.contexts.place(c)).collect();
    assert_eq!(places, [0, 1, 2, 3, 4 + 4, 4 + 5], "behind the four slots");
    let counters = &bench.contexts.counters;
    assert_eq!(counters.blocks_started_out, 1);
    assert_eq!(counters.blocks_max, Peak(3));
    // The units are registers of four warps, two contexts of six and two units, and shared memory
    // of three blocks.
    assert_eq!(counters.units_max, Peak(4 * 10 + 2 * 8 + 3 * 4));
    let absent: Vec<_> = bench.contexts.describe_absent().collect();
    let words = "out, ready, waits for another to leave";
    assert_eq!(absent, [(4, words), (5, words)]);
    assert_eq!(bench.contexts.activity(0), Activity::None);
    assert_eq!(bench.contexts.activity(4), Activity::OutReady);
}

/// `room` counts the blocks that `has_room` would admit one after the other.
#[test]
fn room_is_counted_at_once() {
    let mut bench = Bench::new(BY_WARP);
    let prepared = bench.prepared();
    let contexts = prepared.contexts.as_ref().expect("it is switched");
    for taken in 0..3 {
        assert_eq!(
            bench.contexts.room(&prepared, contexts, 9),
            3 - u32::from(taken)
        );
        assert_eq!(bench.contexts.room(&prepared, contexts, 1), 1);
        bench.launch(taken);
    }
    assert_eq!(bench.contexts.room(&prepared, contexts, 9), 0);
}

/// A larger number of extra blocks admits a block at once, and a smaller one removes none.
#[test]
fn the_monitor_says_how_many_may_be_extra() {
    let rules = ContextRules {
        extra: ExtraBlocks::Monitor,
        ..BY_WARP
    };
    let mut bench = Bench::with(rules, (true, false), [40, 60, 0]);
    assert!(bench.contexts.is_monitored() && !Bench::new(BY_WARP).contexts.is_monitored());
    bench.launch(0);
    bench.launch(1);
    assert!(!bench.has_room(), "none to begin with");
    bench.contexts.set_extra(KernelSlot(0), 9);
    assert!(bench.has_room());
    bench.launch(2);
    assert!(!bench.has_room(), "the kernel's bound is one");
    bench.contexts.set_extra(KernelSlot(0), 0);
    assert_eq!(bench.states(4..6), [State::Ready; 2]);
    let counters = &bench.contexts.counters;
    assert_eq!((counters.steps_up, counters.steps_down), (1, 1));
}

/// A block of another kernel has room once the last block of the first kernel has ended. Nothing of
/// the first kernel remains in use.
#[test]
fn a_kernel_leaves_nothing_behind() {
    let mut bench = Bench::new(BY_WARP);
    bench.launch(0);
    bench.launch(1);
    (0..3).for_each(|context| bench.end(context));
    bench.contexts.block_gone(BlockId(0));
    assert_eq!(
        bench.contexts.leaks(),
        1 + 10 + 4 + 1,
        "a warp and its block"
    );
    let other = kernel(&BY_WARP, (true, false), 1);
    let contexts = other.contexts.as_ref().expect("it is switched");
    assert!(!bench.contexts.has_room(&other, contexts));
    assert_eq!(bench.contexts.room(&other, contexts, 2), 0);
    let slot = |bench: &Bench| bench.contexts.kernel.map(|(kernel, _)| kernel);
    assert_eq!(slot(&bench), Some(KernelSlot(0)));
    bench.end(3);
    bench.contexts.block_gone(BlockId(1));
    assert_eq!((bench.contexts.leaks(), slot(&bench)), (0, None));
    assert!(!bench.contexts.holds_blocks() && bench.contexts.is_quiet());
    assert!(bench.contexts.has_room(&other, contexts));
}

/// L1D stores contexts from the cycle on in which it is empty.
#[test]
fn contexts_may_lie_in_l1d_once_it_is_empty() {
    let mut bench = Bench::with(BY_WARP, (true, false), [40, 12, 16]);
    bench.launch(0);
    bench.launch(1);
    assert!(!bench.has_room(), "four units of shared memory are spare");
    bench.contexts.take_l1d();
    assert!(bench.has_room());
    assert_eq!(bench.contexts.counters.l1d_taken, 1);
    bench.contexts.give_back_l1d();
    assert!(!bench.has_room());
}

/// While no warp is out, the queues are empty, and a cycle changes nothing.
#[test]
fn nothing_happens_while_all_are_present() {
    let mut bench = Bench::new(BY_WARP);
    bench.launch(0);
    bench.launch(1);
    bench.miss(0);
    bench.run(0..9);
    assert!(bench.moved.is_empty() && bench.contexts.is_quiet());
    assert_eq!(
        (bench.contexts.stalled.len(), bench.state(0)),
        (0, State::Running)
    );
    assert_eq!(bench.contexts.next_event(), None);
}
