//! Criticality-aware cache prioritisation: ways for the lines of critical warps (the third part of
//! CAWA).
//!
//! The ways of a set are divided into two halves: one for lines that critical warps will use, one
//! for all others. A signature of the instruction and the address of the access that brings a line
//! in predicts two things by a counter each: whether a critical warp will use the line, and whether
//! any warp will. Hits and lines that leave train the counters. Within a half the order is that of
//! [`Srrip`](super::Srrip). The page `docs/policies-compared.md` lists what was chosen.
//!
//! A line's rank holds, from the low bits up: whether a warp that is not critical has used it,
//! whether a critical one has, its signature, and the rank of its prediction value.

use super::srrip::{DISTANT_RANK, LONG_RANK, NEAR_RANK, PREDICTION_BITS};
use super::{Accessor, Facts, Rank, Replace, bits_a_way};
use crate::cache::tags::Ways;
use std::ops::Range;
use warploom_base::{Cycle, Pc};
use warploom_config::CacheSpec;
use warploom_state::State;

/// Bits of a signature.
const SIGNATURE_BITS: u32 = 8;
/// Number of different signatures.
const SIGNATURES: usize = 1 << SIGNATURE_BITS;

/// Flag of a line that a warp has used which is not critical.
const USED_BY_OTHERS: Rank = 1;
/// Flag of a line that a critical warp has used.
const USED_BY_CRITICAL: Rank = 2;
/// Place of the signature in a rank.
const SIGNATURE_AT: u32 = 2;
/// Place of the prediction value in a rank.
const PREDICTION_AT: u32 = SIGNATURE_AT + SIGNATURE_BITS;

/// Largest value of a counter, which has two bits.
const MOST: u8 = 3;
/// Value from which on a line is predicted for critical warps: the counter's upper half.
const CRITICAL_FROM: u8 = 2;
/// Value with which the counters begin. New signatures go into the half of the others, and are
/// predicted to be used.
const FIRST: u8 = 1;
/// Bytes of a region of memory, as a power of two: 16 KiB.
const REGION_SHIFT: u32 = 14;

/// Signature of an access: low bits of the instruction's number, and of the number of the region.
fn signature(pc: Pc, address: u64) -> usize {
    (u64::from(pc.0) ^ address >> REGION_SHIFT) as usize % SIGNATURES
}

/// Signature of the access that brought a line of this rank in.
fn signature_of(rank: Rank) -> usize {
    (rank >> SIGNATURE_AT) as usize % SIGNATURES
}

/// The rank with another prediction value, which is given by its rank.
fn predicted(rank: Rank, prediction: Rank) -> Rank {
    rank & ((1 << PREDICTION_AT) - 1) | prediction << PREDICTION_AT
}

fn raise(counter: &mut u8) {
    *counter = (*counter + 1).min(MOST);
}

fn lower(counter: &mut u8) {
    *counter = counter.saturating_sub(1);
}

/// Divides the ways between lines for critical warps and all others.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Cacp {
    /// Signature of the access that is made, or of the line that comes in.
    signature: usize,
    /// True if a critical warp makes the access.
    critical: bool,
    /// By signature: whether critical warps use the lines.
    critical_use: Box<[u8]>,
    /// By signature: whether any warp uses the lines.
    any_use: Box<[u8]>,
}

impl Cacp {
    pub(super) fn new(_spec: &CacheSpec) -> Self {
        Self {
            signature: 0,
            critical: false,
            critical_use: vec![FIRST; SIGNATURES].into(),
            any_use: vec![FIRST; SIGNATURES].into(),
        }
    }

    /// True if the line of the access is predicted to be used by critical warps.
    fn is_for_critical(&self) -> bool {
        self.critical_use[self.signature] >= CRITICAL_FROM
    }

    /// Learns from a line that goes. One of the critical half that only other warps have used was
    /// not for critical warps; one that no warp has used was not worth its place.
    fn learn_from(&mut self, gone: Rank) {
        let signature = signature_of(gone);
        match gone & (USED_BY_CRITICAL | USED_BY_OTHERS) {
            0 => lower(&mut self.any_use[signature]),
            USED_BY_OTHERS if self.is_for_critical() => lower(&mut self.critical_use[signature]),
            _ => {}
        }
    }
}

impl Replace for Cacp {
    const FACTS: Facts<CacheSpec> = Facts {
        about: "Half of the ways for lines that critical warps are predicted to use, half for the \
                others; in each half, lines that no warp is predicted to use go first.",
        source: "CAWA (CACP): Lee et al., ISCA 2015",
        state: "sets x ways x (2 + 8 + 2): prediction value, signature and two flags + 2 x 256 x \
                2: counters by signature",
        bits: |spec| {
            let counters = 2 * 2 * SIGNATURES as u64;
            bits_a_way(spec, PREDICTION_BITS + u64::from(PREDICTION_AT)) + counters
        },
        example_bits: 64 * 8 * 12 + 2 * 256 * 2,
    };

    const DIVIDES: bool = true;

    fn note_accessor(&mut self, accessor: &Accessor) {
        self.signature = signature(accessor.pc, accessor.line_address);
        self.critical = accessor.critical;
    }

    /// The first half of the ways is for critical warps. A cache of one way is not divided.
    fn part(&self, ways: usize) -> Range<usize> {
        match self.is_for_critical() {
            true => 0..(ways / 2).max(1),
            false => ways / 2..ways,
        }
    }

    fn on_fill(&mut self, _set: u32, _now: Cycle) -> Rank {
        let prediction = match self.any_use[self.signature] {
            0 => DISTANT_RANK,
            _ => LONG_RANK,
        };
        predicted((self.signature as Rank) << SIGNATURE_AT, prediction)
    }

    fn on_hit(&mut self, rank: Rank, _now: Cycle) -> Rank {
        let signature = signature_of(rank);
        raise(&mut self.any_use[signature]);
        let used = match self.critical {
            true => {
                raise(&mut self.critical_use[signature]);
                USED_BY_CRITICAL
            }
            false => USED_BY_OTHERS,
        };
        predicted(rank | used, NEAR_RANK)
    }

    fn age(&mut self, ways: &mut Ways<'_>) {
        let predictions = ways.replaceable().map(|(_, rank)| rank >> PREDICTION_AT);
        let by = predictions.min().unwrap_or(DISTANT_RANK) - DISTANT_RANK;
        ways.change_ranks(|rank| {
            let prediction = (rank >> PREDICTION_AT).saturating_sub(by);
            predicted(rank, prediction.max(DISTANT_RANK))
        });
    }

    fn victim(&mut self, ways: &Ways<'_>) -> usize {
        let by_prediction = |(_, rank): &(usize, Rank)| rank >> PREDICTION_AT;
        let first = ways.replaceable().min_by_key(by_prediction);
        let (way, rank) = first.expect("a line that may be replaced");
        self.learn_from(rank);
        way
    }
}
