//! The heap from which kernels of a process take memory (`malloc`, `free`): one allocation of
//! global memory, of which parts are given out. What CUDA leaves open is decided here: the lowest
//! free place that is large enough is taken, sizes are rounded up to [`ALIGN`], and what the heap
//! knows of its parts lies outside simulated memory, so that nothing can damage it.

use std::collections::BTreeMap;

/// Alignment of every part (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation": at
/// least 16 bytes).
const ALIGN: u64 = 16;

/// The heap of one process.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    /// Address that every operation goes to: the word that a lock would be in.
    pub lock: u64,
    /// Free parts: first byte and bytes. No two touch.
    free: BTreeMap<u64, u64>,
    taken: BTreeMap<u64, u64>,
}

impl Heap {
    /// A heap of `bytes` at `base`, all free.
    pub fn new(lock: u64, base: u64, bytes: u64) -> Self {
        Self {
            lock,
            free: [(base, bytes)].into(),
            taken: BTreeMap::new(),
        }
    }

    /// Takes a part; 0 where there is none, or for no bytes.
    pub fn take(&mut self, bytes: u64) -> u64 {
        let needed = bytes.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
        let mut parts = self.free.iter();
        let found = parts.find(|(_, free)| **free >= needed);
        let Some((&at, &free)) = found.filter(|_| bytes > 0) else {
            return 0;
        };
        self.free.remove(&at);
        if free > needed {
            self.free.insert(at + needed, free - needed);
        }
        self.taken.insert(at, needed);
        at
    }

    /// Is the address that of a part that was taken?
    pub fn has(&self, address: u64) -> bool {
        self.taken.contains_key(&address)
    }

    /// Gives a part back; an address that is none changes nothing.
    pub fn give(&mut self, address: u64) {
        let Some(mut bytes) = self.taken.remove(&address) else {
            return;
        };
        let mut start = address;
        if let Some(behind) = self.free.remove(&(address + bytes)) {
            bytes += behind;
        }
        if let Some((&before, &free)) = self.free.range(..address).next_back()
            && before + free == address
        {
            start = before;
            bytes += free;
        }
        self.free.insert(start, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;

    #[test]
    fn parts_are_the_lowest_that_fit_and_grow_together_again() {
        let mut heap = Heap::new(0, 1000 * 16, 4 * 16);
        let [a, b, c] = [1, 16, 17].map(|bytes| heap.take(bytes));
        assert_eq!([a, b, c], [16_000, 16_016, 16_032]);
        assert_eq!(heap.take(1), 0);
        heap.give(a);
        heap.give(c);
        assert_eq!((heap.take(33), heap.take(32)), (0, c));
        heap.give(c);
        heap.give(b);
        assert_eq!(heap.take(64), a);
        heap.give(a);
        assert_eq!(
            (heap.take(0), heap.take(u64::MAX), heap.take(65)),
            (0, 0, 0)
        );
    }

    #[test]
    fn only_what_was_taken_is_given_back() {
        let mut heap = Heap::new(0, 160, 32);
        let a = heap.take(32);
        heap.give(a + 16);
        assert!(heap.has(a) && !heap.has(a + 16));
        assert_eq!(heap.take(1), 0);
        heap.give(a);
        heap.give(a);
        assert_eq!((heap.take(32), heap.take(1)), (a, 0));
    }
}
