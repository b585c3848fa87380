//! Words for the causes of `sm.slots`, and for the parts of an SM that warps wait for.

use crate::advice::{because, percent};
use crate::explain::Subject;
use crate::pipes::{StalledOn, computes};
use crate::verdict::Bound;

/// Share of the scheduler cycles from which it is named that accesses hold operand collectors.
const HELD: f64 = 0.05;
/// Share of the cycles in which warps wait for results from which their largest source stands for
/// all of them.
const MOSTLY: f64 = 2.0 / 3.0;

/// Share of the scheduler cycles after the launch below which units bound no kernel.
const MINOR: f64 = 0.1;

impl Subject<'_> {
    /// Sentence on a bound that is a cause in `sm.slots`. Function units, operand collectors and
    /// the fetch of instructions bound no kernel for few of the scheduler cycles; latencies may,
    /// where schedulers have no warp in the others.
    pub(crate) fn largest_in_words(&self, bound: Bound) -> String {
        let (launch, of) = match self.has_long_launch() {
            true => (self.phases.launch, " after the launch"),
            false => (0.0, ""),
        };
        let time = (1.0 - launch).max(1e-9);
        let waits = bound.waits(self.figures) / time;
        match bound {
            Bound::Units | Bound::Operands | Bound::Fetch if waits < MINOR => format!(
                "No single cause bounds `{}`: {}, the largest one, takes {} of the scheduler cycles\
                 {of}; in {} schedulers issue, and in {} they have no warp that runs.",
                self.name(),
                bound.name(),
                percent(waits),
                percent(self.share("issued") / time),
                percent((self.share("no_warp") - launch).max(0.0) / time)
            ),
            bound => self.cause_in_words(bound),
        }
    }

    /// A cause of `sm.slots` in words, those that fill the pipes of function units named.
    pub(crate) fn because(&self, cause: &str) -> String {
        match cause {
            "execution_dependence" => self.results_in_words(),
            "memory_dependence" if self.is_held_up() => {
                "for loads, which the full load/store units hold up".to_owned()
            }
            cause => self.because_of_part(cause).to_owned(),
        }
    }

    /// True if load/store units are the bound on SMs with a block.
    fn is_held_up(&self) -> bool {
        match self.analysis.bound {
            Bound::IdleSms => self.within_sms() == Bound::LoadStore,
            bound => bound == Bound::LoadStore,
        }
    }

    /// The sources of the results that warps wait for.
    fn results_in_words(&self) -> String {
        let results = StalledOn::results(self.figures);
        let mut sources = [
            (results.arithmetic, "arithmetic"),
            (results.shared, "loads from shared memory"),
            (results.units, "function units that are taken"),
        ];
        sources.sort_by(|a, b| b.0.total_cmp(&a.0));
        let all: f64 = sources.iter().map(|(share, _)| share).sum();
        let [(largest, source), ..] = sources;
        if largest >= MOSTLY * all {
            return match source {
                "arithmetic" => because("execution_dependence").to_owned(),
                "loads from shared memory" => format!("for {source}"),
                _ => format!("for results of {source}"),
            };
        }
        let named = sources.iter().filter(|(share, _)| *share >= HELD * all);
        let parts = named.map(|(share, source)| format!("{} of {source}", percent(share / all)));
        let parts: Vec<String> = parts.collect();
        format!("for results ({})", parts.join(", "))
    }

    /// A cause of `sm.slots` in words, with the part that warps wait for.
    fn because_of_part<'c>(&self, cause: &'c str) -> &'c str {
        let full = StalledOn::full_pipes(self.figures);
        let memory = StalledOn::full_memory(self.figures);
        match cause {
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
