//! Replacement of a random line.

use super::{Facts, Rank, Replace};
use crate::cache::tags::Ways;
use warploom_base::{Cycle, Rng};
use warploom_config::CacheSpec;
use warploom_state::State;

/// Draws the line from a seeded generator, so that equal runs draw the same lines.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Random(Rng);

impl Random {
    pub(super) fn new(_spec: &CacheSpec) -> Self {
        Self(Rng::new(0))
    }
}

impl Replace for Random {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "Any line that may go goes, each with the same probability.",
        source: "a baseline of the literature; the generator is SplitMix64, seeded by gpu.seed",
        state: "64: the generator's state",
        bits: |_| 64,
        example_bits: 64,
    };

    fn seed(&mut self, seed: u64) {
        self.0 = Rng::new(seed);
    }

    fn on_fill(&mut self, _set: u32, _now: Cycle) -> Rank {
        1
    }

    fn on_hit(&mut self, rank: Rank, _now: Cycle) -> Rank {
        rank
    }

    fn victim(&mut self, ways: &Ways<'_>) -> usize {
        let count = ways.replaceable().count() as u32;
        let drawn = self.0.below(count) as usize;
        let mut ways = ways.replaceable();
        let (way, _) = ways.nth(drawn).expect("a number below their count");
        way
    }
}
