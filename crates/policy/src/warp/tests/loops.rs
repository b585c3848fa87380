//! Loops of `daws` worked by hand: which warps may load.

use super::*;
use warploom_base::{KernelSlot, LaneMask, Pc};
use warploom_config::DawsSettings;

/// Load of the loop from 2 to 5.
const LOAD: u32 = 3;

/// A policy with four warps, the oldest in slot 3, then 0, 2, 1. One cycle has passed.
fn daws() -> Daws {
    let mut policy = Daws::new(DawsSettings::default());
    [3, 0, 2, 1]
        .into_iter()
        .for_each(|slot| policy.on_start(WarpSlot(slot)));
    policy.end_cycles(&view(&table(), 0, 0), 0, None, 1);
    policy
}

/// The warp in a slot issues an instruction, after which `next` is the next one.
fn goes_to(policy: &mut Daws, slot: u16, next: u32, lanes: LaneMask) {
    policy.on_issue(WarpSlot(slot));
    policy.on_progress(
        WarpSlot(slot),
        &Progress {
            kernel: KernelSlot(0),
            issued: 1,
            next: Some(Pc(next)),
            left: 100 - next,
            lanes,
        },
    );
}

/// A warp runs once through the loop. Each of its 32 lanes reads a line.
fn iterate(policy: &mut Daws, slot: u16, outcome: L1dOutcome) {
    for next in [3, 4, 5, 2] {
        goes_to(policy, slot, next, !0);
        for line in (0..32).filter(|_| next == LOAD + 1) {
            policy.on_l1d(&L1dEvent::Read {
                warp: WarpSlot(slot),
                pc: Pc(LOAD),
                line: 128 * line,
                outcome,
            });
        }
    }
}

/// The slots of 0 to 3 that may load, on an L1D of which 64 lines are for these four warps: of 1707
/// lines 60 %, for 4 of 64 slots.
fn loaders(policy: &mut Daws, waiting: WarpMask) -> String {
    let mut table = table();
    table.l1d_lines = 1707;
    let view = view(&table, waiting, 0);
    policy.begin_cycle(&view);
    let ready = ReadyWarps {
        all: 0b1111,
        accesses: 0b1111,
        loads: 0b1111,
    };
    let admitted = policy.screen(&view, ready).admitted;
    assert_eq!(policy.has_gate(), admitted != 0b1111);
    policy.end_cycles(&view, 0, None, 1);
    warps_of(admitted).map(|slot| slot.0.to_string()).collect()
}

/// Warp 3 loses the last 16 of the 32 lines of the loop, as many as its victim tags keep.
fn lose_lines(policy: &mut Daws) {
    for line in 16..32 {
        policy.on_l1d(&L1dEvent::Evict {
            owner: WarpSlot(3),
            line: 128 * line,
        });
    }
}

/// A policy whose four warps are in the loop. Warp 3 has gone through it four times. The second
/// time, the first of the known loop, it misses on its lines, the third time it has lost half of
/// them, a quarter of all misses, and the fourth time it finds them again.
fn in_the_loop() -> Daws {
    let mut policy = daws();
    goes_to(&mut policy, 3, 2, !0);
    iterate(&mut policy, 3, L1dOutcome::Miss);
    iterate(&mut policy, 3, L1dOutcome::Miss);
    lose_lines(&mut policy);
    iterate(&mut policy, 3, L1dOutcome::Miss);
    iterate(&mut policy, 3, L1dOutcome::Hit);
    [0, 1, 2]
        .into_iter()
        .for_each(|slot| goes_to(&mut policy, slot, 2, !0));
    policy
}

/// Each warp needs 32 lines, so that the two oldest have room. A warp that waits needs none. With
/// eight active lanes a warp needs eight lines: 8 + 32 leave no room for 32 more, 8 + 8 + 32 do,
/// but then not for the fourth warp. A warp that leaves the loop may load, and so may all when two
/// are left in it.
#[test]
fn daws_lets_as_many_warps_load_as_l1d_has_room_for() {
    let mut policy = in_the_loop();
    assert_eq!(policy.counters().loops.loops, 1);
    assert_eq!(loaders(&mut policy, 0), "03");
    assert_eq!(loaders(&mut policy, 0b1), "023");
    goes_to(&mut policy, 3, 3, 0xff);
    assert_eq!(loaders(&mut policy, 0), "03");
    goes_to(&mut policy, 0, 3, 0xff);
    assert_eq!(loaders(&mut policy, 0), "023");
    goes_to(&mut policy, 3, 6, 0xff);
    assert_eq!(loaders(&mut policy, 0), "023");
    policy.on_exit(WarpSlot(0));
    assert_eq!(loaders(&mut policy, 0), "0123");
}

/// While the load finds nothing again, or only one line, every warp may load. A line that the warp
/// lost counts as found.
#[test]
fn daws_counts_lines_that_are_used_again() {
    let mut policy = daws();
    goes_to(&mut policy, 3, 2, !0);
    iterate(&mut policy, 3, L1dOutcome::Miss);
    iterate(&mut policy, 3, L1dOutcome::Miss);
    [0, 1, 2]
        .into_iter()
        .for_each(|slot| goes_to(&mut policy, slot, 2, !0));
    assert_eq!(loaders(&mut policy, 0), "0123");
    // 16 of 64 accesses find a lost line, a quarter.
    lose_lines(&mut policy);
    iterate(&mut policy, 3, L1dOutcome::Miss);
    assert_eq!(policy.counters().victim_tags.victim_tag_hits, 16);
    [0, 1, 2]
        .into_iter()
        .for_each(|slot| iterate(&mut policy, slot, L1dOutcome::Merged));
    assert_eq!(loaders(&mut policy, 0), "0123", "16 of 160 accesses");
    iterate(&mut policy, 3, L1dOutcome::Hit);
    [0, 2, 1]
        .into_iter()
        .for_each(|slot| iterate(&mut policy, slot, L1dOutcome::Hit));
    assert_eq!(loaders(&mut policy, 0), "03");
}

/// Lanes that were not active before come from another path: going back with them is no loop.
#[test]
fn daws_takes_no_other_path_for_a_loop() {
    let mut policy = daws();
    goes_to(&mut policy, 3, 8, 0xffff_0000);
    goes_to(&mut policy, 3, 4, 0x0000_ffff);
    assert_eq!(policy.counters().loops.loops, 0);
    goes_to(&mut policy, 3, 4, 0x0000_ffff);
    assert_eq!(policy.counters().loops.loops, 1);
}

/// Loads that are held back stay so until something changes, but for one cycle of 65,536: a warp
/// that fills L1D may wait for one that may not load.
#[test]
fn daws_lets_all_warps_load_now_and_then() {
    let mut policy = in_the_loop();
    assert_eq!(loaders(&mut policy, 0), "03");
    assert_eq!(policy.holds_for(), 65_534);
    let table = table();
    policy.end_cycles(&view(&table, 0, 0), 0, None, 65_533);
    assert_eq!(policy.holds_for(), 1);
    assert_eq!(loaders(&mut policy, 0), "03");
    assert_eq!(policy.holds_for(), 0);
    assert_eq!(loaders(&mut policy, 0), "0123");
    assert_eq!(loaders(&mut policy, 0), "03");
}

/// Without a warp there is no kernel whose loops are known.
#[test]
fn daws_forgets_loops_when_no_warp_is_left() {
    let mut policy = in_the_loop();
    (0..4).for_each(|slot| policy.on_exit(WarpSlot(slot)));
    [3, 0, 2, 1]
        .into_iter()
        .for_each(|slot| policy.on_start(WarpSlot(slot)));
    (0..4).for_each(|slot| goes_to(&mut policy, slot, 2, !0));
    assert_eq!(loaders(&mut policy, 0), "0123");
}
