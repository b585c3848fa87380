//! Multiprogramming (`gpu.multiprogram`): how kernels in flight share the SMs.
//!
//! A policy decides how many blocks of each kernel an SM may hold at most, and in which order an SM
//! asks the kernels for blocks. It decides when a kernel starts or ends, and at times of its own
//! choice. The dispatcher starts blocks within these limits. Blocks are never evicted. Under every
//! policy, a kernel that is alone has the whole machine.

mod even;
mod exclusive;
mod fcfs;
mod fixed;
mod left_over;
mod profile;
mod quotas;
mod sequential;
mod smk;
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
pub use smk::Smk;
pub use spatial::Spatial;
pub use warped_slicer::WarpedSlicer;
pub use water_fill::{Demand, water_fill};

use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::{BlockNeeds, GpuSpec, MultiprogramChoice as Choice};
use warploom_state::{State, Value};

/// A kernel in flight, as policies see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct KernelView {
    /// Slot of the kernel among the kernels in flight.
    pub slot: KernelSlot,
    /// Number of the process that launched it.
    pub process: u8,
    /// Number of the code and shape, the same for all launches of a process that agree in both.
    pub code: u32,
    /// Resources of an SM that one block needs.
    pub needs: BlockNeeds,
    /// Most blocks of the kernel on an SM without blocks of other kernels.
    pub blocks_per_sm: u32,
    /// Core cycle of its launch.
    pub launched_at: Cycle,
    /// True if some of its blocks have not started.
    pub waits: bool,
}

/// Counts of an SM since the beginning of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Value)]
pub struct SmSample {
    /// Issued warp instructions, by kernel slot.
    pub instructions: Vec<u64>,
    /// Blocks on the SM now, by kernel slot.
    pub blocks: Vec<u32>,
    /// Cycles of all its schedulers.
    pub slots: u64,
    /// Cycles of a scheduler with warps in which none issued.
    pub stalled_slots: u64,
    /// Cycles of a scheduler of an SM with blocks in which no warp runs, or all wait at a barrier,
    /// for a fence or an atomic.
    pub idle_slots: u64,
    /// Cycles of a scheduler in which warps waited for memory or for the load/store pipe.
    pub memory_slots: u64,
    /// Flits that the network has delivered to the SM.
    pub flits_received: u64,
    /// States of its warps now.
    pub warps: WarpCounts,
}

/// Numbers of warps of an SM by what they wait for, paused warps not counted, or sums of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct WarpCounts {
    /// Number of warps that run.
    pub active: u64,
    /// Warps whose next instruction waits for an operand.
    pub waiting: u64,
    /// Warps that could issue to the load/store pipe, and that cannot all issue in one cycle, or
    /// for which the pipe has no room.
    pub excess_memory: u64,
    /// Warps that could issue to one of the other pipes, and that cannot all issue in one cycle, or
    /// for which their pipe has no room.
    pub excess_arithmetic: u64,
}

impl WarpCounts {
    /// Adds the numbers of another sample.
    pub fn add(&mut self, other: &Self) {
        self.active += other.active;
        self.waiting += other.waiting;
        self.excess_memory += other.excess_memory;
        self.excess_arithmetic += other.excess_arithmetic;
    }
}

/// State of the machine that a policy sees.
#[derive(Clone, Copy, Debug)]
pub struct MultiprogramView<'a> {
    /// Core cycle of the view.
    pub now: Cycle,
    /// Specification of the machine.
    pub spec: &'a GpuSpec,
    /// Kernels in flight, without halted ones, in order of launch.
    pub kernels: &'a [KernelView],
    /// Counts of each SM. Empty if the policy wants none.
    pub sms: &'a [SmSample],
}

impl MultiprogramView<'_> {
    /// The kernels in order of their processes, and in order of launch within a process.
    pub fn by_process(&self) -> Vec<KernelView> {
        let mut kernels = self.kernels.to_vec();
        kernels.sort_by_key(|kernel| kernel.process);
        kernels
    }
}

/// Kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum Verdict {
    /// Kernels are sampled from now on.
    Profile,
    /// Each SM holds blocks of all kernels, a number for each.
    Shared,
    /// Each kernel has a part of the SMs for itself.
    Spatial,
}

/// Decision of a policy that adapts while kernels run.
#[derive(Clone, Debug, PartialEq, Value)]
pub struct Decision {
    /// Core cycle of the decision.
    pub at: Cycle,
    /// Kind of the decision.
    pub verdict: Verdict,
    /// Processes of the kernels concerned, in ascending order.
    pub processes: Vec<u8>,
    /// Blocks of each of these kernels on an SM, if SMs are shared.
    pub blocks: Vec<u32>,
    /// Expected performance of each of these kernels with 1, 2, 3, ... blocks on an SM, relative to
    /// its best; empty for a decision to sample.
    pub curves: Vec<Vec<f64>>,
}

/// Policy that divides the SMs among kernels.
pub trait Multiprogram: State + Send {
    /// The next cycle in which the policy wants an update although no kernel has started or ended.
    fn next_check(&self) -> Cycle {
        Cycle::MAX
    }

    /// True if updates look at the counts of SMs.
    fn wants_samples(&self) -> bool {
        true
    }

    /// Decides anew: a kernel has started or ended, or the cycle of the next check has come.
    fn update(&mut self, view: &MultiprogramView<'_>);

    /// Most blocks of a kernel on an SM; `u32::MAX` for no limit but the room.
    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32;

    /// Warp instructions of an epoch, by kernel slot: a kernel that has issued as many on an SM
    /// issues last there until all have. Empty for no such quotas.
    fn issue_quotas(&self) -> &[u64] {
        &[]
    }

    /// True if a block of `kernel` may start on an SM that holds blocks of another kernel, `held`.
    fn may_join(&self, _kernel: KernelSlot, _held: KernelSlot) -> bool {
        true
    }

    /// True if a kernel may start blocks while a kernel that is asked before it has waiting blocks.
    fn overtakes(&self) -> bool {
        true
    }

    /// Position, in order of launch, of the kernel that an SM asks first; taken modulo the number
    /// of kernels. The SM asks the others in the order that follows, round to the beginning.
    fn first(&self, _sm: SmId) -> usize {
        0
    }

    /// Notes that an SM took a block of the kernel in position `turn`, counted as in `first`.
    fn placed(&mut self, _sm: SmId, _turn: usize) {}

    /// The process whose launches have priority where slots for kernels are short; `None` if
    /// processes take turns.
    fn serves_first(&self) -> Option<u8> {
        None
    }

    /// All decisions so far, oldest first.
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

    fn wants_samples(&self) -> bool {
        of_policy!(self, p => p.wants_samples())
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        of_policy!(self, p => p.update(view));
    }

    #[inline]
    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        of_policy!(self, p => p.quota(sm, kernel))
    }

    fn issue_quotas(&self) -> &[u64] {
        of_policy!(self, p => p.issue_quotas())
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

/// Bits of storage for a quota of every kernel that may be in flight, the same quota on every SM.
fn quota_bits(spec: &GpuSpec) -> u64 {
    let kernels = u64::from(spec.gpu.max_concurrent_kernels);
    kernels * crate::bits_for(u64::from(spec.sm.max_blocks) + 1)
}
