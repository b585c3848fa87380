//! Block schedulers (`gpu.block_scheduler`): which waiting block an SM with room takes.

mod rr;

pub use rr::RoundRobin;

use warploom_base::SmId;
use warploom_config::BlockScheduler as Choice;

/// What a block scheduler may see: the blocks of one kernel that wait, in grid order.
#[derive(Clone, Copy, Debug)]
pub struct BlockQueueView<'a> {
    /// Ranks (x fastest) of the blocks that wait, oldest first, as far as the policy looks ahead.
    pub waiting: &'a [u64],
    /// By SM: ranks of the kernel's blocks that run there.
    pub running: &'a [Vec<u64>],
}

/// Picks a block for an SM that has room for one.
///
/// Contract: returns a position in `view.waiting`, or `None` to leave the SM as it is for now.
pub trait BlockScheduler: Send {
    /// The block to start on `sm`.
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize>;

    /// How many waiting blocks the policy wants to see.
    fn look_ahead(&self) -> usize;
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

    fn look_ahead(&self) -> usize {
        of_policy!(self, p => p.look_ahead())
    }
}
