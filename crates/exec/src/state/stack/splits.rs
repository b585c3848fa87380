//! Splits of a diverged warp that wait for each other: which one runs instead, who goes on without
//! whom, who runs together again.
//!
//! Everything here works on the entries of a [`SimtStack`] as the forest that its invariant says
//! they are. It is needed only where a split has to wait for lanes that are elsewhere: at an
//! operation of the warp, at a block barrier, or because it spins. Sources: `docs/divergence.md`.

use super::{Entry, FUNCTION_END, Returned, SimtStack};
use warploom_base::{LaneMask, Pc};

/// Lanes that leave a place where they wait for others of their warp to meet them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Released {
    /// They are a split of their own.
    Split,
    /// They had returned from a function before the others: the call has ended for them.
    Returned(Returned),
}

/// Which of the splits that can run is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// The one that ran last, as the stack would.
    Youngest,
    /// The one that has not run for longest, of those without lanes of the mask.
    OldestBut(LaneMask),
}

impl SimtStack {
    /// Changes the list of all entries, bottom first; the last one is the top afterwards.
    fn edit<R>(&mut self, change: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        self.below.push(self.top);
        self.below.retain(|entry| entry.lanes != 0);
        let result = change(&mut self.below);
        self.top = self.below.pop().unwrap_or(Entry::EMPTY);
        self.met |= self.below.is_empty();
        result
    }

    /// The top's lanes wait for others at its instruction.
    pub fn wait(&mut self) {
        self.top.waits = true;
    }

    /// Parts the top's lanes: `lanes` remain at the top's instruction, the others go to `next`,
    /// the instruction after it, where all of them meet again.
    pub fn stay(&mut self, lanes: LaneMask, next: Pc) {
        let (pc, gone) = (self.top.pc, self.top.lanes & !lanes);
        if lanes != 0 && gone != 0 {
            self.diverge(&[(next, gone), (pc, lanes)], Some(next));
        }
    }

    /// Brings a split that can run to the top, if there is one. Finished entries may then stand at
    /// the top: the caller settles them.
    pub fn choose(&mut self, choice: Choice) -> bool {
        self.edit(|list| {
            normalise(list);
            let mut can_run = (0..list.len()).filter(|&at| is_leaf(list, at) && !list[at].waits);
            let chosen = match choice {
                Choice::Youngest => can_run.next_back(),
                Choice::OldestBut(lanes) => can_run.find(|&at| list[at].lanes & lanes == 0),
            };
            chosen.map(|at| bring_to_end(list, at)).is_some()
        })
    }

    /// Lets the youngest split that waits look again whether it can go on.
    pub fn retry(&mut self) {
        self.edit(|list| {
            let waits = |&at: &usize| is_leaf(list, at) && list[at].waits;
            if let Some(at) = (0..list.len()).rfind(waits) {
                list[at].waits = false;
                bring_to_end(list, at);
            }
        });
    }

    /// Lets lanes leave a place where they wait to meet others: of the last place in the list at
    /// which some of `wanted` are, else of the last one at which any are.
    pub fn release(&mut self, wanted: LaneMask) -> Option<Released> {
        self.edit(|list| {
            let of = |wanted: LaneMask| {
                let some = |&at: &usize| {
                    !is_leaf(list, at) && at_meeting(list, at) & wanted != 0 && can_leave(list, at)
                };
                (0..list.len()).rfind(some)
            };
            let at = of(wanted).or_else(|| of(LaneMask::MAX))?;
            Some(leave_meeting(list, at))
        })
    }

    /// Splits with some of these lanes look again whether they can go on.
    pub fn wake(&mut self, lanes: LaneMask) {
        let some = |entry: &&mut Entry| entry.lanes & lanes != 0;
        let woken = self.below.iter_mut().filter(some);
        woken.for_each(|entry| entry.waits = false);
    }

    /// Splits that wait besides the top, with where they are.
    pub fn waiting(&self) -> impl Iterator<Item = (Pc, LaneMask)> + '_ {
        let waits = |entry: &&Entry| entry.waits && entry.lanes != 0;
        self.below
            .iter()
            .filter(waits)
            .map(|entry| (entry.pc, entry.lanes))
    }

    /// Lanes that waited at `pc` besides the top have executed the instruction together with it and
    /// go on behind it; those of the entry that have not stay.
    pub fn pass(&mut self, pc: Pc, lanes: LaneMask) {
        let next = Pc(pc.0 + 1);
        let passes = |e: &Entry| e.waits && e.pc == pc && e.lanes & lanes != 0;
        let Some(at) = self.below.iter().position(passes) else {
            return;
        };
        let entry = &mut self.below[at];
        let stay = entry.lanes & !lanes;
        if stay == 0 {
            (entry.pc, entry.waits) = (next, false);
            return;
        }
        let rest = Entry {
            lanes: stay,
            rpc: next,
            call: None,
            callee: 0,
            ..*entry
        };
        (entry.pc, entry.waits) = (next, false);
        self.below.insert(at + 1, rest);
    }

    /// Lets splits at one place run together, and drops those that have come to where they meet
    /// others.
    pub fn unite(&mut self) {
        self.edit(|list| {
            let top = list.last().map_or(0, |top| top.lanes);
            normalise(list);
            if let Some(at) =
                (0..list.len()).rfind(|&at| is_leaf(list, at) && list[at].lanes & top != 0)
            {
                bring_to_end(list, at);
            }
        });
    }
}

/// The end of the entries that stem from one.
fn end_of(list: &[Entry], at: usize) -> usize {
    let apart = |e: &Entry| e.lanes & list[at].lanes == 0;
    let stem = list[at + 1..].iter().position(apart);
    stem.map_or(list.len(), |count| at + 1 + count)
}

fn is_leaf(list: &[Entry], at: usize) -> bool {
    end_of(list, at) == at + 1
}

/// The entry from which one stems.
fn parent_of(list: &[Entry], at: usize) -> Option<usize> {
    list[..at]
        .iter()
        .rposition(|e| e.lanes & list[at].lanes != 0)
}

/// Lanes of an entry that are where those that stem from it meet.
fn at_meeting(list: &[Entry], at: usize) -> LaneMask {
    let stem = list[at + 1..end_of(list, at)].iter();
    list[at].lanes & !stem.fold(0, |lanes, e| lanes | e.lanes)
}

/// Makes an entry the last one, with all from which it stems before it and everything else as
/// ordered as before.
fn bring_to_end(list: &mut [Entry], mut at: usize) {
    let mut start = 0;
    while start < list.len() {
        let mut first = start;
        while end_of(list, first) <= at {
            first = end_of(list, first);
        }
        let end = end_of(list, first);
        let own = end - first;
        list[first..].rotate_left(own);
        at += list.len() - end;
        if at == list.len() - own {
            return;
        }
        start = list.len() - own + 1;
    }
}

/// Drops leaves that are where they meet others and unites splits at one place, as long as there
/// are any.
fn normalise(list: &mut Vec<Entry>) {
    while drop_met(list) || unite_two(list) {}
}

fn drop_met(list: &mut Vec<Entry>) -> bool {
    let met = |&at: &usize| {
        let e = &list[at];
        e.pc == e.rpc && e.call.is_none() && is_leaf(list, at) && parent_of(list, at).is_some()
    };
    let found = (0..list.len()).find(met);
    found.map(|at| list.remove(at)).is_some()
}

/// Unites two splits at one place that are within the same calls.
fn unite_two(list: &mut Vec<Entry>) -> bool {
    let runs = |at: usize| is_leaf(list, at) && !list[at].waits && list[at].call.is_none();
    let pair = (0..list.len()).filter(|&a| runs(a)).find_map(|a| {
        let same = |&b: &usize| runs(b) && list[a].pc == list[b].pc && can_unite(list, a, b);
        (a + 1..list.len()).find(same).map(|b| (a, b))
    });
    let Some((a, b)) = pair else { return false };
    let (pc, lanes) = (list[a].pc, list[a].lanes | list[b].lanes);
    list.remove(b);
    list.remove(a);
    for entry in list.iter_mut().filter(|e| e.lanes & lanes != lanes) {
        entry.lanes &= !lanes;
    }
    list.retain(|entry| entry.lanes != 0);
    let around = list.iter().rposition(|e| e.lanes & lanes == lanes);
    let united = Entry {
        pc,
        rpc: around.map_or(FUNCTION_END, |at| list[at].pc),
        lanes,
        ..Entry::EMPTY
    };
    let place = around.map_or(list.len(), |at| end_of(list, at));
    list.insert(place, united);
    true
}

/// No call has been entered by one of two splits without the other.
fn can_unite(list: &[Entry], a: usize, b: usize) -> bool {
    let lanes = list[a].lanes | list[b].lanes;
    let apart = |e: &&Entry| e.lanes & lanes != 0 && e.lanes & lanes != lanes;
    list.iter().filter(apart).all(|e| e.call.is_none())
}

/// The call within which an entry is, itself included.
fn call_around(list: &[Entry], mut at: usize) -> Option<usize> {
    while list[at].call.is_none() {
        at = parent_of(list, at)?;
    }
    Some(at)
}

/// Lanes that wait at the meeting place of an entry could go on there.
fn can_leave(list: &[Entry], at: usize) -> bool {
    list[at].pc != FUNCTION_END || call_around(list, at).is_some()
}

/// Lets the lanes at the meeting place of an entry go on without the others.
fn leave_meeting(list: &mut Vec<Entry>, mut at: usize) -> Released {
    let lanes = at_meeting(list, at);
    if list[at].pc != FUNCTION_END {
        if list[at].call.is_some() {
            at = part_from_call(list, at);
        }
        list[at].lanes &= !lanes;
        let (place, entry) = (end_of(list, at), list[at]);
        list.insert(place, Entry { lanes, ..entry });
        return Released::Split;
    }
    let around = call_around(list, at).unwrap_or(at);
    let Entry { call, callee, .. } = list[around];
    for entry in &mut list[around..=at] {
        entry.lanes &= !lanes;
    }
    Released::Returned(Returned {
        call: call.unwrap_or(FUNCTION_END),
        callee,
        lanes,
    })
}

/// Makes an entry of its own for the place where lanes of a call meet, so that the call keeps one
/// entry, in which all of its lanes are. Returns the new entry's place.
fn part_from_call(list: &mut Vec<Entry>, at: usize) -> usize {
    let meeting = Entry {
        pc: list[at].pc,
        lanes: list[at].lanes,
        ..Entry::EMPTY
    };
    list[at].pc = FUNCTION_END;
    list.insert(at + 1, meeting);
    at + 1
}

#[cfg(test)]
mod tests {
    use super::{Choice, Released};
    use crate::state::stack::{FUNCTION_END, Returned, SimtStack};
    use warploom_base::{LaneMask, Pc};

    /// A warp of four lanes at instruction 0.
    fn warp() -> SimtStack {
        let mut stack = SimtStack::default();
        stack.reset(0b1111);
        stack
    }

    /// Lanes go different ways: the last of the groups runs.
    fn part(stack: &mut SimtStack, groups: &[(u32, LaneMask)], meet: Option<u32>) {
        let groups: Vec<_> = groups.iter().map(|&(pc, lanes)| (Pc(pc), lanes)).collect();
        stack.diverge(&groups, meet.map(Pc));
    }

    /// Entries as (next instruction, lanes), bottom first.
    fn entries(stack: &SimtStack) -> Vec<(u32, LaneMask)> {
        let all = stack.below.iter().chain([&stack.top]);
        all.map(|e| (e.pc.0, e.lanes)).collect()
    }

    const END: u32 = FUNCTION_END.0;

    #[test]
    fn another_split_comes_to_the_top_and_the_others_keep_their_order() {
        let mut stack = warp();
        part(&mut stack, &[(10, 0b0001), (20, 0b1110)], Some(90));
        part(&mut stack, &[(30, 0b0010), (40, 0b1100)], Some(80));
        assert_eq!(
            entries(&stack),
            [(90, 15), (10, 1), (80, 14), (30, 2), (40, 12)]
        );
        stack.wait();
        assert!(stack.choose(Choice::Youngest));
        assert_eq!(stack.top(), Some((Pc(30), 0b0010)));
        assert_eq!(
            entries(&stack),
            [(90, 15), (10, 1), (80, 14), (40, 12), (30, 2)]
        );
        stack.wait();
        assert!(stack.choose(Choice::Youngest));
        assert_eq!(
            entries(&stack),
            [(90, 15), (80, 14), (40, 12), (30, 2), (10, 1)]
        );
        stack.wait();
        assert!(!stack.choose(Choice::Youngest), "all wait");
    }

    #[test]
    fn splits_that_spin_take_turns() {
        let mut stack = warp();
        part(
            &mut stack,
            &[(10, 0b0001), (20, 0b0010), (30, 0b1100)],
            Some(90),
        );
        let mut turns = Vec::new();
        for _ in 0..6 {
            assert!(stack.choose(Choice::OldestBut(stack.top.lanes)));
            turns.push(stack.top.lanes);
        }
        assert_eq!(turns, [1, 2, 12, 1, 2, 12]);
    }

    #[test]
    fn splits_at_one_place_run_together_where_they_meet_others_as_before() {
        let mut stack = warp();
        part(&mut stack, &[(10, 0b0001), (20, 0b1110)], Some(90));
        part(&mut stack, &[(10, 0b0010), (40, 0b1100)], Some(80));
        stack.unite();
        // The lanes at 10 meet the others at 90; those at 40 meet nobody at 80 any more.
        assert_eq!(entries(&stack), [(90, 15), (10, 3), (80, 12), (40, 12)]);
        assert_eq!(stack.below[1].rpc, Pc(90));
    }

    #[test]
    fn lanes_leave_the_innermost_place_where_those_wanted_wait() {
        let mut stack = warp();
        part(&mut stack, &[(90, 0b0001), (20, 0b1110)], Some(90));
        part(&mut stack, &[(80, 0b0010), (40, 0b1100)], Some(80));
        stack.wait();
        let mut inner = stack.clone();
        assert_eq!(inner.release(0), Some(Released::Split));
        assert!(inner.choose(Choice::Youngest));
        assert_eq!(entries(&inner), [(90, 15), (80, 12), (40, 12), (80, 2)]);
        assert_eq!(stack.release(0b0001), Some(Released::Split));
        assert!(stack.choose(Choice::Youngest));
        assert_eq!(stack.top(), Some((Pc(90), 0b0001)));
        assert_eq!(
            stack.release(0),
            Some(Released::Split),
            "lane 1 leaves, too"
        );
        assert_eq!(stack.release(0), None, "the others are elsewhere");
    }

    #[test]
    fn lanes_that_returned_leave_the_call() {
        let mut stack = warp();
        stack.call(Pc(5), Pc(50), 3, 0b0111);
        part(&mut stack, &[(END, 0b0001), (60, 0b0110)], None);
        stack.wait();
        let returned = Returned {
            call: Pc(5),
            callee: 3,
            lanes: 0b0001,
        };
        assert_eq!(stack.release(0b0001), Some(Released::Returned(returned)));
        assert_eq!(stack.release(0b0001), Some(Released::Split));
        assert!(stack.choose(Choice::Youngest));
        assert_eq!(
            stack.top(),
            Some((Pc(6), 0b1001)),
            "with the lane that did not call"
        );
        assert!(!stack.is_called());
    }

    /// The call keeps one entry, so that its lanes can run together again.
    #[test]
    fn lanes_leave_a_place_in_a_function_within_their_call() {
        let mut stack = warp();
        stack.call(Pc(5), Pc(50), 0, 0b1111);
        part(&mut stack, &[(70, 0b0001), (60, 0b1110)], Some(70));
        stack.wait();
        assert_eq!(stack.release(0), Some(Released::Split));
        assert!(stack.choose(Choice::Youngest));
        assert_eq!(
            entries(&stack),
            [(6, 15), (END, 15), (70, 14), (60, 14), (70, 1)]
        );
        stack.advance(Pc(60));
        stack.wake(0b1110);
        stack.unite();
        assert_eq!(stack.top(), Some((Pc(60), 0b1111)));
        assert!(stack.is_called());
    }

    #[test]
    fn of_a_split_that_waits_some_lanes_may_go_on() {
        let mut stack = warp();
        part(&mut stack, &[(20, 0b0001), (10, 0b1110)], Some(90));
        stack.wait();
        assert!(stack.choose(Choice::Youngest));
        stack.pass(Pc(10), 0b0110);
        assert_eq!(entries(&stack), [(90, 15), (11, 14), (10, 8), (20, 1)]);
        assert_eq!(stack.waiting().collect::<Vec<_>>(), [(Pc(10), 0b1000)]);
        stack.pass(Pc(10), 0b1000);
        stack.unite();
        assert_eq!(entries(&stack), [(90, 15), (11, 14), (20, 1)]);
    }
}
