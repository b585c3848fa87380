//! Fetch and decode (docs/model/sm.md, Fetch and decode): an SM has one fetch buffer. A fetch
//! brings two instructions, and one warp is tried in a cycle.
//!
//! With `sm.prefetched_code_lines` a stream buffer requests lines before warps come to them.
//!
//! Fetch knows nothing of branches: it goes on with the next instruction of the program. A
//! scheduler that comes to a warp and finds another path in its buffer empties the buffer and tells
//! fetch where the warp is (`shader_core_ctx::fetch`, `scheduler_unit::cycle`).

mod fetch;
mod request;
mod stream;

use crate::link::Link;
use stream::Stream;
use warploom_base::{Cycle, Pc, TimedQueue, WarpSlot};
use warploom_config::{GpuSpec, ModelStyle};
use warploom_mem::cache::{Cache, Level, Replay};
use warploom_policy::WarpMask;
use warploom_state::State;

/// Fetch buffer and instruction cache. Fields lie in memory as declared, as those of an SM.
#[repr(C, align(64))]
#[derive(State)]
pub struct Frontend {
    /// Instructions that are fetched and not yet decoded: their warp, and the first one.
    buffer: Option<(WarpSlot, Pc)>,
    /// Warp that fetched last.
    last: WarpSlot,
    perfect: bool,
    line_bytes: u64,
    inst_bytes: u64,
    per_cycle: u32,
    stream: Stream,
    /// Cycles from a miss to its line, where it does not come through the network; else 0.
    code_latency: Cycle,
    /// MSHR entries of lines on their way, where they do not come through the network.
    coming: TimedQueue<u32>,
    /// The instruction cache (L1I).
    pub l1i: Cache,
}

impl Frontend {
    /// The front end of an SM of `spec`. Requires `l1i.furnish` before the first fetch.
    pub fn new(spec: &GpuSpec) -> Self {
        let style: ModelStyle = spec.gpu.style;
        let mut l1i = Cache::unfurnished(&spec.l1i, Level::L1, style, spec.l1i.ways);
        l1i.seed_replacement(spec.gpu.seed);
        Self {
            l1i,
            buffer: None,
            // GPGPU-Sim begins its search after warp 0.
            last: WarpSlot(0),
            perfect: spec.sm.perfect_inst_const_cache,
            line_bytes: u64::from(spec.l1i.line_bytes),
            inst_bytes: u64::from(spec.sm.instruction_bytes),
            stream: Stream::new(spec),
            code_latency: Cycle::from(spec.sm.code_latency_cycles),
            coming: TimedQueue::new(8),
            per_cycle: spec.sm.fetch_per_cycle.max(1),
        }
    }

    /// Replays a fetch without timing in the instruction cache.
    pub(crate) fn replay(&mut self, now: Cycle, fetch: &Replay) {
        if !self.perfect {
            self.l1i.furnish();
            self.l1i.replay_all(now, fetch);
        }
    }

    /// The warp whose instructions are fetched and not yet decoded.
    pub(crate) fn decoding(&self) -> WarpMask {
        self.buffer.map_or(0, |(warp, _)| 1 << warp.index())
    }

    /// True if decode and fetch have nothing to do, given the warps that want to fetch.
    pub fn is_quiet(&self, wanting: WarpMask) -> bool {
        wanting == 0 && self.buffer.is_none() && !self.l1i.has_ready() && !self.stream_moves()
    }

    /// True if the stream buffer has a line to request, and the cache has room for that.
    #[inline]
    fn stream_moves(&self) -> bool {
        self.stream.is_pending() && self.l1i.can_prefetch()
    }

    /// True if no request of code is due, and none will be for `count` instructions from address
    /// `code` on and those after them that fetch reads before it learns of a branch.
    pub(crate) fn has_all(&self, code: u64, count: usize) -> bool {
        let end = code + (count as u64 + 2) * self.inst_bytes;
        let mut sectors = (code & !31..end).step_by(32);
        let is_due = self.stream.is_pending() || self.l1i.miss_queue_front().is_some();
        !is_due && sectors.all(|addr| self.l1i.has(addr))
    }

    /// True if lines may come that no warp waits for. `untaken`: number of replies at the link.
    pub fn awaits_stream(&self, untaken: usize) -> bool {
        self.stream.is_on() && (untaken > 0 || self.next_line() != Cycle::MAX)
    }

    /// True if the cache has no request for which the network has room.
    pub fn sends_nothing(&self, link: &Link) -> bool {
        let miss = self.l1i.miss_queue_front();
        miss.is_none_or(|request| self.code_latency == 0 && !link.can_send(request))
    }

    /// Sends the next miss to the cache that has all code.
    pub(crate) fn send_to_code_cache(&mut self, now: Cycle) -> bool {
        let miss = self.l1i.pop_miss();
        if let Some(miss) = &miss {
            self.coming.push(now + self.code_latency, miss.entry);
        }
        miss.is_some()
    }

    /// Takes a line from that cache that has come and for which the fill port is free. Returns
    /// whether there was one.
    #[inline]
    pub(crate) fn take_line(&mut self, now: Cycle) -> bool {
        let is_due = self.coming.due_or_never() <= now && self.l1i.fill_port_free(now);
        if is_due && let Some(entry) = self.coming.take_due(now) {
            self.l1i.fill(now, entry, self.line_bytes as u16);
        }
        is_due
    }

    /// The cycle in which a line comes from that cache, or `Cycle::MAX`.
    #[inline]
    pub(crate) fn next_line(&self) -> Cycle {
        self.coming.due_or_never()
    }
}
