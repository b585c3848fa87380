//! Latency-tolerant texture cache: tags are updated in order at the access, and data follow through
//! FIFOs (Igehy, Eldridge, Proudfoot, "Prefetching in a texture cache architecture", 1998).

use super::tags::{Probe, Tags};
use super::{Access, AccessOutcome, CacheCounters, FailReason, Replay, ReplayKind, SEGMENT_BYTES};
use super::{Sent, sectors_from};
use crate::Request;
use std::collections::VecDeque;
use warploom_base::{Cycle, FixedQueue};
use warploom_config::CacheSpec;
use warploom_state::{State, Value};

/// An access on its way to the result FIFO.
#[derive(Clone, Copy, Debug, Value)]
struct Fragment {
    request: Request,
    is_miss: bool,
}

/// A miss in the reorder buffer.
#[derive(Clone, Copy, Debug, Value)]
struct Pending {
    line_addr: u64,
    bytes_left: u16,
}

/// A texture cache. `CacheSpec` gives the lengths of its queues: `mshr_entries` of the fragment
/// FIFO, `mshr_merge` of the request FIFO, `miss_queue` of the reorder buffer, `result_fifo` of the
/// result FIFO.
#[derive(Clone, Debug, State)]
pub struct TextureCache {
    line_bytes: u16,
    tags: Tags,
    fragments: FixedQueue<Fragment>,
    requests: FixedQueue<Request>,
    reorder: VecDeque<Pending>,
    reorder_most: usize,
    results: FixedQueue<Request>,
    counters: CacheCounters,
}

impl TextureCache {
    /// An empty cache of `spec`. The memory of its tags is allocated at the first access.
    pub fn new(spec: &CacheSpec) -> Self {
        // A line is allocated as a whole, whatever parts its data come in.
        let whole_lines = CacheSpec {
            sectored: false,
            ..*spec
        };
        Self {
            line_bytes: spec.line_bytes as u16,
            tags: Tags::new(&whole_lines, spec.ways),
            fragments: FixedQueue::new(spec.mshr_entries as usize),
            requests: FixedQueue::new(spec.mshr_merge as usize),
            reorder: VecDeque::with_capacity(spec.miss_queue as usize),
            reorder_most: spec.miss_queue as usize,
            results: FixedQueue::new(spec.result_fifo.max(1) as usize),
            counters: CacheCounters::default(),
        }
    }

    /// Starts the random choices of the replacement policy from `seed`. The cache must be empty.
    pub fn seed_replacement(&mut self, seed: u64) {
        self.tags.seed(seed);
    }

    /// Offers a request. Those with `HitReserved` and `Miss` are answered by `next_ready`, in
    /// order.
    pub fn access(&mut self, now: Cycle, request: &Request) -> Access {
        let outcome = self.offer(now, request);
        self.counters.count(request.kind, outcome);
        Access {
            outcome,
            sent: Sent::Nothing,
        }
    }

    fn offer(&mut self, now: Cycle, request: &Request) -> AccessOutcome {
        self.tags.furnish();
        let reorder_full = self.reorder.len() == self.reorder_most;
        if self.fragments.is_full() || self.requests.is_full() || reorder_full {
            return AccessOutcome::ReservationFail(FailReason::MissQueueFull);
        }
        let is_miss = self.allocate(now, request.addr);
        self.fragments.push(Fragment {
            request: *request,
            is_miss,
        });
        if !is_miss {
            return AccessOutcome::HitReserved;
        }
        let line_addr = request.addr & !(u64::from(self.line_bytes) - 1);
        self.reorder.push_back(Pending {
            line_addr,
            bytes_left: self.line_bytes,
        });
        self.requests.push(Request {
            addr: line_addr,
            bytes: self.line_bytes,
            sectors: sectors_from(line_addr, self.line_bytes.into()),
            ..*request
        });
        AccessOutcome::Miss
    }

    /// Updates the tags as if the data were present already. Returns true for a miss.
    fn allocate(&mut self, now: Cycle, addr: u64) -> bool {
        let set = self.tags.set(addr);
        let line = self.tags.line(addr);
        match self.tags.probe(set, line, 0, false) {
            Probe::Hit(at) | Probe::HitReserved(at) | Probe::SectorMiss(at) => {
                self.tags.touch(at, now);
                false
            }
            Probe::Miss | Probe::Full => {
                let (at, _) = self.tags.allocate(set, line, 0, now);
                self.tags.fill(set, at, line, 0, || 0);
                true
            }
        }
    }

    /// Has the effect of a read without timing on the tags. Returns what it asks of the level
    /// below.
    pub fn replay(&mut self, now: Cycle, access: &Replay) -> Option<Replay> {
        self.tags.furnish();
        let line_bytes = u32::from(self.line_bytes);
        let mut asked = 0;
        let end = access.segment + SEGMENT_BYTES;
        for addr in (access.segment..end).step_by(line_bytes as usize) {
            if access.part(addr, line_bytes).is_some() && self.allocate(now, addr) {
                asked |= access.mask(addr, line_bytes);
            }
        }
        (asked != 0).then_some(Replay {
            bytes: asked,
            kind: ReplayKind::Read,
            ..*access
        })
    }

    /// Runs one cycle: the oldest access moves to the result FIFO if its data have come.
    pub fn cycle(&mut self) {
        let Some(&Fragment { request, is_miss }) = self.fragments.front() else {
            return;
        };
        if self.results.is_full() {
            return;
        }
        if is_miss {
            if self.reorder.front().is_none_or(|miss| miss.bytes_left > 0) {
                return;
            }
            self.reorder.pop_front();
        }
        self.fragments.pop();
        self.results.push(request);
    }

    /// Next request for the level below. The caller moves at most one a cycle, before `cycle`.
    #[inline]
    pub fn miss_queue_front(&self) -> Option<&Request> {
        self.requests.front()
    }

    /// Takes the next request for the level below.
    pub fn pop_miss(&mut self) -> Option<Request> {
        self.requests.pop()
    }

    /// Takes `bytes` bytes of data from `addr` on: a line or a part of one.
    pub fn fill(&mut self, addr: u64, bytes: u16) {
        let line_addr = addr & !(u64::from(self.line_bytes) - 1);
        let miss = self
            .reorder
            .iter_mut()
            .find(|miss| miss.line_addr == line_addr && miss.bytes_left > 0)
            .expect("a fill that nothing waits for");
        miss.bytes_left = miss.bytes_left.saturating_sub(bytes);
    }

    /// True if a request can be answered.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.results.is_empty()
    }

    /// Takes the next request that can be answered.
    #[inline]
    pub fn next_ready(&mut self) -> Option<Request> {
        self.results.pop()
    }

    /// True if no access is outstanding.
    #[inline]
    pub fn is_idle(&self) -> bool {
        // The access of a request that was not sent is still a fragment.
        debug_assert!(self.requests.is_empty() || !self.fragments.is_empty());
        self.fragments.is_empty() && self.results.is_empty()
    }

    /// Makes every line invalid. The cache must be idle.
    pub fn invalidate_all(&mut self) {
        self.tags.clear(|_| true);
    }

    /// Statistics counted so far.
    pub fn counters(&self) -> &CacheCounters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::TextureCache;
    use crate::cache::{AccessOutcome, FailReason, Replay, ReplayKind};
    use crate::testing::{cache_spec, read};
    use warploom_config::{CacheSpec, MshrKind};

    fn cache() -> TextureCache {
        TextureCache::new(&CacheSpec {
            mshr: MshrKind::TextureFifo,
            mshr_entries: 8,
            mshr_merge: 2,
            miss_queue: 4,
            result_fifo: 2,
            ..cache_spec(4, 2)
        })
    }

    #[test]
    fn a_hit_waits_for_the_miss_before_it() {
        let mut cache = cache();
        assert_eq!(cache.access(0, &read(0, 32)).outcome, AccessOutcome::Miss);
        let hit = cache.access(1, &read(64, 32)).outcome;
        assert_eq!(hit, AccessOutcome::HitReserved);
        let down = cache.pop_miss().expect("the miss");
        assert_eq!((down.addr, down.bytes, down.sectors), (0, 128, 15));
        assert!(cache.pop_miss().is_none());
        for _ in 0..5 {
            cache.cycle();
        }
        assert!(!cache.has_ready());
        for sector in 0..4 {
            cache.fill(sector * 32, 32);
        }
        cache.cycle();
        cache.cycle();
        let order = [cache.next_ready(), cache.next_ready()].map(|r| r.map(|r| r.addr));
        assert_eq!(order, [Some(0), Some(64)]);
        assert!(cache.is_idle());
    }

    /// A read without timing brings whole lines, which later accesses find.
    #[test]
    fn reads_without_timing_bring_lines() {
        let mut cache = cache();
        let read_at = |segment, bytes| Replay {
            segment,
            bytes,
            kind: ReplayKind::Texture,
        };
        let asked = cache.replay(0, &read_at(128, 15)).expect("it is empty");
        assert_eq!((asked.segment, asked.bytes), (128, u128::MAX));
        assert_eq!(asked.kind, ReplayKind::Read);
        assert_eq!(cache.replay(1, &read_at(128, 240)), None);
        let found = cache.access(2, &read(160, 32)).outcome;
        assert_eq!(found, AccessOutcome::HitReserved);
        assert!(cache.miss_queue_front().is_none());
    }

    #[test]
    fn refuses_when_a_fifo_is_full() {
        let mut cache = cache();
        for line in 0..2 {
            let outcome = cache.access(0, &read(line * 128, 32)).outcome;
            assert_eq!(outcome, AccessOutcome::Miss);
        }
        let outcome = cache.access(0, &read(256, 32)).outcome;
        let full = AccessOutcome::ReservationFail(FailReason::MissQueueFull);
        assert_eq!(outcome, full, "the request FIFO holds two");
        assert_eq!(cache.counters().reservation_fails(), 1);
    }
}
