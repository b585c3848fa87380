//! Static re-reference interval prediction with hit priority.

use super::{Facts, Rank, Replace, bits_a_way};
use crate::cache::tags::Ways;
use warploom_base::Cycle;
use warploom_config::CacheSpec;
use warploom_state::State;

/// Bits of a re-reference prediction value.
pub(super) const PREDICTION_BITS: u64 = 2;

/// The prediction value that stands for the distant future: a line of it goes.
const DISTANT: Rank = (1 << PREDICTION_BITS) - 1;

/// Rank of a line by its prediction value: the distant future has the least.
const fn rank_of_prediction(value: Rank) -> Rank {
    1 + DISTANT - value
}

/// Rank of a line that is used again in the near-immediate future.
pub(super) const NEAR_RANK: Rank = rank_of_prediction(0);
/// Rank of a line that is used again after a long interval.
pub(super) const LONG_RANK: Rank = rank_of_prediction(DISTANT - 1);
/// Rank of a line that is used again in the distant future.
pub(super) const DISTANT_RANK: Rank = rank_of_prediction(DISTANT);

/// Raises all prediction values of a set by as much as brings a line that may go to the distant
/// future: as often as the paper's search for a victim fails, it raises all by one.
pub(super) fn age_predictions(ways: &mut Ways<'_>) {
    let least = ways.replaceable().map(|(_, rank)| rank).min();
    let by = least.unwrap_or(DISTANT_RANK) - DISTANT_RANK;
    ways.change_ranks(|rank| rank.saturating_sub(by).max(DISTANT_RANK));
}

/// Predicts a long interval for new lines, and the near-immediate future for lines that are hit.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Srrip;

impl Srrip {
    pub(super) fn new(_spec: &CacheSpec) -> Self {
        Self
    }
}

impl Replace for Srrip {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "New lines are predicted to be used again after a long interval, lines that hit \
                soon; a line predicted for the distant future goes.",
        source: "Jaleel et al., ISCA 2010: SRRIP-HP with M = 2",
        state: "sets x ways x 2: each line's re-reference prediction value",
        bits: |spec| bits_a_way(spec, PREDICTION_BITS),
        example_bits: 64 * 8 * 2,
    };

    fn on_fill(&mut self, _set: u32, _now: Cycle) -> Rank {
        LONG_RANK
    }

    fn on_hit(&mut self, _rank: Rank, _now: Cycle) -> Rank {
        NEAR_RANK
    }

    fn age(&mut self, ways: &mut Ways<'_>) {
        age_predictions(ways);
    }
}
