//! Block schedulers (`gpu.block_scheduler`): which waiting block an SM with room takes.

mod bcs;
mod locality;
mod rr;
#[cfg(test)]
mod tests;

pub use bcs::Bcs;
pub use locality::Locality;
pub use rr::RoundRobin;

use crate::range::Footprint;
use warploom_base::{KernelSlot, SmId};
use warploom_config::BlockSchedulerChoice as Choice;

/// What a block scheduler may see: the blocks of one kernel that wait, in grid order.
#[derive(Clone, Copy, Debug)]
pub struct BlockQueueView<'a> {
    /// The kernel.
    pub kernel: KernelSlot,
    /// Blocks of it that an SM holds at most.
    pub blocks_per_sm: u32,
    /// Blocks of it that the asking SM has room for now.
    pub room: u32,
    /// Ranks (x fastest) of the blocks that wait, oldest first, as far as the policy looks ahead.
    pub waiting: &'a [u64],
    /// By SM: ranks of the kernel's blocks that run there.
    pub running: &'a [Vec<u64>],
    /// What the waiting blocks touch; empty unless the policy wants to know.
    pub waiting_touches: &'a [Footprint],
    /// By SM: what the blocks that run there touch.
    pub running_touches: &'a [Vec<Footprint>],
}

/// Picks a block for an SM that has room for one.
///
/// Contract: returns a position in `view.waiting`, or `None` to leave the SM as it is for now.
pub trait BlockScheduler: Send {
    /// The block to start on `sm`.
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize>;

    /// A kernel of which the policy keeps a block for `sm`. What it gave together is one decision:
    /// the SM filter let the SM take all of it, and is not asked again for the rest.
    fn owed(&self, _sm: SmId) -> Option<KernelSlot> {
        None
    }

    /// How many waiting blocks the policy wants to see.
    fn look_ahead(&self) -> usize;

    /// Whether the policy wants to know what blocks touch.
    fn wants_footprints(&self) -> bool {
        false
    }

    /// Choices so far that were not the oldest block.
    fn reordered(&self) -> u64 {
        0
    }
}

/// Declares the enum of block schedulers.
macro_rules! block_policies {
    ($($table:tt)+) => { crate::policies!(BlockPolicy, BlockScheduler: $($table)+); };
}
warploom_config::block_schedulers!(block_policies);

impl BlockScheduler for BlockPolicy {
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        of_policy!(self, p => p.pick(sm, view))
    }

    fn owed(&self, sm: SmId) -> Option<KernelSlot> {
        of_policy!(self, p => p.owed(sm))
    }

    fn look_ahead(&self) -> usize {
        of_policy!(self, p => p.look_ahead())
    }

    fn wants_footprints(&self) -> bool {
        of_policy!(self, p => p.wants_footprints())
    }

    fn reordered(&self) -> u64 {
        of_policy!(self, p => p.reordered())
    }
}
