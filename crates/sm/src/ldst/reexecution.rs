//! Parking of loads that the data cache refuses, and their further attempts.

use super::blocked::{Blocked, Cause, Try};
use super::parked::NO_PLACE;
use super::{Ldst, Path};
use crate::flight::{FlightId, MemId};
use crate::scheduler::Scheduler;
use crate::sm::Sm;
use crate::warps::Slots;
use warploom_base::Cycle;
use warploom_mem::AccessKind;
use warploom_policy::WarpMask;

impl Sm {
    /// Warps that may send misses of loads, by slots.
    fn may_miss(&self) -> WarpMask {
        let of = |mask, s: &Scheduler| mask | s.own & s.may_miss();
        self.schedulers.iter().fold(0, of)
    }

    /// The same, and remembers what policies answer that are told of every cycle.
    fn ask_may_miss(&mut self) -> WarpMask {
        let of = |mask, s: &mut Scheduler| mask | s.own & s.ask_may_miss();
        self.schedulers.iter_mut().fold(0, of)
    }

    /// True if a warp with a parked load may send misses and could not before.
    fn parked_may_miss_now(&self, may_miss: WarpMask) -> bool {
        let now = may_miss & !self.ldst.parked.may_miss;
        now != 0 && now & self.parked_warps() != 0
    }

    /// True if parked loads wait for a reply, a credit, or a decision of a policy, and none will be
    /// parked before.
    pub(crate) fn parked_loads_wait(&self) -> bool {
        let parks = |id| self.can_park(id) && !self.waits_for_parked(id);
        if self.ldst.in_dispatch.is_some_and(parks) {
            return false;
        }
        self.ldst.parked.is_empty() || self.all_must_wait()
    }

    /// True if parked loads are not due, or would be refused again.
    fn all_must_wait(&self) -> bool {
        let (parked, may_miss) = (&self.ldst.parked, self.may_miss());
        let mut due = parked.queue.iter().take(parked.due);
        !self.parked_may_miss_now(may_miss) && due.all(|id| self.must_not_miss(*id, may_miss))
    }

    /// Slots of the warps that have a parked load.
    #[inline]
    pub(crate) fn parked_warps(&self) -> WarpMask {
        match &self.context {
            None => self.ldst.parked.warps,
            // Warps change their slots.
            Some(_) => self.find_parked_warps(),
        }
    }

    fn find_parked_warps(&self) -> WarpMask {
        let slot = |id: &MemId| self.place(self.ldst.insts[id.0].warp.0);
        let slots = self.ldst.parked.queue.iter().map(slot);
        let slots = slots.filter(|slot| *slot < self.warps.slots());
        slots.fold(0, |mask, slot| mask | 1 << slot)
    }

    /// True if an access waits in the dispatch register for an earlier load of its warp.
    fn waits_for_parked(&self, id: MemId) -> bool {
        let Ldst { insts, parked, .. } = &self.ldst;
        let of_warp = |other: &MemId| insts[other.0].warp == insts[id.0].warp;
        let has_parked = match &self.context {
            None => Slots::from(parked.warps).has(insts[id.0].warp.index()),
            Some(_) => parked.queue.iter().any(of_warp),
        };
        has_parked && matches!(insts[id.0].path, Path::Data | Path::BypassL1)
    }

    /// Deals with an instruction in the dispatch register that waits for a parked load of its warp,
    /// or is to be parked without an attempt. Returns true if it was one.
    #[inline(never)]
    pub(super) fn waits_or_parks(&mut self, flight: FlightId, id: MemId) -> bool {
        if self.waits_for_parked(id) {
            if !self.ldst.blocked.as_ref().is_some_and(Blocked::by_parked) {
                self.block(id, Cause::Parked);
            }
            self.count_blocked(1);
            return true;
        }
        let parks = self.can_park(id) && self.must_not_miss(id, self.may_miss());
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

    /// True if the next access of a load would send a miss, and its warp is not one of those that
    /// may.
    #[inline(always)]
    fn must_not_miss(&self, id: MemId, may_miss: WarpMask) -> bool {
        let inst = &self.ldst.insts[id.0];
        let place = self.place(inst.warp.0);
        if place >= self.warps.slots() || Slots::from(may_miss).has(place) {
            return false;
        }
        let known = self.ldst.parked.is_known_missing(inst.parked_at);
        debug_assert!(!known || self.finds_missing(id), "its line has come");
        known || self.finds_missing(id)
    }

    /// True if the next access of a load would send a miss.
    #[inline(never)]
    fn finds_missing(&self, id: MemId) -> bool {
        let l1d = self.ldst.l1d.as_ref();
        l1d.zip(self.next_address(id))
            .is_some_and(|(l1d, addr)| l1d.is_missing(addr))
    }

    /// Remembers that a parked load misses until an access may bring its line.
    fn remember_missing(&mut self, id: MemId) {
        let l1d = self.ldst.l1d.as_ref();
        if let Some((l1d, addr)) = l1d.zip(self.next_address(id)) {
            let (at, line) = (self.ldst.insts[id.0].parked_at, l1d.line_address(addr));
            self.ldst.parked.note_missing(at, line);
        }
    }

    /// Notes that an access at `addr` may have changed what the data cache holds of its line.
    #[inline]
    pub(super) fn line_may_come(&mut self, addr: u64) {
        if !self.ldst.parked.is_empty()
            && let Some(l1d) = &self.ldst.l1d
        {
            self.ldst.parked.line_may_come(l1d.line_address(addr));
        }
    }

    /// Takes a load out of the dispatch register and parks it.
    #[cold]
    pub(super) fn park(&mut self, flight: FlightId, id: MemId) {
        let ldst = &mut self.ldst;
        ldst.blocked = None;
        (ldst.dispatch, ldst.in_dispatch) = (None, None);
        ldst.parked.queue.push(id);
        ldst.insts[id.0].parked_at = ldst.parked.take_place();
        let mut warps = Slots::from(ldst.parked.warps);
        warps.insert(ldst.insts[id.0].warp.index());
        ldst.parked.warps = warps.mask();
        self.ldst.parked.may_miss = self.may_miss();
        self.flights.give(flight.0);
        self.detail.parked_loads += 1;
        self.at_rest = false;
    }

    /// Tries a parked load again, if one is due. Returns true if it accessed the data cache.
    #[inline(never)]
    pub(super) fn try_parked(&mut self, now: Cycle) -> bool {
        let may_miss = self.ask_may_miss();
        if self.parked_may_miss_now(may_miss) {
            self.ldst.parked.cache_has_changed();
        }
        let parked = &mut self.ldst.parked;
        parked.may_miss = may_miss;
        let first = parked.queue.front().copied();
        let Some(id) = first.filter(|_| parked.due > 0) else {
            return false;
        };
        let at = self.ldst.insts[id.0].parked_at;
        if self.must_not_miss(id, may_miss) {
            if !self.ldst.parked.is_known_missing(at) {
                self.remember_missing(id);
            }
            self.ldst.parked.pass_on();
            return false;
        }
        self.ldst.parked.look_up_again(at);
        // What keeps the instruction in the dispatch register is another matter.
        let blocked = self.ldst.blocked.take();
        let outcome = self.try_data(now, id);
        self.ldst.blocked = blocked;
        match outcome {
            Try::Reservation => self.ldst.parked.pass_on(),
            Try::Done => {
                self.ldst.parked.queue.drop_oldest();
                self.ldst.parked.give_place(at);
                self.ldst.insts[id.0].parked_at = NO_PLACE;
                self.ldst.parked.due -= 1;
                let mut warps = Slots::from(self.ldst.parked.warps);
                warps.remove(self.ldst.insts[id.0].warp.index());
                self.ldst.parked.warps = warps.mask();
                // The instruction in the dispatch register may have waited for this one.
                self.ldst.blocked.take_if(|blocked| blocked.by_parked());
                self.at_rest = false;
                self.end_sending(id);
            }
            _ => {}
        }
        matches!(outcome, Try::Done | Try::Coalesce)
    }
}
