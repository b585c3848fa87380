//! Words for the causes of `sm.slots`, and for the parts of an SM that warps wait for.

use crate::advice::{because, percent};
use crate::explain::Subject;
use crate::pipes::{StalledOn, computes};
use crate::verdict::Bound;

/// Share of the scheduler cycles from which it is named that accesses hold operand collectors.
const HELD: f64 = 0.05;

impl Subject<'_> {
    /// A cause of `sm.slots` in words, those that fill the pipes of function units named.
    pub(crate) fn because<'c>(&self, cause: &'c str) -> &'c str {
        let full = StalledOn::full_pipes(self.figures);
        let results = StalledOn::results(self.figures);
        let memory = StalledOn::full_memory(self.figures);
        match cause {
            "execution_dependence" if results.units > results.shared.max(results.arithmetic) => {
                "for results of function units that are taken"
            }
            "execution_dependence" if results.shared > results.arithmetic => {
                "for loads from shared memory"
            }
            "memory_pipe" if memory.units > memory.load_store.max(memory.operands) => {
                "for room in operand collectors, which instructions hold that wait for function \
                 units"
            }
            "memory_pipe" if memory.operands > memory.load_store => "for the operand collectors",
            "execution_pipe" if full.load_store > full.units.max(full.operands) => {
                "for function units behind accesses that hold the operand collectors"
            }
            "execution_pipe" if full.operands > full.units => "for the operand collectors",
            "barrier" => match self.evidence().at_barrier() {
                Bound::Atomics => "for atomics",
                Bound::Fences => "at fences",
                _ => because(cause),
            },
            cause => because(cause),
        }
    }

    /// The label of a cause of `sm.slots`, explained where its name misleads.
    pub(crate) fn label(&self, cause: &str) -> String {
        match cause {
            "barrier" if self.evidence().at_barrier() != Bound::Barriers => {
                format!("`{cause}`: barrier, fence or atomic")
            }
            cause => format!("`{cause}`"),
        }
    }

    /// Clause on cycles in which instructions that wait for the load/store units keep others out.
    pub(crate) fn held_in_words(&self) -> String {
        let held = StalledOn::full_pipes(self.figures).load_store;
        match held >= HELD {
            true => format!(
                "; in {} of these cycles accesses that wait hold the operand collectors, which keeps \
                 arithmetic out",
                percent(held / self.facts.queued.max(1e-9))
            ),
            false => String::new(),
        }
    }

    /// Clause on the pipe whose units are used most.
    pub(crate) fn unit_in_words(&self) -> String {
        let units = &self.analysis.units;
        let used = units.function_units_with_blocks;
        if used == 0.0 {
            return String::new();
        }
        format!(
            ", and those of the pipe `{}` ({}) are in use in {} of the cycles",
            units.pipe,
            computes(units.pipe, self.machine.spec),
            percent(used)
        )
    }
}
