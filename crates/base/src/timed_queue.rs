//! First-in first-out queue whose entries may not leave before a given cycle.

use crate::Cycle;
use warploom_state::{Io, State, StateError, Value};

/// Queue of entries that leave in order of arrival, each not before its own cycle. The cycle of the
/// oldest entry is cached, so that one comparison tells whether the queue must wait.
#[derive(Clone, Debug)]
pub struct TimedQueue<T> {
    /// Cycle of the oldest entry; `Cycle::MAX` if there is none.
    due_at: Cycle,
    /// Slots, a power of two of them, or none before the first push. Only the `len` slots from
    /// `head` on hold entries.
    slots: Box<[(Cycle, T)]>,
    head: usize,
    len: usize,
    /// Number of slots to begin with.
    expected: usize,
}

impl<T: Copy> TimedQueue<T> {
    /// Creates an empty queue that grows when it has more than `expected` entries.
    pub fn new(expected: usize) -> Self {
        Self {
            due_at: Cycle::MAX,
            slots: Box::default(),
            head: 0,
            len: 0,
            expected: expected.next_power_of_two(),
        }
    }

    /// Number of entries in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the queue has no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.due_at == Cycle::MAX
    }

    /// Cycle from which the oldest entry may leave; `None` if there is none.
    #[inline]
    pub fn due_at(&self) -> Option<Cycle> {
        (!self.is_empty()).then_some(self.due_at)
    }

    /// Cycle from which the oldest entry may leave; `Cycle::MAX` if there is none.
    #[inline]
    pub fn due_or_never(&self) -> Cycle {
        self.due_at
    }

    /// True if the oldest entry may leave in cycle `now`.
    #[inline]
    pub fn is_due(&self, now: Cycle) -> bool {
        now >= self.due_at
    }

    /// Returns the oldest entry, if it may leave in cycle `now`.
    #[inline]
    pub fn due(&self, now: Cycle) -> Option<&T> {
        self.is_due(now).then(|| &self.slots[self.head].1)
    }

    /// Returns the entry with `older` older entries before it, with its cycle, if there is one.
    #[inline]
    pub fn nth(&self, older: usize) -> Option<&(Cycle, T)> {
        (older < self.len).then(|| &self.slots[self.place(older)])
    }

    /// Appends an entry that may leave from cycle `at` on, and returns a reference to it.
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

    /// Slot of the entry with `older` older entries before it.
    #[inline]
    fn place(&self, older: usize) -> usize {
        (self.head + older) & (self.slots.len() - 1)
    }

    /// Doubles the number of slots and fills the new ones with `any`.
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

    /// Removes and returns the oldest entry, if it may leave in cycle `now`.
    #[inline]
    pub fn take_due(&mut self, now: Cycle) -> Option<T> {
        let entry = *self.due(now)?;
        self.drop_oldest();
        Some(entry)
    }

    /// Removes the oldest entry without reading it. The queue must not be empty.
    #[inline]
    pub fn drop_oldest(&mut self) {
        self.len -= 1;
        // An emptied queue restarts at slot 0, so that it stays in the same host cache lines.
        self.head = if self.len == 0 { 0 } else { self.place(1) };
        let due_at = self.slots[self.head].0;
        self.due_at = if self.len == 0 { Cycle::MAX } else { due_at };
    }
}

/// The entries with their cycles, oldest first.
impl<T: Copy + Value> State for TimedQueue<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let mut entries: Vec<(Cycle, T)> = (0..self.len)
            .map_while(|at| self.nth(at).copied())
            .collect();
        entries.state(io)?;
        if io.restores() {
            (self.head, self.len, self.due_at) = (0, 0, Cycle::MAX);
            for (at, entry) in entries {
                self.push(at, entry);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::TimedQueue;
    use warploom_state::{Io, State};

    #[test]
    fn entries_are_restored_with_their_cycles() {
        let mut queue = TimedQueue::new(2);
        for (at, entry) in [(3, 7_u8), (9, 8), (5, 9)] {
            queue.push(at, entry);
        }
        queue.drop_oldest();
        let mut io = Io::save();
        queue.state(&mut io).expect("saving cannot fail");
        let mut other = TimedQueue::<u8>::new(1);
        other.push(1, 1);
        let saved = io.into_bytes();
        assert_eq!(other.state(&mut Io::restore(&saved)), Ok(()));
        assert_eq!((other.due_at(), other.len()), (Some(9), 2));
        let mut take = || other.take_due(9);
        assert_eq!((take(), take(), take()), (Some(8), Some(9), None));
        let mut none = Io::save();
        TimedQueue::<u8>::new(1)
            .state(&mut none)
            .expect("saving cannot fail");
        let none = none.into_bytes();
        assert_eq!(queue.state(&mut Io::restore(&none)), Ok(()));
        assert!(queue.is_empty() && queue.take_due(9).is_none());
    }

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
        assert_eq!(queue.take_due(8), None, "'c' waits for 'b'");
        let mut take = || queue.take_due(last);
        assert_eq!((take(), take(), take()), (Some('b'), Some('c'), None));
        assert!(queue.is_empty());
    }
}
