//! Code that does not stay in the instruction caches: lines of it come to an SM again and again.

use crate::advice::percent;
use crate::explain::Subject;
use crate::verdict::Bound;

/// Share of the cycles of an SM for which a line of code is on its way from which the code is taken
/// to be too large.
const OFTEN: f64 = 0.2;
/// Share of the scheduler cycles in which warps have no decoded instruction below which code that
/// is on its way costs little.
const SOME: f64 = 0.1;

impl Subject<'_> {
    /// Share of the cycles with a block for which a line of code is on its way to an SM, if lines
    /// come one after the other and take as long as a hit in L2. As many lines as fit L1I are left
    /// out for each SM: these come once in any kernel.
    fn code_on_its_way(&self) -> f64 {
        let spec = self.machine.spec;
        let counts = &self.figures.statistics;
        let get = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
        let fit = u64::from(spec.gpu.sms) * u64::from(spec.l1i.sets) * u64::from(spec.l1i.ways);
        let again = (get("sm.packets_sent.inst_read") - fit as f64).max(0.0);
        let cycles = again * f64::from(spec.latencies().l2);
        (cycles / get("sm.active_cycles").max(1.0)).min(1.0)
    }

    /// True if code is often on its way to an SM, so that unrolled loops cost more than they save.
    pub(crate) fn lacks_code(&self) -> bool {
        Bound::Fetch.waits(self.figures) >= SOME && self.code_on_its_way() >= OFTEN
    }

    /// Step against code that is too large, before the step against `bound`; empty if the code fits
    /// L1I, or where the step against another bound says so.
    pub(crate) fn smaller_code_first(&self, bound: Bound) -> String {
        let is_told = [Some(bound), self.analysis.bound_beside].contains(&Some(Bound::Fetch));
        if is_told || !self.lacks_code() {
            return String::new();
        }
        let l1i = &self.machine.spec.l1i;
        format!(
            "make the code smaller, for example unroll less: lines of it come to an SM again in {} of \
             its cycles, because L1I holds {} bytes; then ",
            percent(self.code_on_its_way()),
            u64::from(l1i.sets) * u64::from(l1i.ways) * u64::from(l1i.line_bytes)
        )
    }
}
