//! Requests in flight in a channel. A request stays in one slot of an arena from arrival to
//! departure, and the channel's queues hold tickets. A ticket has the fields that the channel needs
//! on the way, because the slot has left the host's nearest caches by then.

use crate::request_arena::RequestArena;
use crate::{AccessKind, Request};
use warploom_base::Cycle;
use warploom_state::{State, Value};

/// Stands for a request in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(super) struct Ticket {
    /// Slot of the request in the arena.
    pub(super) slot: u32,
    /// Bytes of the request.
    pub(super) bytes: u16,
    /// Kind of the request.
    pub(super) kind: AccessKind,
    /// L2 bank that sent the request, by its number among those of the channel. The address does
    /// not tell: GPGPU-Sim 4.2 misplaces some writes (`partition.exact_sectors`).
    pub(super) l2_bank: u8,
}

impl Ticket {
    /// True for write-backs, which end in the channel; other requests are returned.
    #[inline]
    pub(super) const fn ends(self) -> bool {
        matches!(self.kind, AccessKind::L1WriteBack | AccessKind::L2WriteBack)
    }
}

/// A request with its place in DRAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    /// DRAM bank, after hashing.
    pub(super) bank: u32,
    /// DRAM row within the bank.
    pub(super) row: u32,
    /// Core cycle in which the request left the fixed delay.
    pub(super) arrived_at: Cycle,
}

/// All requests in flight in a channel.
#[derive(Clone, Debug, State)]
pub(super) struct InFlight {
    requests: RequestArena,
    len: usize,
}

impl InFlight {
    /// No request in flight.
    pub(super) fn new() -> Self {
        Self {
            requests: RequestArena::new(),
            len: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Stores a request of an L2 bank of the channel, and returns its ticket.
    pub(super) fn add(&mut self, request: &Request, l2_bank: u8) -> Ticket {
        self.len += 1;
        Ticket {
            slot: self.requests.keep(request),
            bytes: request.bytes,
            kind: request.kind,
            l2_bank,
        }
    }

    /// Prefetches a request that leaves soon.
    #[inline]
    pub(super) fn fetch_ahead(&self, ticket: Ticket) {
        self.requests.fetch_ahead(ticket.slot);
    }

    /// Removes a request. The returned reference stays valid until the next request is stored.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Ticket) -> &Request {
        self.len -= 1;
        self.requests.release(ticket.slot).0
    }
}
