//! Scenarios of policies that follow the data cache: which warps may load, cycle by cycle.

use super::super::victim_tags::VictimTags;
use super::*;
use warploom_base::{KernelSlot, Pc};
use warploom_config::{CcwsSettings, MascarSettings, PcalSettings};

/// The next instruction of a warp, a load from global memory.
fn load(slot: WarpSlot) -> NextInst {
    NextInst {
        slot,
        kernel: KernelSlot(0),
        pc: Pc(0),
        access: Some(MemoryAccess {
            op: MemoryOp::Load,
            space: MemorySpace::Global,
        }),
    }
}

/// The warp and the line of a word `WARP:LINE`.
fn warp_and_line(word: &str) -> (WarpSlot, u64) {
    let (warp, line) = word.split_once(':').expect("WARP:LINE");
    let line: u64 = line.parse().expect("a line");
    (WarpSlot(warp.parse().expect("a warp")), line * 128)
}

/// Tells a policy that a warp has issued instructions in a cycle.
fn issue(policy: &mut impl WarpScheduler, slot: WarpSlot, issued: u32) {
    policy.on_issue(slot);
    let progress = Progress {
        kernel: KernelSlot(0),
        issued,
        next: Some(Pc(0)),
        left: 1,
        lanes: !0,
    };
    policy.on_progress(slot, &progress);
}

/// Tells a policy of what the words of a line name, in their order: `start=SLOTS`, `exit=SLOTS`,
/// `issue=SLOTS` (an instruction of each), `issue2=SLOTS` (two of each), `miss=WARP:LINE`,
/// `evict=OWNER:LINE`, `write=WARP:LINE`. Returns the number of cycles for which the line stands
/// (`cycles=N`, else one).
fn tell(policy: &mut impl WarpScheduler, line: &str) -> u64 {
    let mut cycles = 1;
    for word in line.split_whitespace() {
        let (name, value) = word.split_once('=').expect("NAME=VALUE");
        let slots = |value| warps_of(mask(value));
        match name {
            "start" => slots(value).for_each(|slot| policy.on_start(slot)),
            "exit" => slots(value).for_each(|slot| policy.on_exit(slot)),
            "issue" => slots(value).for_each(|slot| issue(policy, slot, 1)),
            "issue2" => slots(value).for_each(|slot| issue(policy, slot, 2)),
            "cycles" => cycles = value.parse().expect("a number"),
            _ => policy.on_l1d(&event(name, value)),
        }
    }
    cycles
}

fn event(name: &str, value: &str) -> L1dEvent {
    let (warp, line) = warp_and_line(value);
    let read = |outcome| L1dEvent::Read {
        warp,
        pc: Pc(0),
        line,
        outcome,
    };
    match name {
        "miss" => read(L1dOutcome::Miss),
        "merge" => read(L1dOutcome::Merged),
        "evict" => L1dEvent::Evict { owner: warp, line },
        "write" => L1dEvent::Write { warp, line },
        other => panic!("no such word: {other}"),
    }
}

/// Takes a policy through a scenario, one line for each cycle or run of cycles: what it is told
/// before (see [`tell`]). The result is the slots of 0 to 3 that may load, line by line, as both
/// functions of the gate say.
fn loaders(policy: &mut impl WarpScheduler, lines: &str) -> String {
    let table = table();
    let view = view(&table, 0, 0);
    let mut out = Vec::new();
    for line in lines.lines() {
        let cycles = tell(policy, line);
        policy.begin_cycle(&view);
        let ready = ReadyWarps {
            all: 0b1111,
            accesses: 0b1111,
            loads: 0b1111,
        };
        let screened = policy.screen(&view, ready);
        let may = |slot: &u16| policy.admits(&view, &load(WarpSlot(*slot)));
        let slots: Vec<u16> = (0..4).filter(may).collect();
        let mask = slots.iter().fold(0, |mask, slot| mask | 1 << slot);
        let decided = screened.admitted | screened.held;
        if policy.has_gate() {
            assert_eq!(mask & decided, screened.admitted, "{slots:?}");
        }
        let slots: Vec<_> = slots.iter().map(u16::to_string).collect();
        out.push(slots.concat());
        policy.end_cycles(&view, 0, None, cycles);
    }
    out.join(" ")
}

/// A scheduler of the paper's values with four warps, which have issued ten instructions together.
fn ccws() -> Ccws {
    let mut policy = Ccws::new(CcwsSettings::default());
    tell(&mut policy, "start=0123 issue=0123 issue=0123 issue=01");
    policy
}

/// The cutoff is 4 x 100. Warp 1 misses on a line that it lost: 1 / 10 x 8 x 400 = 320 points. With
/// 100 points of warp 0 these reach the cutoff. A point is lost each cycle. At 300 points, warp 0
/// still suffices; at 299 warp 2 is needed, at 199 warp 3.
#[test]
fn ccws_lets_the_warp_load_that_loses_its_lines() {
    let lines = "\n\
        evict=1:7 miss=1:7\n\
        cycles=19\n\
        \n\
        cycles=99\n\
        \n\
        \n";
    assert_eq!(loaders(&mut ccws(), lines), "0123 01 01 01 012 012 0123");
}

/// In the scenario above, the same warps may load in 21 cycles, from 320 points to 300, and then in
/// 100, from 299 to 200. The policy says how many of them are left after a cycle, until a warp
/// loses a line or exits.
#[test]
fn ccws_says_how_long_it_holds_loads_back() {
    let mut policy = ccws();
    let mut left_after = |lines| {
        loaders(&mut policy, lines);
        policy.holds_for()
    };
    assert_eq!(left_after("evict=1:7 miss=1:7"), 20);
    assert_eq!(left_after("cycles=19"), 1);
    assert_eq!(left_after("\n"), 0);
    assert_eq!(left_after("\n"), 99);
    tell(&mut policy, "evict=2:9 miss=2:8");
    assert_eq!(policy.holds_for(), 99, "no line of its own");
    tell(&mut policy, "miss=2:9");
    assert_eq!(policy.holds_for(), 0);
    loaders(&mut policy, "\n");
    tell(&mut policy, "exit=0");
    assert_eq!(policy.holds_for(), 0);
}

/// Two instructions of a warp in a cycle count as two: 1 / 12 x 8 x 400 = 266 points, with which
/// three warps are needed.
#[test]
fn ccws_counts_every_instruction_of_a_cycle() {
    let lines = "issue2=0\nevict=1:7 miss=1:7";
    assert_eq!(loaders(&mut ccws(), lines), "0123 012");
}

/// Warp 3 has 320 points and reaches the cutoff with warp 0. Then warp 2 loses a line, too: two
/// hits are 640 points, with which it reaches the cutoff alone.
#[test]
fn ccws_prefers_the_warps_of_the_highest_scores() {
    let lines = "evict=3:7 evict=2:9 miss=3:7\nmiss=2:9";
    assert_eq!(loaders(&mut ccws(), lines), "03 2");
}

/// Only a miss on a line that the same warp brought in counts. A line on its way is no miss.
#[test]
fn ccws_counts_a_warps_own_lines_only() {
    let mut policy = ccws();
    let lines = "evict=1:7 miss=2:7\nmerge=1:7\nmiss=1:8";
    assert_eq!(loaders(&mut policy, lines), "0123 0123 0123");
    assert_eq!(policy.counters().victim_tags.victim_tag_hits, 0);
    assert_eq!(loaders(&mut policy, "miss=1:7"), "01");
    assert_eq!(policy.counters().victim_tags.victim_tag_hits, 1);
    assert_eq!(policy.counters().victim_tags.loads_held_back, 2);
}

/// A store to a line removes its tags, whichever warp stores.
#[test]
fn ccws_forgets_lines_that_are_written() {
    let lines = "evict=1:7 write=3:7 miss=1:7";
    assert_eq!(loaders(&mut ccws(), lines), "0123");
}

/// After 30 more instructions, 1 / 40 x 8 x 400 = 80 points are detected: fewer than the base
/// score, so that the score falls to it at the end of the cycle.
#[test]
fn ccws_limits_scores_to_what_is_detected_now() {
    let thirty = "issue=012 ".repeat(10);
    let lines = format!("evict=1:7 miss=1:7\n{thirty}\n\n");
    assert_eq!(loaders(&mut ccws(), &lines), "01 01 0123");
}

/// A warp that exits takes its score, its hits and its instructions with it; the next one in its
/// slot begins without tags.
#[test]
fn ccws_forgets_a_warp_that_exits() {
    let lines = "evict=1:7 evict=1:9 miss=1:7\nexit=1\nstart=1 miss=1:9";
    assert_eq!(loaders(&mut ccws(), lines), "01 0123 0123");
}

/// Everything but loads through L1D passes the gate.
#[test]
fn ccws_holds_back_loads_alone() {
    let mut policy = ccws();
    tell(&mut policy, "evict=1:7 miss=1:7");
    let table = table();
    let view = view(&table, 0, 0);
    let with = |access| NextInst {
        access,
        ..load(WarpSlot(3))
    };
    let access = |op, space| Some(MemoryAccess { op, space });
    policy.begin_cycle(&view);
    for passes in [
        None,
        access(MemoryOp::Store, MemorySpace::Global),
        access(MemoryOp::Load, MemorySpace::Shared),
        access(MemoryOp::Atomic, MemorySpace::Global),
    ] {
        assert!(policy.admits(&view, &with(passes)), "{passes:?}");
    }
    assert!(!policy.admits(&view, &load(WarpSlot(3))));
}

/// A scheduler that begins with two warps, in periods of four cycles. The warps start in the order
/// of their ages.
fn pcal() -> Pcal {
    let mut policy = Pcal::new(PcalSettings {
        warps: 2,
        period_cycles: 4,
        ..PcalSettings::default()
    });
    tell(&mut policy, "start=3 start=0 start=2 start=1");
    policy
}

/// The warps of 0 to 3 that take lines of L1D.
fn allocates(policy: &Pcal) -> String {
    let slots = (0..4).filter(|slot| policy.allocates(WarpSlot(*slot)));
    slots.map(|slot| slot.to_string()).collect()
}

/// The two oldest warps, 3 and 0, issue and hold the tokens. A warp that waits keeps its token, and
/// lets the next one issue. One that exits hands its token on.
#[test]
fn pcal_hands_tokens_to_the_oldest_warps() {
    let mut policy = pcal();
    assert_eq!(scenario(&mut policy, "012\n12\n12 wait=3"), "0-2");
    assert_eq!(allocates(&policy), "03");
    tell(&mut policy, "exit=3");
    assert_eq!(allocates(&policy), "02");
}

/// Four cycles with two issues are measured. Then three warps may issue, and two hold tokens. These
/// four cycles have three issues, so that the third warp stays. The next period measures it, and
/// then a fourth warp may issue.
#[test]
fn pcal_climbs() {
    let mut policy = pcal();
    let lines = "0\n0\n12\n12\n2\n2\n2\n1\n1\n1\n- cycles=2\n1\n";
    assert_eq!(scenario(&mut policy, lines), "00--222----1");
    assert_eq!(allocates(&policy), "03");
    let counters = policy.counters().climb;
    assert_eq!((counters.moves_tried, counters.moves_kept), (2, 1));
}

/// Cycles without a warp belong to no period: the climb begins with the next warps, with two that
/// may issue. The first period measures them, the second one tries a third warp.
#[test]
fn pcal_begins_anew_with_the_next_warps() {
    let mut policy = pcal();
    assert_eq!(scenario(&mut policy, "0\n0\n12"), "00-");
    tell(&mut policy, "exit=3 exit=0 exit=2 exit=1");
    assert_eq!(scenario(&mut policy, "- cycles=1000"), "-");
    tell(&mut policy, "start=3 start=0 start=2 start=1");
    assert_eq!(scenario(&mut policy, "12\n0\n12\n3\n12\n1"), "-0-32-");
    assert_eq!(policy.counters().climb.moves_tried, 1);
}

/// In a period of four cycles, the choice is the same until the period ends. After the cycle that
/// ends it, the number of warps has changed.
#[test]
fn pcal_holds_warps_back_until_the_period_ends() {
    let mut policy = pcal();
    let mut left_after = |line| {
        assert_eq!(scenario(&mut policy, line), "-");
        policy.holds_for()
    };
    assert_eq!(left_after("12"), 3);
    assert_eq!(left_after("12 cycles=2"), 1);
    assert_eq!(left_after("12"), 0);
}

/// Takes `mascar` through cycles with the slots that are ready and those of them whose next
/// instruction accesses memory, as `READY/ACCESSES`, and words of [`scenario`]'s, or `free=N` and
/// `refused=0|1` for the use of memory. The result is the slot issued from in each cycle.
fn mascar(policy: &mut Mascar, lines: &str) -> String {
    let (mut out, table) = (String::new(), table());
    for line in lines.lines() {
        let mut words = line.split_whitespace();
        let (all, accesses) = words.next().and_then(|w| w.split_once('/')).expect("masks");
        let (mut waiting, mut long) = (0, 0);
        for word in words {
            match word.split_once('=').expect("NAME=VALUE") {
                ("wait", value) => waiting = mask(value),
                ("long", value) => long = mask(value),
                ("free", value) => policy.on_memory_use(&MemoryUse {
                    free_misses: value.parse().ok(),
                    ..MemoryUse::default()
                }),
                ("refused", value) => policy.on_memory_use(&MemoryUse {
                    free_misses: Some(32),
                    refuses: value == "1",
                    ..MemoryUse::default()
                }),
                ("parked", value) => policy.on_memory_use(&MemoryUse {
                    free_misses: Some(0),
                    parked: mask(value),
                    can_park: true,
                    ..MemoryUse::default()
                }),
                ("exit", value) => warps_of(mask(value)).for_each(|slot| policy.on_exit(slot)),
                other => panic!("no such word: {other:?}"),
            }
        }
        let mut view = view(&table, waiting, long);
        policy.begin_cycle(&view);
        let (all, accesses) = (mask(all), mask(accesses));
        let loads = accesses;
        let ready = ReadyWarps {
            all,
            accesses,
            loads,
        };
        let admitted = if policy.has_gate() {
            policy.screen(&view, ready).admitted
        } else {
            all
        };
        view.held = all & !admitted;
        let picked = policy.pick(&view, admitted);
        policy.end_cycles(&view, 0, picked, 1);
        out.push(picked.map_or('-', |slot| char::from(b'0' + slot.0 as u8)));
        picked.into_iter().for_each(|slot| policy.on_issue(slot));
    }
    out
}

/// Slots 3, 0, 2 and 1 are the warps in the order of their ages. Below eight free entries, the
/// oldest warp with an access is the owner: 0, because 3 computes. 0 goes first. When it needs the
/// result of its load, 2 becomes the owner. Then there is room again, and the greedy 2 is followed
/// by the oldest.
#[test]
fn mascar_lets_one_warp_access_saturated_memory() {
    let mut policy = Mascar::new(MascarSettings::default());
    let lines = "\
        0123/012 free=8\n\
        0123/012 free=7\n\
        123/12\n\
        12/12\n\
        12/12 long=0\n\
        1/1 long=0\n\
        12/1 long=0\n\
        123/123 free=8 long=0\n\
        13/13 long=0\n";
    assert_eq!(mascar(&mut policy, lines), "303-2-223");
    let counters = policy.counters().owner;
    assert_eq!((counters.owners, counters.saturated_cycles), (2, 6));
    // 1 and 2 in three cycles, 1 in the three after these.
    assert_eq!(counters.accesses_held_back, 2 * 3 + 3);
}

/// An owner that waits at a barrier or exits makes room for the next one. A refusal is saturation,
/// too; without an L1D it is the only sign of it.
#[test]
fn mascar_passes_the_ownership_on() {
    let mut policy = Mascar::new(MascarSettings::default());
    let lines = "\
        03/03 refused=1\n\
        0/0\n\
        0/0 wait=3\n\
        12/12\n\
        12/12 exit=0\n\
        1/1 free=none\n";
    assert_eq!(mascar(&mut policy, lines), "3-0-21");
}

/// The cycles in which all accesses are held back last until saturation ends.
#[test]
fn mascar_holds_accesses_back_until_memory_has_room() {
    let mut policy = Mascar::new(MascarSettings::default());
    assert_eq!(mascar(&mut policy, "03/03 free=0\n0/0"), "3-");
    assert_eq!(policy.holds_for(), u64::MAX);
    assert_eq!(mascar(&mut policy, "0/0 free=7"), "-");
    assert_eq!(policy.holds_for(), u64::MAX);
    policy.on_memory_use(&MemoryUse {
        free_misses: Some(8),
        ..MemoryUse::default()
    });
    assert_eq!(policy.holds_for(), 0);
}

/// Where loads can be parked, loads of other warps than the owner's issue under saturation, after
/// everything else: 3 becomes the owner and goes first, then 1, which computes, then 0 and 2 by
/// their ages. Of these only 3 may miss. A warp with a parked load makes no access, even without
/// saturation, and does not become the owner.
#[test]
fn mascar_lets_loads_try_l1d_last() {
    let mut policy = Mascar::new(MascarSettings::default());
    assert_eq!(policy.may_miss(), !0);
    let lines = "\
        0123/023 parked=-\n\
        012/02\n\
        02/02\n\
        2/2\n\
        12/12 parked=0 long=3\n\
        02/02 long=3\n";
    assert_eq!(mascar(&mut policy, lines), "310222");
    assert_eq!(policy.may_miss(), mask("2"));
    assert_eq!(policy.counters().owner.owners, 2);
    policy.on_memory_use(&MemoryUse {
        free_misses: Some(8),
        parked: mask("2"),
        ..MemoryUse::default()
    });
    assert_eq!(policy.may_miss(), !0);
    assert_eq!(mascar(&mut policy, "2/2\n02/02\n12/1"), "-02");
}

/// Two sets of two: even lines in one, odd lines in the other. The line that came first leaves, and
/// a line that is there keeps its place in the order.
#[test]
fn victim_tags_are_first_in_first_out() {
    let mut tags = VictimTags::new(2, 2);
    for line in [0, 2, 1, 0, 4] {
        tags.insert(line * 128);
    }
    let has = |tags: &VictimTags| [0, 1, 2, 3, 4].map(|line| tags.has(line * 128));
    assert_eq!(has(&tags), [false, true, true, false, true]);
    tags.remove(2 * 128);
    tags.insert(6 * 128);
    assert_eq!(has(&tags), [false, true, false, false, true]);
    tags.clear();
    assert_eq!(has(&tags), [false; 5]);
}

/// The page that builds CCWS step by step quotes the files as they are.
#[test]
fn the_page_on_ccws_quotes_the_code() {
    let page = include_str!("../../../../../docs/teaching-ccws.md");
    let files = [
        include_str!("../ccws.rs"),
        include_str!("../victim_tags.rs"),
    ];
    let blocks = page.split("```rust\n").skip(1);
    let quotes: Vec<_> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    assert!(quotes.len() >= 6, "the test must not pass without quotes");
    for quote in quotes {
        assert!(files.iter().any(|file| file.contains(quote)), "{quote}");
    }
}
