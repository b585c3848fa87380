//! Replies that SMs have not taken, for the thread that runs the memory backend, which must not
//! bring more than there is room for.
//!
//! A running SM has all replies of the window, so that the number of replies that it has not taken
//! only falls until the window ends. An entry is one word: no thread waits, and a thread that reads
//! an old entry assumes more replies than there are.

use super::own_line::OwnLine;
use std::sync::atomic::{AtomicU64, Ordering};
use warploom_base::Cycle;

/// Bits of an entry that count replies; the others are the window's first cycle.
const COUNT_BITS: u32 = 16;

/// By SM: the first cycle of a window, and the number of replies that it has not taken in it.
#[derive(Default)]
pub(crate) struct UntakenCounts(Box<[OwnLine<AtomicU64>]>);

impl UntakenCounts {
    /// Counts of SMs that have not run in any window.
    pub fn new(sms: usize) -> Self {
        let entry = |_| OwnLine(AtomicU64::new(u64::MAX));
        Self((0..sms).map(entry).collect())
    }

    /// Notes that an SM, which has all replies of the window that began in cycle `began`, has not
    /// taken `count` of them.
    #[inline]
    pub fn note(&self, sm: usize, began: Cycle, count: u32) {
        if count < 1 << COUNT_BITS {
            let entry = began << COUNT_BITS | u64::from(count);
            self.0[sm].store(entry, Ordering::Relaxed);
        }
    }

    /// The most replies that an SM will not have taken at the end of the window that began in cycle
    /// `began`, if it has run in that window.
    #[inline]
    pub fn of(&self, sm: usize, began: Cycle) -> Option<u32> {
        let entry = self.0[sm].load(Ordering::Relaxed);
        let count = entry as u32 & ((1 << COUNT_BITS) - 1);
        (entry >> COUNT_BITS == began).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::UntakenCounts;

    #[test]
    fn an_entry_is_of_its_window_alone() {
        let counts = UntakenCounts::new(2);
        assert_eq!(counts.of(1, 0), None);
        counts.note(1, 64, 5);
        let of = [32, 64, 96].map(|began| counts.of(1, began));
        assert_eq!(of, [None, Some(5), None]);
        assert_eq!(counts.of(0, 64), None);
        // A count that has no room in an entry is not noted.
        counts.note(1, 96, 1 << 16);
        assert_eq!(counts.of(1, 96), None);
        counts.note(1, 96, 0);
        assert_eq!(counts.of(1, 96), Some(0));
    }
}
