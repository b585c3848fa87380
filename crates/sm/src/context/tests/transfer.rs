//! What moves, how long it takes, and what it holds meanwhile.

use super::{BY_BLOCK, BY_WARP, Bench, back, out};
use crate::context::tables::State;
use warploom_config::ContextRules;
use warploom_stats::Peak;

/// A swap moves out the two units of the slot and the five that the warp keeps at its instruction,
/// then in the two of a new warp's slot: at the end of cycle 20 + 7 it is out, two later the other
/// has its slot.
#[test]
fn a_swap_moves_out_and_then_in() {
    let mut bench = Bench::full(BY_WARP);
    bench.run(0..20);
    assert!(bench.moved.is_empty(), "nobody waits");
    bench.miss(1);
    bench.step(20);
    assert_eq!(bench.moved, [(20, out(1))]);
    assert_eq!(
        (bench.state(1), bench.state(4)),
        (State::Leaving, State::Entering)
    );
    assert_eq!(
        (bench.warps.live.mask(), bench.contexts.place(1)),
        (0b1101, 4 + 1)
    );
    assert_eq!(bench.contexts.next_event(), Some(27));
    assert!(bench.contexts.is_quiet());
    bench.run(21..27);
    assert_eq!(bench.state(1), State::Leaving);
    bench.step(27);
    assert_eq!(
        (bench.state(1), bench.state(4)),
        (State::Absent, State::Entering)
    );
    assert_eq!(bench.contexts.next_event(), Some(29));
    bench.step(28);
    assert_eq!(bench.moved.len(), 1);
    bench.step(29);
    assert_eq!(bench.moved[1], (29, back(1)));
    assert_eq!(
        (bench.warps.live.mask(), bench.contexts.place(4)),
        (0b1111, 1)
    );
    assert_eq!(bench.contexts.in_slot(1), 4);
    let counters = &bench.contexts.counters;
    assert_eq!(
        (counters.swaps, counters.port_cycles, counters.bytes),
        (1, 9, 9 * 128)
    );
    assert_eq!((counters.warps_out, counters.warps_in), (1, 1));
    assert_eq!(
        bench.contexts.transfer.is_none(),
        bench.contexts.next_event().is_none()
    );
}

/// What a warp kept moves back in with it: seven units each way. Its registers have room at the
/// bottom again and its context at the top is free.
#[test]
fn what_was_kept_moves_back() {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(1);
    bench.run(0..10);
    bench.arrive(1);
    bench.miss(0);
    bench.run(10..20);
    assert_eq!(bench.contexts.in_slot(0), 5);
    let before = bench.contexts.counters.port_cycles;
    bench.arrive(0);
    bench.miss(4);
    bench.run(20..34);
    assert_eq!(bench.state(1), State::Entering);
    bench.step(34);
    assert_eq!(bench.moved[5], (34, back(1)), "14 cycles after it began");
    assert_eq!(bench.contexts.counters.port_cycles - before, 14);
    let warp = &bench.contexts.warps[1];
    assert_eq!(
        (warp.registers.units, warp.kept, warp.meta.units),
        (10, false, 0)
    );
    assert_eq!(
        bench.contexts.counters.units_max,
        Peak(4 * 10 + 2 * 8 + 3 * 4)
    );
}

/// The load that a warp waits for comes while it moves out: it is ready as soon as it is out.
#[test]
fn a_load_that_comes_on_the_way_out_counts() {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(1);
    bench.run(0..3);
    bench.arrive(1);
    assert_eq!(bench.state(1), State::Leaving);
    bench.run(3..7);
    assert_eq!(bench.state(1), State::Leaving);
    bench.step(7);
    assert_eq!(bench.state(1), State::Ready);
}

/// A warp comes into a slot that another's end left, without a swap. It keeps its place at the top
/// until it is in.
#[test]
fn a_warp_comes_into_a_free_slot() {
    let mut bench = Bench::full(BY_WARP);
    bench.run(0..5);
    bench.end(2);
    bench.step(5);
    assert!(bench.moved.is_empty() && bench.state(4) == State::Entering);
    // Registers of four warps, both contexts, shared memory of three blocks.
    assert_eq!(bench.contexts.places.taken(), 40 + 16 + 12);
    bench.step(6);
    assert!(bench.moved.is_empty());
    bench.step(7);
    assert_eq!(bench.moved, [(7, back(2))], "two units");
    assert_eq!(bench.contexts.places.taken(), 40 + 8 + 12);
    let counters = &bench.contexts.counters;
    assert_eq!(
        (counters.swaps, counters.warps_in, counters.warps_out),
        (0, 1, 0)
    );
}

/// A stalled warp leaves alone while fewer are out than extra blocks bring, and nobody is ready. It
/// keeps slot and registers until it is out.
#[test]
fn a_warp_leaves_alone_while_there_is_room() {
    let mut bench = Bench::with(BY_WARP, (true, false), [40, 60, 0]);
    (0..3).for_each(|block| bench.launch(block));
    (0..2).for_each(|context| bench.miss(context));
    // Two swaps: warps 4 and 5 are in, 0 and 1 out, as many as an extra block has.
    bench.run(0..20);
    bench.miss(2);
    bench.run(20..23);
    assert_eq!(bench.state(2), State::Stalled);
    assert_eq!(bench.moved.len(), 4);
    // One of these comes back in a slot that another's end leaves.
    bench.end(3);
    bench.arrive(0);
    bench.run(23..31);
    assert_eq!(
        bench.moved[4..],
        [(30, back(3)), (30, out(2))],
        "seven units in"
    );
    assert_eq!(
        bench.contexts.places.slots(),
        0b1111,
        "its slot is not free"
    );
    bench.run(31..37);
    assert_eq!(bench.contexts.places.slots(), 0b1111);
    bench.step(37);
    assert_eq!(
        (bench.contexts.places.slots(), bench.state(2)),
        (0b1011, State::Absent)
    );
    assert_eq!(bench.contexts.counters.swaps, 2);
}

/// The port's width counts in whole cycles, for each of the two directions.
#[test]
fn the_port_takes_whole_cycles() {
    let rules = ContextRules {
        port_bytes: 384,
        ..BY_WARP
    };
    let mut bench = Bench::full(rules);
    bench.miss(1);
    bench.run(0..10);
    let times: Vec<_> = bench.moved.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 4], "7 and 2 units of 128 bytes: 3 cycles and 1");
}

/// A block's shared memory moves with it: four units more each way, from the bottom of shared
/// memory to the top of the registers.
#[test]
fn shared_memory_moves_with_its_block() {
    let mut bench = Bench::with(BY_BLOCK, (false, true), [80, 16, 0]);
    (0..3).for_each(|block| bench.launch(block));
    let spans = |bench: &Bench| {
        let block = |at: usize| bench.contexts.blocks[at].shared.start;
        [block(0), block(1), block(2)]
    };
    assert_eq!(spans(&bench), [80, 84, 76], "the third is out");
    bench.miss(0);
    bench.miss(1);
    bench.run(0..12);
    assert_eq!(bench.moved, [(0, out(0)), (0, out(1))]);
    // Out: two slots of two units and four of shared memory. In: the slots of a new block, whose
    // shared memory has yet to be written.
    bench.step(12);
    assert_eq!(bench.moved[2..], [(12, back(0)), (12, back(1))]);
    assert_eq!(spans(&bench)[2], 80, "in the place of the first's");
    assert!(bench.contexts.blocks[0].shared_out && !bench.contexts.blocks[2].shared_out);
    (0..2).for_each(|context| bench.arrive(context));
    (2..4).for_each(|context| bench.miss(context));
    bench.run(13..29);
    assert_eq!(bench.moved.len(), 6);
    bench.step(29);
    assert_eq!(
        bench.moved[6..],
        [(29, back(2)), (29, back(3))],
        "eight units each way"
    );
    assert_eq!(spans(&bench)[0], 84);
}
