//! Dynamic insertion: least recently used, or bimodal insertion, whichever misses less.

use super::{BIMODAL_PERIOD, Facts, RANK_BITS, Rank, Replace, bits_a_way, way_bits};
use warploom_base::Cycle;
use warploom_config::CacheSpec;
use warploom_state::State;

/// Bits of the counter that chooses between the policies.
const SELECTOR_BITS: u32 = 10;

/// Values of that counter from which on followers insert bimodally: its highest bit is set.
const BIMODAL_FROM: u32 = 1 << (SELECTOR_BITS - 1);

/// Sets of a constituency, in which each policy has one leader set: 32 leaders of each policy among
/// the 1,024 sets of the paper's cache.
const CONSTITUENCY: u32 = 32;

/// Rank between those of lines that were used and those of lines inserted as least recently used.
const MIDDLE: Rank = 1 << (RANK_BITS - 1);

/// Role of a set in the choice between the two insertions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Always inserts as most recently used; its misses count against that.
    LeadsLru,
    /// Always inserts bimodally; its misses count against that.
    LeadsBimodal,
    /// Inserts as the policy does whose leaders miss less.
    Follows,
}

/// Inserts new lines as most or as least recently used.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Dip {
    /// Sets of a constituency.
    constituency: u32,
    /// Misses of the first policy's leader sets less those of the second's, within its bits.
    selector: u32,
    /// Bimodal fills since the last that was inserted as most recently used.
    fills: u32,
}

/// Rank of a line that is the most recently used of its set in cycle `now`.
fn most_recent(now: Cycle) -> Rank {
    debug_assert!(now < MIDDLE - 1, "cycle {now} has no rank");
    MIDDLE + now
}

/// Rank of a line that becomes the least recently used of its set in cycle `now`: below those that
/// did so before.
fn least_recent(now: Cycle) -> Rank {
    MIDDLE - 1 - now
}

impl Dip {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            constituency: spec.sets.min(CONSTITUENCY),
            selector: BIMODAL_FROM - 1,
            fills: 0,
        }
    }

    /// Role of a set. Leaders are chosen as the paper does, by complement select: in constituency
    /// c the set at place c leads for one policy, the set at place c from the end for the other.
    fn role(&self, set: u32) -> Role {
        let place = set % self.constituency;
        let nth = set / self.constituency % self.constituency;
        match place {
            place if place == nth => Role::LeadsLru,
            place if place == self.constituency - 1 - nth => Role::LeadsBimodal,
            _ => Role::Follows,
        }
    }

    fn insert_bimodally(&mut self, now: Cycle) -> Rank {
        self.fills = (self.fills + 1) % BIMODAL_PERIOD;
        match self.fills {
            0 => most_recent(now),
            _ => least_recent(now),
        }
    }
}

impl Replace for Dip {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "Least recently used; new lines enter as most recently used or, 31 of 32, as least \
                recently used, whichever misses less in a few sets that always do the one or the \
                other.",
        source: "Qureshi et al., ISCA 2007: DIP-SD with 10 selector bits and a probability of 1/32",
        state: "sets x ways x log2(ways) + 10 + 5: places in the order of use, the selector, and \
                a counter of fills",
        bits: |spec| bits_a_way(spec, way_bits(spec)) + u64::from(SELECTOR_BITS) + 5,
        example_bits: 64 * 8 * 3 + 10 + 5,
    };

    fn on_fill(&mut self, set: u32, now: Cycle) -> Rank {
        let is_bimodal = match self.role(set) {
            Role::LeadsLru => {
                self.selector = (self.selector + 1).min((1 << SELECTOR_BITS) - 1);
                false
            }
            Role::LeadsBimodal => {
                self.selector = self.selector.saturating_sub(1);
                true
            }
            Role::Follows => self.selector >= BIMODAL_FROM,
        };
        match is_bimodal {
            true => self.insert_bimodally(now),
            false => most_recent(now),
        }
    }

    fn on_hit(&mut self, _rank: Rank, now: Cycle) -> Rank {
        most_recent(now)
    }
}
