//! First-in first-out queue of fixed capacity. It allocates at the first push and never grows.

use warploom_state::{Io, State, StateError, Value};

/// Ring buffer of fixed capacity. A `push` on a full queue is a bug of the caller and panics. Only
/// the `len` slots from `head` on hold entries; the contents of the others are stale.
#[derive(Clone, Debug)]
pub struct FixedQueue<T> {
    /// Empty before the first push, then `capacity` slots rounded up to a power of two.
    slots: Box<[T]>,
    // 32 bits each: dozens of queues lie in structures that are read in every simulated cycle.
    capacity: u32,
    head: u32,
    len: u32,
}

impl<T: Copy> FixedQueue<T> {
    /// Creates an empty queue for at most `capacity` entries. Panics if `capacity` is 0.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a queue needs room for one entry");
        Self {
            slots: Box::default(),
            capacity: u32::try_from(capacity).expect("a queue of the machine"),
            head: 0,
            len: 0,
        }
    }

    /// Number of entries in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the queue has no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if the queue has no room left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Number of entries that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        (self.capacity - self.len) as usize
    }

    #[inline]
    fn wrap(&self, at: u32) -> u32 {
        at & (self.slots.len() as u32).wrapping_sub(1)
    }

    /// Appends an entry and returns a reference to it. Panics if the queue is full.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> &mut T {
        let at = self.take_place();
        if at >= self.slots.len() {
            // Passes a copy, so that `value` itself can stay in registers.
            self.allocate(&[value]);
            return &mut self.slots[at];
        }
        let slot = &mut self.slots[at];
        *slot = value;
        slot
    }

    /// Slot of a new newest entry, which counts as part of the queue from now on.
    #[inline(always)]
    fn take_place(&mut self) -> usize {
        assert!(!self.is_full(), "push on a full queue of {}", self.capacity);
        let at = self.wrap(self.head + self.len) as usize;
        self.len += 1;
        at
    }

    /// Removes the newest entry unless `stays`. The queue must not be empty. Branch-free, because
    /// the outcome is unpredictable where this is called.
    #[inline]
    pub fn keep_newest_if(&mut self, stays: bool) {
        debug_assert!(!self.is_empty());
        self.len -= u32::from(!stays);
    }

    /// Allocates the slots and fills all of them with the first value.
    #[cold]
    #[inline(never)]
    fn allocate(&mut self, [value]: &[T; 1]) {
        debug_assert!(self.slots.is_empty());
        self.slots = vec![*value; self.capacity.next_power_of_two() as usize].into();
    }

    /// Returns the oldest entry, if any.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            None
        } else {
            Some(&self.slots[self.head as usize])
        }
    }

    /// Returns the oldest entry, if any, to be changed.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            None
        } else {
            Some(&mut self.slots[self.head as usize])
        }
    }

    /// Removes and returns the oldest entry, if any.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head as usize];
        self.drop_oldest();
        Some(value)
    }

    /// Removes the oldest entry without reading it. The queue must not be empty.
    #[inline]
    pub fn drop_oldest(&mut self) {
        self.len -= 1;
        // An emptied queue restarts at slot 0, so that it stays in the same host cache lines.
        // Branch-free, because that is unpredictable.
        let stays = u32::from(self.len != 0).wrapping_neg();
        self.head = self.wrap(self.head + 1) & stays;
    }

    /// Iterates over the entries from the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|i| &self.slots[self.wrap(self.head + i) as usize])
    }
}

/// The entries, oldest first. The capacity follows from the configuration.
impl<T: Copy + Value> State for FixedQueue<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let mut entries: Vec<T> = self.iter().copied().collect();
        entries.state(io)?;
        if io.restores() {
            if entries.len() > self.capacity as usize {
                return Err(StateError::Long(entries.len() as u64));
            }
            (self.head, self.len) = (0, 0);
            for entry in entries {
                self.push(entry);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::FixedQueue;
    use warploom_state::{Io, State, StateError};

    #[test]
    fn entries_are_saved_and_not_their_places() {
        let mut q = FixedQueue::new(3);
        (0..3).for_each(|i| *q.push(0) = i);
        q.pop();
        q.push(3);
        let mut io = Io::save();
        q.state(&mut io).expect("saving cannot fail");
        let saved = io.into_bytes();
        let restored = |capacity| {
            let mut q = FixedQueue::new(capacity);
            q.push(77);
            q.state(&mut Io::restore(&saved))?;
            Ok(q.iter().copied().collect::<Vec<_>>())
        };
        assert_eq!(restored(4), Ok(vec![1, 2, 3]));
        assert_eq!(restored(2), Err(StateError::Long(3)));
    }

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
