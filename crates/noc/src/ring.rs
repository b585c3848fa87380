//! A first-in first-out queue of small values, made for a network's many short ones.

/// Places at first.
const ROOM: usize = 4;

/// Ring buffer whose places are a power of two. It grows to the most that it has held.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Self {
        Self {
            places: vec![T::default(); ROOM].into(),
            head: 0,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Place of the `nth` entry.
    #[inline]
    fn place(&self, nth: usize) -> usize {
        (self.head + nth) & (self.places.len() - 1)
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.places[place] = value;
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let entries = (0..self.len).map(|nth| self.places[self.place(nth)]);
        let free = std::iter::repeat_n(T::default(), self.places.len());
        self.places = entries.chain(free).collect();
        self.head = 0;
    }

    /// The `nth` entry, from the oldest.
    #[inline]
    pub(crate) fn get(&self, nth: usize) -> Option<&T> {
        (nth < self.len).then(|| &self.places[self.place(nth)])
    }

    /// The oldest entry.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// Takes the oldest entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.len -= 1;
        // A queue that is mostly empty stays in the same lines of the host's cache.
        self.head = if self.len == 0 { 0 } else { self.place(1) };
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{ROOM, Ring};
    use std::collections::VecDeque;

    /// It does what a queue of the standard library does, also as it wraps around and grows.
    #[test]
    fn keeps_order() {
        let (mut ring, mut expected) = (Ring::new(), VecDeque::new());
        for round in 0..200_usize {
            for value in 0..round % (3 * ROOM) {
                ring.push(100 * round + value);
                expected.push_back(100 * round + value);
            }
            for _ in 0..round / 7 % (2 * ROOM) {
                assert_eq!(ring.pop(), expected.pop_front());
            }
            assert_eq!(ring.front(), expected.front());
            assert_eq!(ring.get(round % 9), expected.get(round % 9));
            assert_eq!(ring.is_empty(), expected.is_empty());
        }
    }
}
