//! Policies: decisions in which the five systems differ. A policy sees a read-only view and answers
//! a question; the mechanisms (`sm`, `gpu`) act.
//!
//! Invariants: a policy cannot see `sm` or `gpu`; it owns its state and nothing else; it is
//! deterministic. Each built-in policy is one file; the tables of `warploom_config` are the only
//! lists of names. `docs/adding-a-policy.md` shows how to add one.

pub mod block;
pub mod block_limit;
pub mod context;
mod facts;
pub mod load_class;
pub mod multiprogram;
pub mod range;
pub mod sm_filter;
pub mod utilisation;
pub mod warp;

pub use block::{BlockPolicy, BlockQueueView, BlockScheduler};
pub use block_limit::{BlockLimit, BlockLimitCounters, BlockLimitPolicy, EndedBlock, NO_LIMIT};
pub use context::{ContextDecision, MonitorRefusal, ThroughputMonitor};
pub use facts::{Facts, Part, PolicyFacts, PolicyInfo, bits_for};
pub use multiprogram::{
    Decision, KernelView, Multiprogram, MultiprogramPolicy, MultiprogramView, SmSample, Verdict,
    WarpCounts,
};
pub use range::{ArrayRange, ArrayRect, Footprint, MAX_ARRAYS, MAX_RECTS, WarpRange};
pub use sm_filter::{
    Check, DeviceView, Ratio, SmFilter, SmFilterCounters, SmFilterPolicy, ThrottleCounters, Turn,
};
pub use warp::{
    ClimbCounters, GroupCounters, L1dEvent, L1dOutcome, LocalityCounters, LoopCounters,
    MemoryAccess, MemoryOp, MemorySpace, MemoryUse, NextInst, OrderCounters, OwnerCounters,
    Progress, ReadyWarps, Screened, StallCounters, VictimTagCounters, WarpMask, WarpPolicy,
    WarpPolicyCounters, WarpScheduler, WarpTable, WarpView, warps_of,
};

use facts::policies;
use std::fmt;
use std::sync::Arc;
use warploom_config::GpuSpec;

/// Every built-in policy, by key.
pub fn all() -> impl Iterator<Item = PolicyInfo> {
    warp::TABLE
        .iter()
        .chain(block::TABLE)
        .chain(block_limit::TABLE)
        .chain(sm_filter::TABLE)
        .chain(multiprogram::TABLE)
        .chain(context::TABLE)
        .copied()
}

/// Function that makes a policy for a machine. It may hold data of its own.
pub struct Make<T: ?Sized>(Arc<MakeFn<T>>);

type MakeFn<T> = dyn Fn(&GpuSpec) -> Box<T> + Send + Sync;

impl<T: ?Sized> Make<T> {
    /// Wraps a function that is called once for each policy object.
    pub fn new(make: impl Fn(&GpuSpec) -> Box<T> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl<T: ?Sized> Clone for Make<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> fmt::Debug for Make<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

/// Policies from outside this crate, in the place of those that the configuration names.
#[derive(Clone, Debug, Default)]
pub struct CustomPolicies {
    /// Makes the policy of one warp scheduler.
    pub warp: Option<Make<dyn WarpScheduler>>,
    /// Makes the SM filter.
    pub sm_filter: Option<Make<dyn SmFilter>>,
    /// Makes the block scheduler.
    pub block: Option<Make<dyn BlockScheduler>>,
    /// Makes the limit of the blocks that SMs run.
    pub block_limit: Option<Make<dyn BlockLimit>>,
    /// Makes the policy by which kernels share the SMs.
    pub multiprogram: Option<Make<dyn Multiprogram>>,
}

impl CustomPolicies {
    /// The policy of one warp scheduler of `spec`.
    pub fn warp_policy(&self, spec: &GpuSpec) -> WarpPolicy {
        match &self.warp {
            Some(make) => WarpPolicy::Custom(make.0(spec)),
            None => WarpPolicy::new(spec.sm.warp_scheduler),
        }
    }

    /// The SM filter of `spec`.
    pub fn sm_filter_policy(&self, spec: &GpuSpec) -> SmFilterPolicy {
        match &self.sm_filter {
            Some(make) => SmFilterPolicy::Custom(make.0(spec)),
            None => SmFilterPolicy::new(spec.gpu.sm_filter),
        }
    }

    /// The policy by which kernels share the SMs of `spec`.
    pub fn multiprogram_policy(&self, spec: &GpuSpec) -> MultiprogramPolicy {
        match &self.multiprogram {
            Some(make) => MultiprogramPolicy::Custom(make.0(spec)),
            None => MultiprogramPolicy::new(spec.gpu.multiprogram),
        }
    }

    /// The limit of the blocks that SMs of `spec` run.
    pub fn block_limit_policy(&self, spec: &GpuSpec) -> BlockLimitPolicy {
        match &self.block_limit {
            Some(make) => BlockLimitPolicy::Custom(make.0(spec)),
            None => BlockLimitPolicy::new(spec.sm.block_limit),
        }
    }

    /// The block scheduler of `spec`.
    pub fn block_policy(&self, spec: &GpuSpec) -> BlockPolicy {
        match &self.block {
            Some(make) => BlockPolicy::Custom(make.0(spec)),
            None => BlockPolicy::new(spec.gpu.block_scheduler),
        }
    }
}
