//! The gate of a scheduler's policy, which holds back instructions that could issue, and cycles in
//! which a policy lets no warp issue although some could.

use crate::prepared_kernel::{Pipe, PreparedKernels, prepared_kernel};
use crate::scheduler::Scheduler;
use crate::sm::Sm;
use crate::warps::{WarpPipelineState, Warps};
use warploom_base::{Cycle, WarpSlot};
use warploom_policy::{MemoryUse, NextInst, WarpMask, WarpScheduler, WarpView, warps_of};

/// A cycle that never comes. The one after it says that no policy holds back warps.
pub(crate) const LAST: Cycle = Cycle::MAX - 1;

impl Sm {
    /// The warps of `ready` whose next instruction the policy's gate admits in this cycle.
    #[inline(never)]
    pub(crate) fn admitted(&mut self, s: usize, ready: WarpMask) -> WarpMask {
        let Self {
            schedulers,
            warps,
            kernels,
            ..
        } = self;
        let Scheduler {
            own, policy, next, ..
        } = &mut schedulers[s];
        let memory = ready & warps.next_pipe[Pipe::Mem as usize];
        let look_up = |slot| next_inst(warps, kernels, slot);
        let ready = next.sort(ready, memory, |slot| look_up(slot).access);
        policy.admitted(&warps.view(*own), ready, look_up)
    }

    /// True if the gate of scheduler `s` holds back the next instruction of a warp that has issued
    /// in this cycle.
    #[cold]
    pub(crate) fn holds_back(&mut self, s: usize, slot: WarpSlot) -> bool {
        let Scheduler { own, policy, .. } = &mut self.schedulers[s];
        if !policy.has_gate() {
            return false;
        }
        let next = next_inst(&self.warps, &self.kernels, slot);
        !policy.admits(&self.warps.view(*own), &next)
    }

    /// Notes that scheduler `s` could have issued from the warps of `ready`, and that its policy
    /// let none of them issue.
    #[cold]
    pub(crate) fn note_held(&mut self, s: usize, ready: WarpMask, now: Cycle) {
        let scheduler = &mut self.schedulers[s];
        (scheduler.held, scheduler.held_at) = (ready, now);
        self.held_until = now;
        self.held_view = self.seen_by_policies();
    }

    /// The masks of a view that change with time.
    fn seen_by_policies(&self) -> [WarpMask; 3] {
        let WarpView {
            live,
            waiting,
            long_wait,
            ..
        } = self.warps.view(0);
        [live, waiting, long_wait]
    }

    /// Finds out, at the end of a cycle in which policies held back warps or after such a cycle,
    /// which of them will hold back the same warps for some time if nothing changes, and until
    /// when all of them will: none if a warp `issued`, or if the cycle changed what they see.
    #[inline(never)]
    pub(crate) fn keep_held(&mut self, now: Cycle, issued: bool) {
        self.held_until = Cycle::MAX;
        let same = !issued && self.held_view == self.seen_by_policies();
        for scheduler in &mut self.schedulers {
            let asked = same && scheduler.held != 0 && scheduler.held_at == now;
            let until = match asked {
                true if scheduler.wants_cycles => scheduler.idle.until,
                true => (now + 1).saturating_add(scheduler.policy.holds_for()),
                false => 0,
            };
            if until <= now + 1 {
                scheduler.held = 0;
            } else {
                self.held_until = self.held_until.min(until).min(LAST);
            }
        }
    }

    /// Tells policies of the use of the path to memory, if it has changed.
    #[inline(always)]
    pub(crate) fn tell_memory_use(&mut self) {
        let used = MemoryUse {
            parked: self.parked_warps(),
            ..self.ldst.memory_use()
        };
        if self.memory_use.is_none_or(|known| known != used) {
            self.tell_changed_use(used);
        }
    }

    #[inline(never)]
    fn tell_changed_use(&mut self, used: MemoryUse) {
        self.memory_use = Some(used);
        let mut minded = false;
        for scheduler in &mut self.schedulers {
            if scheduler.policy.minds_memory_use(&used) {
                scheduler.before_event(&self.warps.table);
                scheduler.policy.on_memory_use(&used);
                minded = true;
            }
        }
        if minded {
            self.review_held();
            self.review_watched();
        }
    }

    /// Lets the policies of the schedulers begin anew with the warps that run, between cycles.
    pub fn begin_policies(&mut self) {
        let running = self.warps.running();
        self.end_idle_cycles();
        for scheduler in &mut self.schedulers {
            warps_of(running & scheduler.own).for_each(|slot| scheduler.starts(slot));
        }
        self.memory_use = None;
        self.held_until = Cycle::MAX;
        self.wide_awake = true;
        self.order_has_changed();
    }

    /// Tells schedulers that hold back warps that something changed by which their policies may let
    /// one issue. The SM is then no longer at rest.
    pub(crate) fn review_held(&mut self) {
        for scheduler in &mut self.schedulers {
            if scheduler.held != 0 && scheduler.policy.holds_for() == 0 {
                scheduler.held = 0;
                self.at_rest = false;
            }
        }
    }
}

/// The next instruction of a warp, as the gate of a policy sees it.
#[inline]
pub(crate) fn next_inst(warps: &Warps, kernels: &PreparedKernels, slot: WarpSlot) -> NextInst {
    let WarpPipelineState {
        kernel, buffer_pc, ..
    } = warps.track[slot.index()];
    NextInst {
        slot,
        kernel,
        pc: buffer_pc,
        access: prepared_kernel(kernels, kernel).access_at(buffer_pc),
    }
}
