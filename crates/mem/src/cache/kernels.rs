//! Accesses of a cache by kernel slot.

use super::{Cache, CacheCounters};
use warploom_base::KernelSlot;

impl Cache {
    /// Counts accesses by kernel as well, for the first `kernels` kernel slots.
    pub fn follow_kernels(&mut self, kernels: usize) {
        self.followed = kernels;
    }

    /// Counts the accesses of a kernel slot anew, because a kernel is launched in it.
    pub fn begin_kernel(&mut self, slot: KernelSlot) {
        if let Some(own) = self.by_kernel.get_mut(slot.index()) {
            *own = CacheCounters::default();
        }
    }

    /// Accesses since the last launch in a slot, by kind and outcome, failed attempts left out;
    /// nothing else is counted by kernel. The slot must be followed. `None` before any access of it
    /// or of a later slot.
    pub fn kernel_counters(&self, slot: KernelSlot) -> Option<&CacheCounters> {
        debug_assert!(slot.index() < self.followed, "{slot} is not followed");
        self.by_kernel.get(slot.index())
    }

    /// Counters of a kernel slot for an access, if the slot is followed.
    #[inline]
    pub(super) fn of_kernel(&mut self, slot: KernelSlot) -> Option<&mut CacheCounters> {
        if slot.index() >= self.followed {
            return None;
        }
        if slot.index() >= self.by_kernel.len() {
            self.reach_slot(slot);
        }
        self.by_kernel.get_mut(slot.index())
    }

    /// Makes room for the counters of a kernel slot.
    #[cold]
    fn reach_slot(&mut self, slot: KernelSlot) {
        self.by_kernel
            .resize_with(slot.index() + 1, CacheCounters::default);
    }
}
