//! SM filters (`gpu.sm_filter`): which SMs may take new blocks.

mod all;
mod contention_throttle;

pub use all::All;
pub use contention_throttle::{ContentionThrottle, ThrottleCounters};

use warploom_base::{Cycle, SmId};
use warploom_config::SmFilterChoice as Choice;
use warploom_state::{State, Value};
use warploom_stats::combine_stats;

/// View of the GPU that an SM filter has.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceView {
    /// Core cycle of the view.
    pub now: Cycle,
    /// Number of all SMs.
    pub sms: u32,
    /// Number of L2 cycles so far in which a partition could not take a request
    /// (`gpu_stall_dramfull`).
    pub dram_full_stalls: u64,
    /// Number of network cycles so far in which a reply could not leave (`gpu_stall_icnt2sh`).
    pub reply_stalls: u64,
}

/// An SM's turn to take a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// SM whose turn it is.
    pub sm: SmId,
    /// Place of the SM in the round-robin order of this cycle: 0 for the one after the SM that took
    /// a block last.
    pub place: u32,
}

/// Fraction of whole numbers, compared exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Ratio {
    /// Number above the line.
    pub above: u64,
    /// Number below the line; not 0.
    pub below: u64,
}

impl Ratio {
    /// Order of the values of two fractions.
    pub fn order(self, other: Self) -> std::cmp::Ordering {
        let crossed = |a: u64, b: u64| u128::from(a) * u128::from(b);
        crossed(self.above, other.below).cmp(&crossed(other.above, self.below))
    }

    /// Value as a rounded number.
    pub fn value(self) -> f64 {
        self.above as f64 / self.below as f64
    }
}

/// Check of the machine by a filter, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct Check {
    /// Core cycle of the check.
    pub at: Cycle,
    /// Stalls per core cycle since the check before.
    pub contention: Ratio,
    /// Number of SMs that may take blocks from then on.
    pub sms: u32,
}

combine_stats! {
    /// Counters of all SM filters. A policy sets its own and leaves the rest at 0.
    pub struct SmFilterCounters in "sm_filter" {
        /// Checks and steps of `contention-throttle`.
        pub throttle: ThrottleCounters,
    }
}

/// Decides whether an SM may take a block now.
pub trait SmFilter: State + Send {
    /// The first cycle in which the filter wants to look at the machine. `check` follows in the
    /// first step of the machine from then on in which a block waits and an SM has room for it.
    fn next_check(&self) -> Cycle {
        Cycle::MAX
    }

    /// Looks at the machine, before blocks are given out.
    fn check(&mut self, _view: &DeviceView) {}

    /// True if an SM may take a block in its turn.
    fn allows(&self, turn: &Turn) -> bool;

    /// Counters of the filter so far.
    fn counters(&self) -> SmFilterCounters {
        SmFilterCounters::default()
    }

    /// Looks of the filter so far. One that may look in every cycle keeps those that change
    /// something.
    fn trace(&self) -> &[Check] {
        &[]
    }
}

/// Declares the enum of SM filters.
macro_rules! filter_policies {
    ($($table:tt)+) => { crate::policies!(SmFilterPolicy, SmFilter: $($table)+); };
}
warploom_config::sm_filters!(filter_policies);

impl SmFilter for SmFilterPolicy {
    fn next_check(&self) -> Cycle {
        of_policy!(self, p => p.next_check())
    }

    fn check(&mut self, view: &DeviceView) {
        of_policy!(self, p => p.check(view));
    }

    #[inline]
    fn allows(&self, turn: &Turn) -> bool {
        of_policy!(self, p => p.allows(turn))
    }

    fn counters(&self) -> SmFilterCounters {
        of_policy!(self, p => p.counters())
    }

    fn trace(&self) -> &[Check] {
        of_policy!(self, p => p.trace())
    }
}
