//! A queue of what may not leave before its cycle.

use crate::Cycle;

/// The queue. Entries leave in order of arrival, each from its own cycle on. The oldest one's is
/// kept at hand, so that a look at a queue that must wait is a comparison.
#[derive(Clone, Debug)]
pub struct TimedQueue<T> {
    /// Cycle of the oldest entry; `Cycle::MAX` without one.
    due_at: Cycle,
    /// A power of two of them, or none before the first push. What is in them besides the `len`
    /// entries from `head` on means nothing.
    slots: Box<[(Cycle, T)]>,
    head: usize,
    len: usize,
    /// How many slots to begin with.
    expected: usize,
}

impl<T: Copy> TimedQueue<T> {
    /// An empty queue, with room for as many entries as are expected.
    pub fn new(expected: usize) -> Self {
        Self {
            due_at: Cycle::MAX,
            slots: Box::default(),
            head: 0,
            len: 0,
            expected: expected.next_power_of_two(),
        }
    }

    /// Entries held.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Nothing held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.due_at == Cycle::MAX
    }

    /// Cycle from which the oldest entry may leave; `None` without one.
    #[inline]
    pub fn due_at(&self) -> Option<Cycle> {
        (!self.is_empty()).then_some(self.due_at)
    }

    /// The same, `Cycle::MAX` without one.
    #[inline]
    pub fn due_or_never(&self) -> Cycle {
        self.due_at
    }

    /// The oldest entry may leave in cycle `now`.
    #[inline]
    pub fn is_due(&self, now: Cycle) -> bool {
        now >= self.due_at
    }

    /// The oldest entry, if it may leave in cycle `now`.
    #[inline]
    pub fn due(&self, now: Cycle) -> Option<&T> {
        self.is_due(now).then(|| &self.slots[self.head].1)
    }

    /// The entry that `behind` others came before, and its cycle.
    #[inline]
    pub fn nth(&self, behind: usize) -> Option<&(Cycle, T)> {
        (behind < self.len).then(|| &self.slots[self.place(behind)])
    }

    /// Adds an entry that may leave from cycle `at` on, and may be changed where it waits.
    #[inline(always)]
    pub fn push(&mut self, at: Cycle, entry: T) -> &mut T {
        if self.len == self.slots.len() {
            self.grow(&(at, entry));
        }
        if self.len == 0 {
            self.due_at = at;
        }
        let slot = self.place(self.len);
        self.len += 1;
        let slot = &mut self.slots[slot];
        *slot = (at, entry);
        &mut slot.1
    }

    /// Slot of the entry that `behind` others came before.
    #[inline]
    fn place(&self, behind: usize) -> usize {
        (self.head + behind) & (self.slots.len() - 1)
    }

    /// Makes twice as many slots, the new ones holding `any`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, any: &(Cycle, T)) {
        let old = self.slots.len();
        let mut slots = vec![*any; (old * 2).max(self.expected)];
        for (at, slot) in slots[..old].iter_mut().enumerate() {
            *slot = self.slots[self.place(at)];
        }
        (self.slots, self.head) = (slots.into(), 0);
    }

    /// Takes the oldest entry, if it may leave in cycle `now`.
    #[inline]
    pub fn take_due(&mut self, now: Cycle) -> Option<T> {
        let entry = *self.due(now)?;
        self.drop_oldest();
        Some(entry)
    }

    /// Drops the oldest entry, of which there must be one.
    #[inline]
    pub fn drop_oldest(&mut self) {
        self.len -= 1;
        // A queue that is mostly empty stays in the same lines of the host's cache.
        self.head = if self.len == 0 { 0 } else { self.place(1) };
        let due_at = self.slots[self.head].0;
        self.due_at = if self.len == 0 { Cycle::MAX } else { due_at };
    }
}

#[cfg(test)]
mod tests {
    use super::TimedQueue;

    #[test]
    fn entries_leave_in_order_and_not_before_their_cycle() {
        let mut queue = TimedQueue::new(2);
        let last = u64::MAX - 1;
        assert_eq!((queue.due(last), queue.due_at()), (None, None));
        queue.push(4, '-');
        queue.push(5, 'a');
        assert_eq!(queue.take_due(last), Some('-'));
        queue.push(9, 'b');
        queue.push(7, 'c');
        assert_eq!((queue.due(4), queue.due(5)), (None, Some(&'a')));
        assert_eq!(
            [1, 2, 3].map(|i| queue.nth(i).copied()),
            [Some((9, 'b')), Some((7, 'c')), None]
        );
        assert_eq!((queue.take_due(5), queue.due_at()), (Some('a'), Some(9)));
        assert_eq!(queue.take_due(8), None, "'c' waits behind 'b'");
        let mut take = || queue.take_due(last);
        assert_eq!((take(), take(), take()), (Some('b'), Some('c'), None));
        assert!(queue.is_empty());
    }
}
