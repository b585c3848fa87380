//! A first-in first-out queue of fixed capacity. Allocates once, never grows.

/// Ring buffer; `push` on a full queue is our bug and panics.
#[derive(Clone, Debug)]
pub struct FixedQueue<T> {
    slots: Box<[Option<T>]>,
    head: usize,
    len: usize,
}

impl<T> FixedQueue<T> {
    /// An empty queue for at most `capacity` entries (at least one).
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a queue needs room for one entry");
        Self {
            slots: (0..capacity).map(|_| None).collect(),
            head: 0,
            len: 0,
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
        self.len == 0
    }

    /// No room left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    /// Entries that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.slots.len() - self.len
    }

    #[inline]
    fn wrap(&self, at: usize) -> usize {
        if at >= self.slots.len() {
            at - self.slots.len()
        } else {
            at
        }
    }

    /// Adds at the back. Panics when full: callers test `is_full` first.
    #[inline]
    pub fn push(&mut self, value: T) {
        assert!(
            !self.is_full(),
            "push on a full queue of {}",
            self.slots.len()
        );
        let at = self.wrap(self.head + self.len);
        self.slots[at] = Some(value);
        self.len += 1;
    }

    /// Oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            None
        } else {
            self.slots[self.head].as_ref()
        }
    }

    /// Oldest entry, mutable.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            None
        } else {
            self.slots[self.head].as_mut()
        }
    }

    /// Removes the oldest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head].take();
        self.len -= 1;
        // A queue that is mostly empty stays in the same lines of the host's cache.
        self.head = match self.len {
            0 => 0,
            _ => self.wrap(self.head + 1),
        };
        value
    }

    /// Entries from oldest to youngest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|i| self.slots[self.wrap(self.head + i)].as_ref())
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
}
