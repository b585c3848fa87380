//! A queue of what may not leave before its cycle.

use std::collections::VecDeque;
use warploom_base::Cycle;

/// The queue. Entries leave in order of arrival, each from its own cycle on. The oldest one's is
/// kept at hand, so that a look at a queue that must wait is a comparison.
#[derive(Clone, Debug)]
pub(crate) struct Timed<T> {
    /// Cycle of the oldest entry; `Cycle::MAX` without one.
    due_at: Cycle,
    entries: VecDeque<(Cycle, T)>,
}

impl<T> Timed<T> {
    /// An empty queue, with room for as many entries as are expected.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            entries: VecDeque::with_capacity(expected),
            due_at: Cycle::MAX,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.due_at == Cycle::MAX
    }

    /// Cycle from which the oldest entry may leave; `None` without one.
    #[inline]
    pub(crate) fn due_at(&self) -> Option<Cycle> {
        (!self.is_empty()).then_some(self.due_at)
    }

    /// The oldest entry, if it may leave in cycle `now`.
    #[inline]
    pub(crate) fn due(&self, now: Cycle) -> Option<&T> {
        if now < self.due_at {
            return None;
        }
        self.entries.front().map(|(_, entry)| entry)
    }

    /// Adds an entry that may leave from cycle `at` on.
    #[inline]
    pub(crate) fn push(&mut self, at: Cycle, entry: T) {
        if self.is_empty() {
            self.due_at = at;
        }
        self.entries.push_back((at, entry));
    }

    /// The oldest entry leaves, or a part of it: `is_last` says whether nothing is left of it.
    #[inline]
    pub(crate) fn leave(&mut self, is_last: impl FnOnce(&mut T) -> bool) {
        if let Some((_, entry)) = self.entries.front_mut()
            && is_last(entry)
        {
            self.pop();
        }
    }

    /// Takes the oldest entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let (_, entry) = self.entries.pop_front()?;
        self.due_at = self.entries.front().map_or(Cycle::MAX, |(at, _)| *at);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::Timed;

    #[test]
    fn entries_leave_in_order_and_not_before_their_cycle() {
        let mut queue = Timed::new(2);
        assert_eq!((queue.due(u64::MAX - 1), queue.due_at()), (None, None));
        queue.push(5, 'a');
        queue.push(9, 'b');
        queue.push(7, 'c');
        assert_eq!((queue.due(4), queue.due(5)), (None, Some(&'a')));
        assert_eq!((queue.pop(), queue.due_at()), (Some('a'), Some(9)));
        assert_eq!(queue.due(8), None, "'c' waits behind 'b'");
        assert_eq!(
            (queue.pop(), queue.pop(), queue.pop()),
            (Some('b'), Some('c'), None)
        );
        assert!(queue.is_empty());
    }
}
