//! Recorded loads are repeated where other SMs, or atomics, have stored to the lines that they
//! read.

use crate::context::Place;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use warploom_base::{Cycle, WarpSlot};
use warploom_exec::{DeviceMemory, LoadRecord, Pages, StoredLines};

impl Sm {
    /// Records the load from global memory, or the texture fetch, that a warp has just issued in
    /// cycle `now`.
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
        let mut any = false;
        for entry in &mut self.replay.entries_mut()[begin..end] {
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
            let stalls =
                self.replay.is_stalled() && self.replay.unsettled_until() >= entry.load.at();
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
