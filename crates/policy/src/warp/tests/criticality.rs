//! Criticality worked by hand: instructions left, cycles per instruction and stalls of warps.

use super::*;
use warploom_base::{KernelSlot, Pc};

/// The place of a warp that has issued and has `left` instructions left.
fn to_the_end(left: u32) -> Progress {
    Progress {
        kernel: KernelSlot(0),
        issued: 1,
        next: Some(Pc(1000 - left)),
        left,
        lanes: !0,
    }
}

/// Lets a warp issue, with `left` instructions left after it.
fn issue(policy: &mut Cawa, slot: u16, left: u32) {
    policy.on_issue(WarpSlot(slot));
    policy.on_progress(WarpSlot(slot), &to_the_end(left));
}

/// The first instructions issue after 10 cycles, of which 9 were stalls. Warp 0 has 20 instructions
/// left: 20 x 10 / 1 + 9 = 209. Warp 1 has 5: 59. Warp 1 issued last and goes on; without it warp 0
/// is first. After 10 more cycles, warp 0 issues once more: 19 x 20 / 2 + 9 + 9 = 208, and warp 1
/// has 5 x 20 / 1 + 9 = 109. With 8 instructions left, warp 0 has 98.
#[test]
fn the_most_critical_warp_goes_first() {
    let mut policy = Cawa::default();
    (0..4).for_each(|slot| policy.on_start(WarpSlot(slot)));
    let table = table();
    let view = view(&table, 0, 0);
    policy.end_cycles(&view, 0, None, 10);
    issue(&mut policy, 0, 20);
    issue(&mut policy, 1, 5);
    assert_eq!(policy.pick(&view, 0b0111), Some(WarpSlot(1)));
    assert_eq!(policy.pick(&view, 0b0101), Some(WarpSlot(0)));
    policy.end_cycles(&view, 0, None, 10);
    issue(&mut policy, 0, 19);
    issue(&mut policy, 2, 0);
    assert_eq!(policy.pick(&view, 0b0011), Some(WarpSlot(0)));
    policy.on_progress(WarpSlot(0), &to_the_end(8));
    assert_eq!(policy.pick(&view, 0b0011), Some(WarpSlot(1)));
}

/// Warps that have not issued are equal, and the oldest of them goes first. A warp that starts in a
/// slot has nothing of the one before it.
#[test]
fn fresh_warps_go_by_age() {
    let mut policy = Cawa::default();
    (0..4).for_each(|slot| policy.on_start(WarpSlot(slot)));
    assert_eq!(scenario(&mut policy, "012"), "0");
    policy.on_progress(WarpSlot(0), &to_the_end(50));
    // 50 x 1 / 1 puts warp 0 before the older warp 3. A new warp in its slot comes after it.
    policy.on_issue(WarpSlot(1));
    assert_eq!(scenario(&mut policy, "03"), "0");
    policy.on_issue(WarpSlot(1));
    policy.on_start(WarpSlot(0));
    assert_eq!(scenario(&mut policy, "03"), "3");
}
