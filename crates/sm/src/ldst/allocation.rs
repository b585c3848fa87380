//! Accesses of the data cache in which policies take part: one that may send reads past it, or
//! warp schedulers' policies that decide the same or are told of its events.

use super::watch::L1dWatch;
use super::{MEM_RECORDS, MemInst, mem_of};
use crate::detail::SmDetail;
use crate::flight::Pool;
use crate::sm::Scheduler;
use warploom_base::{Cycle, WarpSlot};
use warploom_mem::cache::{Access, AllocationPolicy, Cache, MissView, Sent};
use warploom_mem::{AccessKind, Request};
use warploom_policy::WarpScheduler;

/// Parts of the SM that such an access reads or changes.
pub(super) struct Parts<'a> {
    pub(super) l1d: &'a mut Cache,
    pub(super) policy: &'a mut AllocationPolicy,
    /// Schedulers of the SM, if their policies decide which reads take lines.
    pub(super) schedulers: Option<&'a [Scheduler]>,
    pub(super) watch: Option<&'a mut L1dWatch>,
    pub(super) insts: &'a mut Pool<MemInst, MEM_RECORDS>,
    pub(super) detail: &'a mut SmDetail,
    /// True if L2 answers by sectors.
    pub(super) sectored_l2: bool,
}

/// Accesses the data cache, and notes the events.
#[cold]
pub(super) fn access(mut parts: Parts<'_>, now: Cycle, request: &Request) -> Access {
    let access = access_by_policy(&mut parts, now, request);
    if let Some(watch) = parts.watch {
        watch.accessed(parts.l1d, parts.insts, request, access);
    }
    access
}

/// Accesses the data cache. Policies decide about a read whose line is neither present nor on its
/// way. A read that goes past the cache gets as many replies as L2 sends, like one that bypasses
/// L1.
fn access_by_policy(parts: &mut Parts<'_>, now: Cycle, request: &Request) -> Access {
    let Parts {
        l1d,
        policy,
        schedulers,
        insts,
        detail,
        sectored_l2,
        ..
    } = parts;
    let always = policy.always_allocates() && schedulers.is_none();
    if request.kind.is_write() || always {
        return l1d.access(now, request);
    }
    let inst = &mut insts[mem_of(request.token).0];
    let miss = MissView {
        request,
        warp: inst.warp,
        pc: inst.pc,
    };
    let by_warp = |schedulers| warp_allocates(schedulers, request.kind, miss.warp);
    let access = l1d.access_or_bypass(now, request, || {
        !policy.allocates(&miss) || !schedulers.is_none_or(by_warp)
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
