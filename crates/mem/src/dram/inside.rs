//! Requests inside a channel. Each stays in its place from the day it comes until it goes; the
//! channel's queues hold numbers, so that a request is not copied from one to the next.

use crate::Request;
use warploom_base::Cycle;

/// Place of a request among those inside.
pub(super) type Id = u32;

/// A request inside a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    pub(super) request: Request,
    /// The L2 bank that it came from, by its place among those of the channel. The address does
    /// not tell: GPGPU-Sim 4.2 misplaces some writes (`partition.exact_sectors`).
    pub(super) side: u8,
}

/// A request's place in DRAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    pub(super) id: Id,
    pub(super) bank: u32,
    pub(super) row: u32,
    pub(super) is_write: bool,
    /// Core cycle in which it left the fixed delay.
    pub(super) arrived_at: Cycle,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    places: Vec<Inside>,
    free: Vec<Id>,
}

impl Requests {
    pub(super) fn new(expected: usize) -> Self {
        Self {
            places: Vec::with_capacity(expected),
            free: Vec::with_capacity(expected),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    #[inline]
    pub(super) fn get(&self, id: Id) -> &Inside {
        &self.places[id as usize]
    }

    pub(super) fn add(&mut self, inside: Inside) -> Id {
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = inside;
            return id;
        }
        self.places.push(inside);
        self.places.len() as Id - 1
    }

    /// The request at `id` goes: the place is free for the next one.
    #[inline]
    pub(super) fn remove(&mut self, id: Id) -> &Inside {
        self.free.push(id);
        &self.places[id as usize]
    }
}
