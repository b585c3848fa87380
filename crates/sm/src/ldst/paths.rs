//! Paths of a memory instruction in the dispatch register: one attempt a cycle, which sends as many
//! transactions as the path takes (docs/model/load-store.md, Paths).

use super::allocation::{Parts, access};
use super::blocked::{Blocked, Cause, Try};
use super::{Ldst, MemInst};
use crate::flight::MemId;
use crate::prepared_kernel::{physical_base, prepared_kernel};
use crate::scheduler::tell_changing;
use crate::sm::Sm;
use warploom_base::Cycle;
use warploom_mem::Request;
use warploom_mem::cache::{Access, AccessOutcome, Cache, Refusal};

impl Sm {
    pub(super) fn try_shared(&mut self, id: MemId) -> Try {
        let inst = &mut self.ldst.insts[id.0];
        inst.shared_cycles = inst.shared_cycles.saturating_sub(1);
        if inst.shared_cycles > 0 {
            Try::BankConflict
        } else {
            Try::Done
        }
    }

    pub(super) fn try_constant(&mut self, now: Cycle, id: MemId) -> Try {
        if self.ldst.perfect_constant {
            let list = self.ldst.insts[id.0].list;
            self.ldst.lists[list].clear();
            self.ldst.insts[id.0].pending = 0;
            return Try::Done;
        }
        self.try_cache(now, id, |ldst| Some(&mut ldst.l1c))
    }

    /// Tries the data cache. Part of its caller, because an instruction that is refused tries again
    /// in each cycle in which the cause may have ended.
    #[inline(always)]
    pub(super) fn try_data(&mut self, now: Cycle, id: MemId) -> Try {
        if self.ldst.plain_l1d {
            self.try_cache(now, id, |ldst| ldst.l1d.as_mut())
        } else {
            let outcome = self.try_data_by_policy(now, id);
            self.tell_of_l1d();
            outcome
        }
    }

    /// `try_data` where policies take part in accesses.
    #[inline(never)]
    fn try_data_by_policy(&mut self, now: Cycle, id: MemId) -> Try {
        let Some((mut request, left)) = self.next_transaction(now, id) else {
            return Try::Done;
        };
        if request.kind.is_write() {
            request.token = u32::from(self.ldst.insts[id.0].warp.0);
        }
        let ldst = &mut self.ldst;
        let Some(l1d) = &mut ldst.l1d else {
            return Try::Done;
        };
        if !l1d.data_port_free(now) {
            return Try::DataPort;
        }
        if ldst.warps_allocate {
            tell_changing(&mut self.schedulers, &self.warps.table);
        }
        let parts = Parts {
            l1d,
            policy: &mut ldst.allocation,
            schedulers: &self.schedulers,
            warps: &self.warps,
            warps_allocate: ldst.warps_allocate,
            names_accessors: ldst.names_accessors,
            watch: ldst.watch.as_deref_mut(),
            insts: &mut ldst.insts,
            victims: ldst.victims.as_deref_mut(),
            sm: &mut self.counters,
            detail: &mut self.detail,
            sectored_l2: ldst.sectored_l2,
        };
        let access = access(parts, now, &request);
        let refusal = ldst
            .l1d
            .as_ref()
            .map_or(Refusal::default(), Cache::last_refusal);
        self.accessed(id, &request, (access, refusal), left)
    }

    /// Makes one access of a cache whose look-up takes no time (3.x).
    fn try_cache(
        &mut self,
        now: Cycle,
        id: MemId,
        cache: impl Fn(&mut Ldst) -> Option<&mut Cache>,
    ) -> Try {
        let Some((mut request, left)) = self.next_transaction(now, id) else {
            return Try::Done;
        };
        if request.kind.is_write() {
            request.token = u32::from(self.ldst.insts[id.0].warp.0);
        }
        let Some(cache) = cache(&mut self.ldst) else {
            return Try::Done;
        };
        if !cache.data_port_free(now) {
            return Try::DataPort;
        }
        let access = cache.access(now, &request);
        let refusal = cache.last_refusal();
        self.accessed(id, &request, (access, refusal), left)
    }

    /// Counts the replies to come after an access of a cache whose lookup takes no time. `refusal`
    /// identifies the access that the cache has refused last.
    #[inline(always)]
    fn accessed(
        &mut self,
        id: MemId,
        request: &Request,
        (access, refusal): (Access, Refusal),
        left: usize,
    ) -> Try {
        if let AccessOutcome::ReservationFail(reason) = access.outcome {
            return self.block(id, Cause::Refused(reason, refusal));
        }
        if access.outcome != AccessOutcome::Hit || request.kind.is_write() {
            self.line_may_come(request.addr);
        }
        if access.sent.has_write() {
            let warp = self.place(self.ldst.insts[id.0].warp.0);
            self.warps.track[warp].stores += self.ldst.replies_to(request);
        }
        if access.outcome == AccessOutcome::Hit && self.ldst.insts[id.0].replies {
            self.ldst.insts[id.0].pending -= 1;
        }
        self.sent(id, left)
    }

    pub(super) fn try_texture(&mut self, now: Cycle, id: MemId) -> Try {
        let Some((request, left)) = self.next_transaction(now, id) else {
            return Try::Done;
        };
        let access = self.ldst.l1t.access(now, &request);
        if matches!(access.outcome, AccessOutcome::ReservationFail(_)) {
            return Try::Reservation;
        }
        self.sent(id, left)
    }

    /// 4.x: accesses enter the banks of the data cache, one a cycle in each bank.
    pub(super) fn try_banks(&mut self, now: Cycle, id: MemId) -> Try {
        let mut outcome = self.enter_bank(now, id, true);
        for _ in 1..self.ldst.banks.len() {
            if outcome != Try::Coalesce {
                break;
            }
            outcome = self.enter_bank(now, id, false);
        }
        outcome
    }

    /// The next access enters its bank. `first` is true if no other has entered one in this cycle.
    /// Out of line, because the compiler would compute before the loop what one access needs.
    #[inline(never)]
    fn enter_bank(&mut self, now: Cycle, id: MemId, first: bool) -> Try {
        let ldst = &mut self.ldst;
        let MemInst {
            warp, kernel, list, ..
        } = ldst.insts[id.0];
        let list = &ldst.lists[list];
        let Some(next) = list.last() else {
            return Try::Done;
        };
        let asid = prepared_kernel(&self.kernels, kernel).asid;
        let number = ldst.bank_of.bank(physical_base(asid) + next.addr);
        let full = ldst.banks[number].delayed.is_full();
        if full && first {
            return self.block(id, Cause::FullBank(number));
        }
        let line = next.addr & ldst.l1_entry_mask;
        let other_line = !first && line != ldst.line;
        if full || other_line || ldst.banks[number].entered == now {
            return Try::BankConflict;
        }
        ldst.line = line;
        let left = list.len() - 1;
        let mut request = ldst.request(now, id, left + 1, next, asid);
        let is_write = request.kind.is_write();
        if is_write {
            request.token = u32::from(warp.0);
        }
        let at = now + Cycle::from(ldst.l1_latency);
        let bank = &mut ldst.banks[number];
        bank.entered = now;
        bank.delayed.push((at, request));
        if is_write {
            let place = self.place(warp.0);
            self.warps.track[place].stores += 1;
        }
        self.sent(id, left)
    }

    pub(super) fn try_bypass(&mut self, now: Cycle, id: MemId) -> Try {
        let Some((mut request, left)) = self.next_transaction(now, id) else {
            return Try::Done;
        };
        if !self.link.can_send(&request) {
            return self.block(id, Cause::NoRoom(request));
        }
        let inst = self.ldst.insts[id.0];
        let replies = self.ldst.replies_to(&request);
        if inst.replies {
            self.ldst.insts[id.0].pending += replies - 1;
        } else {
            request.token = u32::from(inst.warp.0);
            let warp = self.place(inst.warp.0);
            self.warps.track[warp].stores += replies;
        }
        self.link.send(now, request);
        self.sent(id, left)
    }

    /// Notes that attempts of the instruction fail for this cause until a reply or a credit comes.
    pub(super) fn block(&mut self, id: MemId, cause: Cause) -> Try {
        let MemInst { path, kind, .. } = self.ldst.insts[id.0];
        let blocked = Blocked::new(path, kind, cause);
        self.ldst.blocked = Some(blocked);
        blocked.outcome()
    }

    /// The next transaction to send, as a request, and the number of those that follow it.
    #[inline(always)]
    pub(super) fn next_transaction(&self, now: Cycle, id: MemId) -> Option<(Request, usize)> {
        let inst = &self.ldst.insts[id.0];
        let list = &self.ldst.lists[inst.list];
        let last = list.last()?;
        let asid = prepared_kernel(&self.kernels, inst.kernel).asid;
        let number = list.len();
        Some((self.ldst.request(now, id, number, last, asid), number - 1))
    }

    /// Address of the next transaction of an instruction.
    pub(super) fn next_address(&self, id: MemId) -> Option<u64> {
        let inst = &self.ldst.insts[id.0];
        let last = self.ldst.lists[inst.list].last()?;
        let asid = prepared_kernel(&self.kernels, inst.kernel).asid;
        Some(physical_base(asid) + last.addr)
    }

    /// Drops the transaction that was sent, after which `left` are left.
    fn sent(&mut self, id: MemId, left: usize) -> Try {
        let list = self.ldst.insts[id.0].list;
        self.ldst.lists[list].pop();
        if left == 0 { Try::Done } else { Try::Coalesce }
    }
}
