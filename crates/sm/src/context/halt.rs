//! The end of a halted kernel: what has not started is dropped, and absent warps come in to end.

use super::engine::Contexts;
use super::tables::{State, WarpEntry};
use crate::prepared_kernel::PreparedKernels;
use crate::warps::Warps;
use warploom_base::KernelSlot;

impl Contexts {
    /// Notes that a kernel was halted. Blocks that have not started are dropped, and absent warps
    /// wait at no barrier any more.
    pub fn halt(&mut self, kernel: KernelSlot, warps: &Warps, kernels: &PreparedKernels) {
        if self.kernel() != Some(kernel) {
            return;
        }
        self.halted = true;
        self.forget_stalled();
        for context in 0..self.warps.len() {
            match self.warps[context].state {
                State::Assigned => self.drop_assigned(context),
                State::Leaving | State::Absent => {
                    self.warps[context].at_barrier = false;
                    self.arrived(context, warps, kernels);
                }
                _ => self.warps[context].at_barrier = false,
            }
        }
        self.changed = true;
    }

    /// Frees the context of a warp that will not start.
    fn drop_assigned(&mut self, context: usize) {
        let entry = std::mem::replace(&mut self.warps[context], WarpEntry::FREE);
        self.places.give(entry.registers);
        self.places.give(entry.meta);
        if self.place[context] < self.slots {
            self.places.give_slots(1 << entry.slot);
            self.place[context] = self.slots + context;
        }
        let block = &mut self.blocks[usize::from(entry.block)];
        block.left -= 1;
        if block.left == 0 {
            self.places.give(block.shared);
        }
    }
}
