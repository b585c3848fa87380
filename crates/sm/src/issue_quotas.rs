//! Quotas of instructions for kernels that share an SM (`gpu.multiprogram = "smk"`). Warps of a
//! kernel that has used up its quota issue only in cycles in which their scheduler finds no other
//! warp. When all kernels with blocks on the SM have used up theirs, the next epoch begins.
//!
//! Invariant: epochs depend on issued instructions and on resident blocks, and not on the cycles in
//! which they are examined, so that idle cycles can be skipped.

use crate::counters::KernelCounters;
use warploom_base::KernelSlot;
use warploom_policy::WarpMask;
use warploom_state::Value;

/// Quotas of the kernels on an SM.
#[derive(Value)]
pub(crate) struct IssueQuotas {
    /// Instructions of an epoch, by kernel slot.
    quotas: Vec<u64>,
    /// Instructions issued before the epoch, by kernel slot.
    before: Vec<u64>,
    /// Warp slots of the kernel's resident blocks, by kernel slot.
    warps: Vec<WarpMask>,
}

impl IssueQuotas {
    /// Quotas of an epoch that begins after the instructions that kernels have `issued`.
    pub(crate) fn new(quotas: &[u64], issued: &[KernelCounters]) -> Self {
        Self {
            quotas: quotas.to_vec(),
            before: issued.iter().map(|of| of.warp_instructions).collect(),
            warps: vec![0; quotas.len()],
        }
    }

    /// Replaces the warps by kernel slot.
    pub(crate) fn set_warps(&mut self, warps: impl Iterator<Item = (KernelSlot, WarpMask)>) {
        self.warps.fill(0);
        for (kernel, mask) in warps {
            self.warps[kernel.index()] |= mask;
        }
    }

    /// Warps of the kernels that have used up their quotas. Begins an epoch if all have.
    pub(crate) fn spent(&mut self, issued: &[KernelCounters]) -> WarpMask {
        let (mut spent, mut all) = (0, true);
        for (slot, warps) in self
            .warps
            .iter()
            .enumerate()
            .filter(|(_, warps)| **warps != 0)
        {
            if issued[slot].warp_instructions - self.before[slot] >= self.quotas[slot] {
                spent |= warps;
            } else {
                all = false;
            }
        }
        if spent == 0 || !all {
            return spent;
        }
        self.before = issued.iter().map(|of| of.warp_instructions).collect();
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{IssueQuotas, KernelCounters};

    fn issued(numbers: [u64; 2]) -> [KernelCounters; 2] {
        numbers.map(|warp_instructions| KernelCounters {
            warp_instructions,
            ..KernelCounters::default()
        })
    }

    /// Quotas of 30 and 10 instructions after 100 and 200 issued ones. The next epoch begins when
    /// both are used up; instructions beyond a quota do not count in the next.
    #[test]
    fn an_epoch_ends_when_all_kernels_have_used_their_quotas() {
        let mut quotas = IssueQuotas {
            quotas: vec![30, 10],
            before: vec![100, 200],
            warps: vec![0b0011, 0b1100],
        };
        assert_eq!(quotas.spent(&issued([129, 209])), 0);
        assert_eq!(quotas.spent(&issued([129, 210])), 0b1100);
        assert_eq!(quotas.spent(&issued([129, 215])), 0b1100);
        assert_eq!(quotas.spent(&issued([130, 215])), 0);
        assert_eq!(quotas.spent(&issued([159, 224])), 0);
        assert_eq!(quotas.spent(&issued([160, 224])), 0b0011);
        quotas.warps[1] = 0;
        assert_eq!(quotas.spent(&issued([160, 224])), 0, "the kernel is alone");
    }
}
