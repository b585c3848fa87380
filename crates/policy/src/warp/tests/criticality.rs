//! Criticality worked by hand: instructions left, cycles per instruction and stalls of warps.

use super::*;
use warploom_base::{KernelSlot, Pc};
use warploom_config::CawaSettings;

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
    let mut policy = Cawa::new(CawaSettings::default());
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
    let mut policy = Cawa::new(CawaSettings::default());
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

/// Slots 0, 1 and 2 are a block, slot 3 another; even and odd slots have a scheduler each. As of
/// their last issues in cycle 10, warp 0 has 20 x 10 / 1 + 9 = 209, warp 1 has 59 and warp 2 has
/// 109. Less critical than warp 0 are two of three, than warp 2 one of three, which has the other
/// scheduler: 33 %. Warp 3 is alone, and nobody waits for it. Cycles that pass change nothing; a
/// warp that has exited does not count.
#[test]
fn a_warp_is_critical_beside_the_warps_of_its_block() {
    let critical_at = |critical_percent, live: WarpMask| {
        let mut policies = [(); 2].map(|()| Cawa::new(CawaSettings { critical_percent }));
        let table = table();
        let view = view(&table, 0, 0);
        for slot in 0..4 {
            policies[usize::from(slot % 2)].on_start(WarpSlot(slot));
        }
        for policy in &mut policies {
            policy.end_cycles(&view, 0, None, 10);
        }
        for (slot, left) in [(0, 20), (1, 5), (2, 10), (3, 90)] {
            issue(&mut policies[usize::from(slot % 2)], slot, left);
        }
        for policy in &mut policies {
            policy.end_cycles(&view, 0, None, 1000);
        }
        let criticality = |slot: WarpSlot| policies[slot.index() % 2].criticality(slot);
        let is_critical = |slot: &u16| {
            let slot = WarpSlot(*slot);
            let mut block = warps_of(live & table.of_block(slot)).map(criticality);
            policies[0].is_critical(criticality(slot), &mut block)
        };
        (0..4).filter(is_critical).collect::<Vec<_>>()
    };
    assert_eq!(critical_at(50, 0b1111), [0]);
    assert_eq!(critical_at(33, 0b1111), [0, 2]);
    assert_eq!(critical_at(67, 0b1111), []);
    assert_eq!(critical_at(50, 0b1101), [0]);
    assert_eq!(critical_at(50, 0b1001), []);
}
