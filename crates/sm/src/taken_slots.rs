//! Cycles in which a scheduler issues nothing, because their slots belong to instructions that
//! issued before (docs/model/sm.md, Machine instructions).

use crate::counters::SlotCause;
use crate::sm::Sm;
use warploom_base::Cycle;

impl Sm {
    /// True if slots of a scheduler are taken after this cycle by instructions of warps that run.
    #[inline]
    pub(crate) fn has_taken_slots(&self, s: usize) -> bool {
        let scheduler = &self.schedulers[s];
        scheduler.slots.any_ahead() && scheduler.own & self.warps.running() != 0
    }

    /// The cause to which a cycle of a scheduler is attributed if its slot is taken, so that no
    /// warp can issue in it.
    #[inline]
    pub(crate) fn pass_taken_slot(&mut self, s: usize, now: Cycle) -> Option<SlotCause> {
        if self.schedulers[s].slots.is_taken(now) {
            self.pass_slot(s, now)
        } else {
            None
        }
    }

    /// Slots of warps that have ended are free.
    #[cold]
    fn pass_slot(&mut self, s: usize, now: Cycle) -> Option<SlotCause> {
        let scheduler = &self.schedulers[s];
        if scheduler.own & self.warps.running() == 0 {
            return None;
        }
        if scheduler.wants_cycles {
            self.pick_watched::<false>(now, s, 0, 0);
        }
        Some(SlotCause::Issued)
    }
}
