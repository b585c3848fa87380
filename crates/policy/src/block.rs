//! Block schedulers (`gpu.block_scheduler`): which waiting block an SM with room takes.

mod rr;

pub use rr::RoundRobin;

use crate::PolicyInfo;
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

/// A block scheduler of one of the built-in kinds, or a user's own.
pub enum BlockPolicy {
    /// Blocks in grid order.
    RoundRobin(RoundRobin),
    /// A policy from outside this crate.
    Custom(Box<dyn BlockScheduler>),
}

/// Names and descriptions.
pub const TABLE: &[PolicyInfo] = &[PolicyInfo {
    key: "gpu.block_scheduler",
    name: "rr",
    about: "Blocks in grid order, one at a time, to SMs in turn (GPGPU-Sim).",
}];

impl BlockPolicy {
    /// The policy that a configuration asks for.
    pub fn new(choice: Choice) -> Self {
        match choice {
            Choice::RoundRobin => Self::RoundRobin(RoundRobin),
        }
    }
}

impl BlockScheduler for BlockPolicy {
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        match self {
            Self::RoundRobin(policy) => policy.pick(sm, view),
            Self::Custom(policy) => policy.pick(sm, view),
        }
    }

    fn look_ahead(&self) -> usize {
        match self {
            Self::RoundRobin(policy) => policy.look_ahead(),
            Self::Custom(policy) => policy.look_ahead(),
        }
    }
}
