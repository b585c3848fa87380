//! Four-byte accesses of whole halves of a warp with equal or contiguous addresses, the usual case:
//! their transactions follow from the first address of each half.

use super::{HALF, LINE, Transaction, Transactions, byte_mask, sectors_of, segment_bytes, shrink};
use warploom_base::LaneMask;
use warploom_config::Coalescing;

/// Bytes of a word.
const WORD: u64 = 4;

/// Four-byte words of half a warp, all of whose lanes are active, at one address for all or at
/// contiguous addresses. They are aligned and do not reach the end of the address space.
#[derive(Clone, Copy, Debug)]
pub struct HalfWords {
    /// Address of the first lane's word.
    pub first: u64,
    /// True if the addresses are contiguous, false if they are equal.
    pub row: bool,
}

/// Does what `coalesce` does for the words of two halves and returns true, if each half lies in one
/// segment. Else returns false and leaves `out` empty.
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

/// Result of `shared_conflict_cycles` for the words of two halves of a warp that is one part, under
/// rules by words. `None` for numbers of banks that this shortcut does not cover.
#[inline]
pub fn halves_conflict_cycles(banks: u32, halves: [HalfWords; 2]) -> Option<u32> {
    if !banks.is_power_of_two() || banks < 2 * HALF as u32 {
        return None;
    }
    let [(low, low_words), (high, high_words)] = halves.map(HalfWords::words);
    let banks = u64::from(banks);
    // The words of one half lie in different banks. A bank has two words if the halves overlap modulo
    // the number of banks without overlapping in addresses.
    let (above, below) = (high.wrapping_sub(low), low.wrapping_sub(high));
    let share_words = (above < low_words) | (below < high_words);
    let share_banks = (above % banks < low_words) | (below % banks < high_words);
    Some(1 + u32::from(share_banks & !share_words))
}

impl HalfWords {
    /// Number of the first word, and number of words.
    #[inline(always)]
    fn words(self) -> (u64, u64) {
        (self.first / WORD, if self.row { HALF as u64 } else { 1 })
    }
}

/// Part of a segment that half a warp touches.
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

/// Transaction of a segment, shrunk to the part in use.
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
