//! Replies that SMs have not taken, as the threads that run SMs tell the one that runs the back of
//! the memory system, which must not bring more than there is room for.
//!
//! When an SM runs it has all replies of the spell, so that what it has not taken becomes less
//! until the spell ends. An entry is one word: nobody waits for anybody, and whoever sees an old
//! one thinks that an SM has taken less than it has.

use crate::workers::OwnLine;
use std::sync::atomic::{AtomicU64, Ordering};
use warploom_base::Cycle;

/// Bits of an entry that count replies; the others are the cycle.
const COUNT_BITS: u32 = 16;

/// By SM: the beginning of a spell, and how many of the replies of before its end the SM has not
/// taken.
#[derive(Default)]
pub(crate) struct Backlogs(Box<[OwnLine<AtomicU64>]>);

impl Backlogs {
    pub fn new(sms: usize) -> Self {
        // Of no spell.
        let entry = |_| OwnLine(AtomicU64::new(u64::MAX));
        Self((0..sms).map(entry).collect())
    }

    /// So many SMs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// An SM that has all replies of the spell that began in cycle `began` has so many left.
    #[inline]
    pub fn note(&self, sm: usize, began: Cycle, waiting: u32) {
        if waiting < 1 << COUNT_BITS {
            let entry = began << COUNT_BITS | u64::from(waiting);
            self.0[sm].store(entry, Ordering::Relaxed);
        }
    }

    /// How many an SM has left at most when the spell ends that began in cycle `began`, if it has
    /// run in that.
    #[inline]
    pub fn of(&self, sm: usize, began: Cycle) -> Option<u32> {
        let entry = self.0[sm].load(Ordering::Relaxed);
        let count = entry as u32 & ((1 << COUNT_BITS) - 1);
        (entry >> COUNT_BITS == began).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::Backlogs;

    #[test]
    fn an_entry_is_of_its_spell_alone() {
        let backlogs = Backlogs::new(2);
        assert_eq!(backlogs.of(1, 0), None);
        backlogs.note(1, 64, 5);
        let of = [32, 64, 96].map(|began| backlogs.of(1, began));
        assert_eq!(of, [None, Some(5), None]);
        assert_eq!(backlogs.of(0, 64), None);
        // More than an entry can say are not said to be few.
        backlogs.note(1, 96, 1 << 16);
        assert_eq!(backlogs.of(1, 96), None);
        backlogs.note(1, 96, 0);
        assert_eq!(backlogs.of(1, 96), Some(0));
    }
}
