//! Block limits (`sm.block_limit`): how many of the blocks for which an SM has room it runs.
//!
//! A limit decides when a kernel starts or ends, at times of its own choice, and when a block ends.
//! An SM that holds as many blocks as its limit takes no more. Blocks are never evicted: an SM that
//! holds more than its limit, because the limit fell, pauses those that started last. Paused warps
//! issue only in cycles in which no other warp of their scheduler can, so that a block for which
//! other blocks wait still comes to its end.

mod dyncta;
mod equalizer;
mod lcs;
#[cfg(test)]
mod tests;
mod unlimited;

pub use dyncta::Dyncta;
pub use equalizer::Equalizer;
pub use lcs::Lcs;
pub use unlimited::Unlimited;

use crate::multiprogram::MultiprogramView;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::BlockLimitChoice as Choice;
use warploom_state::{State, Value};
use warploom_stats::declare_stats;

/// The limit of an SM that runs all blocks for which it has room.
pub const NO_LIMIT: u32 = u32::MAX;

declare_stats! {
    /// Counters of the block limits.
    pub struct BlockLimitCounters in "block_limit" {
        /// Decisions about the blocks of one SM.
        pub decisions: u64 = Events;
        /// Decisions after which the SM could run more blocks.
        pub steps_up: u64 = Events;
        /// Decisions after which the SM could run fewer blocks.
        pub steps_down: u64 = Events;
        /// Blocks that the SM could run after a decision, summed over decisions.
        pub blocks_allowed: u64 = Blocks;
    }
}

impl BlockLimitCounters {
    /// Counts the decision that changes the limit of an SM.
    fn note(&mut self, before: u32, after: u32) {
        self.decisions += 1;
        self.steps_up += u64::from(after > before);
        self.steps_down += u64::from(after < before);
        self.blocks_allowed += u64::from(after);
    }
}

/// A block that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedBlock {
    /// SM on which the block ran.
    pub sm: SmId,
    /// Slot of its kernel.
    pub kernel: KernelSlot,
    /// Instructions that its warps issued.
    pub instructions: u64,
    /// Instructions that the SM has issued from kernels in the slot since the run began.
    pub instructions_of_kernel: u64,
}

/// Decides how many blocks each SM runs. One object serves all SMs.
pub trait BlockLimit: State + Send {
    /// The next cycle in which the policy wants an update although no kernel has started or ended.
    fn next_check(&self) -> Cycle {
        Cycle::MAX
    }

    /// True if updates look at the counts of SMs.
    fn wants_samples(&self) -> bool {
        true
    }

    /// Decides anew: a kernel has started or ended, or the cycle of the next check has come.
    fn update(&mut self, _view: &MultiprogramView<'_>) {}

    /// Notes that a block has ended.
    fn block_ended(&mut self, _end: &EndedBlock) {}

    /// Most blocks of all kernels that an SM runs, at least 1; [`NO_LIMIT`] for all that have room.
    fn limit(&self, _sm: SmId) -> u32 {
        NO_LIMIT
    }

    /// Most blocks of a kernel that an SM takes, at least 1; [`NO_LIMIT`] for all that have room.
    fn limit_of(&self, _sm: SmId, _kernel: KernelSlot) -> u32 {
        NO_LIMIT
    }

    /// True if SMs that hold more blocks than their limit pause the youngest ones.
    fn pauses(&self) -> bool {
        false
    }

    /// Counters of the policy since the start of the run.
    fn counters(&self) -> BlockLimitCounters {
        BlockLimitCounters::default()
    }
}

/// Declares the enum of block limits.
macro_rules! limit_policies {
    ($($table:tt)+) => { crate::policies!(BlockLimitPolicy, BlockLimit: $($table)+); };
}
warploom_config::block_limits!(limit_policies);

impl BlockLimit for BlockLimitPolicy {
    #[inline]
    fn next_check(&self) -> Cycle {
        of_policy!(self, p => p.next_check())
    }

    fn wants_samples(&self) -> bool {
        of_policy!(self, p => p.wants_samples())
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        of_policy!(self, p => p.update(view));
    }

    fn block_ended(&mut self, end: &EndedBlock) {
        of_policy!(self, p => p.block_ended(end));
    }

    #[inline]
    fn limit(&self, sm: SmId) -> u32 {
        of_policy!(self, p => p.limit(sm))
    }

    #[inline]
    fn limit_of(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        of_policy!(self, p => p.limit_of(sm, kernel))
    }

    fn pauses(&self) -> bool {
        of_policy!(self, p => p.pauses())
    }

    fn counters(&self) -> BlockLimitCounters {
        of_policy!(self, p => p.counters())
    }
}

/// Kernels in flight at the last update of a policy, by which it notices new ones.
#[derive(Clone, Debug, Default, Value)]
struct Launches {
    /// Slot and cycle of launch of each kernel.
    known: Vec<(KernelSlot, Cycle)>,
}

impl Launches {
    /// Notes the kernels of a view. Returns true if some are in flight and none of them was before.
    fn begin_anew(&mut self, view: &MultiprogramView<'_>) -> bool {
        let launches = view.kernels.iter().map(|k| (k.slot, k.launched_at));
        let launches: Vec<_> = launches.collect();
        let anew = !launches.is_empty() && !launches.iter().any(|l| self.known.contains(l));
        self.known = launches;
        anew
    }
}

/// Most blocks that an SM holds of any of the kernels in flight, at least 1.
fn most_blocks(view: &MultiprogramView<'_>) -> u32 {
    let most = view.kernels.iter().map(|kernel| kernel.blocks_per_sm).max();
    most.unwrap_or(1).max(1)
}
