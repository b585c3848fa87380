//! Small scenarios worked by hand: who is picked, cycle by cycle.

use super::*;

/// Ages by slot: slot 3 is the oldest, then 0, 2, 1.
const AGES: [u64; 64] = {
    let mut ages = [100; 64];
    ages[0] = 11;
    ages[1] = 13;
    ages[2] = 12;
    ages[3] = 10;
    ages
};

fn view(waiting: WarpMask, long_wait: WarpMask) -> WarpView<'static> {
    WarpView {
        own: 0b1111,
        live: 0b1111,
        waiting,
        long_wait,
        age: &AGES,
    }
}

/// Runs the masks of ready warps through a policy; one letter a cycle: the slot, or `-`.
fn picks(mut policy: impl WarpScheduler, ready: &[WarpMask]) -> String {
    (0..4).for_each(|s| policy.on_start(WarpSlot(s)));
    let mut out = String::new();
    for &mask in ready {
        let view = view(0, 0);
        policy.begin_cycle(&view);
        match policy.pick(&view, mask) {
            Some(slot) => {
                assert!(
                    mask >> slot.index() & 1 != 0,
                    "picked a warp that is not ready"
                );
                policy.on_issue(slot);
                out.push_str(&slot.0.to_string());
            }
            None => out.push('-'),
        }
    }
    out
}

#[test]
fn lrr_goes_round() {
    assert_eq!(picks(Lrr::default(), &[0b1111; 5]), "01230");
    assert_eq!(
        picks(Lrr::default(), &[0b1111, 0b1001, 0b1001, 0, 0b0110]),
        "030-1"
    );
}

#[test]
fn rrr_waits_for_the_warp_whose_turn_it_is() {
    // Slot 1 has its turn until it issues, though others are ready.
    assert_eq!(
        picks(
            Rrr::default(),
            &[0b1111, 0b1101, 0b0101, 0b0010, 0b1111, 0b1000]
        ),
        "0--123"
    );
    // A warp that waits is passed over, and comes again when it waits no longer.
    let mut policy = Rrr::default();
    assert_eq!(policy.pick(&view(0b0001, 0), 0b1110), Some(WarpSlot(1)));
    assert_eq!(
        policy.pick(&view(0, 0), 0b1110),
        None,
        "slot 0 is first again"
    );
}

#[test]
fn grr_stays_then_goes_on() {
    assert_eq!(
        picks(Grr::default(), &[0b1111, 0b1111, 0b1110, 0b1110, 0b0001]),
        "00110"
    );
}

#[test]
fn gto_stays_then_takes_the_oldest() {
    assert_eq!(
        picks(Gto::default(), &[0b1111, 0b1111, 0b0110, 0b1111, 0b1011, 0]),
        "33223-"
    );
}

#[test]
fn oldest_is_never_greedy() {
    assert_eq!(picks(Oldest, &[0b0111, 0b0110, 0b1111, 0b0010]), "0231");
}

#[test]
fn static_limit_ignores_younger_warps() {
    // The two oldest are slots 3 and 0; with only younger ones ready the cycle passes.
    assert_eq!(
        picks(StaticLimit::new(2), &[0b0110, 0b1111, 0b0111, 0b1001]),
        "-300"
    );
}

#[test]
fn static_limit_replaces_waiting_warps() {
    let mut policy = StaticLimit::new(2);
    assert_eq!(policy.pick(&view(0b1000, 0), 0b0111), Some(WarpSlot(0)));
    // Slot 3 waits, so the two oldest that do not are 0 and 2.
    assert_eq!(policy.pick(&view(0b1000, 0), 0b0110), Some(WarpSlot(2)));
    assert_eq!(policy.pick(&view(0b1000, 0), 0b0010), None);
}

#[test]
fn two_level_issues_from_the_active_group_only() {
    assert_eq!(
        picks(TwoLevel::new(2), &[0b1111, 0b1111, 0b1111, 0b1100]),
        "010-"
    );
}

#[test]
fn two_level_swaps_a_long_wait() {
    let mut policy = TwoLevel::new(2);
    (0..4).for_each(|s| policy.on_start(WarpSlot(s)));
    policy.begin_cycle(&view(0, 0b0001));
    // Slot 0 went to the tail, slot 2 came from the head.
    assert_eq!(policy.pick(&view(0, 0b0001), 0b1111), Some(WarpSlot(1)));
    policy.on_issue(WarpSlot(1));
    assert_eq!(policy.pick(&view(0, 0), 0b1111), Some(WarpSlot(2)));
    // Slot 1 exits: 3 is next in the queue, before 0.
    policy.on_exit(WarpSlot(1));
    policy.begin_cycle(&view(0, 0));
    assert_eq!(policy.pick(&view(0, 0), 0b1011), Some(WarpSlot(3)));
}

#[test]
fn names_and_choices_agree() {
    assert_eq!(
        TABLE.iter().map(|row| row.name).collect::<Vec<_>>(),
        [
            "lrr",
            "grr",
            "gto",
            "oldest",
            "rrr",
            "two-level",
            "static-limit"
        ]
    );
    assert!(matches!(WarpPolicy::new(Choice::Gto), WarpPolicy::Gto(_)));
}

#[test]
fn a_custom_policy_takes_part() {
    struct Last;
    impl WarpScheduler for Last {
        fn pick(&mut self, _: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
            ready.checked_ilog2().map(|slot| WarpSlot(slot as u16))
        }
    }
    assert_eq!(
        picks(WarpPolicy::Custom(Box::new(Last)), &[0b0110, 0]),
        "2-"
    );
}
