//! Delayed look-ups of the data cache (4.x).

use super::{Ldst, allocation, mem_of};
use crate::flight::MemId;
use crate::prepared_kernel::prepared_kernel;
use crate::scheduler::tell_changing;
use crate::sm::Sm;
use warploom_base::Cycle;
use warploom_mem::cache::{Access, AccessOutcome};
use warploom_mem::{AccessKind, Request};

impl Sm {
    /// 4.x: looks up tags at the end of the data cache's latency, once in each bank.
    pub(super) fn look_up_delayed(&mut self, now: Cycle) {
        for number in 0..self.ldst.banks.len() {
            let front = self.ldst.banks[number].delayed.front();
            if front.is_some_and(|(at, _)| *at <= now) {
                self.look_up(now, number);
            }
        }
    }

    /// Looks up the oldest access of a bank, which is due.
    fn look_up(&mut self, now: Cycle, number: usize) {
        let Ldst {
            banks,
            l1d,
            plain_l1d,
            ..
        } = &mut self.ldst;
        let (Some((_, request)), Some(l1d)) = (banks[number].delayed.front(), l1d) else {
            return;
        };
        if let Some((kind, reason, refusal)) = banks[number].blocked
            && l1d.still_refuses(refusal)
        {
            return l1d.count_failed(kind, reason, 1);
        }
        let access = if *plain_l1d {
            Some(l1d.access(now, request))
        } else {
            self.access_by_policy(now, number)
        };
        if let Some(access) = access {
            self.accessed_bank(number, access);
        }
    }

    /// Accesses the data cache for the oldest access of a bank where policies take part. Out of
    /// line, because the compiler would compute before the loop over banks what this needs.
    #[inline(never)]
    fn access_by_policy(&mut self, now: Cycle, number: usize) -> Option<Access> {
        let ldst = &mut self.ldst;
        let (_, request) = ldst.banks[number].delayed.front()?;
        if ldst.warps_allocate {
            tell_changing(&mut self.schedulers, &self.warps.table);
        }
        let parts = allocation::Parts {
            l1d: ldst.l1d.as_mut()?,
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
        Some(allocation::access(parts, now, request))
    }

    /// Notes the result of the oldest access of a bank, which leaves the bank unless the data cache
    /// has refused it.
    #[inline(always)]
    fn accessed_bank(&mut self, number: usize, access: Access) {
        let ldst = &mut self.ldst;
        let bank = &mut ldst.banks[number];
        let (Some((_, request)), Some(l1d)) = (bank.delayed.front(), &mut ldst.l1d) else {
            return;
        };
        let &Request { kind, token, .. } = request;
        if let AccessOutcome::ReservationFail(reason) = access.outcome {
            bank.blocked = Some((kind, reason, l1d.last_refusal()));
            return;
        }
        let sent = u32::from(access.sent.has_write());
        let replies = sent * request.replies(ldst.sectored_l2);
        bank.blocked = None;
        bank.delayed.drop_oldest();
        if let Some((_, next)) = bank.delayed.front() {
            l1d.expect(next.addr);
        }
        self.looked_up(kind, token, access.outcome, replies);
        if !self.ldst.plain_l1d {
            self.tell_of_l1d();
        }
    }

    /// Notes that the data cache has taken a delayed access. A write that it has sent down has
    /// `replies` replies.
    fn looked_up(&mut self, kind: AccessKind, token: u32, outcome: AccessOutcome, replies: u32) {
        if kind.is_write() {
            let place = self.store_done(token);
            self.warps.track[place].stores += replies;
        } else if outcome == AccessOutcome::Hit {
            self.reply_done(mem_of(token));
        } else if self.context.is_some() {
            self.note_miss(mem_of(token));
        }
    }

    /// Notes that a load from global memory did not find its data in the data cache.
    #[cold]
    pub(super) fn note_miss(&mut self, id: MemId) {
        let inst = self.ldst.insts[id.0];
        if inst.is_global_load() {
            let prepared = prepared_kernel(&self.kernels, inst.kernel);
            let place = self.place(inst.warp.0);
            self.warps.note_miss(place, prepared.at(inst.pc), prepared);
        }
    }
}
