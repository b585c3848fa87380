//! Heap from which the kernels of a process allocate memory (`malloc`, `free`): a global allocation
//! that is divided into parts. CUDA leaves the policy open. Here the lowest free range that is
//! large enough is used, and sizes are rounded up to [`ALIGN`]. The bookkeeping is outside of
//! simulated memory, so that programs cannot damage it.

use std::collections::BTreeMap;
use warploom_state::Value;

/// Alignment of every part in bytes (CUDA C++ Programming Guide, "Dynamic Global Memory
/// Allocation": at least 16 bytes).
const ALIGN: u64 = 16;

/// Heap of one process.
#[derive(Clone, Debug, Value)]
pub(crate) struct Heap {
    /// Address of the word that a lock of the heap would occupy. Every operation on the heap is an
    /// atomic access to it.
    pub lock: u64,
    /// Free ranges: address of the first byte and size in bytes. No two are adjacent.
    free: BTreeMap<u64, u64>,
    allocated: BTreeMap<u64, u64>,
}

impl Heap {
    /// Creates a heap of `bytes` free bytes at `base`.
    pub fn new(lock: u64, base: u64, bytes: u64) -> Self {
        Self {
            lock,
            free: [(base, bytes)].into(),
            allocated: BTreeMap::new(),
        }
    }

    /// Allocates bytes and returns their address. Returns 0 if they do not fit, or for zero bytes.
    pub fn alloc(&mut self, bytes: u64) -> u64 {
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
        self.allocated.insert(at, needed);
        at
    }

    /// True if an allocated part starts at the address.
    pub fn is_allocated(&self, address: u64) -> bool {
        self.allocated.contains_key(&address)
    }

    /// Frees the part that starts at an address. Does nothing if there is none.
    pub fn free(&mut self, address: u64) {
        let Some(mut bytes) = self.allocated.remove(&address) else {
            return;
        };
        let mut start = address;
        if let Some(after) = self.free.remove(&(address + bytes)) {
            bytes += after;
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
        let [a, b, c] = [1, 16, 17].map(|bytes| heap.alloc(bytes));
        assert_eq!([a, b, c], [16_000, 16_016, 16_032]);
        assert_eq!(heap.alloc(1), 0);
        heap.free(a);
        heap.free(c);
        assert_eq!((heap.alloc(33), heap.alloc(32)), (0, c));
        heap.free(c);
        heap.free(b);
        assert_eq!(heap.alloc(64), a);
        heap.free(a);
        assert_eq!(
            (heap.alloc(0), heap.alloc(u64::MAX), heap.alloc(65)),
            (0, 0, 0)
        );
    }

    #[test]
    fn only_what_was_taken_is_given_back() {
        let mut heap = Heap::new(0, 160, 32);
        let a = heap.alloc(32);
        heap.free(a + 16);
        assert!(heap.is_allocated(a) && !heap.is_allocated(a + 16));
        assert_eq!(heap.alloc(1), 0);
        heap.free(a);
        heap.free(a);
        assert_eq!((heap.alloc(32), heap.alloc(1)), (a, 0));
    }
}
