//! Small scenarios worked by hand: who is picked, cycle by cycle.

mod criticality;
mod groups;
mod l1d;
mod loops;

use super::*;
use crate::range::{ArrayRange, MAX_ARRAYS, WarpRange};
use warploom_config::{
    InnerOrder, LongLatencyFirstSettings, OuterOrder, SortScope, StallCount, StaticLimitSettings,
    TwoLevelSettings, WarpLocalitySettings,
};

/// Ages by slot: slot 3 is the oldest, then 0, 2, 1.
const AGES: [u64; 64] = {
    let mut ages = [100; 64];
    ages[0] = 11;
    ages[1] = 13;
    ages[2] = 12;
    ages[3] = 10;
    ages
};

/// Two blocks: slots 0, 1 and 2, of which the oldest has age 11, and slot 3 alone.
const BLOCKS: [u64; 64] = {
    let mut blocks = [11; 64];
    blocks[3] = 10;
    blocks
};

/// The block of slot 3 is the SM's first.
const SERIALS: [u64; 64] = {
    let mut serials = [1; 64];
    serials[3] = 0;
    serials
};

/// Slots 0, 1 and 3 touch the same region, in which 0 shares two sub-regions with 1 and one with 3,
/// and 1 one with 3; slot 2 touches another.
const RANGES: [WarpRange; 4] = [
    range(1, 0b1011),
    range(1, 0b1001),
    range(2, 0b1111),
    range(1, 0b1000),
];

const fn range(region: u32, touched: u64) -> WarpRange {
    let nowhere = ArrayRange {
        region: 0,
        touched: 0,
    };
    let mut range = [nowhere; MAX_ARRAYS];
    range[0] = ArrayRange { region, touched };
    range
}

fn view(table: &WarpTable, waiting: WarpMask, long_wait: WarpMask) -> WarpView<'_> {
    WarpView {
        own: 0b1111,
        live: 0b1111,
        waiting,
        long_wait,
        held: 0,
        table,
    }
}

fn table() -> WarpTable {
    let mut table = WarpTable::new(64, 64, 8);
    table.age = AGES.to_vec();
    table.block_age = BLOCKS.to_vec();
    table.block_serial = SERIALS.to_vec();
    table.ranges = RANGES.to_vec();
    (0..64).for_each(|slot| table.move_warp(slot, slot));
    table
}

/// The slots that a word names, as `02`; `-` for none.
fn mask(word: &str) -> WarpMask {
    let slots = word.chars().filter_map(|c| c.to_digit(10));
    slots.fold(0, |mask, slot| mask | 1 << slot)
}

/// Takes a policy through a scenario, one line for each cycle: `READY`, and after it where there
/// are some `stalled=SLOTS`, `wait=SLOTS` (at a barrier), `long=SLOTS` (needs a load), `start=SLOT`
/// or `exit=SLOT` (before the cycle), `cycles=N` (the line stands for that many). The result is the
/// slot issued from in each cycle, `-` for none.
fn scenario(policy: &mut impl WarpScheduler, lines: &str) -> String {
    let mut out = String::new();
    let table = table();
    for line in lines.lines() {
        let mut words = line.split_whitespace();
        let ready = mask(words.next().expect("a word for the ready warps"));
        let (mut stalled, mut waiting, mut long, mut cycles) = (0, 0, 0, 1);
        for word in words {
            let (name, value) = word.split_once('=').expect("NAME=VALUE");
            match name {
                "stalled" => stalled = mask(value),
                "wait" => waiting = mask(value),
                "long" => long = mask(value),
                "start" => warps_of(mask(value)).for_each(|slot| policy.on_start(slot)),
                "exit" => warps_of(mask(value)).for_each(|slot| policy.on_exit(slot)),
                "cycles" => cycles = value.parse().expect("a number"),
                other => panic!("no such word: {other}"),
            }
        }
        let view = view(&table, waiting, long);
        policy.begin_cycle(&view);
        let picked = policy.pick(&view, ready);
        policy.end_cycles(&view, stalled, picked, cycles);
        if let Some(slot) = picked {
            assert!(ready >> slot.index() & 1 != 0, "{slot} is not ready");
            policy.on_issue(slot);
        }
        out.push_str(&picked.map_or("-".to_owned(), |slot| slot.0.to_string()));
    }
    out
}

/// Runs the masks of ready warps through a policy; one letter a cycle: the slot, or `-`.
fn picks(mut policy: impl WarpScheduler, ready: &[WarpMask]) -> String {
    (0..4).for_each(|s| policy.on_start(WarpSlot(s)));
    let word = |mask: &WarpMask| {
        let slots: String = warps_of(*mask).map(|slot| slot.0.to_string()).collect();
        format!("-{slots}\n")
    };
    let lines: String = ready.iter().map(word).collect();
    scenario(&mut policy, &lines)
}

/// Against a search by age, for all masks of a few slots in both words, as warps start and move.
#[test]
fn the_oldest_is_the_one_of_least_age() {
    let slots = [0, 1, 5, 63, 64, 70, 127];
    let mut table = WarpTable::new(128, 130, 8);
    let mut age = 0;
    let mut start = |table: &mut WarpTable, place| {
        table.start(place, age, 0);
        age += 1;
    };
    for place in [70, 5, 129, 0, 127, 64, 63, 1, 5, 64, 128] {
        start(&mut table, place);
    }
    for (from, to) in [(129, 0), (128, 127), (63, 128), (0, 63)] {
        table.move_warp(from, to);
        start(&mut table, from);
        for chosen in 1_u32..1 << slots.len() {
            let picked = || {
                (0..slots.len())
                    .filter(|i| chosen >> i & 1 != 0)
                    .map(|i| slots[i])
            };
            let mask = picked().fold(0, |mask: WarpMask, slot| mask | 1 << slot);
            let oldest = picked()
                .min_by_key(|slot| table.age[*slot])
                .map(WarpSlot::new);
            assert_eq!(table.oldest(mask), oldest, "{mask:#x}");
        }
    }
    assert_eq!(table.oldest(0), None);
}

#[test]
fn the_mask_of_a_slot_holds_it_alone() {
    for slot in (0..128).map(WarpSlot) {
        assert_eq!(only(slot), 1 << slot.index());
    }
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
    assert_eq!(
        policy.pick(&view(&table(), 0b0001, 0), 0b1110),
        Some(WarpSlot(1))
    );
    assert_eq!(
        policy.pick(&view(&table(), 0, 0), 0b1110),
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

fn static_limit(warps: u32) -> StaticLimit {
    StaticLimit::new(StaticLimitSettings { warps })
}

#[test]
fn static_limit_ignores_younger_warps() {
    // The two oldest are slots 3 and 0; with only younger ones ready the cycle passes.
    assert_eq!(
        picks(static_limit(2), &[0b0110, 0b1111, 0b0111, 0b1001]),
        "-300"
    );
}

/// Slot 3 waits, so the two oldest that do not are 0 and 2.
#[test]
fn static_limit_replaces_waiting_warps() {
    let lines = "012 wait=3\n12 wait=3\n1 wait=3";
    assert_eq!(scenario(&mut static_limit(2), lines), "02-");
}

fn two_level(active_warps: u32, inner: InnerOrder, outer: OuterOrder) -> TwoLevel {
    let mut policy = TwoLevel::new(TwoLevelSettings {
        active_warps,
        inner,
        outer,
    });
    (0..4).for_each(|s| policy.on_start(WarpSlot(s)));
    policy
}

#[test]
fn two_level_issues_from_the_active_group_only() {
    let mut policy = two_level(2, InnerOrder::Lrr, OuterOrder::Queue);
    assert_eq!(scenario(&mut policy, "0123\n0123\n0123\n23"), "010-");
}

/// Warp 0 needs a load: it goes to the tail, 2 comes from the head. When 1 exits, 3 is next in the
/// queue, before 0. Two changes of the group: an exit leaves no place to another.
#[test]
fn two_level_swaps_a_long_wait() {
    let mut policy = two_level(2, InnerOrder::Lrr, OuterOrder::Queue);
    let lines = "123 long=0\n0123\n023 exit=1\n023\n02 long=3\n02";
    // 1 2 | active {2,3}: after 2 comes 3, then 2 | 3 waits: 0 takes its place, after 2 comes 0.
    assert_eq!(scenario(&mut policy, lines), "123202");
    assert_eq!(policy.counters().groups.group_changes, 2);
}

/// Everybody waits in turn; the tail keeps the order in which they began to wait.
#[test]
fn two_level_keeps_the_order_of_those_that_wait() {
    let mut policy = two_level(2, InnerOrder::Lrr, OuterOrder::Queue);
    let lines = "- long=1\n- long=013\n- long=0123\n03 long=12\n013 long=2";
    // The queue is 2 3, then 3 1 while 0 and 2 are active; 0 waits, and 2 does, behind 1 and 3;
    // 0 and 3 become free: 3 comes before 0.
    assert_eq!(scenario(&mut policy, lines), "---03");
}

/// The same exchange, but the oldest takes the place: 3 before 2.
#[test]
fn two_level_may_promote_the_oldest() {
    let mut policy = two_level(2, InnerOrder::Lrr, OuterOrder::Oldest);
    assert_eq!(scenario(&mut policy, "23 long=0\n23 long=0"), "33");
}

/// Groups {0,1} and {2,3}: the first has its turn until both of its warps wait, however ready the
/// others are; it comes back when the second waits as a whole.
#[test]
fn two_level_groups_take_turns() {
    let mut policy = two_level(2, InnerOrder::Lrr, OuterOrder::Groups);
    let lines = "0123\n123 long=0\n23 long=0\n23 long=01\n0123\n012 long=3\n01 long=23\n23 long=01";
    assert_eq!(scenario(&mut policy, lines), "01-23202");
    assert_eq!(policy.counters().groups.group_changes, 3);
}

/// A group that waits as a whole keeps its turn when all others do too, or have exited.
#[test]
fn two_level_groups_stay_where_nobody_can_go_on() {
    let mut policy = two_level(2, InnerOrder::Lrr, OuterOrder::Groups);
    assert_eq!(scenario(&mut policy, "- long=01 wait=23\n0123"), "-0");
    assert_eq!(policy.counters().groups.group_changes, 0);
}

#[test]
fn two_level_has_an_inner_order() {
    let order = |inner| {
        let mut policy = two_level(4, inner, OuterOrder::Queue);
        scenario(&mut policy, "012\n012\n0123\n0123\n12\n12")
    };
    assert_eq!(order(InnerOrder::Lrr), "012312");
    assert_eq!(order(InnerOrder::Grr), "000011");
    // 3 is older than 0, but 0 goes on until it cannot; then 2 is older than 1.
    assert_eq!(order(InnerOrder::Gto), "000022");
    assert_eq!(order(InnerOrder::Oldest), "003322");
}

/// A run of skipped cycles is one call: a second call with the same view changes nothing.
#[test]
fn two_level_takes_skipped_cycles_at_once() {
    for outer in [OuterOrder::Queue, OuterOrder::Oldest, OuterOrder::Groups] {
        let run = |idle: usize| {
            let mut policy = two_level(2, InnerOrder::Lrr, outer);
            let idle = "- long=02\n".repeat(idle);
            let out = scenario(&mut policy, &format!("{idle}0123\n0123\n23 long=01\n0123"));
            out.trim_start_matches('-').to_owned()
        };
        assert_eq!(run(1), run(7), "{outer:?}");
    }
}

fn long_latency_first(scope: SortScope, count: StallCount) -> LongLatencyFirst {
    let mut policy = LongLatencyFirst::new(LongLatencyFirstSettings {
        scope,
        count,
        ..LongLatencyFirstSettings::default()
    });
    (0..4).for_each(|s| policy.on_start(WarpSlot(s)));
    policy
}

/// Without stalls the oldest goes first: slot 3, and of the others 0. Slot 1 stalls for two cycles
/// and slot 2 for one, so 1 goes before 2 and 2 before 0; within blocks slot 3's block, the older
/// one, still goes before all of them. A cycle's stalls count from the next cycle on.
#[test]
fn most_stalled_goes_first_within_its_block() {
    let mut policy = long_latency_first(SortScope::Block, StallCount::All);
    let lines = "0123\n03 stalled=12\n0 stalled=1\n012\n02\n0123";
    assert_eq!(scenario(&mut policy, lines), "330123");
    let counters = policy.counters();
    assert_eq!(
        (counters.order.reorderings, counters.stalls.stall_cycles),
        (2, 3)
    );
}

/// The same over the scheduler's warps: slot 1 goes before slot 3 as well.
#[test]
fn most_stalled_goes_first_over_the_sm() {
    let mut policy = long_latency_first(SortScope::Sm, StallCount::All);
    let lines = "0123\n03 stalled=12\n0 stalled=1\n012\n02\n0123\n03";
    assert_eq!(scenario(&mut policy, lines), "3301213");
    assert_eq!(policy.counters().order.reorderings, 3);
}

/// Equal counters: the older warp, which of slots 1 and 2 is 2.
#[test]
fn equal_stalls_go_by_age() {
    let mut policy = long_latency_first(SortScope::Block, StallCount::All);
    assert_eq!(scenario(&mut policy, "- stalled=12\n12\n12"), "-22");
}

/// A warp gains nothing from a stall while it stalls. Ready cycles do not count, so the order stays
/// as it is until another warp has stalled for longer.
#[test]
fn only_stalls_count() {
    let mut policy = long_latency_first(SortScope::Block, StallCount::All);
    let lines = "- stalled=1\n012 cycles=5\n012 cycles=5\n2 stalled=0\n2 stalled=0\n012";
    assert_eq!(scenario(&mut policy, lines), "-11220");
}

/// `examined`: the scheduler comes to slot 3 first and issues from it, so it does not look at the
/// stalled slot 1 behind it; when slot 3 itself stalls, it does, on its way to slot 0 or past it.
#[test]
fn examined_counts_what_the_scheduler_looked_at() {
    let mut policy = long_latency_first(SortScope::Block, StallCount::Examined);
    // 1 is the last of the order 3, 0, 2, 1.
    assert_eq!(scenario(&mut policy, "3 stalled=012 cycles=9"), "3");
    assert_eq!(policy.counters().stalls.stall_cycles, 0);
    assert_eq!(scenario(&mut policy, "0 stalled=123"), "0");
    assert_eq!(
        policy.counters().stalls.stall_cycles,
        1,
        "only slot 3 stands before 0"
    );
    assert_eq!(scenario(&mut policy, "1 stalled=023"), "1");
    assert_eq!(
        policy.counters().stalls.stall_cycles,
        4,
        "slots 3, 0 and 2 stand before 1"
    );
    // Nothing issues: the scheduler looked at all of them.
    assert_eq!(scenario(&mut policy, "- stalled=0123 cycles=10"), "-");
    assert_eq!(policy.counters().stalls.stall_cycles, 44);
}

/// `stall-cycles`: slot 2 is stalled while slot 0 issues, which is no stall cycle; slot 1 in a
/// cycle in which nothing issues.
#[test]
fn a_stall_cycle_is_one_in_which_nothing_issues() {
    let lines = "0 stalled=2\n0 stalled=2\n- stalled=1\n012";
    let first = |count| {
        let mut policy = long_latency_first(SortScope::Block, count);
        let picks = scenario(&mut policy, lines);
        (picks, policy.counters().stalls.stall_cycles)
    };
    assert_eq!(first(StallCount::StallCycles), ("00-1".to_owned(), 1));
    assert_eq!(first(StallCount::All), ("00-2".to_owned(), 3));
    let default = LongLatencyFirstSettings::default().count;
    assert_eq!(default, StallCount::StallCycles);
}

/// A run of skipped cycles counts as its cycles one by one.
#[test]
fn skipped_cycles_count_in_full() {
    let counts = [
        StallCount::StallCycles,
        StallCount::All,
        StallCount::Examined,
    ];
    for count in counts {
        let run = |lines: &str| {
            let mut policy = long_latency_first(SortScope::Sm, count);
            let picks = scenario(&mut policy, lines);
            let rest = scenario(&mut policy, "012 stalled=3\n02\n0123");
            (picks.len(), rest, policy.counters())
        };
        let (_, rest, counters) = run("- stalled=12 cycles=6\n- stalled=1 cycles=3");
        let (cycles, one_by_one, same) =
            run(&("- stalled=12\n".repeat(6) + &"- stalled=1\n".repeat(3)));
        assert_eq!((cycles, &one_by_one, &same), (9, &rest, &counters));
        assert_eq!(rest, "121", "nine stalls before six before one");
    }
}

/// A new warp begins at 0.
#[test]
fn a_new_warp_has_not_stalled() {
    let mut policy = long_latency_first(SortScope::Block, StallCount::All);
    let lines = "- stalled=1 cycles=100\n012\n012 exit=1 start=1";
    assert_eq!(scenario(&mut policy, lines), "-10");
}

/// A counter of two bits stays at 3: slots 1 and 2 are equal again, and 2 is older.
#[test]
fn counters_stay_at_their_largest_value() {
    let mut policy = LongLatencyFirst::new(LongLatencyFirstSettings {
        counter_bits: 2,
        ..LongLatencyFirstSettings::default()
    });
    assert_eq!(
        scenario(
            &mut policy,
            "- stalled=2 cycles=3\n- stalled=1 cycles=100\n12"
        ),
        "--2"
    );
}

#[test]
fn a_custom_policy_takes_part() {
    #[derive(warploom_state::State)]
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

fn in_pairs() -> Locality {
    Locality::new(WarpLocalitySettings {
        active_warps: 2,
        ..WarpLocalitySettings::default()
    })
}

/// A group of two: 3 is the oldest, 0 shares most with it. When 0 waits for memory, 1 comes in for
/// it, though 2 is older, because 1 shares a sub-region with 3.
#[test]
fn locality_lets_a_warp_that_shares_lines_come_in() {
    let mut policy = in_pairs();
    let lines = "0123\n0123\n012\n12 long=0\n13 long=0\n0\n";
    assert_eq!(scenario(&mut policy, lines), "33011-");
    let counters = policy.counters();
    assert_eq!(
        (counters.locality.demotions, counters.locality.promotions),
        (1, 1)
    );
}

/// The last warp goes on; when it cannot, the one that shares most with it.
#[test]
fn locality_goes_on_with_the_last_warp_then_its_neighbour() {
    let mut policy = Locality::new(WarpLocalitySettings::default());
    // 3 is the oldest. 0 and 1 share as much with it, 0 is older; 1 shares more with 0 than 2 does.
    assert_eq!(scenario(&mut policy, "0123\n012\n12\n2\n"), "3012");
}

/// A block more than twice the SM's blocks older than the newest one goes first.
#[test]
fn locality_serves_starved_blocks_first() {
    let mut policy = in_pairs();
    policy.on_issue(WarpSlot(0));
    let table = table();
    let fresh = view(&table, 0, 0);
    policy.begin_cycle(&fresh);
    assert_eq!(policy.pick(&fresh, 0b1001), Some(WarpSlot(0)));
    let mut small = table.clone();
    small.max_blocks = 0;
    small.move_warp(0, 0); // A start, after which late warps are found anew.
    let mut late = fresh;
    late.table = &small;
    policy.begin_cycle(&late);
    assert_eq!(policy.pick(&late, 0b1001), Some(WarpSlot(3)));
}

/// The group of two holds 3 and 0. When neither can issue, the cycle passes, unless the scheduler
/// is work-conserving: then 1 issues, which shares more with 0 than 2 does.
#[test]
fn a_work_conserving_locality_issues_from_outside_of_the_group() {
    let second = |work_conserving| {
        let mut policy = Locality::new(WarpLocalitySettings {
            active_warps: 2,
            work_conserving,
            ..WarpLocalitySettings::default()
        });
        scenario(&mut policy, "0123\n012\n12\n")
    };
    assert_eq!(second(false), "30-");
    assert_eq!(second(true), "301");
}

/// A pair's byte counts to 255: 1 shares five times 64 sub-regions with 0 and 2 four times, which
/// are one to the hardware, so that 2, the older, comes in; without the limit it is 1.
#[test]
fn locality_of_a_pair_has_a_byte() {
    let touching = |arrays: usize| {
        let mut range = [ArrayRange::default(); MAX_ARRAYS];
        range[..arrays].fill(ArrayRange {
            region: 0,
            touched: u64::MAX,
        });
        range
    };
    let ranges = [touching(5), touching(5), touching(4), touching(0)];
    let second = |ideal| {
        let mut policy = Locality::new(WarpLocalitySettings {
            ideal,
            ..WarpLocalitySettings::default()
        });
        let mut table = table();
        table.ranges = ranges.to_vec();
        let all = WarpView {
            table: &table,
            ..view(&table, 0, 0)
        };
        policy.on_issue(WarpSlot(0));
        policy.begin_cycle(&all);
        policy.pick(&all, 0b0110)
    };
    let [first, other] = [false, true].map(second);
    assert_eq!((first, other), (Some(WarpSlot(2)), Some(WarpSlot(1))));
}

/// Without ranges the order is greedy, then oldest.
#[test]
fn locality_without_ranges_is_greedy_then_oldest() {
    let mut policy = Locality::new(WarpLocalitySettings::default());
    let mut table = table();
    table.ranges.clear();
    let blind = WarpView {
        table: &table,
        ..view(&table, 0, 0)
    };
    let mut picked = Vec::new();
    for ready in [0b1111, 0b0111, 0b0110] {
        policy.begin_cycle(&blind);
        let slot = policy.pick(&blind, ready).expect("somebody is ready");
        policy.on_issue(slot);
        picked.push(slot.0);
    }
    assert_eq!(picked, [3, 0, 2]);
}
