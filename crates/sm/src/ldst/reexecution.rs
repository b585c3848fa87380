//! Parking of loads that the data cache refuses, and their further attempts.

use super::Path;
use super::blocked::Try;
use crate::flight::{FlightId, MemId};
use crate::scheduler::Scheduler;
use crate::sm::Sm;
use warploom_base::Cycle;
use warploom_mem::AccessKind;
use warploom_policy::{WarpMask, WarpScheduler};

impl Sm {
    /// Warps that may send misses of loads, by slots.
    fn may_miss(&self) -> WarpMask {
        let of = |mask, s: &Scheduler| mask | s.own & s.policy.may_miss();
        self.schedulers.iter().fold(0, of)
    }

    /// True if a warp with a parked load may send misses and could not before.
    fn parked_may_miss_now(&self, may_miss: WarpMask) -> bool {
        may_miss & !self.ldst.parked.may_miss & self.parked_warps().0 != 0
    }

    /// True if parked loads wait for a reply, a credit, or a decision of a policy, and none will be
    /// parked before.
    pub(crate) fn parked_loads_wait(&self) -> bool {
        if self.ldst.in_dispatch.is_some_and(|id| self.can_park(id)) {
            return false;
        }
        let parked = &self.ldst.parked;
        parked.is_empty() || parked.due == 0 && !self.parked_may_miss_now(self.may_miss())
    }

    /// Slots of the warps that have a parked load, and whether another load can be parked.
    pub(crate) fn parked_warps(&self) -> (WarpMask, bool) {
        let parked = &self.ldst.parked;
        let slot = |id: &MemId| self.place(self.ldst.insts[id.0].warp.0);
        let slots = parked.queue.iter().map(slot);
        let slots = slots.filter(|slot| *slot < self.warps.slots());
        let warps = slots.fold(0, |mask, slot| mask | 1 << slot);
        (warps, parked.has_room())
    }

    /// True if an access waits in the dispatch register for an earlier load of its warp.
    fn waits_for_parked(&self, id: MemId) -> bool {
        let insts = &self.ldst.insts;
        let of_warp = |other: &MemId| insts[other.0].warp == insts[id.0].warp;
        matches!(insts[id.0].path, Path::Data | Path::BypassL1)
            && self.ldst.parked.queue.iter().any(of_warp)
    }

    /// Deals with an instruction in the dispatch register that waits for a parked load of its warp,
    /// or is to be parked without an attempt. Returns true if it was one.
    #[cold]
    pub(super) fn waits_or_parks(&mut self, now: Cycle, flight: FlightId, id: MemId) -> bool {
        if self.waits_for_parked(id) {
            self.count_vain(id, Try::Reservation);
            return true;
        }
        let parks = self.can_park(id) && self.must_not_miss(now, id);
        if parks {
            self.park(flight, id);
        }
        parks
    }

    /// True if a load may be parked that the data cache refuses.
    pub(super) fn can_park(&self, id: MemId) -> bool {
        let inst = &self.ldst.insts[id.0];
        let reads = matches!(inst.kind, AccessKind::GlobalRead | AccessKind::LocalRead);
        self.ldst.parked.has_room() && inst.path == Path::Data && reads && inst.replies
    }

    /// True if the next access of a load would send a miss, and its warp may not.
    fn must_not_miss(&self, now: Cycle, id: MemId) -> bool {
        let place = self.place(self.ldst.insts[id.0].warp.0);
        if place >= self.warps.slots() || self.may_miss() >> place & 1 != 0 {
            return false;
        }
        let next = self.next_transaction(now, id);
        let l1d = self.ldst.l1d.as_ref();
        l1d.zip(next)
            .is_some_and(|(l1d, (request, _))| l1d.is_missing(request.addr))
    }

    /// Takes a load out of the dispatch register and parks it.
    #[cold]
    pub(super) fn park(&mut self, flight: FlightId, id: MemId) {
        let ldst = &mut self.ldst;
        ldst.blocked = None;
        (ldst.dispatch, ldst.in_dispatch) = (None, None);
        ldst.parked.queue.push(id);
        self.ldst.parked.may_miss = self.may_miss();
        self.flights.give(flight.0);
        self.detail.parked_loads += 1;
        self.at_rest = false;
    }

    /// Tries a parked load again, if one is due. Returns true if it accessed the data cache.
    #[cold]
    pub(super) fn try_parked(&mut self, now: Cycle) -> bool {
        let may_miss = self.may_miss();
        if self.parked_may_miss_now(may_miss) {
            self.ldst.parked.cache_has_changed();
        }
        let parked = &mut self.ldst.parked;
        parked.may_miss = may_miss;
        let first = parked.queue.front().copied();
        let Some(id) = first.filter(|_| parked.due > 0) else {
            return false;
        };
        if self.must_not_miss(now, id) {
            self.ldst.parked.pass_on();
            return false;
        }
        // What keeps the instruction in the dispatch register is another matter.
        let blocked = self.ldst.blocked.take();
        let outcome = self.try_data(now, id);
        self.ldst.blocked = blocked;
        match outcome {
            Try::Reservation => self.ldst.parked.pass_on(),
            Try::Done => {
                self.ldst.parked.queue.drop_oldest();
                self.ldst.parked.due -= 1;
                self.at_rest = false;
                self.end_sending(id);
            }
            _ => {}
        }
        matches!(outcome, Try::Done | Try::Coalesce)
    }
}
