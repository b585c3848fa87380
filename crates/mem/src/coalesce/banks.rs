//! Bank conflicts of shared memory (docs/model/load-store.md, Shared memory).

use super::{is_even, part_masks};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_config::SmSpec;

/// Rule that tells which accesses to a bank of shared memory conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedRule {
    /// Accesses of different words conflict; only the first word of each lane's access counts.
    FirstWord,
    /// Accesses of different words conflict; every word of a lane's access counts.
    EveryWord,
    /// All accesses conflict, whatever their word, except those of one word that is broadcast
    /// (GT200); only the first word of each lane's access counts.
    OneBroadcast,
    /// An access of 8 bytes a lane takes a phase for each half of the warp, one of 16 bytes for
    /// each quarter, and accesses of different words conflict within a phase. Two phases are one
    /// where lanes want the same words in pairs: each lane and its neighbour, or each lane and the
    /// one after the next.
    Phases,
}

impl SharedRule {
    /// Rule of an SM.
    pub const fn of(sm: &SmSpec) -> Self {
        match (sm.shared_one_broadcast, sm.wide_shared_conflicts) {
            (true, _) => Self::OneBroadcast,
            _ if sm.shared_phases => Self::Phases,
            (false, true) => Self::EveryWord,
            (false, false) => Self::FirstWord,
        }
    }
}

/// Cycles that a shared-memory access takes: for each of `parts` parts of the warp the largest
/// number of conflicting accesses to one of `banks` banks (at most 64), at least 1 in all.
pub fn shared_conflict_cycles(
    banks: u32,
    parts: u32,
    rule: SharedRule,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
) -> u32 {
    let cycles = part_masks(parts).map(|lanes| match rule {
        SharedRule::FirstWord => most_words(banks, 1, addrs, mask & lanes),
        SharedRule::EveryWord => most_words(banks, bytes_per_lane.div_ceil(4), addrs, mask & lanes),
        SharedRule::OneBroadcast => most_accesses(banks, addrs, mask & lanes),
        SharedRule::Phases => in_phases(banks, bytes_per_lane.div_ceil(4), addrs, mask & lanes),
    });
    cycles.sum::<u32>().max(1)
}

/// Cycles of [`shared_conflict_cycles`] that an access takes because of its width and of the parts
/// of a warp, with no two words in one bank: at least 1.
pub fn shared_width_cycles(
    banks: u32,
    parts: u32,
    rule: SharedRule,
    bytes_per_lane: u32,
    addrs: &[u64; WARP_SIZE],
    mask: LaneMask,
) -> u32 {
    let words = bytes_per_lane.div_ceil(4).max(1);
    let cycles = part_masks(parts).map(|part| {
        let lanes = mask & part;
        match rule {
            SharedRule::Phases if words > 1 => {
                let phases = phases(words, addrs, lanes);
                phases.filter(|phase| lanes & phase != 0).count() as u32
            }
            _ => (words * lanes_apart(addrs, lanes)).div_ceil(banks),
        }
    });
    cycles.sum::<u32>().max(1)
}

/// Lanes whose address is not that of the lane before them.
fn lanes_apart(addrs: &[u64; WARP_SIZE], mask: LaneMask) -> u32 {
    let mut before = None;
    let is_other = |lane: &usize| before.replace(addrs[*lane]) != Some(addrs[*lane]);
    lanes_of(mask).filter(is_other).count() as u32
}

/// True if the addresses of a warp's lanes follow from their numbers in one or two dimensions: the
/// distances between neighbouring lanes have at most two values.
pub fn have_strides(addrs: &[u64; WARP_SIZE], mask: LaneMask) -> bool {
    let mut strides = [None; 2];
    let mut before: Option<u64> = None;
    lanes_of(mask).all(|lane| {
        let Some(last) = before.replace(addrs[lane]) else {
            return true;
        };
        let stride = Some(addrs[lane].wrapping_sub(last));
        match strides {
            [first, second] if first == stride || second == stride => true,
            [None, _] => {
                strides[0] = stride;
                true
            }
            [_, None] => {
                strides[1] = stride;
                true
            }
            _ => false,
        }
    })
}

/// Lanes that access the same word of four bytes as a lane before them: the most of any word.
pub fn further_lanes_of_a_word(addrs: &[u64; WARP_SIZE], mask: LaneMask) -> u32 {
    let lanes_of_word = |word| {
        lanes_of(mask)
            .filter(|&lane| addrs[lane] / 4 == word)
            .count()
    };
    let counts = lanes_of(mask).map(|lane| lanes_of_word(addrs[lane] / 4) as u32 - 1);
    counts.max().unwrap_or(0)
}

/// Number of addresses that active lanes have.
pub fn distinct_addresses(addrs: &[u64; WARP_SIZE], mask: LaneMask) -> u32 {
    // Lanes whose bits differ have different addresses.
    let bit = |addr: u64| 1u64 << ((addr >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
    let mut seen = 0;
    let mut distinct = 0;
    for lane in lanes_of(mask) {
        let addr = addrs[lane];
        let is_new = seen & bit(addr) == 0;
        let mut earlier = lanes_of(mask & ((1 << lane) - 1));
        distinct += u32::from(is_new || earlier.all(|other| addrs[other] != addr));
        seen |= bit(addr);
    }
    distinct
}

/// Cycles of an access of `words` words a lane in phases, each of which has as many words as the
/// warp has lanes, or twice as many where pairs of lanes want the same.
fn in_phases(banks: u32, words: u32, addrs: &[u64; WARP_SIZE], mask: LaneMask) -> u32 {
    if words <= 1 {
        return most_words(banks, words, addrs, mask);
    }
    phases(words, addrs, mask)
        .map(|phase| most_words(banks, words, addrs, mask & phase))
        .sum()
}

/// Lanes of each phase of an access of `words` words a lane.
fn phases(words: u32, addrs: &[u64; WARP_SIZE], mask: LaneMask) -> impl Iterator<Item = LaneMask> {
    let agree = |apart: usize| {
        lanes_of(mask).all(|lane| {
            let other = lane ^ apart;
            mask >> other & 1 == 0 || addrs[lane] == addrs[other]
        })
    };
    let joined = u32::from(agree(1) || agree(2));
    let lanes = (WARP_SIZE as u32 / words) << joined;
    let phase = LaneMask::MAX >> (WARP_SIZE as u32 - lanes);
    let firsts = (0..WARP_SIZE as u32).step_by(lanes as usize);
    firsts.map(move |first| phase << first)
}

/// Largest number of banks.
const MOST_BANKS: usize = 64;

/// Largest number of words of a lane's access.
const MOST_PIECES: usize = 4;

/// Largest number of distinct words in one bank.
fn most_words(banks: u32, words: u32, addrs: &[u64; WARP_SIZE], mask: LaneMask) -> u32 {
    if words == 1
        && mask == LaneMask::MAX
        && banks.is_power_of_two()
        && let Some(most) = of_pattern(banks, addrs)
    {
        return most;
    }
    // In rounds, in each of which every bank serves one word to all lanes that want it.
    let mut left = [0; MOST_PIECES];
    left[..words as usize].fill(mask);
    let mut rounds = 0;
    while left.iter().any(|lanes| *lanes != 0) {
        serve_words(banks, addrs, &mut left);
        rounds += 1;
    }
    rounds
}

/// Largest number of words of a full warp in one bank, one word a lane, if the addresses are close
/// together or in even steps; else `None`.
#[inline]
fn of_pattern(banks: u32, addrs: &[u64; WARP_SIZE]) -> Option<u32> {
    let first = addrs[0] & !3;
    let span = addrs
        .iter()
        .fold(0, |bits, addr| bits | addr.wrapping_sub(first));
    if span < 4 * u64::from(banks) {
        // At most as many neighbouring words as there are banks.
        return Some(1);
    }
    let step = addrs[1].wrapping_sub(addrs[0]);
    if !step.is_multiple_of(4) || step as u32 == 0 || !is_even(addrs, step) {
        return None;
    }
    // No two lanes want the same word, and every `period`th lane wants the same bank.
    let zeros = (step / 4).trailing_zeros();
    let period_bits = banks.trailing_zeros().saturating_sub(zeros);
    Some((WARP_SIZE as u32 >> period_bits).max(1))
}

/// Serves one word of each bank: the first one wanted. `left` has, for each word of a lane's
/// access, the lanes that still want it.
#[inline]
fn serve_words(banks: u32, addrs: &[u64; WARP_SIZE], left: &mut [LaneMask; MOST_PIECES]) {
    let banks = u64::from(banks);
    let is_power = banks.is_power_of_two();
    let (mut given, mut giving) = ([0_u64; MOST_BANKS], 0_u64);
    for (piece, lanes) in (0..).zip(left) {
        for lane in lanes_of(*lanes) {
            let word = addrs[lane] / 4 + piece;
            let bank = if is_power {
                word & (banks - 1)
            } else {
                word % banks
            };
            let given = &mut given[bank as usize % MOST_BANKS];
            let is_giving = giving >> bank & 1 == 1;
            *given = if is_giving { *given } else { word };
            giving |= 1 << bank;
            *lanes &= !(LaneMask::from(*given == word) << lane);
        }
    }
}

/// Largest number of accesses in one bank. Accesses of the broadcast word count once: the first
/// word, by bank and address, that several lanes want.
fn most_accesses(banks: u32, addrs: &[u64; WARP_SIZE], mask: LaneMask) -> u32 {
    let place = |lane: usize| {
        let word = addrs[lane] / 4;
        ((word % u64::from(banks)) as usize, word)
    };
    let mut accesses = [0_u32; 64];
    let mut broadcast: Option<((usize, u64), u32)> = None;
    for lane in lanes_of(mask) {
        accesses[place(lane).0] += 1;
        let same = lanes_of(mask).filter(|&other| place(other) == place(lane));
        let lanes = same.count() as u32;
        if lanes > 1 && broadcast.is_none_or(|(first, _)| place(lane) < first) {
            broadcast = Some((place(lane), lanes));
        }
    }
    if let Some(((bank, _), lanes)) = broadcast {
        accesses[bank] -= lanes - 1;
    }
    accesses.into_iter().max().unwrap_or(0)
}
