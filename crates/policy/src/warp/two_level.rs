//! Two-level scheduling (Narasiman et al., MICRO 2011, as GPGPU-Sim's `two_level_active` has it):
//! only warps of a small active group issue, in loose round robin. A warp that waits, or whose
//! next instruction needs an outstanding load, goes to the tail of the pending queue; the head of
//! the queue takes its place.
//! State: a list of the active group and a queue of the others. Cost: linear in the group.

use super::{WarpMask, WarpScheduler, WarpView, next_after};
use std::collections::VecDeque;
use warploom_base::WarpSlot;

/// Two-level scheduling.
#[derive(Clone, Debug)]
pub struct TwoLevel {
    size: u32,
    active: WarpMask,
    pending: VecDeque<WarpSlot>,
    last: WarpSlot,
}

impl TwoLevel {
    /// An active group of `size` warps.
    pub fn new(size: u32) -> Self {
        Self {
            size,
            active: 0,
            pending: VecDeque::with_capacity(64),
            last: WarpSlot(63),
        }
    }

    fn demote(&mut self, mask: WarpMask) {
        self.pending.extend(super::warps_of(self.active & mask));
        self.active &= !mask;
    }

    fn promote(&mut self, blocked: WarpMask) {
        for _ in 0..self.pending.len() {
            if self.active.count_ones() >= self.size {
                return;
            }
            let Some(slot) = self.pending.pop_front() else {
                return;
            };
            if blocked >> slot.index() & 1 != 0 {
                self.pending.push_back(slot);
            } else {
                self.active |= 1 << slot.index();
            }
        }
    }
}

impl WarpScheduler for TwoLevel {
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        let blocked = view.waiting | view.long_wait;
        self.demote(blocked);
        self.promote(blocked);
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn pick(&mut self, _view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        next_after(ready & self.active, self.last)
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }

    fn on_start(&mut self, slot: WarpSlot) {
        if self.active.count_ones() < self.size {
            self.active |= 1 << slot.index();
        } else {
            self.pending.push_back(slot);
        }
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.active &= !(1 << slot.index());
        self.pending.retain(|s| *s != slot);
    }
}
