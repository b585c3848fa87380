//! Loads that an SM executes in a window before the stores and atomics of other SMs in earlier
//! cycles are known. Once all SMs have run those cycles, each load that read a line to which an SM
//! or an atomic stored is executed again.
//!
//! Invariant: nothing has read the destination of a recorded load, or of an atomic that has not
//! acted. In the cycle in which such a value arrives, the SM stalls before issue until memory is
//! settled up to the cycle of the load or atomic.

use warploom_base::Cycle;
use warploom_exec::LoadRecord;

/// How far all SMs together have come in a window.
#[derive(Clone, Copy, Debug)]
pub struct SettledUpTo {
    /// The first cycle of the window.
    pub began: Cycle,
    /// All SMs have run the cycles before this one, and their stores and atomics are visible.
    pub cycle: Cycle,
}

/// A recorded load of a warp.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The warp's number in memory instructions. The warp may have left its slot meanwhile.
    pub owner: u16,
    pub load: LoadRecord,
    /// True if a store conflicts with the load, so that it has to be repeated.
    pub conflicts: bool,
}

/// The loads of a window.
#[derive(Debug, Default)]
pub(crate) struct ReplayBuffer {
    /// The first cycle of the window.
    pub(super) began: Cycle,
    /// Loads after `settled` and before `to` are recorded.
    settled: Cycle,
    to: Cycle,
    /// `entries[first..count]` are in use, in order of cycles; the others are room.
    first: usize,
    count: usize,
    entries: Vec<Entry>,
    /// Memory has to be settled up to this cycle before the next instruction issues; 0 if nothing
    /// waits for that.
    unsettled_until: Cycle,
    /// True while the SM stalls before issue.
    stalls: bool,
}

impl ReplayBuffer {
    /// Lets the SM go on, up to cycle `to`. Forgets loads that are settled.
    pub fn resume(&mut self, to: Cycle, settled: &SettledUpTo) {
        if self.began != settled.began {
            self.began = settled.began;
            (self.first, self.count, self.unsettled_until) = (0, 0, 0);
        }
        (self.settled, self.to) = (settled.cycle, to);
        let done = self.entries().iter();
        let done = done.take_while(|entry| entry.load.at() <= settled.cycle);
        self.first += done.count();
        if self.first == self.count {
            (self.first, self.count) = (0, 0);
        }
    }

    /// The recorded loads, in order of cycles.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries[self.first..self.count]
    }

    /// The recorded loads, to be marked.
    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries[self.first..self.count]
    }

    /// Requires memory to be settled up to cycle `at` before an instruction issues.
    #[inline]
    pub fn require(&mut self, at: Cycle) {
        self.unsettled_until = self.unsettled_until.max(at);
    }

    /// Returns whether the SM has to stall before issue in cycle `now`.
    #[inline]
    pub fn stalls_issue(&mut self, now: Cycle) -> bool {
        self.stalls = (self.settled < self.unsettled_until) & (now < self.to);
        self.stalls
    }

    /// True while the SM stalls before issue.
    #[inline]
    pub fn is_stalled(&self) -> bool {
        self.stalls
    }

    /// The cycle up to which memory has to be settled before the SM goes on.
    #[inline]
    pub fn unsettled_until(&self) -> Cycle {
        self.unsettled_until
    }

    /// True if memory is not settled up to cycle `now`: then loads of this cycle have to be
    /// recorded.
    #[inline]
    pub fn records(&self, now: Cycle) -> bool {
        (self.settled < now) & (now < self.to)
    }

    /// Room for another load.
    #[inline]
    pub(super) fn next(&mut self) -> &mut Entry {
        if self.count == self.entries.len() {
            self.entries.push(Entry {
                owner: 0,
                load: LoadRecord::NOTHING,
                conflicts: false,
            });
        }
        self.count += 1;
        &mut self.entries[self.count - 1]
    }
}
