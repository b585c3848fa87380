//! Atomics: their replies, lanes and old values.

use super::{PendingAtomic, mem_of, transaction_of};
use crate::context::Place;
use crate::flight::MemId;
use crate::prepared_kernel::physical_base;
use crate::sm::Sm;
use warploom_base::{LaneMask, WarpSlot};
use warploom_mem::{AccessKind, Reply};

impl Sm {
    /// Counts a reply of an atomic that is written next. After the last one the warp goes on, while
    /// the destination stays reserved until it is written (4.x counts the atomics of a warp down
    /// when it picks what to write back, also those on shared memory).
    #[cold]
    pub(super) fn atomic_arrived(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        if inst.pending != 1 {
            return;
        }
        self.at_rest = false;
        let slot = self.place(inst.warp.0);
        if inst.kind == AccessKind::GlobalAtomic {
            self.replay.require(inst.settles_at);
            self.write_old_values(slot);
        }
        self.warps.track[slot].atomics -= 1;
        self.warps.atomic.remove(slot);
    }

    /// Writes the old values of a warp's atomic to its registers.
    pub(crate) fn write_old_values(&mut self, place: Place) {
        let PendingAtomic { batch, results, .. } = &self.ldst.atomics[place];
        if let Some(dst) = batch.dst {
            self.warps.exec[place].write_atomic_result(dst, batch.mask, results);
        }
    }

    /// Warp and lanes whose atomic a reply completes.
    pub fn atomic_lanes(&self, reply: &Reply) -> (WarpSlot, LaneMask) {
        let warp = self.ldst.insts[mem_of(reply.token).0].warp;
        let atomic = &self.ldst.atomics[self.place(warp.0)];
        let lanes = atomic.lanes[transaction_of(reply.token)];
        let first = reply.addr - physical_base(reply.asid);
        let range = first..first + u64::from(reply.bytes);
        let inside = (0..32).filter(|&l| range.contains(&atomic.batch.addrs[l]));
        (warp, lanes & inside.fold(0, |m, l| m | 1 << l))
    }
}
