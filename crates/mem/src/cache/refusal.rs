//! Refused accesses: an access that was refused is refused again, without another look at tags and
//! MSHRs, until something has changed that its answer depends on.

use super::{Cache, FailReason};
use crate::{AccessKind, Request};
use core::hint::cold_path;
use warploom_base::Cycle;
use warploom_state::Value;

/// Set of an access whose tags were not looked at.
pub(super) const NO_SET: u32 = u32::MAX;

/// The access that was refused last: every field that the answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(super) struct Refused {
    addr: u64,
    byte_mask: u128,
    /// [`NO_SET`] if the tags were not looked at.
    pub(super) set: u32,
    kind: AccessKind,
    sectors: u8,
    pub(super) reason: FailReason,
}

/// Identifies a refused access.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub struct Refusal(u32);

impl Refused {
    /// The value before any access was refused.
    pub(super) const NOTHING: Self = Self {
        addr: 0,
        byte_mask: 0,
        set: NO_SET,
        kind: AccessKind::GlobalRead,
        sectors: 0,
        reason: FailReason::LineAllocFail,
    };

    #[inline]
    fn is(&self, request: &Request) -> bool {
        self.addr == request.addr
            && self.kind == request.kind
            && self.sectors == request.sectors
            && self.byte_mask == request.byte_mask
    }
}

impl Cache {
    /// Reason why a request is refused, if it was refused when offered last and nothing has changed
    /// since; the attempt is counted. `None`: the request is to be offered.
    #[inline]
    pub fn refuses_again(&mut self, request: &Request) -> Option<FailReason> {
        if !self.refuses || !self.refused.is(request) {
            return None;
        }
        let reason = self.refused.reason;
        self.count_failed(request.kind, reason, 1);
        Some(reason)
    }

    /// Identifier of the access that was refused last.
    #[inline]
    pub fn last_refusal(&self) -> Refusal {
        Refusal(self.refusals)
    }

    /// True if `refusal` still is the last refused access, and would be refused again.
    #[inline]
    pub fn still_refuses(&self, refusal: Refusal) -> bool {
        self.refusals == refusal.0 && self.refuses
    }

    /// True if the last refused access, which is of this kind, would be refused in cycle `now`
    /// again and for the same reason.
    #[inline]
    pub fn refuses_now(&self, now: Cycle, refusal: Refusal, kind: AccessKind) -> bool {
        // A miss queue that is full is the first reason.
        let is_first = || self.refused.reason == FailReason::MissQueueFull;
        self.still_refuses(refusal)
            && self.data_port_free(now)
            && (!self.misses.is_full() || !self.rules.sends(kind) || is_first())
    }

    /// Notes a change after which the refused access may pass if `may_pass` says so.
    #[inline]
    pub(super) fn reconsider(&mut self, may_pass: impl Fn(&Refused) -> bool) {
        if self.refuses {
            cold_path();
            self.refuses = !may_pass(&self.refused);
        }
    }

    /// Notes that a request was refused.
    pub(super) fn note_refusal(&mut self, set: u32, request: &Request, reason: FailReason) {
        self.refusals = self.refusals.wrapping_add(1);
        self.refuses = true;
        self.refused = Refused {
            addr: request.addr,
            byte_mask: request.byte_mask,
            set,
            kind: request.kind,
            sectors: request.sectors,
            reason,
        };
    }
}
