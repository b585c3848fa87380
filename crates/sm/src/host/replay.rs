//! Loads that an SM executes in a window before it is known what other SMs store, and atomics do,
//! in the cycles before. Once all SMs have run those cycles, each load that read a line to which
//! somebody stored is executed again.
//!
//! Invariant: nothing has read the destination of a recorded load, or of an atomic that has not
//! acted. In the cycle in which such a value arrives, the SM stalls before issue until memory is
//! settled up to the cycle of the load or atomic.

use crate::context::Place;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use warploom_base::{Cycle, WarpSlot};
use warploom_exec::{DeviceMemory, LoadRecord, Pages, StoredLines};

/// How far all SMs together have come in a window.
#[derive(Clone, Copy, Debug)]
pub struct SettledUpTo {
    /// The first cycle of the window.
    pub began: Cycle,
    /// All SMs have run the cycles before this one, and their stores and atomics are visible.
    pub cycle: Cycle,
}

/// A recorded load.
#[derive(Clone, Debug)]
struct Entry {
    /// The warp's number in memory instructions. The warp may have left its slot meanwhile.
    owner: u16,
    load: LoadRecord,
    /// A store conflicts with it, so that it has to be repeated.
    conflicts: bool,
}

/// The loads of a window.
#[derive(Debug, Default)]
pub(crate) struct ReplayBuffer {
    /// The first cycle of the window.
    began: Cycle,
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
    /// The SM stalls before issue.
    stalls: bool,
}

impl ReplayBuffer {
    /// The SM goes on, up to cycle `to`. Forgets loads that are settled.
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

    fn entries(&self) -> &[Entry] {
        &self.entries[self.first..self.count]
    }

    /// No instruction issues before memory is settled up to cycle `at`.
    #[inline]
    pub fn require(&mut self, at: Cycle) {
        self.unsettled_until = self.unsettled_until.max(at);
    }

    /// The same for an instruction of cycle `now` that cannot be repeated.
    pub fn require_before(&mut self, now: Cycle) {
        if self.records(now) {
            self.require(now);
        }
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

    /// True if loads of cycle `now` have to be recorded.
    #[inline]
    pub fn records(&self, now: Cycle) -> bool {
        (self.settled < now) & (now < self.to)
    }

    /// Room for another load.
    #[inline]
    fn next(&mut self) -> &mut Entry {
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

impl Sm {
    /// Records the load from global memory that a warp has just issued in cycle `now`.
    #[inline(never)]
    pub(crate) fn record_load(&mut self, warp: WarpSlot, now: Cycle) {
        let owner = self.owner(warp.index());
        let entry = self.replay.next();
        (entry.owner, entry.conflicts) = (owner, false);
        entry.load.fill(now, &self.out, &self.log);
    }

    /// The pages that the recorded loads read.
    pub fn loaded_pages(&self) -> Pages {
        let mut pages = Pages::default();
        let entries = self.replay.entries().iter();
        entries.for_each(|entry| entry.load.mark_pages(&mut pages));
        pages
    }

    /// Marks the loads that have to be repeated: those after cycle `settled` and up to cycle `to`
    /// of the window that began in cycle `began`, if they read a line in `stored`, to which SMs
    /// and atomics stored in the window. Returns whether there are any.
    pub fn mark_conflicts(
        &mut self,
        began: Cycle,
        (settled, to): (Cycle, Cycle),
        stored: &StoredLines,
    ) -> bool {
        if self.replay.began != began {
            return false;
        }
        let entries = self.replay.entries();
        let begin = entries.partition_point(|entry| entry.load.at() <= settled);
        let end = entries.partition_point(|entry| entry.load.at() <= to);
        if cfg!(debug_assertions) {
            self.assert_unread(begin);
        }
        let replay = &mut self.replay;
        let entries = &mut replay.entries[replay.first..replay.count];
        let mut any = false;
        for entry in &mut entries[begin..end] {
            entry.conflicts = entry.load.may_touch(stored);
            any |= entry.conflicts;
        }
        any
    }

    /// Panics if an instruction may have read the destination of a load from entry `begin` on.
    fn assert_unread(&self, begin: usize) {
        for entry in &self.replay.entries()[begin..] {
            let place = self.place(entry.owner);
            let image = prepared_kernel(&self.kernels, self.warps.track[place].kernel);
            let awaits = self.warps.awaits(place, image.at(entry.load.pc()));
            let stalls = self.replay.is_stalled() && self.replay.unsettled_until >= entry.load.at();
            assert!(awaits | stalls, "it may have been read: {entry:?}");
        }
    }

    /// Repeats the conflicting loads of cycle `at`. All stores of earlier cycles are visible.
    pub fn replay_loads(&mut self, at: Cycle, memory: &DeviceMemory) {
        let replay = std::mem::take(&mut self.replay);
        let entries = replay.entries().iter();
        for entry in entries.filter(|entry| entry.conflicts & (entry.load.at() == at)) {
            self.replay_load(self.place(entry.owner), &entry.load, memory);
        }
        self.replay = replay;
    }

    /// Repeats a load of the warp in a place.
    fn replay_load(&mut self, place: Place, load: &LoadRecord, memory: &DeviceMemory) {
        let track = self.warps.track[place];
        let image = prepared_kernel(&self.kernels, track.kernel);
        let block = &mut self.blocks[track.block.index()].state;
        let warp = &mut self.warps.exec[place];
        let state = (&image.launch, block, warp);
        load.repeat(state, memory, &self.log, &mut self.out);
    }
}
