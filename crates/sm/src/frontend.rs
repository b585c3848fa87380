//! Fetch and decode (docs/model/sm.md, Fetch and decode): an SM has one fetch buffer. A fetch
//! brings two instructions, and one warp is tried in a cycle.
//!
//! Fetch knows nothing of branches: it goes on with the next instruction of the program. A
//! scheduler that comes to a warp and finds another path in its buffer empties the buffer and tells
//! fetch where the warp is (`shader_core_ctx::fetch`, `scheduler_unit::cycle`).

mod fetch;

use crate::link::Link;
use warploom_base::{Cycle, Pc, WarpSlot};
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
    per_cycle: u32,
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
        wanting == 0 && self.buffer.is_none() && !self.l1i.has_ready()
    }

    /// True if the cache has no request for which the network has room.
    pub fn sends_nothing(&self, link: &Link) -> bool {
        let miss = self.l1i.miss_queue_front();
        miss.is_none_or(|request| !link.can_send(request))
    }
}
