//! Bimodal re-reference interval prediction.

use super::srrip::{DISTANT_RANK, LONG_RANK, NEAR_RANK, PREDICTION_BITS, age_predictions};
use super::{BIMODAL_PERIOD, Facts, Rank, Replace, bits_a_way};
use crate::cache::tags::Ways;
use warploom_base::Cycle;
use warploom_config::CacheSpec;
use warploom_state::State;

/// Predicts the distant future for most new lines and a long interval for one in 32, so that part
/// of a working set larger than the cache stays in it.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Brrip {
    /// Fills since the last that was predicted for a long interval.
    fills: u32,
}

impl Brrip {
    pub(super) fn new(_spec: &CacheSpec) -> Self {
        Self { fills: 0 }
    }
}

impl Replace for Brrip {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "Like srrip, but 31 of 32 new lines are predicted for the distant future, so that \
                a working set larger than the cache does not sweep it.",
        source: "Jaleel et al., ISCA 2010: BRRIP with M = 2 and a probability of 1/32",
        state: "sets x ways x 2 + 5: prediction values, and a counter of fills",
        bits: |spec| bits_a_way(spec, PREDICTION_BITS) + 5,
        example_bits: 64 * 8 * 2 + 5,
    };

    fn on_fill(&mut self, _set: u32, _now: Cycle) -> Rank {
        self.fills = (self.fills + 1) % BIMODAL_PERIOD;
        match self.fills {
            0 => LONG_RANK,
            _ => DISTANT_RANK,
        }
    }

    fn on_hit(&mut self, _rank: Rank, _now: Cycle) -> Rank {
        NEAR_RANK
    }

    fn age(&mut self, ways: &mut Ways<'_>) {
        age_predictions(ways);
    }
}
