//! Requests inside a channel. Each stays in its place from the day it comes until it goes; the
//! channel's queues hold tickets. By the time that a request goes, its place has left the host's
//! nearest caches, so that a ticket says all that the channel needs to know on the way.

use crate::places::Places;
use crate::{AccessKind, Request};
use warploom_base::Cycle;

/// Stands for a request inside a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticket {
    /// Place of the request among those inside.
    pub(super) place: u32,
    /// The request's own.
    pub(super) bytes: u16,
    pub(super) kind: AccessKind,
    /// The L2 bank that it came from, by its place among those of the channel. The address does
    /// not tell: GPGPU-Sim 4.2 misplaces some writes (`partition.exact_sectors`).
    pub(super) side: u8,
}

impl Ticket {
    /// The request ends in the channel: write-backs do, anything else is returned.
    #[inline]
    pub(super) const fn ends(self) -> bool {
        matches!(self.kind, AccessKind::L1WriteBack | AccessKind::L2WriteBack)
    }
}

/// A request's place in DRAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    pub(super) bank: u32,
    pub(super) row: u32,
    /// Core cycle in which it left the fixed delay.
    pub(super) arrived_at: Cycle,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    places: Places,
    len: usize,
}

impl Requests {
    pub(super) fn new(expected: usize) -> Self {
        Self {
            places: Places::new(expected),
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

    /// Takes a request in.
    pub(super) fn add(&mut self, request: &Request, side: u8) -> Ticket {
        self.len += 1;
        Ticket {
            place: self.places.keep(request),
            bytes: request.bytes,
            kind: request.kind,
            side,
        }
    }

    /// A request will go soon.
    #[inline]
    pub(super) fn fetch_ahead(&self, ticket: Ticket) {
        self.places.fetch_ahead(ticket.place);
    }

    /// The request goes: its place is free for the next one.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Ticket) -> &Request {
        self.len -= 1;
        self.places.release(ticket.place).0
    }
}
