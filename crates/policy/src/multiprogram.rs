//! Multiprogramming (`gpu.multiprogram`): how kernels that are in flight at once share the SMs.
//!
//! A policy says, whenever kernels come or go and whenever it wants to, how many blocks of each
//! kernel an SM may hold at most, and in which order an SM asks the kernels. The dispatcher starts
//! blocks within that; nothing is ever evicted. A single kernel has the whole machine under every
//! policy, so that it runs as it does alone.

mod even;
mod exclusive;
mod fcfs;
mod fixed;
mod left_over;
mod profile;
mod quotas;
mod sequential;
mod spatial;
#[cfg(test)]
mod tests;
mod warped_slicer;
mod water_fill;

pub use even::Even;
pub use exclusive::Exclusive;
pub use fcfs::Fcfs;
pub use fixed::Fixed;
pub use left_over::LeftOver;
pub use sequential::Sequential;
pub use spatial::Spatial;
pub use warped_slicer::WarpedSlicer;
pub use water_fill::{Demand, water_fill};

use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::{BlockNeeds, GpuSpec, MultiprogramChoice as Choice};

/// A kernel in flight, as policies see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelView {
    /// Its place among the kernels in flight.
    pub slot: KernelSlot,
    /// The process that launched it.
    pub process: u8,
    /// Launches of one process with the same code and shape have the same number.
    pub code: u32,
    /// What a block takes of an SM.
    pub needs: BlockNeeds,
    /// Most of its blocks on an SM that it has for itself.
    pub blocks_per_sm: u32,
    /// Some of its blocks have not started.
    pub waits: bool,
}

/// What an SM has counted since the beginning of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmSample {
    /// By kernel slot: warp instructions.
    pub instructions: Vec<u64>,
    /// By kernel slot: blocks that it holds now.
    pub blocks: Vec<u32>,
    /// Scheduler cycles.
    pub slots: u64,
    /// Those of them in which no warp issued although the scheduler had some.
    pub stalled_slots: u64,
    /// Those of them in which warps waited for memory or for the load/store pipe.
    pub memory_slots: u64,
    /// Flits that the network delivered to it.
    pub flits_received: u64,
}

/// What a policy may see.
#[derive(Clone, Copy, Debug)]
pub struct MultiprogramView<'a> {
    /// Core cycle.
    pub now: Cycle,
    /// The machine.
    pub spec: &'a GpuSpec,
    /// Kernels in flight, in order of launch; those that were halted are not among them.
    pub kernels: &'a [KernelView],
    /// By SM.
    pub sms: &'a [SmSample],
}

impl MultiprogramView<'_> {
    /// The kernels in order of their processes, and of launch within one.
    pub fn by_process(&self) -> Vec<KernelView> {
        let mut kernels = self.kernels.to_vec();
        kernels.sort_by_key(|kernel| kernel.process);
        kernels
    }
}

/// What a policy came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Samples begin.
    Profile,
    /// SMs are shared: each kernel has so many blocks on each.
    Shared,
    /// Each kernel has SMs of its own.
    Spatial,
}

/// One decision of a policy that decides anew while kernels run.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Core cycle.
    pub at: Cycle,
    /// What was decided.
    pub verdict: Verdict,
    /// Processes of the kernels that it is about, in order.
    pub processes: Vec<u8>,
    /// Blocks on an SM of each, where SMs are shared.
    pub blocks: Vec<u32>,
    /// What each is expected to do with 1, 2, 3 blocks on an SM, in parts of its best, where that
    /// was known.
    pub curves: Vec<Vec<f64>>,
}

/// Divides the SMs among kernels.
pub trait Multiprogram: Send {
    /// The first cycle in which the policy wants to be updated although no kernel came or went.
    fn next_check(&self) -> Cycle {
        Cycle::MAX
    }

    /// Kernels came or went, or the time of the next check has come.
    fn update(&mut self, view: &MultiprogramView<'_>);

    /// Most blocks of a kernel on an SM; `u32::MAX`: as many as there is room for.
    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32;

    /// A block of `kernel` may start on an SM that holds blocks of `held`, another.
    fn may_join(&self, _kernel: KernelSlot, _held: KernelSlot) -> bool {
        true
    }

    /// A kernel may start blocks while one that is asked before it has blocks that wait for room.
    fn overtakes(&self) -> bool {
        true
    }

    /// Which of the kernels an SM asks first, counted in order of launch modulo their number; the
    /// others follow in that order.
    fn first(&self, _sm: SmId) -> usize {
        0
    }

    /// An SM took a block of the kernel that it asked `turn`th of all, counted as in `first`.
    fn placed(&mut self, _sm: SmId, _turn: usize) {}

    /// The process whose launches come before others' where places for kernels are short; without
    /// one they take turns.
    fn serves_first(&self) -> Option<u8> {
        None
    }

    /// What it has decided so far.
    fn decisions(&self) -> &[Decision] {
        &[]
    }
}

/// Declares the enum of multiprogramming policies.
macro_rules! multiprogram_policies {
    ($($table:tt)+) => { crate::policies!(MultiprogramPolicy, Multiprogram: $($table)+); };
}
warploom_config::multiprogram_policies!(multiprogram_policies);

impl Multiprogram for MultiprogramPolicy {
    fn next_check(&self) -> Cycle {
        of_policy!(self, p => p.next_check())
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        of_policy!(self, p => p.update(view));
    }

    #[inline]
    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        of_policy!(self, p => p.quota(sm, kernel))
    }

    #[inline]
    fn may_join(&self, kernel: KernelSlot, held: KernelSlot) -> bool {
        of_policy!(self, p => p.may_join(kernel, held))
    }

    #[inline]
    fn overtakes(&self) -> bool {
        of_policy!(self, p => p.overtakes())
    }

    #[inline]
    fn first(&self, sm: SmId) -> usize {
        of_policy!(self, p => p.first(sm))
    }

    #[inline]
    fn placed(&mut self, sm: SmId, turn: usize) {
        of_policy!(self, p => p.placed(sm, turn));
    }

    fn serves_first(&self) -> Option<u8> {
        of_policy!(self, p => p.serves_first())
    }

    fn decisions(&self) -> &[Decision] {
        of_policy!(self, p => p.decisions())
    }
}

/// Quotas of every kernel that may be in flight, on every SM, in bits: what a policy that hands out
/// quotas keeps at least.
fn quota_bits(spec: &GpuSpec) -> u64 {
    let kernels = u64::from(spec.gpu.max_concurrent_kernels);
    kernels * crate::bits_for(u64::from(spec.sm.max_blocks) + 1)
}
