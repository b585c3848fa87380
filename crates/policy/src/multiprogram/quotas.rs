//! A table of quotas: the most blocks of each kernel slot on each SM.

use warploom_base::{KernelSlot, SmId};
use warploom_config::{BlockNeeds, GpuSpec};
use warploom_state::Value;

/// Quota without a limit but the SM's room.
pub const UNLIMITED: u32 = u32::MAX;

/// Quotas by SM and kernel slot. An empty table has no limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Value)]
pub struct Quotas {
    slots: usize,
    by_sm: Vec<u32>,
}

impl Quotas {
    /// A table with the same quota for all SMs and kernel slots of a machine.
    pub fn new(spec: &GpuSpec, quota: u32) -> Self {
        let slots = spec.gpu.max_concurrent_kernels as usize;
        Self {
            slots,
            by_sm: vec![quota; slots * spec.gpu.sms as usize],
        }
    }

    /// The quota of a kernel on an SM.
    #[inline]
    pub fn get(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        let at = sm.index() * self.slots + kernel.index();
        self.by_sm.get(at).copied().unwrap_or(UNLIMITED)
    }

    /// Sets the quota of a kernel on one SM.
    pub fn set(&mut self, sm: usize, kernel: KernelSlot, quota: u32) {
        self.by_sm[sm * self.slots + kernel.index()] = quota;
    }

    /// Sets the quota of a kernel on every SM.
    pub fn set_all(&mut self, kernel: KernelSlot, quota: u32) {
        let of_kernel = self.by_sm.iter_mut().skip(kernel.index());
        of_kernel.step_by(self.slots).for_each(|q| *q = quota);
    }
}

/// SMs of the `nth` part, if all SMs are divided into `kernels` parts that differ by one at most.
pub fn share_of_sms(sms: u32, nth: usize, kernels: usize) -> std::ops::Range<usize> {
    let bound = |n: usize| n * sms as usize / kernels;
    bound(nth)..bound(nth + 1)
}

/// Number of blocks that fit into one of `kernels` equal parts of an SM, but at least one.
pub fn blocks_of_share(needs: &BlockNeeds, spec: &GpuSpec, kernels: u32) -> u32 {
    let mut part = spec.sm.clone();
    part.max_threads /= kernels;
    part.registers /= kernels;
    part.shared_bytes /= kernels;
    part.max_blocks /= kernels;
    let limits = needs.limits(&part, &spec.gpu).into_iter();
    limits.map(|(fit, _)| fit).min().unwrap_or(0).max(1)
}
