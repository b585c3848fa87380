//! A first-in first-out queue of fixed capacity. Allocates once, at the first push; never grows.

/// Ring buffer; `push` on a full queue is our bug and panics. What is in its slots besides the
/// `len` entries from `head` on means nothing.
#[derive(Clone, Debug)]
pub struct FixedQueue<T> {
    /// None before the first push, then the least power of two that is at least `capacity`.
    slots: Box<[T]>,
    // Half words, for queues lie by the dozen in what is looked at in every simulated cycle.
    capacity: u32,
    head: u32,
    len: u32,
}

impl<T: Copy> FixedQueue<T> {
    /// An empty queue for at most `capacity` entries (at least one).
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a queue needs room for one entry");
        Self {
            slots: Box::default(),
            capacity: u32::try_from(capacity).expect("a queue of the machine"),
            head: 0,
            len: 0,
        }
    }

    /// Entries held.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Nothing held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// No room left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Entries that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        (self.capacity - self.len) as usize
    }

    #[inline]
    fn wrap(&self, at: u32) -> u32 {
        at & (self.slots.len() as u32).wrapping_sub(1)
    }

    /// Adds at the back, where it may be changed. Panics when full: callers test `is_full` first.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> &mut T {
        let at = self.take_place();
        if at >= self.slots.len() {
            // A copy, so that what is pushed need not lie in memory for this.
            self.allocate(&[value]);
            return &mut self.slots[at];
        }
        let slot = &mut self.slots[at];
        *slot = value;
        slot
    }

    /// The place behind the newest entry, which has one from now on.
    #[inline(always)]
    fn take_place(&mut self) -> usize {
        assert!(!self.is_full(), "push on a full queue of {}", self.capacity);
        let at = self.wrap(self.head + self.len) as usize;
        self.len += 1;
        at
    }

    /// The newest entry, of which there must be one, stays or is taken back. Nobody can tell: no
    /// branch.
    #[inline]
    pub fn keep_newest_if(&mut self, stays: bool) {
        debug_assert!(!self.is_empty());
        self.len -= u32::from(!stays);
    }

    /// Makes the slots, all of them holding the first value.
    #[cold]
    #[inline(never)]
    fn allocate(&mut self, [value]: &[T; 1]) {
        debug_assert!(self.slots.is_empty());
        self.slots = vec![*value; self.capacity.next_power_of_two() as usize].into();
    }

    /// Oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            None
        } else {
            Some(&self.slots[self.head as usize])
        }
    }

    /// Oldest entry, mutable.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            None
        } else {
            Some(&mut self.slots[self.head as usize])
        }
    }

    /// Removes the oldest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head as usize];
        self.drop_oldest();
        Some(value)
    }

    /// Removes the oldest entry, of which there must be one, unseen.
    #[inline]
    pub fn drop_oldest(&mut self) {
        self.len -= 1;
        // A queue that is mostly empty stays in the same lines of the host's cache. Nobody can tell
        // when it is: no branch.
        let stays = u32::from(self.len != 0).wrapping_neg();
        self.head = self.wrap(self.head + 1) & stays;
    }

    /// Entries from oldest to youngest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|i| &self.slots[self.wrap(self.head + i) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::FixedQueue;

    #[test]
    fn wraps_and_keeps_order() {
        let mut q = FixedQueue::new(2);
        for i in 0..5 {
            q.push(i);
            q.push(i + 100);
            assert!(q.is_full());
            assert_eq!(q.iter().copied().collect::<Vec<_>>(), [i, i + 100]);
            assert_eq!((q.pop(), q.pop(), q.pop()), (Some(i), Some(i + 100), None));
        }
    }

    #[test]
    fn an_empty_queue_has_no_front() {
        let mut q = FixedQueue::new(1);
        assert!(q.front().is_none() && q.iter().next().is_none());
        q.push(1);
        assert_eq!((q.front(), q.room()), (Some(&1), 0));
        q.pop();
        assert!(q.front().is_none() && q.front_mut().is_none() && q.pop().is_none());
        assert_eq!(q.room(), 1);
    }

    #[test]
    fn the_newest_entry_can_be_taken_back() {
        let mut q = FixedQueue::new(2);
        for i in 0..5 {
            q.push(i);
            q.push(i + 100);
            q.keep_newest_if(false);
            q.push(i + 200);
            q.keep_newest_if(true);
            assert_eq!((q.pop(), q.pop(), q.pop()), (Some(i), Some(i + 200), None));
        }
    }

    #[test]
    #[should_panic(expected = "push on a full queue of 1")]
    fn a_full_queue_takes_no_more() {
        let mut q = FixedQueue::new(1);
        q.push(1);
        q.push(2);
    }
}
