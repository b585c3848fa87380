//! Replacement of the line that came first.

use super::{Facts, Rank, Replace, rank_of, way_bits};
use warploom_base::Cycle;
use warploom_config::CacheSpec;
use warploom_state::State;

/// Ranks lines by the cycle in which they were reserved.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Fifo;

impl Fifo {
    pub(super) fn new(_spec: &CacheSpec) -> Self {
        Self
    }
}

impl Replace for Fifo {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "The line goes that came first.",
        source: "GPGPU-Sim, letter F of a cache string",
        state: "sets x log2(ways): the way that goes next",
        bits: |spec| u64::from(spec.sets) * way_bits(spec),
        example_bits: 64 * 3,
    };

    fn on_fill(&mut self, _set: u32, now: Cycle) -> Rank {
        rank_of(now)
    }

    fn on_hit(&mut self, rank: Rank, _now: Cycle) -> Rank {
        rank
    }
}
