//! Cycles in which no block can be given to an SM, so that the host may run a window.

use super::{Dispatcher, InFlight};
use warploom_base::{BitSet, Cycle, SmId};
use warploom_exec::Lookahead;
use warploom_policy::{BlockScheduler, Multiprogram, SmFilter};
use warploom_sm::Sm;

impl Dispatcher {
    /// True if there are kernels in flight whose blocks SMs may run ahead of each other, and no SM
    /// can get a block before one ends.
    pub fn may_begin_window(&self) -> bool {
        let plain = |kernel: &InFlight| kernel.lookahead > Lookahead::Never;
        let none_fits = self.open.is_empty() || !self.in_flight().any(InFlight::has_waiting);
        !self.changed && none_fits && !self.slots.is_empty() && self.in_flight().all(plain)
    }

    /// True if in the next `cycles` cycles, in each of which an SM issues at most `issues`
    /// instructions, no last block of a kernel is given out for which other kernels wait, and no
    /// gap begins.
    pub fn has_more_than(&self, cycles: Cycle, issues: u64) -> bool {
        let mut waiting = self.in_flight().filter(|kernel| kernel.has_waiting());
        let (first, second) = (waiting.next(), waiting.next());
        let mut sampled = self.in_flight().filter(|kernel| kernel.timing.is_some());
        if !sampled.all(|kernel| self.is_far_from_gap(kernel, (cycles, issues))) {
            return false;
        }
        let by_turns = !self.multiprogram.overtakes() && second.is_some();
        let most = cycles * self.last_in.len() as u64;
        !by_turns || first.is_some_and(|kernel| kernel.waiting() > most)
    }

    /// True if a kernel, the only one in flight, surely does not come to a gap in `cycles` cycles
    /// in each of which an SM `issues` at most: more timed blocks are left before it than can start
    /// in the places of the resident blocks and of those that start and end meanwhile, or than
    /// clusters can take.
    fn is_far_from_gap(&self, kernel: &InFlight, (cycles, issues): (Cycle, u64)) -> bool {
        if self.in_flight().count() > 1 {
            return false;
        }
        if !kernel.has_waiting() && kernel.gap().is_none() {
            return true;
        }
        let resident: usize = kernel.running.iter().map(Vec::len).sum();
        let issued = cycles * issues * self.sms() as u64;
        let ended = resident as u64 + issued / kernel.image.fewest_of_block().max(1);
        let started = ended.min(cycles * self.last_in.len() as u64);
        kernel.before_gap() > started + self.block_policy.look_ahead() as u64
    }

    /// Notes that an SM has taken a block. If it has no room for another one, it is not asked in
    /// the next cycle, so that it need not wait for other SMs before that. Only with a single
    /// kernel, and unless the missing room is counted as fragmented.
    pub(super) fn close_if_full(&mut self, id: SmId, sm: &mut Sm) {
        let mut kernels = self.in_flight();
        let (Some(kernel), None) = (kernels.next(), kernels.next()) else {
            return;
        };
        let (slot, needs) = (kernel.image.slot, &kernel.needs);
        let may_take = kernel.may_take(id, self.quota(id, slot));
        let is_full = !sm.has_room(slot, needs, true) && !sm.is_fragmented(slot, needs);
        drop(kernels);
        if !may_take || is_full {
            self.open.remove(id.index());
        }
    }

    /// The next cycle in which a policy examines the machine.
    pub fn next_policy_check(&self) -> Cycle {
        self.sm_filter.next_check().min(self.next_check())
    }

    /// SMs that may have room for a block, if one waits.
    pub fn offered(&self) -> Option<&BitSet> {
        let waits = self.in_flight().any(InFlight::has_waiting);
        (waits && !self.open.is_empty()).then_some(&self.open)
    }
}
