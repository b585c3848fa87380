//! Splits of a diverged warp that wait for each other: the choice of the split that runs instead,
//! the release of lanes from a reconvergence point, and the merging of splits at the same
//! instruction.
//!
//! All functions treat the entries of a [`SimtStack`] as the forest that its invariant describes.
//! They are needed only if a split waits for lanes elsewhere: at a warp-wide operation, at a block
//! barrier, or because it spins. Sources: `docs/divergence.md`.

use super::{Entry, FUNCTION_END, Returned, SimtStack};
use warploom_base::{LaneMask, Pc};

/// Lanes that leave a reconvergence point at which they waited for other lanes of their warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Released {
    /// The lanes form a split of their own.
    Split,
    /// The lanes had returned from a function before the others. For them the call has ended.
    Returned(Returned),
}

/// Choice among the splits that can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// The split that ran last, as on a stack.
    Youngest,
    /// The split that has not run for the longest time, among those without lanes of the mask.
    OldestBut(LaneMask),
}

impl SimtStack {
    /// Applies a change to the list of all entries, from bottom to top. The last one then becomes
    /// the top.
    fn edit<R>(&mut self, change: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        self.below.push(self.top);
        self.below.retain(|entry| entry.lanes != 0);
        let result = change(&mut self.below);
        self.top = self.below.pop().unwrap_or(Entry::EMPTY);
        self.reconverged |= self.below.is_empty();
        result
    }

    /// Marks the top entry as waiting for other lanes at its instruction.
    pub fn wait(&mut self) {
        self.top.waits = true;
    }

    /// Splits the lanes of the top entry: `lanes` remain at its instruction. The others continue at
    /// `next`, the instruction after it, where all of them reconverge.
    pub fn split_off_rest(&mut self, lanes: LaneMask, next: Pc) {
        let (pc, gone) = (self.top.pc, self.top.lanes & !lanes);
        if lanes != 0 && gone != 0 {
            self.diverge(&[(next, gone), (pc, lanes)], Some(next));
        }
    }

    /// Moves a split that can run to the top. Returns false if there is none. The caller must
    /// settle the stack, since the top may be an entry that has reached its reconvergence point.
    pub fn choose(&mut self, choice: Choice) -> bool {
        self.edit(|list| {
            normalize(list);
            let mut can_run = (0..list.len()).filter(|&at| is_leaf(list, at) && !list[at].waits);
            let chosen = match choice {
                Choice::Youngest => can_run.next_back(),
                Choice::OldestBut(lanes) => can_run.find(|&at| list[at].lanes & lanes == 0),
            };
            chosen.map(|at| bring_to_end(list, at)).is_some()
        })
    }

    /// Lets the youngest waiting split check again whether it can continue.
    pub fn retry(&mut self) {
        self.edit(|list| {
            let waits = |&at: &usize| is_leaf(list, at) && list[at].waits;
            if let Some(at) = (0..list.len()).rfind(waits) {
                list[at].waits = false;
                bring_to_end(list, at);
            }
        });
    }

    /// Releases lanes from a reconvergence point at which they wait for others. Takes the last
    /// entry in the list whose waiting lanes include some of `wanted`, or else the last one with
    /// any waiting lanes. Returns `None` if no lanes can be released.
    pub fn release(&mut self, wanted: LaneMask) -> Option<Released> {
        self.edit(|list| {
            let of = |wanted: LaneMask| {
                let some = |&at: &usize| {
                    !is_leaf(list, at)
                        && waiting_at_reconvergence(list, at) & wanted != 0
                        && can_release(list, at)
                };
                (0..list.len()).rfind(some)
            };
            let at = of(wanted).or_else(|| of(LaneMask::MAX))?;
            Some(release_waiting(list, at))
        })
    }

    /// Lets all splits that contain some of `lanes` check again whether they can continue.
    pub fn wake(&mut self, lanes: LaneMask) {
        let some = |entry: &&mut Entry| entry.lanes & lanes != 0;
        let woken = self.below.iter_mut().filter(some);
        woken.for_each(|entry| entry.waits = false);
    }

    /// Waiting splits other than the top, with their program counters.
    pub fn waiting(&self) -> impl Iterator<Item = (Pc, LaneMask)> + '_ {
        let waits = |entry: &&Entry| entry.waits && entry.lanes != 0;
        self.below
            .iter()
            .filter(waits)
            .map(|entry| (entry.pc, entry.lanes))
    }

    /// Moves lanes that waited at `pc`, in a split other than the top, past the instruction that
    /// they executed together with the top. The other lanes of the split keep waiting.
    pub fn advance_waiting(&mut self, pc: Pc, lanes: LaneMask) {
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

    /// Merges splits at the same instruction and removes entries that have reached their
    /// reconvergence point.
    pub fn merge_splits(&mut self) {
        self.edit(|list| {
            let top = list.last().map_or(0, |top| top.lanes);
            normalize(list);
            if let Some(at) =
                (0..list.len()).rfind(|&at| is_leaf(list, at) && list[at].lanes & top != 0)
            {
                bring_to_end(list, at);
            }
        });
    }
}

/// Index after the last descendant of an entry.
fn end_of(list: &[Entry], at: usize) -> usize {
    let apart = |e: &Entry| e.lanes & list[at].lanes == 0;
    let stem = list[at + 1..].iter().position(apart);
    stem.map_or(list.len(), |count| at + 1 + count)
}

/// True if an entry has no descendants.
fn is_leaf(list: &[Entry], at: usize) -> bool {
    end_of(list, at) == at + 1
}

/// Index of the parent of an entry.
fn parent_of(list: &[Entry], at: usize) -> Option<usize> {
    list[..at]
        .iter()
        .rposition(|e| e.lanes & list[at].lanes != 0)
}

/// Lanes of an entry that have reached the point at which its descendants reconverge.
fn waiting_at_reconvergence(list: &[Entry], at: usize) -> LaneMask {
    let stem = list[at + 1..end_of(list, at)].iter();
    list[at].lanes & !stem.fold(0, |lanes, e| lanes | e.lanes)
}

/// Moves an entry to the end of the list. Its ancestors stay before it, and the order of all other
/// entries is kept.
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

/// Removes leaves that have reached their reconvergence point and merges splits at the same
/// instruction until nothing changes.
fn normalize(list: &mut Vec<Entry>) {
    while pop_reconverged(list) || merge_pair(list) {}
}

/// Removes one leaf that has reached its reconvergence point. Returns false if there is none.
fn pop_reconverged(list: &mut Vec<Entry>) -> bool {
    let met = |&at: &usize| {
        let e = &list[at];
        e.pc == e.rpc && e.call.is_none() && is_leaf(list, at) && parent_of(list, at).is_some()
    };
    let found = (0..list.len()).find(met);
    found.map(|at| list.remove(at)).is_some()
}

/// Merges two splits at the same instruction and within the same calls. Returns false if there are
/// none.
fn merge_pair(list: &mut Vec<Entry>) -> bool {
    let runs = |at: usize| is_leaf(list, at) && !list[at].waits && list[at].call.is_none();
    let pair = (0..list.len()).filter(|&a| runs(a)).find_map(|a| {
        let same = |&b: &usize| runs(b) && list[a].pc == list[b].pc && can_merge(list, a, b);
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

/// True if no call was entered by only one of two splits.
fn can_merge(list: &[Entry], a: usize, b: usize) -> bool {
    let lanes = list[a].lanes | list[b].lanes;
    let apart = |e: &&Entry| e.lanes & lanes != 0 && e.lanes & lanes != lanes;
    list.iter().filter(apart).all(|e| e.call.is_none())
}

/// Index of the innermost call that contains an entry, which may be the entry itself.
fn call_around(list: &[Entry], mut at: usize) -> Option<usize> {
    while list[at].call.is_none() {
        at = parent_of(list, at)?;
    }
    Some(at)
}

/// True if lanes that wait at the reconvergence point of an entry's descendants can continue from
/// there.
fn can_release(list: &[Entry], at: usize) -> bool {
    list[at].pc != FUNCTION_END || call_around(list, at).is_some()
}

/// Releases the lanes that wait at the reconvergence point of an entry's descendants.
fn release_waiting(list: &mut Vec<Entry>, mut at: usize) -> Released {
    let lanes = waiting_at_reconvergence(list, at);
    if list[at].pc != FUNCTION_END {
        if list[at].call.is_some() {
            at = add_reconvergence_entry(list, at);
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

/// Adds a reconvergence entry below a call's entry, so that the call keeps one entry with all of
/// its lanes. Returns the index of the new entry.
fn add_reconvergence_entry(list: &mut Vec<Entry>, at: usize) -> usize {
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

    /// Splits the top entry into groups, of which the last one runs.
    fn part(stack: &mut SimtStack, groups: &[(u32, LaneMask)], meet: Option<u32>) {
        let groups: Vec<_> = groups.iter().map(|&(pc, lanes)| (Pc(pc), lanes)).collect();
        stack.diverge(&groups, meet.map(Pc));
    }

    /// Entries as (next instruction, lanes), from bottom to top.
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
        stack.merge_splits();
        // The lanes at 10 reconverge with the others at 90. The lanes at 40 no longer reconverge
        // with any at 80.
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

    /// The call keeps one entry, so that its lanes can be merged again.
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
        stack.merge_splits();
        assert_eq!(stack.top(), Some((Pc(60), 0b1111)));
        assert!(stack.is_called());
    }

    #[test]
    fn of_a_split_that_waits_some_lanes_may_go_on() {
        let mut stack = warp();
        part(&mut stack, &[(20, 0b0001), (10, 0b1110)], Some(90));
        stack.wait();
        assert!(stack.choose(Choice::Youngest));
        stack.advance_waiting(Pc(10), 0b0110);
        assert_eq!(entries(&stack), [(90, 15), (11, 14), (10, 8), (20, 1)]);
        assert_eq!(stack.waiting().collect::<Vec<_>>(), [(Pc(10), 0b1000)]);
        stack.advance_waiting(Pc(10), 0b1000);
        stack.merge_splits();
        assert_eq!(entries(&stack), [(90, 15), (11, 14), (20, 1)]);
    }
}
