//! Requests that stay where they are from the day they come until they go, each in a host's cache
//! line of its own: by then the line has left the nearest caches. What is known of a place beside
//! its request, the next in some list, lies in that line, too.
//!
//! Invariant: a place that is free is in the list of those that are, any other in its owner's.

use crate::Request;
use warploom_base::fetch_ahead;

/// No place.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Place {
    request: Request,
    /// The next in its list, where there is one.
    next: u32,
}

const _: () = assert!(size_of::<Place>() == 64, "a host's cache line");

/// The places.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    all: Vec<Place>,
    /// The first that is free.
    free: u32,
}

impl Places {
    /// Room for so many at first.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            all: Vec::with_capacity(expected),
            free: NONE,
        }
    }

    /// Puts a request in a place, and returns which.
    #[inline(always)]
    pub(crate) fn keep(&mut self, request: &Request) -> u32 {
        let at = self.free;
        if at == NONE {
            return self.grow(request);
        }
        let place = &mut self.all[at as usize];
        self.free = place.next;
        place.request = *request;
        // For the next one.
        if let Some(free) = self.all.get(self.free as usize) {
            fetch_ahead(free);
        }
        at
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, request: &Request) -> u32 {
        self.all.push(Place {
            request: *request,
            next: NONE,
        });
        self.all.len() as u32 - 1
    }

    /// The request in a place.
    #[cfg(test)]
    fn get(&self, at: u32) -> &Request {
        &self.all[at as usize].request
    }

    /// The request in a place will be looked at soon.
    #[inline]
    pub(crate) fn fetch_ahead(&self, at: u32) {
        fetch_ahead(&self.all[at as usize]);
    }

    /// Makes `next` the one behind a place in its owner's list.
    #[inline]
    pub(crate) fn link(&mut self, at: u32, next: u32) {
        self.all[at as usize].next = next;
    }

    /// The place behind another in its owner's list.
    #[inline]
    pub(crate) fn next(&self, at: u32) -> u32 {
        self.all[at as usize].next
    }

    /// Frees the place behind `last` in a ring. Returns what it holds until the next request is
    /// kept.
    #[inline]
    pub(crate) fn take_behind(&mut self, last: u32) -> &Request {
        let at = self.next(last);
        let behind = self.next(at);
        self.link(last, behind);
        self.release(at).0
    }

    /// Frees a place. Returns what it holds until the next request is kept, and the one behind it
    /// in its owner's list.
    #[inline]
    pub(crate) fn release(&mut self, at: u32) -> (&Request, u32) {
        let place = &mut self.all[at as usize];
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = at;
        (&place.request, next)
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use crate::testing::read;

    /// Two lists through one set of places, of which those that are free are used again.
    #[test]
    fn places_are_in_one_list_each_and_are_used_again() {
        let mut places = Places::new(1);
        let [a, b, c] = [0, 32, 64].map(|addr| places.keep(&read(addr, 32)));
        places.link(a, c);
        let (request, next) = places.release(a);
        assert_eq!((request.addr, next), (0, c));
        assert_eq!(places.release(b).0.addr, 32);
        let [d, e, f] = [96, 128, 160].map(|addr| places.keep(&read(addr, 32)));
        assert_eq!(
            (d, e, f),
            (b, a, c + 1),
            "the last that was freed comes first"
        );
        assert_eq!(
            [c, d, e, f].map(|at| places.get(at).addr),
            [64, 96, 128, 160]
        );
    }
}
