//! The instruction in the dispatch register: its attempts, and its way out.

use super::blocked::{Cause, Try, stage_of};
use super::{MemInst, Path};
use crate::counters::LdstStall;
use crate::flight::{FlightId, MemId};
use crate::sm::Sm;
use warploom_base::Cycle;
use warploom_mem::AccessKind;

impl Sm {
    /// Tries the path of the instruction in the dispatch register.
    pub(super) fn dispatch_memory(&mut self, now: Cycle, flight: FlightId) {
        let Some(id) = self.ldst.in_dispatch else {
            // A fence sends nothing.
            self.finish_fence(flight);
            return;
        };
        if self.ldst.is_still_blocked(now, &self.link) {
            return self.count_blocked(1);
        }
        if self.ldst.parked.is_used() && self.waits_or_parks(flight, id) {
            return;
        }
        self.ldst.blocked = None;
        let outcome = match self.ldst.insts[id.0].path {
            Path::Shared | Path::Peers => self.try_shared(id),
            Path::Constant => self.try_constant(now, id),
            Path::Texture => self.try_texture(now, id),
            Path::Data if self.ldst.l1_latency > 0 => self.try_banks(now, id),
            Path::Data => self.try_data(now, id),
            Path::BypassL1 => self.try_bypass(now, id),
            Path::Bulk => self.try_bulk(id),
        };
        if outcome == Try::Done {
            self.leave_dispatch(now, flight, id);
        } else if outcome == Try::Reservation && self.can_park(id) {
            self.park(flight, id);
        } else {
            let MemInst { path, kind, .. } = self.ldst.insts[id.0];
            self.count_stall(path, kind, outcome, 1);
        }
    }

    /// Counts the attempts that fail in `cycles` further cycles as they did in the last one.
    pub(crate) fn ldst_retries(&mut self, cycles: u64) {
        self.ldst.parked.pass_on_for(cycles);
        if self.ldst.dispatch.is_some() {
            self.count_blocked(cycles);
        }
        for (kind, reason, _) in self.ldst.banks.iter().filter_map(|bank| bank.blocked) {
            self.ldst
                .l1d
                .iter_mut()
                .for_each(|c| c.count_failed(kind, reason, cycles));
        }
    }

    /// Counts `times` further attempts of the blocked instruction, if there is one.
    pub(super) fn count_blocked(&mut self, times: u64) {
        let Some(blocked) = &self.ldst.blocked else {
            return;
        };
        let (stage, why) = blocked.counted;
        self.counters.ldst_stalls[stage as usize][why as usize] += times;
        if let Cause::Refused(reason, _) = blocked.cause {
            let (path, kind) = (blocked.path, blocked.kind);
            let cache = match path {
                Path::Constant => Some(&mut self.ldst.l1c),
                _ => self.ldst.l1d.as_mut(),
            };
            cache
                .into_iter()
                .for_each(|c| c.count_failed(kind, reason, times));
        }
    }

    /// Counts an attempt of an instruction that the data cache would refuse, or that its port has
    /// no time for.
    pub(super) fn count_vain(&mut self, id: MemId, outcome: Try) {
        let MemInst { path, kind, .. } = self.ldst.insts[id.0];
        self.count_stall(path, kind, outcome, 1);
    }

    fn count_stall(&mut self, path: Path, kind: AccessKind, outcome: Try, times: u64) {
        let stage = stage_of(path, kind);
        let why = match outcome {
            Try::Done => return,
            Try::Coalesce => LdstStall::Coalesce,
            Try::Reservation => LdstStall::Reservation,
            Try::Network => LdstStall::Network,
            Try::DataPort => LdstStall::DataPort,
            Try::BankConflict => LdstStall::BankConflict,
        };
        self.counters.ldst_stalls[stage as usize][why as usize] += times;
    }

    /// Takes an instruction that has sent all its transactions out of the dispatch register.
    fn leave_dispatch(&mut self, now: Cycle, flight: FlightId, id: MemId) {
        let inst = self.ldst.insts[id.0];
        if inst.path == Path::Shared && inst.replies {
            if self.ldst.shared.is_full() {
                return;
            }
            let at = now + Cycle::from(self.ldst.shared_latency + inst.late_cycles);
            self.ldst.shared.push((at, id));
        }
        if inst.path == Path::Peers && inst.replies {
            let at = now + Cycle::from(self.ldst.peer_latency);
            self.ldst.peers.push_back((at, id));
        }
        self.at_rest = false;
        self.ldst.dispatch = None;
        self.ldst.in_dispatch = None;
        self.flights.give(flight.0);
        self.end_sending(id);
    }

    /// Notes that an instruction has sent all its transactions.
    #[inline(always)]
    pub(super) fn end_sending(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        self.ldst.lists.give(inst.list);
        if !inst.replies {
            let slot = self.place(inst.warp.0);
            self.warps.track[slot].in_flight -= 1;
            self.warps.touched.insert(slot);
            self.ldst.insts.give(id.0);
        } else if inst.pending == 0 {
            self.complete_memory(id);
        } else if self.context.is_some() && inst.is_global_load() {
            self.await_load(id);
        }
    }

    /// Notes that a load from global memory has sent all its transactions and waits for data. With
    /// a latency queue (4.x) a miss is not known before the tags are looked up.
    #[cold]
    fn await_load(&mut self, id: MemId) {
        let place = self.place(self.ldst.insts[id.0].warp.0);
        self.warps.note_load(place);
        self.ldst.insts[id.0].awaited = true;
        if self.ldst.insts[id.0].path == Path::BypassL1 || self.ldst.l1_latency == 0 {
            self.note_miss(id);
        }
    }

    #[cold]
    fn finish_fence(&mut self, flight: FlightId) {
        let slot = self.flights[flight.0].warp.index();
        self.warps.track[slot].in_flight -= 1;
        self.warps.touched.insert(slot);
        self.flights.give(flight.0);
        self.ldst.dispatch = None;
        self.at_rest = false;
        self.release_fence(slot);
    }
}
