//! Requests inside a channel. Each stays in its place from the day it comes until it goes; the
//! channel's queues hold tickets. By the time that a request goes, its place has left the host's
//! nearest caches, so that a ticket says all that the channel needs to know on the way.

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

/// A place for a request, in a host's cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Place {
    request: Request,
    /// The next that is free, where this one is and there is another.
    next: u32,
}

const _: () = assert!(size_of::<Place>() == 64, "a host's cache line");

/// No place.
const NONE: u32 = u32::MAX;

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    places: Vec<Place>,
    /// The first place that is free.
    free: u32,
    len: u32,
}

impl Requests {
    pub(super) fn new(expected: usize) -> Self {
        Self {
            places: Vec::with_capacity(expected),
            free: NONE,
            len: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Takes a request in.
    pub(super) fn add(&mut self, request: &Request, side: u8) -> Ticket {
        self.len += 1;
        let place = match self.free {
            NONE => self.grow(request),
            free => {
                let place = &mut self.places[free as usize];
                self.free = place.next;
                place.request = *request;
                free
            }
        };
        Ticket {
            place,
            bytes: request.bytes,
            kind: request.kind,
            side,
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, request: &Request) -> u32 {
        self.places.push(Place {
            request: *request,
            next: NONE,
        });
        self.places.len() as u32 - 1
    }

    /// The request goes: its place is free for the next one.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Ticket) -> &Request {
        self.len -= 1;
        let place = &mut self.places[ticket.place as usize];
        place.next = std::mem::replace(&mut self.free, ticket.place);
        &place.request
    }
}
