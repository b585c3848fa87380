//! When no block can be given to an SM, so that parts of the machine may run ahead of each other.

use super::{Dispatcher, InFlight};
use crate::sms::SmArray;
use warploom_base::{BitSet, Cycle};
use warploom_policy::SmFilter;

impl Dispatcher {
    /// While SMs run ahead until one of their blocks ends, no SM can be given a block, and no
    /// kernel ends in a cycle that some crews have run and others have not: blocks of it wait, or
    /// all crews have blocks of it, so that the last to end are of crews that wait for each other.
    pub fn rests(&self, sms: &SmArray) -> bool {
        let on_all_crews = |kernel: &InFlight| {
            let mut crews = sms.crews().filter(|crew| !crew.is_empty());
            crews.all(|mut crew| crew.any(|sm| !kernel.running[sm].is_empty()))
        };
        let mut waiting = self.in_flight().filter(|kernel| kernel.has_waiting());
        // With two, the last block of one may make room for the other anywhere.
        let none_fits = match (waiting.next(), waiting.next()) {
            (None, _) => true,
            (Some(_), None) => self.open.is_empty(),
            _ => false,
        };
        let mut rest = self.in_flight().filter(|kernel| !kernel.has_waiting());
        !self.changed && none_fits && rest.all(on_all_crews)
    }

    /// The only kernel in flight, if SMs may run its blocks ahead of each other, and no SM can be
    /// given any as long as none ends.
    pub fn resting(&self) -> Option<&InFlight> {
        let mut kernels = self.in_flight();
        let kernel = kernels.next()?;
        let rests = !self.changed && (self.open.is_empty() || !kernel.has_waiting());
        let alone = kernels.next().is_none() && kernel.timing.is_none();
        (rests && alone && kernel.may_run_ahead).then_some(kernel)
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
