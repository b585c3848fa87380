//! Accesses of the data cache in which policies take part: one that may send reads past it, one
//! that replaces lines by who uses them, one that has idle registers keep replaced lines, or warp
//! schedulers' policies that decide about reads or are told of the cache's events.

use super::victims::{Counts, Victims};
use super::watch::{L1dWatch, inst_of, warp_of};
use super::{MEM_RECORDS, MemInst, mem_of};
use crate::counters::SmCounters;
use crate::detail::SmDetail;
use crate::flight::Pool;
use crate::scheduler::Scheduler;
use crate::warps::Warps;
use warploom_base::{Cycle, Pc, WarpSlot};
use warploom_mem::cache::{
    Access, AccessOutcome, Accessor, AllocationPolicy, Cache, MissView, Sent,
};
use warploom_mem::{AccessKind, Reply, Request};
use warploom_policy::{WarpScheduler, warps_of};

/// Parts of the SM that such an access reads or changes.
pub(super) struct Parts<'a> {
    pub(super) l1d: &'a mut Cache,
    pub(super) policy: &'a mut AllocationPolicy,
    pub(super) schedulers: &'a [Scheduler],
    pub(super) warps: &'a Warps,
    /// True if the schedulers' policies decide which reads take lines.
    pub(super) warps_allocate: bool,
    /// True if the cache's replacement policy is told who makes each access.
    pub(super) names_accessors: bool,
    pub(super) watch: Option<&'a mut L1dWatch>,
    pub(super) victims: Option<&'a mut Victims>,
    pub(super) sm: &'a mut SmCounters,
    pub(super) insts: &'a mut Pool<MemInst, MEM_RECORDS>,
    pub(super) detail: &'a mut SmDetail,
    /// True if L2 answers by sectors.
    pub(super) sectored_l2: bool,
}

/// Accesses the data cache, and notes the events.
#[inline(never)]
pub(super) fn access(mut parts: Parts<'_>, now: Cycle, request: &Request) -> Access {
    if parts.names_accessors {
        name_accessor(
            parts.l1d,
            parts.insts,
            parts.schedulers,
            parts.warps,
            request,
        );
    }
    let kept = read_kept_line(&mut parts, now, request);
    let access = kept.unwrap_or_else(|| access_by_policy(&mut parts, now, request));
    if !matches!(access.outcome, AccessOutcome::ReservationFail(_)) {
        note_access(parts, now, request, (access, kept.is_some()));
    }
    access
}

/// Reads a line that idle registers keep, if they have what the data cache lacks.
fn read_kept_line(parts: &mut Parts<'_>, now: Cycle, request: &Request) -> Option<Access> {
    let victims = parts.victims.as_deref_mut()?;
    let mut counts = Counts {
        sm: parts.sm,
        detail: parts.detail,
    };
    victims.read(now, parts.l1d, request, &mut counts)
}

/// Notes an access that was taken: by the data cache or, if `found`, by a kept line.
fn note_access(parts: Parts<'_>, now: Cycle, request: &Request, (access, found): (Access, bool)) {
    let Parts { l1d, insts, .. } = parts;
    if parts.watch.is_none() && parts.victims.is_none() {
        return;
    }
    let placed = l1d.take_placed();
    if let Some(victims) = parts.victims {
        let mut counts = Counts {
            sm: parts.sm,
            detail: parts.detail,
        };
        let known = (&*l1d, &*insts);
        victims.accessed(now, known, request, (access, found), placed, &mut counts);
    }
    if let Some(watch) = parts.watch {
        watch.accessed(l1d, insts, request, access, placed);
    }
}

/// Parts of the SM that a fill of the data cache reads or changes.
pub(super) struct Filled<'a> {
    pub(super) l1d: &'a mut Cache,
    pub(super) insts: &'a Pool<MemInst, MEM_RECORDS>,
    pub(super) watch: Option<&'a mut L1dWatch>,
    pub(super) victims: Option<&'a mut Victims>,
    pub(super) sm: &'a mut SmCounters,
    pub(super) detail: &'a mut SmDetail,
}

/// Notes a reply that the data cache has taken. Without allocation on a miss, the line comes in
/// now.
#[inline(never)]
pub(super) fn note_fill(parts: Filled<'_>, now: Cycle, reply: &Reply) {
    let Filled { l1d, insts, .. } = parts;
    if parts.watch.is_none() && parts.victims.is_none() {
        return;
    }
    let placed = l1d.take_placed();
    let first = l1d.first_waiting(reply.entry);
    if let Some(victims) = parts.victims {
        let mut counts = Counts {
            sm: parts.sm,
            detail: parts.detail,
        };
        victims.filled(now, (&*l1d, insts), first, placed, &mut counts);
    }
    if let Some(watch) = parts.watch {
        watch.filled(insts, first, placed);
    }
}

/// Tells the data cache's replacement policy who makes a request.
#[cold]
pub(super) fn name_accessor(
    l1d: &mut Cache,
    insts: &Pool<MemInst, MEM_RECORDS>,
    schedulers: &[Scheduler],
    warps: &Warps,
    request: &Request,
) {
    let warp = warp_of(insts, request);
    let policy = |slot: WarpSlot| &schedulers[slot.index() % schedulers.len()].policy;
    let block = warps_of(warps.running() & warps.table.of_block(warp));
    let mut block = block.map(|slot| policy(slot).criticality(slot));
    let own = policy(warp).criticality(warp);
    l1d.note_accessor(&Accessor {
        line_address: l1d.line_address(request.addr),
        pc: inst_of(insts, request).map_or(Pc(0), |inst| inst.pc),
        critical: policy(warp).is_critical(own, &mut block),
    });
}

/// Accesses the data cache. Policies decide about a read whose line is neither present nor on its
/// way. A read that goes past the cache gets as many replies as L2 sends, like one that bypasses
/// L1.
fn access_by_policy(parts: &mut Parts<'_>, now: Cycle, request: &Request) -> Access {
    let Parts {
        l1d,
        policy,
        schedulers,
        warps_allocate,
        insts,
        detail,
        sectored_l2,
        ..
    } = parts;
    let always = policy.always_allocates() && !*warps_allocate;
    if request.kind.is_write() || always {
        return l1d.access(now, request);
    }
    let inst = &mut insts[mem_of(request.token).0];
    let miss = MissView {
        request,
        warp: inst.warp,
        pc: inst.pc,
    };
    let access = l1d.access_or_bypass(now, request, || {
        let by_warp = !*warps_allocate || warp_allocates(schedulers, request.kind, miss.warp);
        !policy.allocates(&miss) || !by_warp
    });
    if access.sent == Sent::Bypass {
        inst.pending += request.replies(*sectored_l2) - 1;
        detail.l1d_bypasses += 1;
    }
    access
}

/// True if the policy of a warp's scheduler lets a read of the warp take a line. Policies decide
/// about reads from global memory alone.
fn warp_allocates(schedulers: &[Scheduler], kind: AccessKind, warp: WarpSlot) -> bool {
    let scheduler = &schedulers[warp.index() % schedulers.len()];
    kind != AccessKind::GlobalRead || scheduler.policy.allocates(warp)
}
