//! The queues of stalled and of ready units, filled at the end of each cycle.

use super::engine::{Contexts, Unit};
use super::places::Terms;
use super::tables::State;
use crate::prepared_kernel::{KernelContexts, PreparedKernel};
use crate::warps::Warps;
use warploom_base::WarpSlot;
use warploom_policy::{WarpMask, warps_of};

impl Contexts {
    pub(super) fn forget_stalled(&mut self) {
        while let Some(unit) = self.stalled.front() {
            self.unqueue_stalled(0, unit);
        }
    }

    /// Takes a unit that continues out of the queue of stalled units.
    pub(super) fn unqueue_stalled(&mut self, at: usize, unit: Unit) {
        self.stalled.remove(at);
        let by_warp = self.kernel.is_some_and(|(_, terms)| terms.by_warp);
        for context in self.members(unit, by_warp) {
            if self.warps[context].state == State::Stalled {
                self.warps[context].state = State::Running;
                self.queued &= !(1 << self.warps[context].slot);
            }
        }
    }

    /// Contexts of a unit, by number.
    pub(super) fn members(&self, unit: Unit, by_warp: bool) -> std::ops::Range<usize> {
        match by_warp {
            true => usize::from(unit)..usize::from(unit) + 1,
            false => self.blocks[usize::from(unit)].contexts(),
        }
    }

    /// True if the warp in a slot has a long wait and nothing in the pipeline but loads that wait.
    pub(super) fn can_leave(&self, slot: usize, warps: &Warps, prepared: &PreparedKernel) -> bool {
        let exec = &warps.exec[slot];
        let at_barrier = warps.at_barrier.has(slot);
        let here =
            |contexts: &KernelContexts| exec.pc().is_some_and(|pc| contexts.units_at(pc).is_some());
        warps.track[slot].in_flight == warps.track[slot].awaiting
            && warps.track[slot].atomics == 0
            && exec.stack_depth() <= self.rules.stack_entries as usize
            && prepared.contexts.as_ref().is_some_and(here)
            && (at_barrier || warps.waits_for_misses(slot, prepared))
    }

    /// Fills the queue of stalled units, after taking out units that can continue.
    pub(super) fn look_for_stalled(
        &mut self,
        warps: &Warps,
        prepared: &PreparedKernel,
        terms: &Terms,
        decoding: WarpMask,
    ) {
        let barriers = match self.rules.barriers || !terms.by_warp {
            true => warps.at_barrier.mask(),
            false => 0,
        };
        let waiting = barriers | warps.buffered & warps.long_wait & !warps.flush;
        let busy = warps.done | warps.fenced | warps.atomic | warps.fetching | decoding;
        let mask = waiting & warps.live & !busy;
        let mut at = 0;
        while let Some(unit) = self.stalled.get(at) {
            // A warp may have got its value in this cycle, have issued, and wait for its next load.
            // That load is in the pipeline.
            let slots = self.slots_of(unit, terms.by_warp);
            let load = terms.by_warp || slots & !warps.at_barrier != 0;
            let can_leave = || warps_of(slots).all(|s| self.can_leave(s.index(), warps, prepared));
            if slots & !mask == 0 && load && can_leave() {
                at += 1;
            } else {
                self.unqueue_stalled(at, unit);
            }
        }
        let capacity = self.queue_entries(terms.by_warp);
        if terms.by_warp {
            for slot in warps_of(mask & !self.queued).map(WarpSlot::index) {
                if self.stalled.len() >= capacity {
                    break;
                }
                if self.can_leave(slot, warps, prepared) {
                    let context = self.context_of[slot];
                    self.queue_stalled(context, true);
                }
            }
            return;
        }
        for block in 0..self.blocks.len() {
            let slots = self.blocks[block].slots;
            if self.stalled.len() >= capacity {
                break;
            }
            if slots != 0
                && slots & (!mask | self.queued) == 0
                && slots & !warps.at_barrier != 0
                && warps_of(slots).all(|slot| self.can_leave(slot.index(), warps, prepared))
            {
                self.queue_stalled(block as u16, false);
            }
        }
    }

    pub(super) fn slots_of(&self, unit: Unit, by_warp: bool) -> WarpMask {
        match by_warp {
            true => 1 << self.warps[usize::from(unit)].slot,
            false => self.blocks[usize::from(unit)].slots,
        }
    }

    pub(super) fn queue_stalled(&mut self, unit: Unit, by_warp: bool) {
        self.stalled.push(unit);
        self.queued |= self.slots_of(unit, by_warp);
        for context in self.members(unit, by_warp) {
            if self.warps[context].state == State::Running {
                self.warps[context].state = State::Stalled;
            }
        }
        self.changed = true;
    }

    /// Fills the queue of ready units. Units that become ready in the same cycle enter in order of
    /// their numbers.
    pub(super) fn look_for_ready(&mut self, terms: &Terms) {
        let capacity = self.queue_entries(terms.by_warp);
        if !self.changed || self.ready.len() >= capacity {
            return;
        }
        let units = match terms.by_warp {
            true => self.warps.len(),
            false => self.blocks.len(),
        };
        for unit in 0..units {
            if self.ready.len() >= capacity {
                return;
            }
            let fits = match terms.by_warp {
                true => self.warps[unit].state == State::Ready,
                false => self.block_is_ready(unit),
            };
            if fits && !self.ready.contains(unit as u16) {
                self.ready.push(unit as u16);
            }
        }
    }

    /// True for an absent block with ready warps, if all its other warps wait at a barrier.
    pub(super) fn block_is_ready(&self, block: usize) -> bool {
        let entry = &self.blocks[block];
        if !entry.valid || entry.slots != 0 || entry.left == 0 {
            return false;
        }
        let mut any = false;
        let all = self.warps[entry.contexts()]
            .iter()
            .all(|warp| match warp.state {
                State::Ready => {
                    any = true;
                    true
                }
                State::Free => true,
                State::Absent => warp.at_barrier,
                _ => false,
            });
        all && any
    }
}
