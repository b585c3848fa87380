//! Instructions between issue and write-back: a pool of small records named by number.

use warploom_base::{KernelSlot, Pc, WarpSlot};
use warploom_state::{Io, State, StateError, Value};

/// A record in a [`FlightPool`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub struct FlightId(pub u16);

/// An issued instruction on its way through the pipeline.
#[derive(Clone, Copy, Debug, Value)]
pub struct Flight {
    /// Warp slot that issued the instruction.
    pub warp: WarpSlot,
    /// Kernel of the warp.
    pub kernel: KernelSlot,
    /// Program counter of the instruction.
    pub pc: Pc,
    /// Record in the load/store unit, for memory instructions.
    pub mem: Option<MemId>,
    /// Bit per bank that holds a register which the instruction reads.
    pub banks: u64,
    /// Number of registers that the instruction reads.
    pub reads: u8,
    /// True if some of these registers lie in the same bank.
    pub shares_banks: bool,
    /// Group of a product of a warp group.
    pub product: Option<u8>,
    /// Cycles in the function unit.
    pub latency: u16,
    /// Cycles until the unit takes another instruction.
    pub interval: u16,
}

impl Flight {
    /// Content of a record that no instruction has taken.
    pub const BLANK: Self = Self {
        warp: WarpSlot(0),
        kernel: KernelSlot(0),
        pc: Pc(0),
        mem: None,
        banks: 0,
        reads: 0,
        shares_banks: false,
        product: None,
        latency: 1,
        interval: 1,
    };
}

/// A record of the load/store unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct MemId(pub u16);

/// Storage of up to `N` entries with a list of free ones. An entry's memory is allocated when the
/// entry is first taken: most machines use a small part of the entries.
#[derive(Clone, Debug)]
pub struct Pool<T, const N: usize> {
    /// Content of an entry that is taken for the first time.
    blank: T,
    /// Entries that were taken at least once.
    entries: Vec<T>,
    /// Numbers of those that are free now.
    free: Vec<u16>,
    /// True for each entry in use. A search of the free list would take half of a test's time.
    #[cfg(debug_assertions)]
    lent: Vec<bool>,
}

impl<T: Clone, const N: usize> Pool<T, N> {
    /// A pool of `N` free entries, each a copy of `blank`.
    pub fn new(blank: T) -> Self {
        const { assert!(N <= 1 << u16::BITS) }
        Self {
            blank,
            entries: Vec::new(),
            free: Vec::new(),
            #[cfg(debug_assertions)]
            lent: Vec::new(),
        }
    }

    /// Takes a free entry: the one that was given back last, else the next one that was never
    /// taken. `None` when all are in use.
    #[inline]
    pub fn take(&mut self) -> Option<u16> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.take_new()?,
        };
        #[cfg(debug_assertions)]
        {
            self.lent[index as usize] = true;
        }
        Some(index)
    }

    /// Takes the next entry that was never taken.
    #[cold]
    fn take_new(&mut self) -> Option<u16> {
        let index = self.entries.len();
        if index == N {
            return None;
        }
        self.entries.push(self.blank.clone());
        #[cfg(debug_assertions)]
        self.lent.push(false);
        Some(index as u16)
    }

    /// Gives an entry back.
    #[inline]
    pub fn give(&mut self, index: u16) {
        #[cfg(debug_assertions)]
        {
            let lent = std::mem::take(&mut self.lent[index as usize]);
            assert!(lent, "entry {index} given back twice");
        }
        self.free.push(index);
    }

    /// Number of entries in use.
    #[inline]
    pub fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// True if an entry is free.
    #[inline]
    pub fn has_free(&self) -> bool {
        !self.free.is_empty() || self.entries.len() < N
    }
}

/// The entries that were taken at least once, and which of them are free.
impl<T: Value, const N: usize> State for Pool<T, N> {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let Self {
            blank: _,
            entries,
            free,
            #[cfg(debug_assertions)]
            lent,
        } = self;
        entries.state(io)?;
        free.state(io)?;
        let is_free = |index: &u16| usize::from(*index) < entries.len();
        if entries.len() > N || !free.iter().all(is_free) {
            return Err(StateError::Long(entries.len() as u64));
        }
        #[cfg(debug_assertions)]
        {
            *lent = vec![true; entries.len()];
            free.iter()
                .for_each(|index| lent[usize::from(*index)] = false);
        }
        Ok(())
    }
}

impl<T, const N: usize> std::ops::Index<u16> for Pool<T, N> {
    type Output = T;
    #[inline]
    fn index(&self, index: u16) -> &T {
        &self.entries[index as usize]
    }
}

impl<T, const N: usize> std::ops::IndexMut<u16> for Pool<T, N> {
    #[inline]
    fn index_mut(&mut self, index: u16) -> &mut T {
        &mut self.entries[index as usize]
    }
}

/// Number of records for instructions in flight: more than all stages hold.
const FLIGHTS: usize = 8192;

/// Records of the instructions in flight.
pub type FlightPool = Pool<Flight, FLIGHTS>;

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn a_pool_lends_each_entry_once() {
        let mut pool = Pool::<u8, 2>::new(0);
        let (a, b) = (pool.take().expect("one"), pool.take().expect("two"));
        assert!(a != b && pool.take().is_none());
        assert_eq!((pool.used(), pool.has_free()), (2, false));
        pool[a] = 7;
        pool.give(b);
        assert_eq!((pool[a], pool.take()), (7, Some(b)));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "given back twice"]
    fn a_pool_takes_each_entry_back_once() {
        let mut pool = Pool::<u8, 2>::new(0);
        let entry = pool.take().expect("one");
        pool.give(entry);
        pool.give(entry);
    }
}
