//! When no block can be given to an SM, so that parts of the machine may run ahead of each other.

use super::{Dispatcher, InFlight};
use warploom_base::{BitSet, Cycle, SmId};
use warploom_exec::Ahead;
use warploom_policy::{Multiprogram, SmFilter};
use warploom_sm::Sm;

impl Dispatcher {
    /// There are kernels in flight, whose blocks SMs may run ahead of each other, and no SM can be
    /// given any as long as none ends.
    pub fn may_begin_spell(&self) -> bool {
        let plain = |kernel: &InFlight| kernel.ahead > Ahead::Never && kernel.timing.is_none();
        let none_fits = self.open.is_empty() || !self.in_flight().any(InFlight::has_waiting);
        !self.changed && none_fits && !self.slots.is_empty() && self.in_flight().all(plain)
    }

    /// In so many cycles no block is given to an SM that could be the last for which blocks of
    /// other kernels wait.
    pub fn has_more_than(&self, cycles: Cycle) -> bool {
        let mut waiting = self.in_flight().filter(|kernel| kernel.has_waiting());
        let (first, second) = (waiting.next(), waiting.next());
        let by_turns = !self.multiprogram.overtakes() && second.is_some();
        let most = cycles * self.last_in.len() as u64;
        !by_turns || first.is_some_and(|kernel| kernel.waiting() > most)
    }

    /// An SM has taken a block. If it has no room for another it is not offered one in the next
    /// cycle, which would find out the same: it need not wait for others in front of that. Not
    /// where what it lacks is counted, or others may have room where this kernel has none.
    pub(super) fn close_if_full(&mut self, id: SmId, sm: &mut Sm) {
        let mut kernels = self.in_flight();
        let (Some(kernel), None) = (kernels.next(), kernels.next()) else {
            return;
        };
        let (slot, needs) = (kernel.image.slot, &kernel.needs);
        let may_take = kernel.may_take(id, self.quota(id, slot));
        let is_full = !sm.has_room(slot, needs) && !sm.is_fragmented(slot, needs);
        drop(kernels);
        if !may_take || is_full {
            self.open.remove(id.index());
        }
    }

    /// The next cycle in which a policy looks at the machine.
    pub fn next_policy_check(&self) -> Cycle {
        self.sm_filter.next_check().min(self.next_check())
    }

    /// SMs that may have room for a block, if one waits.
    pub fn offered(&self) -> Option<&BitSet> {
        let waits = self.in_flight().any(InFlight::has_waiting);
        (waits && !self.open.is_empty()).then_some(&self.open)
    }
}
