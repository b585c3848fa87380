//! Tests of the queues of stalled and of ready units, and of their order.

use super::{BY_BLOCK, BY_WARP, Bench, back, out};
use crate::context::tables::State;
use warploom_config::{ContextRules, ContextVictim};

/// Checks that warp 1, which waits for a miss, is switched out only once `free` has undone the
/// effect of `hold`.
fn held(hold: impl Fn(&mut Bench), free: impl Fn(&mut Bench), why: &str) {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(1);
    hold(&mut bench);
    bench.run(0..3);
    assert!(bench.moved.is_empty(), "{why}: it stays");
    free(&mut bench);
    bench.step(3);
    assert_eq!(bench.moved, [(3, out(1))], "{why}: it goes");
}

/// A warp whose next instruction waits for a miss stays in its slot if it has anything in the
/// pipeline but such loads.
#[test]
fn a_warp_leaves_when_only_its_loads_are_out() {
    let bit = 1 << 1;
    held(
        |b| b.warps.track[1].in_flight = 2,
        |b| b.warps.track[1].in_flight = 1,
        "an instruction before the load is in the pipeline",
    );
    held(
        |b| b.warps.track[1].atomics = 1,
        |b| b.warps.track[1].atomics = 0,
        "an atomic is out",
    );
    held(
        |b| b.decoding = bit,
        |b| b.decoding = 0,
        "its instructions are being decoded",
    );
    held(
        |b| b.warps.fetching = bit.into(),
        |b| b.warps.fetching = 0.into(),
        "a fetch is out",
    );
    held(
        |b| b.warps.fenced = bit.into(),
        |b| b.warps.fenced = 0.into(),
        "it is behind a fence",
    );
    held(
        |b| b.warps.flush = bit.into(),
        |b| b.warps.flush = 0.into(),
        "its buffer holds the wrong path",
    );
    held(
        |b| b.allow(false),
        |b| b.allow(true),
        "its instruction is no switch point",
    );
    held(
        |b| b.contexts.rules.stack_entries = 0,
        |b| b.contexts.rules.stack_entries = 1,
        "its divergence stack is deeper than a context's",
    );
}

/// A warp that waits for a hit in L1D stays in its slot, because that wait is short.
#[test]
fn a_warp_stays_whose_load_hits() {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(1);
    let prepared = bench.prepared();
    let load = prepared.at(warploom_base::Pc(0));
    bench.warps.forget_load(1, false, load, &prepared);
    bench.run(0..3);
    assert!(bench.moved.is_empty());
    bench.warps.note_miss(1, load, &prepared);
    bench.step(3);
    assert_eq!(bench.moved, [(3, out(1))]);
}

/// The queue is ordered by the time of the stall, then by slots, and has a fixed number of entries.
/// A warp that gets its data while it is in the queue continues, and another one takes its entry.
#[test]
fn the_queue_of_stalled_warps_is_in_order_and_bounded() {
    let rules = ContextRules {
        warp_queue: 2,
        ..BY_WARP
    };
    let mut bench = Bench::full(rules);
    bench.miss(3);
    bench.step(0);
    assert_eq!(bench.moved, [(0, out(3))], "the port is busy now");
    (0..3).for_each(|context| bench.miss(context));
    bench.step(1);
    assert_eq!(bench.states(0..2), [State::Stalled; 2]);
    assert_eq!(bench.state(2), State::Running, "no entry is left");
    bench.arrive(0);
    bench.step(2);
    assert_eq!(
        bench.states(0..3),
        [State::Running, State::Stalled, State::Stalled]
    );
    bench.miss(0);
    bench.run(3..5);
    assert_eq!(bench.state(0), State::Running, "no entry again");
    bench.arrive(2);
    bench.step(5);
    assert_eq!(
        bench.states(0..3),
        [State::Stalled, State::Stalled, State::Running]
    );
    // The first swap moves 7 units out and 2 units in.
    bench.run(6..10);
    let then = [(0, out(3)), (9, back(3)), (9, out(1))];
    assert_eq!(bench.moved, then, "warp 1 is the oldest");
}

/// A setting chooses whether the warp that stalled first or the one that stalled last is switched
/// out.
#[test]
fn either_end_of_the_queue_leaves_first() {
    let leaves = |victim| {
        let rules = ContextRules { victim, ..BY_WARP };
        let mut bench = Bench::full(rules);
        bench.miss(3);
        bench.step(0);
        for context in 0..3 {
            bench.miss(context);
            bench.step(1 + context as u64);
        }
        bench.run(4..10);
        bench.moved[2]
    };
    assert_eq!(leaves(ContextVictim::Oldest), (9, out(0)));
    assert_eq!(leaves(ContextVictim::Youngest), (9, out(2)));
}

/// A warp in the queue gets its data, issues, and waits for its next load, all in one cycle. It
/// stays in its slot until that load has left the pipeline.
#[test]
fn a_warp_that_went_on_in_between_is_not_stalled() {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(3);
    bench.step(0);
    assert_eq!(bench.moved, [(0, out(3))], "the port is busy now");
    bench.miss(0);
    bench.step(1);
    assert_eq!(bench.state(0), State::Stalled);
    bench.arrive(0);
    bench.warps.track[0].in_flight += 1;
    bench.miss(0);
    bench.step(2);
    assert_eq!(bench.state(0), State::Running);
    bench.warps.track[0].in_flight -= 1;
    bench.step(3);
    assert_eq!(bench.state(0), State::Stalled);
}

/// Warps are switched in in the order in which they became ready.
#[test]
fn ready_warps_come_in_in_order() {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(2);
    bench.run(0..10);
    assert_eq!(bench.contexts.in_slot(2), 4, "the first that was out");
    bench.arrive(2);
    bench.miss(0);
    bench.run(10..20);
    assert_eq!(bench.contexts.in_slot(0), 5, "it waited before warp 2 did");
    bench.miss(1);
    bench.run(20..35);
    assert_eq!(bench.contexts.in_slot(1), 2);
    let times: Vec<_> = bench.moved.iter().map(|(at, _)| *at).collect();
    assert_eq!(
        times,
        [0, 9, 10, 19, 20, 34],
        "2 units in for a new warp, 7 for warp 2"
    );
}

/// Warps at barriers are switched out if the rules allow it. Such a warp becomes ready when the
/// barrier has completed and all its loads have arrived.
#[test]
fn warps_at_barriers_leave_where_they_may() {
    let mut stays = Bench::full(BY_WARP);
    stays.wait(1);
    stays.run(0..3);
    assert!(stays.moved.is_empty());
    let rules = ContextRules {
        barriers: true,
        ..BY_WARP
    };
    let mut bench = Bench::full(rules);
    bench.wait(1);
    bench.run(0..10);
    assert_eq!(bench.moved, [(0, out(1)), (9, back(1))]);
    assert_eq!(bench.contexts.counters.out_at_barriers, 1);
    let absent: Vec<_> = bench.contexts.describe_absent().collect();
    assert_eq!(absent[0], (1, "out, at a barrier"));
    bench.contexts.arrived(1, &bench.warps, &bench.kernels);
    assert_eq!(bench.state(1), State::Absent, "the barrier holds it");
    bench.go_on(1);
    assert_eq!(bench.state(1), State::Ready);
}

/// A block is not ready while one of its warps waits for a load.
#[test]
fn a_block_is_ready_when_all_its_loads_have_come() {
    let mut bench = Bench::with(BY_BLOCK, (false, false), [60, 28, 0]);
    (0..3).for_each(|block| bench.launch(block));
    bench.miss(0);
    bench.miss(1);
    bench.run(0..10);
    bench.arrive(1);
    assert_eq!(bench.states(0..2), [State::Absent, State::Ready]);
    assert!(!bench.contexts.block_is_ready(0));
    bench.arrive(0);
    assert!(bench.contexts.block_is_ready(0));
}

/// A block is switched out when all its warps wait, at least one of them for a load. It is ready
/// when all its warps that do not wait at a barrier are ready.
#[test]
fn a_block_leaves_and_comes_back_as_a_whole() {
    let mut bench = Bench::with(BY_BLOCK, (false, false), [60, 28, 0]);
    (0..3).for_each(|block| bench.launch(block));
    bench.miss(0);
    bench.run(0..2);
    assert!(bench.moved.is_empty(), "the other warp runs");
    bench.wait(0);
    bench.wait(1);
    bench.run(2..4);
    assert!(bench.moved.is_empty(), "both wait for others' arrival");
    bench.go_on(0);
    bench.step(4);
    assert_eq!(bench.moved, [(4, out(0)), (4, out(1))]);
    let counters = &bench.contexts.counters;
    assert_eq!((counters.blocks_out, counters.out_at_barriers), (1, 1));
    // The contents of two slots of two units move in each direction.
    bench.run(5..12);
    assert_eq!(bench.moved.len(), 2);
    bench.step(12);
    assert_eq!(bench.moved[2..], [(12, back(0)), (12, back(1))]);
    assert_eq!(bench.states(0..2), [State::Absent; 2]);
    assert!(!bench.contexts.block_is_ready(0));
    bench.arrive(0);
    assert_eq!(bench.states(0..2), [State::Ready, State::Absent]);
    assert!(
        bench.contexts.block_is_ready(0),
        "the other waits for this one"
    );
    bench.miss(2);
    bench.miss(3);
    bench.run(13..22);
    assert_eq!(bench.moved[6..], [(21, back(2)), (21, back(3))]);
    assert_eq!(bench.warps.at_barrier, 1 << 3, "where it waited before");
}
