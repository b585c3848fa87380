//! Accesses of the data cache in which policies take part: one that may send reads past it, or
//! warp schedulers' policies that are told of its events.

use super::watch::L1dWatch;
use super::{MEM_RECORDS, MemInst, mem_of};
use crate::detail::SmDetail;
use crate::flight::Pool;
use warploom_base::Cycle;
use warploom_mem::Request;
use warploom_mem::cache::{Access, AllocationPolicy, Cache, MissView, Sent};

/// Parts of the load/store unit that such an access changes.
pub(super) struct Parts<'a> {
    pub(super) l1d: &'a mut Cache,
    pub(super) policy: &'a mut AllocationPolicy,
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

/// Accesses the data cache. The policy decides about a read whose line is neither present nor on
/// its way. A read that goes past the cache gets as many replies as L2 sends, like one that
/// bypasses L1.
fn access_by_policy(parts: &mut Parts<'_>, now: Cycle, request: &Request) -> Access {
    let Parts {
        l1d,
        policy,
        insts,
        detail,
        sectored_l2,
        ..
    } = parts;
    if request.kind.is_write() || policy.always_allocates() {
        return l1d.access(now, request);
    }
    let inst = &mut insts[mem_of(request.token).0];
    let miss = MissView {
        request,
        warp: inst.warp,
        pc: inst.pc,
    };
    let access = l1d.access_or_bypass(now, request, || !policy.allocates(&miss));
    if access.sent == Sent::Bypass {
        inst.pending += request.replies(*sectored_l2) - 1;
        detail.l1d_bypasses += 1;
    }
    access
}
