//! Arena of requests that stay in one place while queues hold their numbers. Each request has a
//! cache line of the host to itself, because it has left the nearest caches when it is needed
//! again. The line also holds the number of the next request of a list.
//!
//! Invariant: a free slot is in the list of free slots, any other slot in its owner's list.

use crate::Request;
use warploom_base::fetch_ahead;
use warploom_state::{State, Value};

/// Number that stands for no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A request and its link.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
struct Slot {
    request: Request,
    /// Next slot of the list that this one is in, if there is one.
    next: u32,
}

const _: () = assert!(size_of::<Slot>() == 64, "a cache line of the host");

/// Arena of requests with free slots.
#[derive(Clone, Debug, State)]
pub(crate) struct RequestArena {
    slots: Vec<Slot>,
    /// First of the free slots.
    free: u32,
}

impl RequestArena {
    /// An empty arena. It grows as far as it is used.
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
        }
    }

    /// Stores a request, and returns the number of its slot.
    #[inline(always)]
    pub(crate) fn keep(&mut self, request: &Request) -> u32 {
        let at = self.free;
        if at == NONE {
            return self.grow(request);
        }
        let slot = &mut self.slots[at as usize];
        self.free = slot.next;
        slot.request = *request;
        // Prefetched for the next call.
        if let Some(free) = self.slots.get(self.free as usize) {
            fetch_ahead(free);
        }
        at
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, request: &Request) -> u32 {
        self.slots.push(Slot {
            request: *request,
            next: NONE,
        });
        self.slots.len() as u32 - 1
    }

    /// The request in a slot.
    #[cfg(test)]
    fn get(&self, at: u32) -> &Request {
        &self.slots[at as usize].request
    }

    /// Prefetches a slot into the host's nearest cache.
    #[inline]
    pub(crate) fn fetch_ahead(&self, at: u32) {
        fetch_ahead(&self.slots[at as usize]);
    }

    /// Makes `next` the successor of slot `at` in its owner's list.
    #[inline]
    pub(crate) fn link(&mut self, at: u32, next: u32) {
        self.slots[at as usize].next = next;
    }

    /// Successor of a slot in its owner's list.
    #[inline]
    pub(crate) fn next(&self, at: u32) -> u32 {
        self.slots[at as usize].next
    }

    /// Frees the successor of `last` in a ring. Returns its request, which stays until the next
    /// one is stored.
    #[inline]
    pub(crate) fn take_after(&mut self, last: u32) -> &Request {
        let at = self.next(last);
        let after = self.next(at);
        self.link(last, after);
        self.release(at).0
    }

    /// Frees a slot. Returns its request, which stays until the next one is stored, and the slot's
    /// successor in its owner's list.
    #[inline]
    pub(crate) fn release(&mut self, at: u32) -> (&Request, u32) {
        let slot = &mut self.slots[at as usize];
        let next = std::mem::replace(&mut slot.next, self.free);
        self.free = at;
        (&slot.request, next)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestArena;
    use crate::testing::read;

    /// Two lists share one arena, and freed slots are used again.
    #[test]
    fn slots_are_in_one_list_each_and_are_used_again() {
        let mut arena = RequestArena::new();
        let [a, b, c] = [0, 32, 64].map(|addr| arena.keep(&read(addr, 32)));
        arena.link(a, c);
        let (request, next) = arena.release(a);
        assert_eq!((request.addr, next), (0, c));
        assert_eq!(arena.release(b).0.addr, 32);
        let [d, e, f] = [96, 128, 160].map(|addr| arena.keep(&read(addr, 32)));
        assert_eq!(
            (d, e, f),
            (b, a, c + 1),
            "the slot freed last is used first"
        );
        assert_eq!(
            [c, d, e, f].map(|at| arena.get(at).addr),
            [64, 96, 128, 160]
        );
    }
}
