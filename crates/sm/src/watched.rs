//! The choice of a warp by a policy that is told of every cycle, or where some warps issue last.

use crate::gate::{LAST, next_inst};
use crate::idle_cycles::Idle;
use crate::issue::FIRST_64;
use crate::prepared_kernel::Pipe;
use crate::scheduler::Scheduler;
use crate::sm::Sm;
use warploom_base::{Cycle, WarpSlot};
use warploom_policy::{WarpMask, WarpScheduler, WarpView};

impl Sm {
    /// True if the policy, which is told of every cycle, can be asked at once: some warps are
    /// `ready`, none of them issues last or has instructions from the `wrong` path, and the cycle
    /// is not like the one before.
    #[inline(always)]
    pub(crate) fn can_ask(&self, now: Cycle, s: usize, ready: WarpMask, wrong: WarpMask) -> bool {
        let in_order = wrong | self.pauses.warps != 0 || self.issue_quotas.is_some();
        ready != 0 && !in_order && now >= self.schedulers[s].idle.until
    }

    /// True if no warp is `ready`, none has instructions from the `wrong` path, and none issues
    /// last, so that the policy is told of the cycle alone.
    #[inline(always)]
    pub(crate) fn can_pass(&self, ready: WarpMask, wrong: WarpMask) -> bool {
        ready | wrong | self.pauses.warps == 0 && self.issue_quotas.is_none()
    }

    /// The warp from which a scheduler issues, for a policy that is told of every cycle, and where
    /// some warps issue last.
    #[inline(never)]
    pub(crate) fn pick_watched<const FEW: bool>(
        &mut self,
        now: Cycle,
        s: usize,
        ready: WarpMask,
        wrong: WarpMask,
    ) -> Option<WarpSlot> {
        let last = match self.issue_quotas {
            None => self.pauses.warps,
            Some(_) => self.pauses.warps | self.spent_warps(),
        };
        if wrong | last != 0 {
            return self.pick_in_order(s, ready, wrong, last);
        }
        let Scheduler {
            stalls_of, idle, ..
        } = &mut self.schedulers[s];
        if idle.passes::<FEW>(now, || Idle::of(&self.warps, *stalls_of, ready)) {
            return None;
        }
        if ready == 0 {
            self.schedulers[s].pass_unready::<FEW>(&self.warps);
            return None;
        }
        self.ask::<FEW>(now, s, ready)
    }

    /// Asks the policy for one of the ready warps, of which there are some, and tells it of the
    /// cycle. `FEW` says that the SM has at most 64 warp slots.
    #[inline(always)]
    pub(crate) fn ask<const FEW: bool>(
        &mut self,
        now: Cycle,
        s: usize,
        mut ready: WarpMask,
    ) -> Option<WarpSlot> {
        let Self {
            schedulers,
            warps,
            kernels,
            ..
        } = self;
        let scheduler = &mut schedulers[s];
        scheduler.tell_passed(&warps.table);
        scheduler.forget_answers();
        let Scheduler {
            own,
            stalls_of,
            policy,
            next,
            ..
        } = scheduler;
        let mut view = warps.view(*own);
        if FEW {
            view = view.of_few();
            ready &= FIRST_64;
        }
        let stalled = *stalls_of & warps.buffered & !view.waiting & !ready;
        let look_up = |slot| next_inst(warps, kernels, slot);
        let sorted = || {
            let memory = ready & warps.next_pipe[Pipe::Mem as usize];
            next.sort(ready, memory, |slot| look_up(slot).access)
        };
        let picked = policy.run_cycle(&mut view, (ready, stalled), sorted, look_up);
        match picked {
            Some(slot) => {
                next.forget(slot);
                scheduler.idle.end();
            }
            None => {
                let until = (now + 1).saturating_add(policy.holds_for());
                let idle = Idle::of(warps, scheduler.stalls_of, ready);
                scheduler.idle.begin(&idle, until.min(LAST));
            }
        }
        picked
    }

    /// As [`pick_watched`](Self::pick_watched), where some warps issue `last` or have instructions
    /// from the `wrong` path.
    #[inline(never)]
    fn pick_in_order(
        &mut self,
        s: usize,
        ready: WarpMask,
        wrong: WarpMask,
        last: WarpMask,
    ) -> Option<WarpSlot> {
        let scheduler = &mut self.schedulers[s];
        scheduler.tell_passed(&self.warps.table);
        scheduler.forget_answers();
        scheduler.idle.end();
        let own = scheduler.own;
        // Computed before the pick, which may empty buffers: those warps were stalled too.
        let stalls_of = self.schedulers[s].stalls_of;
        let stalled = stalls_of & self.warps.buffered & !self.warps.waiting() & !ready;
        self.schedulers[s].policy.begin_cycle(&self.warps.view(own));
        let admitted = if ready != 0 && self.schedulers[s].policy.has_gate() {
            self.admitted(s, ready)
        } else {
            ready
        };
        let picked = self
            .search(s, admitted & !last, wrong & !last)
            .or_else(|| self.search(s, admitted & last, wrong & last));
        let view = WarpView {
            held: ready & !admitted,
            ..self.warps.view(own)
        };
        let Scheduler { policy, next, .. } = &mut self.schedulers[s];
        policy.end_cycles(&view, stalled, picked, 1);
        if let Some(slot) = picked {
            next.forget(slot);
            policy.on_issue(slot);
        }
        picked
    }
}
