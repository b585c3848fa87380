//! Replacement of the least recently used line.

use super::{Facts, Rank, Replace, bits_a_way, rank_of, way_bits};
use warploom_base::Cycle;
use warploom_config::CacheSpec;
use warploom_state::State;

/// Ranks lines by the cycle of their last use.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Lru;

impl Lru {
    pub(super) fn new(_spec: &CacheSpec) -> Self {
        Self
    }
}

impl Replace for Lru {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "The line goes whose last use is the longest ago.",
        source: "GPGPU-Sim, letter L of a cache string",
        state: "sets x ways x log2(ways): each line's place in the order of use",
        bits: |spec| bits_a_way(spec, way_bits(spec)),
        example_bits: 64 * 8 * 3,
    };

    #[inline]
    fn on_fill(&mut self, _set: u32, now: Cycle) -> Rank {
        rank_of(now)
    }

    #[inline]
    fn on_hit(&mut self, _rank: Rank, now: Cycle) -> Rank {
        rank_of(now)
    }
}
