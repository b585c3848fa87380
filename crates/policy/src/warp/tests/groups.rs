//! Groups of blocks of `owl` worked by hand.

use super::*;
use warploom_config::OwlSettings;

/// A policy with groups of one block, in front for four cycles. The first block has slot 3, the
/// second one slots 0, 1 and 2.
fn owl(returns: bool) -> Owl {
    Owl::new(OwlSettings {
        group_blocks: 1,
        interval_cycles: 4,
        returns,
        spread: false,
    })
}

/// SM 1 puts the second group in front where SM 0 has the first one, and the first one in the next
/// interval. SM 2 has the order of SM 0, because there are two groups.
#[test]
fn owl_puts_other_groups_in_front_on_other_sms() {
    let on = |sm: u16, spread: bool| {
        let mut table = table();
        table.sm = sm;
        let mut policy = Owl::new(OwlSettings {
            group_blocks: 1,
            interval_cycles: 4,
            returns: true,
            spread,
        });
        let picks = (0..6).map(|_| {
            let view = view(&table, 0, 0);
            policy.begin_cycle(&view);
            let slot = policy.pick(&view, 0b1111).expect("all are ready");
            policy.on_issue(slot);
            policy.end_cycles(&view, 0, Some(slot), 1);
            slot.0.to_string()
        });
        picks.collect::<String>()
    };
    assert_eq!(on(0, true), "333301");
    assert_eq!(on(1, true), "012033");
    assert_eq!(on(2, true), "333301");
    assert_eq!(on(1, false), "333301");
}

/// Slot 3 is in front for four cycles, and goes first again after a cycle in which it could not.
/// Then the other group is in front for four, and issues in turn.
#[test]
fn owl_puts_a_group_in_front_for_a_while() {
    let lines = "0123\n012\n0123\n123\n0123\n3\n0123\n0123\n0123";
    let mut policy = owl(true);
    assert_eq!(scenario(&mut policy, lines), "303303013");
    assert_eq!(policy.counters().groups.group_changes, 2);
}

/// Without its return, a group goes on until all its warps wait for memory or at a barrier.
#[test]
fn owl_goes_on_with_a_group_until_it_waits() {
    let lines = "0123\n012 long=3\n0123\n23 long=0 wait=1\n3 long=012\n0123";
    let mut policy = owl(false);
    assert_eq!(scenario(&mut policy, lines), "301233");
    assert_eq!(policy.counters().groups.group_changes, 2);
}

/// A group of two blocks holds all four warps, which issue in turn.
#[test]
fn owl_groups_several_blocks() {
    let mut policy = Owl::new(OwlSettings::default());
    assert_eq!(scenario(&mut policy, "0123\n0123\n0123\n0123\n3"), "01233");
}
