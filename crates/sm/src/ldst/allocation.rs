//! Accesses of the data cache under an allocation policy that may send reads past it.

use super::{MemInst, mem_of};
use crate::detail::SmDetail;
use crate::flight::Pool;
use warploom_base::Cycle;
use warploom_mem::Request;
use warploom_mem::cache::{Access, AllocationPolicy, Cache, MissView, Sent};

/// Parts of the load/store unit that such an access changes.
pub(super) struct Parts<'a, const N: usize> {
    pub(super) l1d: &'a mut Cache,
    pub(super) policy: &'a mut AllocationPolicy,
    pub(super) insts: &'a mut Pool<MemInst, N>,
    pub(super) detail: &'a mut SmDetail,
    /// True if L2 answers by sectors.
    pub(super) sectored_l2: bool,
}

/// Accesses the data cache. The policy decides about a read whose line is neither present nor on
/// its way. A read that goes past the cache gets as many replies as L2 sends, like one that
/// bypasses L1.
#[cold]
pub(super) fn access<const N: usize>(parts: Parts<'_, N>, now: Cycle, request: &Request) -> Access {
    let Parts {
        l1d,
        policy,
        insts,
        detail,
        sectored_l2,
    } = parts;
    if request.kind.is_write() {
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
        inst.pending += request.replies(sectored_l2) - 1;
        detail.l1d_bypasses += 1;
    }
    access
}
