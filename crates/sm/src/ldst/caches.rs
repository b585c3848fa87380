//! Steps of the load/store unit's caches: answers, misses and fills.

use crate::link::Link;
use warploom_base::Cycle;
use warploom_mem::cache::{Cache, TextureCache};
use warploom_mem::{AccessKind, Reply, Request};

/// Returns the next request that can be answered, except for those that the cache made for itself.
pub(super) fn next_of_program(cache: Option<&mut Cache>) -> Option<Request> {
    let cache = cache?;
    std::iter::from_fn(|| cache.next_ready()).find(|r| r.kind != AccessKind::L1WriteAllocate)
}

/// Returns the first client of a set, one bit each, in turn from client `turn` on.
#[inline]
pub(super) fn first_in_turn(clients: u32, turn: u32) -> u32 {
    let later = clients & !0 << turn;
    let first = if later != 0 { later } else { clients };
    first.trailing_zeros()
}

/// Sends a cache's next miss, if there is room in the network. Returns whether one was sent.
#[inline]
pub(crate) fn send_miss(cache: &mut Cache, link: &mut Link, now: Cycle) -> bool {
    let sends = cache.miss_queue_front().is_some_and(|r| link.can_send(r));
    if sends {
        send_first_miss(cache, link, now);
    }
    sends
}

/// Sends the first miss of a cache.
#[inline(never)]
fn send_first_miss(cache: &mut Cache, link: &mut Link, now: Cycle) {
    if let Some(request) = cache.pop_miss() {
        link.send(now, request);
    }
}

/// A cycle of a texture cache that is not idle.
#[cold]
pub(super) fn texture_cycle(cache: &mut TextureCache, link: &mut Link, now: Cycle) {
    if cache.miss_queue_front().is_some_and(|r| link.can_send(r))
        && let Some(request) = cache.pop_miss()
    {
        link.send(now, request);
    }
    cache.cycle();
}

/// Fills the line of a reply if the fill port is free. Returns whether it was.
pub(super) fn fill(cache: &mut Cache, now: Cycle, reply: &Reply) -> bool {
    let free = cache.fill_port_free(now);
    if free {
        cache.fill(now, reply.entry, reply.bytes);
    }
    free
}
