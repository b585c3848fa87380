//! Barriers, fences and the end of warps: effects of an issued instruction on waiting warps.

use crate::sm::Sm;
use warploom_base::{BlockId, WarpSlot};
use warploom_exec::{BarrierArrival, BarrierOutcome, BarrierRelease};
use warploom_policy::{WarpMask, warps_of};

impl Sm {
    /// Notes that a warp has arrived at a barrier of its block.
    #[cold]
    pub(crate) fn arrive(&mut self, slot: WarpSlot, block: BlockId, arrival: &BarrierArrival) {
        self.counters.barriers += 1;
        let index = self.warps.exec[slot.index()].warp_index();
        let b = &mut self.blocks[block.index()];
        match b.state.barriers.arrive(index, arrival) {
            BarrierOutcome::Wait => self.warps.at_barrier.insert(slot.index()),
            BarrierOutcome::Continue => {}
            BarrierOutcome::Release(release) => self.release_barrier(block, &release),
        }
        self.post_signal(block);
    }

    /// Lets the warps go on that a barrier releases.
    #[cold]
    pub(crate) fn release_barrier(&mut self, block: BlockId, release: &BarrierRelease) {
        if self.context.is_some() {
            return self.release_contexts(block, release);
        }
        let first = self.blocks[block.index()].first_warp;
        let released = WarpMask::from(release.warps) << first;
        self.warps.at_barrier &= !released;
        for slot in warps_of(released) {
            self.warps.exec[slot.index()].finish_barrier(release);
        }
    }

    /// Ends a warp whose lanes have all exited. Barriers that waited for this warp alone are
    /// released.
    #[cold]
    pub(crate) fn warp_done(&mut self, slot: WarpSlot, block: BlockId) {
        self.end_warp(slot);
        let index = self.warps.exec[slot.index()].warp_index();
        let b = &mut self.blocks[block.index()];
        let mut releases = std::mem::take(&mut self.releases);
        b.state
            .barriers
            .warp_exited(index, |release| releases.push(release));
        for release in releases.drain(..) {
            self.release_barrier(block, &release);
        }
        self.releases = releases;
        self.post_signal(block);
    }

    /// Marks a warp as one that issues no further instruction.
    pub(crate) fn end_warp(&mut self, slot: WarpSlot) {
        let w = slot.index();
        let scheduler = w % self.schedulers.len();
        self.schedulers[scheduler].tell_passed(&self.warps.table);
        self.at_rest = false;
        self.warps.done.insert(w);
        self.warps.touched.insert(w);
        self.warps.drop_buffer(w);
        self.schedulers[scheduler].exits(slot);
    }

    /// Ends a warp's fence if the warp's scoreboard is empty.
    #[inline(always)]
    pub(crate) fn release_fence(&mut self, w: usize) {
        if self.warps.fenced.has(w) && !self.warps.has_pending(w) {
            self.end_fence(w);
        }
    }

    /// Ends a fence. GPGPU-Sim 4.2 then also empties the data cache, on machines that empty it
    /// between kernels.
    #[cold]
    fn end_fence(&mut self, w: usize) {
        self.warps.fenced.remove(w);
        if self.fences_flush_l1 {
            self.flush_l1();
        }
    }
}
