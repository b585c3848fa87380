//! SM filters (`gpu.sm_filter`): which SMs may take new blocks.

mod all;

pub use all::All;

use crate::PolicyInfo;
use warploom_base::{Cycle, SmId};
use warploom_config::SmFilter as Choice;

/// What an SM filter may see of the GPU.
#[derive(Clone, Copy, Debug)]
pub struct DeviceView {
    /// Core cycle.
    pub now: Cycle,
    /// SMs.
    pub sms: u32,
    /// L2 cycles so far in which a partition could not take a request (`gpu_stall_dramfull`).
    pub dram_full_stalls: u64,
    /// Network cycles so far in which a reply could not leave (`gpu_stall_icnt2sh`).
    pub reply_stalls: u64,
}

/// Decides whether an SM may take a block now.
pub trait SmFilter: Send {
    /// Called once before blocks are assigned.
    fn update(&mut self, _view: &DeviceView) {}

    /// Whether `sm` may take new blocks.
    fn allows(&self, sm: SmId) -> bool;
}

/// An SM filter of one of the built-in kinds, or a user's own.
pub enum SmFilterPolicy {
    /// No filter.
    All(All),
    /// A policy from outside this crate.
    Custom(Box<dyn SmFilter>),
}

/// Names and descriptions.
pub const TABLE: &[PolicyInfo] = &[PolicyInfo {
    key: "gpu.sm_filter",
    name: "all",
    about: "Every SM takes blocks whenever it has room.",
}];

impl SmFilterPolicy {
    /// The policy that a configuration asks for.
    pub fn new(choice: Choice) -> Self {
        match choice {
            Choice::All => Self::All(All),
        }
    }
}

impl SmFilter for SmFilterPolicy {
    fn update(&mut self, view: &DeviceView) {
        match self {
            Self::All(policy) => policy.update(view),
            Self::Custom(policy) => policy.update(view),
        }
    }

    fn allows(&self, sm: SmId) -> bool {
        match self {
            Self::All(policy) => policy.allows(sm),
            Self::Custom(policy) => policy.allows(sm),
        }
    }
}
