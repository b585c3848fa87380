//! Results of memory instructions are written to registers, and the instructions end.

use super::caches::{first_in_turn, next_of_program};
use super::{CLIENTS, MemInst, Path, mem_of};
use crate::flight::MemId;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use warploom_base::Cycle;

impl Sm {
    /// Writes one result to the registers and picks the next (five clients in turn).
    pub(super) fn write_back(&mut self, now: Cycle) {
        if let Some(id) = self.ldst.write_back {
            let MemInst {
                kernel, pc, warp, ..
            } = self.ldst.insts[id.0];
            let prepared = prepared_kernel(&self.kernels, kernel);
            let (inst, place) = (prepared.at(pc), self.place(warp.0) as u16);
            let written = &mut self.ldst.written;
            if !self
                .collectors
                .write_further(inst, prepared, place, written)
            {
                return;
            }
            // The first part of a load was counted when it issued.
            if self.ldst.insts[id.0].pending > 1 {
                self.counters.register_writes += u64::from(inst.bank_writes.len);
            }
            self.ldst.write_back = None;
            if self.ldst.insts[id.0].path == Path::Bulk {
                self.bulk_replied();
            }
            self.reply_done(id);
        }
        if !self.ldst.has_result(now) {
            return;
        }
        let mut clients = self.ldst.with_result(now);
        while clients != 0 {
            let client = first_in_turn(clients, self.ldst.next_client);
            clients &= !(1 << client);
            if let Some(id) = self.take_result(now, client) {
                self.ldst.next_client = (client + 1) % CLIENTS;
                self.ldst.write_back = Some(id);
                if self.ldst.insts[id.0].atomic {
                    self.atomic_arrived(id);
                }
                return;
            }
        }
    }

    /// Takes the result of a client; `None` for one that a cache requested for itself.
    fn take_result(&mut self, now: Cycle, client: u32) -> Option<MemId> {
        let ldst = &mut self.ldst;
        let reply = match client {
            0 => return ldst.take_shared(now),
            1 => ldst.l1t.next_ready(),
            2 => ldst.l1c.next_ready(),
            3 => return ldst.bypass.take(),
            _ => {
                ldst.parked.cache_has_changed();
                next_of_program(ldst.l1d.as_mut())
            }
        };
        reply.map(|r| mem_of(r.token))
    }

    /// Counts a reply of a load that has been written.
    pub(super) fn reply_done(&mut self, id: MemId) {
        let inst = &mut self.ldst.insts[id.0];
        inst.pending -= 1;
        if inst.pending == 0 {
            self.complete_memory(id);
        }
    }

    /// Completes a memory instruction whose replies have all come: its destination can be read.
    pub(super) fn complete_memory(&mut self, id: MemId) {
        self.at_rest = false;
        if self.context.is_some() {
            return self.complete_wherever(id);
        }
        let inst = self.ldst.insts[id.0];
        self.replay.require(inst.settles_at);
        let slot = inst.warp.index();
        self.copy_arrived(id, slot);
        let prepared = prepared_kernel(&self.kernels, inst.kernel);
        self.warps.finished(slot, prepared.at(inst.pc), prepared);
        self.ldst.insts.give(id.0);
        self.release_fence(slot);
    }

    /// `complete_memory` where contexts are switched: the warp may be absent.
    #[cold]
    fn complete_wherever(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        self.replay.require(inst.settles_at);
        let slot = self.place(inst.warp.0);
        self.copy_arrived(id, slot);
        let prepared = prepared_kernel(&self.kernels, inst.kernel);
        let image = prepared.at(inst.pc);
        self.warps.clear_pending(slot, image, prepared);
        if image.loads_shared() {
            self.warps.receive_shared(slot, image, prepared);
        }
        self.warps.track[slot].in_flight -= 1;
        self.warps.forget_load(slot, inst.awaited, image, prepared);
        self.ldst.insts.give(id.0);
        if slot >= self.warps.slots() {
            return self.arrived(inst.warp.0);
        }
        self.warps.touched.insert(slot);
        self.warps.refresh_arrived(slot, prepared);
        self.release_fence(slot);
    }

    /// Notes that an asynchronous copy of the warp at `slot` has ended, if the instruction is one.
    #[inline(always)]
    fn copy_arrived(&mut self, id: MemId, slot: usize) {
        let MemInst { path, copy, .. } = self.ldst.insts[id.0];
        if copy.is_some() || path == Path::Bulk {
            self.end_copy(id, slot);
        }
    }

    /// Notes that an asynchronous copy of the warp at `slot` has ended.
    #[cold]
    #[inline(never)]
    fn end_copy(&mut self, id: MemId, slot: usize) {
        let MemInst { path, copy, .. } = self.ldst.insts[id.0];
        if path == Path::Bulk {
            self.complete_bulk(id);
        }
        let groups = &mut self.warps.copies[slot];
        match (copy, path) {
            (None, _) => {}
            (Some(group), Path::Bulk) => groups.bulk.arrived(group),
            (Some(group), _) => groups.copies.arrived(group),
        }
    }
}
