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
use warploom_state::State;

/// View of a block scheduler: the waiting blocks of one kernel, in grid order.
#[derive(Clone, Copy, Debug)]
pub struct BlockQueueView<'a> {
    /// Kernel of the blocks.
    pub kernel: KernelSlot,
    /// Most blocks of the kernel on an SM.
    pub blocks_per_sm: u32,
    /// Number of its blocks for which the asking SM has room now.
    pub room: u32,
    /// Ranks (x fastest) of the blocks that wait, oldest first, as far as the policy looks ahead.
    pub waiting: &'a [u64],
    /// By SM: ranks of the kernel's blocks that run there.
    pub running: &'a [Vec<u64>],
    /// Footprints of the waiting blocks; empty unless the policy uses footprints.
    pub waiting_touches: &'a [Footprint],
    /// By SM: footprints of the blocks that run there.
    pub running_touches: &'a [Vec<Footprint>],
}

/// Picks a block for an SM that has room for one.
///
/// Contract: returns a position in `view.waiting`, or `None` to leave the SM as it is for now.
pub trait BlockScheduler: State + Send {
    /// The block to start on `sm`.
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize>;

    /// Kernel of which the policy keeps a block for `sm`. Blocks that it gives together are one
    /// decision: the SM filter allowed all of them, and is not asked again for the rest.
    fn owed(&self, _sm: SmId) -> Option<KernelSlot> {
        None
    }

    /// Number of waiting blocks that the policy wants to see.
    fn look_ahead(&self) -> usize;

    /// True for a policy that uses the footprints of blocks.
    fn wants_footprints(&self) -> bool {
        false
    }

    /// Number of choices so far that were not the oldest block.
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
