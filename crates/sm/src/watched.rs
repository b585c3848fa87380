//! The choice of a warp by a policy that is told of every cycle, or where some warps issue last.

use crate::gate::{LAST, next_inst};
use crate::idle_cycles::Idle;
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
        let Scheduler { own, idle, .. } = &mut self.schedulers[s];
        if idle.passes::<FEW>(now, || Idle::of(&self.warps, *own, ready)) {
            return None;
        }
        if ready == 0 {
            self.pass_cycle(s);
            return None;
        }
        self.ask(now, s, ready)
    }

    /// Tells the policy of a cycle in which no warp is ready.
    #[inline(never)]
    fn pass_cycle(&mut self, s: usize) {
        let (scheduler, warps) = (&mut self.schedulers[s], &self.warps);
        let idle = Idle::of(warps, scheduler.own, 0);
        scheduler.pass_others(&idle, 1, &warps.table);
    }

    /// Asks the policy for one of the ready warps, of which there are some, and tells it of the
    /// cycle.
    #[inline(never)]
    pub(crate) fn ask(&mut self, now: Cycle, s: usize, ready: WarpMask) -> Option<WarpSlot> {
        let Self {
            schedulers,
            warps,
            kernels,
            ..
        } = self;
        let scheduler = &mut schedulers[s];
        scheduler.tell_passed(&warps.table);
        let Scheduler {
            own, policy, next, ..
        } = scheduler;
        let mut view = warps.view(*own);
        let stalled = *own & warps.buffered & !view.waiting & !ready;
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
                let idle = Idle::of(warps, scheduler.own, ready);
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
        scheduler.idle.end();
        let own = scheduler.own;
        // Computed before the pick, which may empty buffers: those warps were stalled too.
        let stalled = own & self.warps.buffered & !self.warps.waiting() & !ready;
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
