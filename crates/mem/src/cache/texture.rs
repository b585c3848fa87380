//! The latency-tolerant texture cache: tags in order at access, data later through FIFOs.

use super::{Access, CacheCounters};
use crate::Request;
use warploom_base::Cycle;
use warploom_config::CacheSpec;

/// A texture cache.
#[derive(Clone, Debug)]
pub struct TextureCache {}

impl TextureCache {
    /// An empty cache.
    pub fn new(spec: &CacheSpec) -> Self {
        let _ = spec;
        todo!()
    }
    /// Offers a request. `HitReserved` and `Miss` are answered by `next_ready`, in order.
    pub fn access(&mut self, now: Cycle, request: &Request) -> Access {
        let _ = (now, request);
        todo!()
    }
    /// One cycle: request FIFO to miss port, fragment FIFO to result FIFO.
    pub fn cycle(&mut self) {
        todo!()
    }
    /// Next request to go down. The caller moves at most one per cycle, before `cycle`.
    pub fn miss_queue_front(&self) -> Option<&Request> {
        todo!()
    }
    /// Takes the next request to go down.
    pub fn pop_miss(&mut self) -> Option<Request> {
        todo!()
    }
    /// Takes a reply.
    pub fn fill(&mut self, now: Cycle, reply: &Request) {
        let _ = (now, reply);
        todo!()
    }
    /// A request can be answered.
    pub fn has_ready(&self) -> bool {
        todo!()
    }
    /// Next request that can be answered.
    pub fn next_ready(&mut self) -> Option<Request> {
        todo!()
    }
    /// Nothing outstanding.
    pub fn is_idle(&self) -> bool {
        todo!()
    }
    /// Makes every line invalid.
    pub fn invalidate_all(&mut self) {
        todo!()
    }
    /// Counters so far.
    pub fn counters(&self) -> &CacheCounters {
        todo!()
    }
}
