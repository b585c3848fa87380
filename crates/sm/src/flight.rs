//! Instructions between issue and write-back: a pool of small records named by number.

use warploom_base::{KernelSlot, Pc, WarpSlot};

/// A record in a [`FlightPool`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlightId(pub u16);

/// An issued instruction.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Who issued it.
    pub warp: WarpSlot,
    /// Of which kernel.
    pub kernel: KernelSlot,
    /// Which instruction.
    pub pc: Pc,
    /// Record in the load/store unit, for memory instructions.
    pub mem: Option<MemId>,
}

/// A record of the load/store unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemId(pub u16);

/// Fixed storage with a free list.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    entries: Vec<T>,
    free: Vec<u16>,
}

impl<T: Clone> Pool<T> {
    /// `capacity` entries, all free, each a copy of `blank`.
    pub fn new(capacity: usize, blank: T) -> Self {
        assert!(capacity <= usize::from(u16::MAX));
        Self {
            entries: vec![blank; capacity],
            free: (0..capacity as u16).rev().collect(),
        }
    }

    /// Takes a free entry. `None` when all are in use.
    #[inline]
    pub fn take(&mut self) -> Option<u16> {
        self.free.pop()
    }

    /// Gives an entry back.
    #[inline]
    pub fn give(&mut self, index: u16) {
        debug_assert!(
            !self.free.contains(&index),
            "entry {index} given back twice"
        );
        self.free.push(index);
    }

    /// Entries in use.
    pub fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Entries that are free.
    pub fn available(&self) -> usize {
        self.free.len()
    }
}

impl<T> std::ops::Index<u16> for Pool<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u16) -> &T {
        &self.entries[index as usize]
    }
}

impl<T> std::ops::IndexMut<u16> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, index: u16) -> &mut T {
        &mut self.entries[index as usize]
    }
}

/// Instructions in flight.
pub type FlightPool = Pool<Flight>;

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn a_pool_lends_each_entry_once() {
        let mut pool = Pool::new(2, 0_u8);
        let (a, b) = (pool.take().expect("one"), pool.take().expect("two"));
        assert!(a != b && pool.take().is_none());
        assert_eq!((pool.used(), pool.available()), (2, 0));
        pool[a] = 7;
        pool.give(b);
        assert_eq!((pool[a], pool.take()), (7, Some(b)));
    }
}
