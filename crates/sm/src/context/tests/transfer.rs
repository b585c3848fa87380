//! Tests of transfers: units that move, their cycles, and the storage that they hold.

use super::{BY_BLOCK, BY_WARP, Bench, back, out};
use crate::context::tables::State;
use warploom_config::{ContextRules, ContextTransfers};
use warploom_stats::Peak;

/// A swap moves the two units of the slot and the five live units of a warp out, and then the two
/// units of a new warp's slot in. The first warp is out at the end of cycle 20 + 7, and the other
/// one has the slot two cycles later.
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
        bench.contexts.transfers.is_empty(),
        bench.contexts.next_event().is_none()
    );
}

/// The stored registers of a warp move back in with it, seven units in each direction. Its
/// registers are at the low end again, and its context at the high end is free.
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

/// A warp whose load completes while it moves out is ready as soon as it is out.
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

/// A warp is switched into the slot of a warp that has ended, without a swap. Its stored context
/// stays in use until the warp is in its slot.
#[test]
fn a_warp_comes_into_a_free_slot() {
    let mut bench = Bench::full(BY_WARP);
    bench.run(0..5);
    bench.end(2);
    bench.step(5);
    assert!(bench.moved.is_empty() && bench.state(4) == State::Entering);
    // The units are registers of four warps, both contexts, and shared memory of three blocks.
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

/// A stalled warp is switched out without a swap if no unit is ready and its context has room, even
/// if a whole extra block is out already. Its slot and registers stay in use until it is out.
#[test]
fn a_warp_leaves_alone_while_storage_has_room() {
    let mut bench = Bench::with(BY_WARP, (true, false), [40, 36, 0]);
    (0..3).for_each(|block| bench.launch(block));
    (0..2).for_each(|context| bench.miss(context));
    // After two swaps, warps 4 and 5 are in, and 0 and 1 are out. Eight units of shared memory are
    // free.
    bench.run(0..20);
    bench.miss(2);
    bench.step(20);
    assert_eq!(bench.moved[4..], [(20, out(2))]);
    bench.miss(3);
    bench.run(21..27);
    assert_eq!(
        bench.contexts.places.slots(),
        0b1111,
        "its slot is not free"
    );
    bench.step(27);
    assert_eq!(
        (bench.contexts.places.slots(), bench.state(2)),
        (0b1011, State::Absent)
    );
    bench.run(28..40);
    assert_eq!(bench.state(3), State::Stalled, "no room is left");
    // One warp is switched into the free slot, and the next one that is switched out gets its
    // storage.
    bench.arrive(0);
    bench.run(40..47);
    assert_eq!(bench.moved.len(), 5);
    bench.step(47);
    assert_eq!(bench.moved[5..], [(47, back(2)), (47, out(3))]);
    assert_eq!(bench.contexts.counters.swaps, 2);
}

/// No warp is switched out while all blocks are present, because none could take its slot.
#[test]
fn a_warp_stays_while_nobody_is_out() {
    let mut bench = Bench::with(BY_WARP, (true, false), [40, 60, 0]);
    (0..2).for_each(|block| bench.launch(block));
    bench.miss(0);
    bench.run(0..5);
    assert!(bench.moved.is_empty());
}

/// Overlapping transfers begin in consecutive cycles. Each takes as long as a single one, with 7
/// units out and 2 in.
#[test]
fn transfers_overlap_at_the_full_rate() {
    let rules = ContextRules {
        transfers: ContextTransfers::Overlap,
        ..BY_WARP
    };
    let mut bench = Bench::full(rules);
    bench.run(0..20);
    bench.miss(1);
    bench.miss(2);
    bench.step(20);
    assert_eq!(bench.moved, [(20, out(1))]);
    assert!(!bench.contexts.is_quiet(), "another may begin");
    bench.step(21);
    assert_eq!(bench.moved[1..], [(21, out(2))]);
    assert_eq!(bench.contexts.next_event(), Some(27));
    bench.run(22..27);
    assert_eq!(bench.states(1..3), [State::Leaving; 2]);
    bench.step(27);
    assert_eq!(bench.states(1..3), [State::Absent, State::Leaving]);
    assert_eq!(bench.contexts.next_event(), Some(28));
    bench.step(28);
    assert_eq!(bench.states(1..3), [State::Absent; 2]);
    assert_eq!(bench.moved.len(), 2, "neither is in");
    bench.step(29);
    assert_eq!(bench.moved[2..], [(29, back(1))]);
    bench.step(30);
    assert_eq!(bench.moved[3..], [(30, back(2))]);
    assert_eq!(bench.contexts.next_event(), None);
    let counters = &bench.contexts.counters;
    assert_eq!((counters.swaps, counters.port_cycles), (2, 9 + 9));
}

/// A serial transfer begins in the cycle in which the one before ends.
#[test]
fn serial_transfers_wait_for_each_other() {
    let mut bench = Bench::full(BY_WARP);
    bench.miss(1);
    bench.miss(2);
    bench.run(0..9);
    assert_eq!(bench.moved, [(0, out(1))]);
    bench.step(9);
    assert_eq!(bench.moved[1..], [(9, back(1)), (9, out(2))]);
    bench.run(10..18);
    assert_eq!(bench.moved.len(), 3);
    bench.step(18);
    assert_eq!(bench.moved[3..], [(18, back(2))]);
}

/// The queue's number of entries limits the transfers at a time. With one entry they are serial.
#[test]
fn the_queue_bounds_transfers_under_way() {
    let rules = ContextRules {
        transfers: ContextTransfers::Overlap,
        warp_queue: 1,
        ..BY_WARP
    };
    let mut bench = Bench::full(rules);
    bench.miss(1);
    bench.miss(2);
    bench.run(0..9);
    assert_eq!(bench.moved, [(0, out(1))]);
    bench.step(9);
    assert_eq!(bench.moved[1..], [(9, back(1)), (9, out(2))]);
}

/// Both halves of a swap move at once through a duplex port. The swap takes as long as the longer
/// half: 7 units out, with 2 in.
#[test]
fn a_duplex_swap_takes_its_longer_half() {
    let rules = ContextRules {
        duplex: true,
        ..BY_WARP
    };
    let mut bench = Bench::full(rules);
    bench.miss(1);
    bench.run(0..7);
    assert_eq!(
        (bench.state(1), bench.state(4)),
        (State::Leaving, State::Entering)
    );
    bench.step(7);
    assert_eq!(
        (bench.state(1), bench.state(4)),
        (State::Absent, State::Running)
    );
    assert_eq!(bench.moved, [(0, out(1)), (7, back(1))]);
    assert_eq!(bench.contexts.counters.port_cycles, 7);
    // Seven units move in each direction, which would take 14 cycles one after the other.
    bench.arrive(1);
    bench.miss(0);
    bench.run(8..15);
    bench.miss(4);
    bench.run(15..22);
    let then = [(8, out(0)), (15, back(0)), (15, out(1))];
    assert_eq!(bench.moved[2..], then);
    bench.step(22);
    assert_eq!(bench.moved[5..], [(22, back(1))]);
}

/// Each direction of a transfer takes a whole number of cycles.
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

/// The shared memory of a block moves with it, four more units in each direction: from the low end
/// of shared memory to the high end of the register file.
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
    // Two slots of two units and four units of shared memory move out. The slots of a new block
    // move in, without its shared memory, which has not been written.
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
