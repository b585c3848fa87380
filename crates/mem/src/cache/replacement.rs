//! Replacement policies (`l1d.replacement`, `l2.replacement`, ...): which line of a set makes room
//! for a new one (docs/model/caches.md, Replacement).
//!
//! A policy gives each line a rank. The tag store keeps the ranks and knows which lines may go:
//! ways without a line are taken first, lines on their way never go, and dirty lines stay while
//! the cache spares them. Among the lines that may go the policy chooses, by default the one of
//! the least rank, of several the first way. A policy is one file, one row of the table in
//! `warploom_config`, and a `mod` and a `use` line here.

mod brrip;
mod cacp;
mod dip;
mod fifo;
mod lru;
mod random;
mod srrip;

use super::Facts;
use super::tags::Ways;
use brrip::Brrip;
use cacp::Cacp;
use dip::Dip;
use fifo::Fifo;
use lru::Lru;
use random::Random;
use srrip::Srrip;
use std::ops::Range;
use warploom_base::{Cycle, Pc};
use warploom_config::{CacheSpec, Replacement as Choice};
use warploom_state::{Io, State, StateError, Value};

/// Rank of a line in its set, from 1 up to [`LAST_RANK`].
pub(super) type Rank = u64;

/// Bits of a rank.
pub(super) const RANK_BITS: u32 = 40;

/// Largest rank of a line.
pub(super) const LAST_RANK: Rank = (1 << RANK_BITS) - 1;

/// Fills of which a bimodal policy treats one like the policy that it is a variant of: the papers'
/// probability of 1/32, counted as a counter of five bits does.
const BIMODAL_PERIOD: u32 = 32;

/// Rank of cycle `now`: later cycles have larger ranks. Two months of a host that simulates 200,000
/// cycles a second fit.
#[inline]
fn rank_of(now: Cycle) -> Rank {
    debug_assert!(now < LAST_RANK, "cycle {now} has no rank");
    now + 1
}

/// A row of the table of replacement policies.
#[derive(Clone, Copy, Debug)]
pub struct ReplacementInfo {
    /// Name in the configuration.
    pub name: &'static str,
    /// Description of the policy.
    pub facts: Facts<CacheSpec>,
}

/// The warp that makes an access of a data cache, and its instruction, for policies that ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Accessor {
    /// Address of the line that is accessed.
    pub line_address: u64,
    /// Instruction that makes the access; 0 for a write, which does not name its own.
    pub pc: Pc,
    /// True if the warp's scheduler takes the warp for critical.
    pub critical: bool,
}

impl Accessor {
    /// Accessor of accesses without timing, which name neither warp nor instruction.
    pub fn nobody(line_address: u64) -> Self {
        Self {
            line_address,
            pc: Pc(0),
            critical: false,
        }
    }
}

/// A replacement policy. One object serves one cache.
///
/// An access that finds its line, also while the line is on its way, is a hit. A line comes into a
/// set when the cache reserves it: at the miss, or at the fill where `allocate` says so.
trait Replace: State {
    /// Description of the policy.
    const FACTS: Facts<CacheSpec>;

    /// Starts random choices from `seed`, before the first line comes.
    fn seed(&mut self, _seed: u64) {}

    /// True for a policy that is told who accesses the cache and puts lines into a part of the
    /// ways.
    const DIVIDES: bool = false;

    /// Notes who makes the next access, or whose line comes in next. Only called if `DIVIDES`.
    fn note_accessor(&mut self, _accessor: &Accessor) {}

    /// Ways into which the line comes that is brought in next, of `ways` in use.
    fn part(&self, ways: usize) -> Range<usize> {
        0..ways
    }

    /// Rank of a line that comes into `set` in cycle `now`.
    fn on_fill(&mut self, set: u32, now: Cycle) -> Rank;

    /// New rank of a line of rank `rank` that is hit in cycle `now`.
    fn on_hit(&mut self, rank: Rank, now: Cycle) -> Rank;

    /// Changes the ranks of a set whose ways are all in use, before a line of it is chosen.
    fn age(&mut self, _ways: &mut Ways<'_>) {}

    /// Way of the line that goes. At least one line of the set may.
    fn victim(&mut self, ways: &Ways<'_>) -> usize {
        ways.least()
    }
}

/// Bits of one number a way of every set.
fn bits_a_way(spec: &CacheSpec, bits: u64) -> u64 {
    u64::from(spec.sets) * u64::from(spec.ways) * bits
}

/// Bits of a way's number.
fn way_bits(spec: &CacheSpec) -> u64 {
    spec.ways.next_power_of_two().trailing_zeros().into()
}

/// Makes the policies' enum, which dispatches without a virtual call, and the table of their
/// descriptions. The first row's policy, the usual one, is handled without any call; it must not
/// change `age` and `victim`, for the tag store has found the least rank already.
macro_rules! policies {
    (Replacement;
     $First:ident = $first_name:literal: $first_meaning:literal;
     $($Variant:ident = $name:literal: $meaning:literal;)*) => {
        /// The replacement policy of one cache.
        #[derive(Clone, Debug)]
        pub(super) enum Policy {
            $First($First),
            $($Variant($Variant),)*
        }

        /// Every replacement policy, in the order of the table in `warploom_config`.
        pub const REPLACEMENTS: &[ReplacementInfo] = &[
            ReplacementInfo { name: $first_name, facts: <$First as Replace>::FACTS },
            $(ReplacementInfo { name: $name, facts: <$Variant as Replace>::FACTS },)*
        ];

        impl State for Policy {
            fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
                match self {
                    Self::$First(policy) => io.part($first_name, |io| policy.state(io)),
                    $(Self::$Variant(policy) => io.part($name, |io| policy.state(io)),)*
                }
                .map(|_| ())
            }
        }

        impl Policy {
            /// The policy that a cache's specification names.
            pub(super) fn new(spec: &CacheSpec) -> Self {
                match spec.replacement {
                    Choice::$First => Self::$First($First::new(spec)),
                    $(Choice::$Variant => Self::$Variant($Variant::new(spec)),)*
                }
            }

            /// Calls [`Replace::seed`] of the policy.
            pub(super) fn seed(&mut self, seed: u64) {
                match self {
                    Self::$First(policy) => policy.seed(seed),
                    $(Self::$Variant(policy) => policy.seed(seed),)*
                }
            }

            /// Value of [`Replace::DIVIDES`] of the policy.
            pub(super) fn divides(&self) -> bool {
                match self {
                    Self::$First(_) => <$First as Replace>::DIVIDES,
                    $(Self::$Variant(_) => <$Variant as Replace>::DIVIDES,)*
                }
            }

            /// Calls [`Replace::note_accessor`] of the policy.
            pub(super) fn note_accessor(&mut self, accessor: &Accessor) {
                match self {
                    Self::$First(policy) => policy.note_accessor(accessor),
                    $(Self::$Variant(policy) => policy.note_accessor(accessor),)*
                }
            }

            /// Calls [`Replace::part`] of the policy.
            pub(super) fn part(&self, ways: usize) -> Range<usize> {
                match self {
                    Self::$First(policy) => policy.part(ways),
                    $(Self::$Variant(policy) => policy.part(ways),)*
                }
            }

            /// Calls [`Replace::on_hit`] of the policy.
            #[inline]
            pub(super) fn on_hit(&mut self, rank: Rank, now: Cycle) -> Rank {
                match self {
                    Self::$First(policy) => policy.on_hit(rank, now),
                    _ => self.on_hit_of_another(rank, now),
                }
            }

            #[inline(never)]
            fn on_hit_of_another(&mut self, rank: Rank, now: Cycle) -> Rank {
                match self {
                    Self::$First(policy) => policy.on_hit(rank, now),
                    $(Self::$Variant(policy) => policy.on_hit(rank, now),)*
                }
            }

            /// Calls [`Replace::on_fill`] of the policy.
            #[inline]
            pub(super) fn on_fill(&mut self, set: u32, now: Cycle) -> Rank {
                match self {
                    Self::$First(policy) => policy.on_fill(set, now),
                    _ => self.on_fill_of_another(set, now),
                }
            }

            #[inline(never)]
            fn on_fill_of_another(&mut self, set: u32, now: Cycle) -> Rank {
                match self {
                    Self::$First(policy) => policy.on_fill(set, now),
                    $(Self::$Variant(policy) => policy.on_fill(set, now),)*
                }
            }

            /// Way of the line that goes from a set, or part of one, whose ways are all in use.
            /// `least` is the way of the least rank among the lines that may go.
            #[inline]
            pub(super) fn victim(&mut self, ways: Ways<'_>, least: usize) -> usize {
                match self {
                    Self::$First(_) => least,
                    _ => self.victim_of_another(ways),
                }
            }

            #[inline(never)]
            fn victim_of_another(&mut self, mut ways: Ways<'_>) -> usize {
                match self {
                    Self::$First(policy) => policy.victim(&ways),
                    $(Self::$Variant(policy) => {
                        policy.age(&mut ways);
                        policy.victim(&ways)
                    })*
                }
            }
        }
    };
}

warploom_config::replacement_policies!(policies);

#[cfg(test)]
mod tests;
