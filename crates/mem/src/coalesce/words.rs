//! Words of whole halves of a warp, in one of the two usual ways: their transactions follow from
//! where each half begins.

use super::{HALF, LINE, Transaction, Transactions, byte_mask, sectors_of, segment_bytes, shrink};
use warploom_base::LaneMask;
use warploom_config::Coalescing;

/// Bytes of a word.
const WORD: u64 = 4;

/// The 4-byte words of half a warp, all of whose lanes are active: at one address for all, or one
/// behind the other. They are aligned and do not reach the end of the address space.
#[derive(Clone, Copy, Debug)]
pub struct HalfWords {
    /// Address of the first lane's.
    pub first: u64,
    /// One behind the other.
    pub row: bool,
}

/// What `coalesce` does for the words of two halves, if each half lies in one segment. Else false,
/// and `out` is empty.
#[inline]
pub fn coalesce_halves(
    rule: Coalescing,
    skips_l1: bool,
    halves: [HalfWords; 2],
    out: &mut Transactions,
) -> bool {
    const LOW: LaneMask = LaneMask::MAX >> HALF;
    let size = segment_bytes(rule, skips_l1, WORD as u32);
    let [low, high] = halves.map(|half| Part::new(half, size));
    out.clear();
    if !(low.fits & high.fits) {
        return false;
    }
    if low.segment == high.segment {
        let bytes = low.bytes | high.bytes;
        out.push(transaction(low.segment, bytes, LaneMask::MAX));
    } else {
        let of_low = transaction(low.segment, low.bytes, LOW);
        let of_high = transaction(high.segment, high.bytes, !LOW);
        let ascend = low.segment < high.segment;
        out.push(if ascend { of_low } else { of_high });
        out.push(if ascend { of_high } else { of_low });
    }
    true
}

/// What `shared_conflict_cycles` says of the words of two halves of a warp that is one part, for
/// rules by words. `None` for numbers of banks that would need more thought.
#[inline]
pub fn halves_conflict_cycles(banks: u32, halves: [HalfWords; 2]) -> Option<u32> {
    if !banks.is_power_of_two() || banks < 2 * HALF as u32 {
        return None;
    }
    let [(low, low_words), (high, high_words)] = halves.map(HalfWords::words);
    let banks = u64::from(banks);
    // The words of a half are in banks of their own, so it is between halves that a bank may have
    // two: where they overlap modulo the banks, but not in themselves.
    let (above, below) = (high.wrapping_sub(low), low.wrapping_sub(high));
    let share_words = (above < low_words) | (below < high_words);
    let share_banks = (above % banks < low_words) | (below % banks < high_words);
    Some(1 + u32::from(share_banks & !share_words))
}

impl HalfWords {
    /// The first word, and how many there are.
    #[inline(always)]
    fn words(self) -> (u64, u64) {
        (self.first / WORD, if self.row { HALF as u64 } else { 1 })
    }
}

/// What half a warp touches of a segment.
struct Part {
    segment: u64,
    bytes: u128,
    fits: bool,
}

impl Part {
    #[inline(always)]
    fn new(half: HalfWords, size: u64) -> Self {
        debug_assert!(half.first.is_multiple_of(WORD), "{half:?} is not aligned");
        let len = half.words().1 * WORD;
        Self {
            segment: half.first & !(size - 1),
            bytes: byte_mask(half.first, len),
            fits: (half.first & (size - 1)) + len <= size,
        }
    }
}

/// A segment's transaction, shrunk to what is used of it.
#[inline(always)]
fn transaction(segment: u64, bytes: u128, lanes: LaneMask) -> Transaction {
    let mut transaction = Transaction {
        addr: segment,
        byte_mask: bytes,
        lanes,
        bytes: LINE as u16,
        sectors: sectors_of(bytes),
    };
    shrink(&mut transaction);
    transaction
}
