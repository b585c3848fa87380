//! Range and layout of the addresses of a warp's lanes, computed without a branch for each lane.
//! Usually each half of the warp has a regular layout. Otherwise the range is the aligned block
//! around all addresses.

use crate::memory::device::PAGE_BYTES;
use crate::state::registers::LANE_BITS;
use std::hint::black_box;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};

/// Size of a word in bytes.
const WORD: u64 = 4;
/// Number of lanes of half a warp.
pub(crate) const HALF: usize = WARP_SIZE / 2;

/// Range and layout of the addresses of a warp's active lanes.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Address at or before the first byte.
    pub low: u64,
    /// Address after the last byte.
    pub high: u64,
    /// Bitwise OR of all addresses, which shows their common alignment.
    pub bits: u64,
    /// Layout of the words of all 32 lanes, if it is a regular one.
    pub halves: Option<[HalfWarp; 2]>,
}

/// Layout of the words of half a warp: either consecutive words, or the same word in all lanes.
#[derive(Clone, Copy, Debug)]
pub struct HalfWarp {
    /// Address of the first lane's word.
    pub first: u64,
    /// True if the words are consecutive.
    pub row: bool,
}

impl HalfWarp {
    /// Address after the last word.
    #[inline(always)]
    fn end(self) -> u64 {
        self.first + if self.row { HALF as u64 * WORD } else { WORD }
    }

    /// Reads the words of the half warp from a memory that is given as words.
    #[inline(always)]
    pub(crate) fn read(self, words: &[u32], lanes: &mut [u32]) {
        let at = self.first as usize / WORD as usize;
        if !self.row {
            return lanes.fill(u32::from_le(words[at]));
        }
        for (lane, word) in lanes.iter_mut().zip(&words[at..at + HALF]) {
            *lane = u32::from_le(*word);
        }
    }
}

impl Span {
    /// True if all 32 lanes are active and their words are consecutive.
    #[inline(always)]
    pub fn is_row(&self) -> bool {
        self.halves
            .is_some_and(|[a, b]| a.row && b.row && b.first == a.end())
    }

    /// True if the range is inside one page.
    #[inline(always)]
    pub fn is_in_one_page(&self) -> bool {
        let page = |address: u64| address / PAGE_BYTES as u64;
        page(self.low) == page(self.high - 1)
    }

    /// Layout of the words, or otherwise the aligned block around all addresses. The bits in which
    /// the addresses differ give the size of the block without a search for the minimum and the
    /// maximum. Suitable for aligned accesses of up to `align` bytes.
    #[inline(always)]
    pub fn around(addrs: &[u64; WARP_SIZE], mask: LaneMask, align: u64) -> Self {
        if mask == LaneMask::MAX
            && align == WORD
            && let Some(span) = Self::of_halves(addrs)
        {
            return span;
        }
        let first = addrs[mask.trailing_zeros() as usize % WARP_SIZE];
        let differ = differing_bits(black_box(addrs), first, mask);
        let below = u64::MAX.checked_shr(differ.leading_zeros()).unwrap_or(0);
        Self {
            low: first & !below,
            high: ((first | below) & !(align - 1)).saturating_add(align),
            bits: first | differ,
            halves: None,
        }
    }

    /// Range from the minimum address to the end of the access at the maximum address.
    #[inline(never)]
    pub fn exact(addrs: &[u64; WARP_SIZE], mask: LaneMask, bytes: u64) -> Self {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for lane in lanes_of(mask) {
            low = low.min(addrs[lane]);
            high = high.max(addrs[lane]);
            bits |= addrs[lane];
        }
        Self {
            low,
            high: high.saturating_add(bytes),
            bits,
            halves: None,
        }
    }

    /// Range of words with a regular layout in each half of the warp, computed without branches.
    /// Addresses near the end of the address space are left to the general method.
    #[inline(always)]
    fn of_halves(addrs: &[u64; WARP_SIZE]) -> Option<Self> {
        let [a, b] = [0, HALF].map(|lane| HalfWarp {
            first: addrs[lane],
            row: addrs[lane + 1] == addrs[lane].wrapping_add(WORD),
        });
        // `black_box` hides constants from the compiler. Otherwise it would treat single lanes as
        // special cases, which prevents vectorisation.
        let (addrs, row) = (black_box(addrs), black_box(&ROW));
        let steps = [a, b].map(|half| black_box(0u64.wrapping_sub(half.row.into())));
        let mut unlike = 0;
        for lane in 0..HALF {
            unlike |= addrs[lane] ^ a.first.wrapping_add(row[lane] & steps[0]);
            unlike |= addrs[lane + HALF] ^ b.first.wrapping_add(row[lane] & steps[1]);
        }
        let bits = a.first | b.first;
        (unlike == 0 && bits <= u64::MAX / 2).then(|| Self {
            low: a.first.min(b.first),
            high: a.end().max(b.end()),
            bits,
            halves: Some([a, b]),
        })
    }
}

/// Address of the first of 32 consecutive, aligned words. `None` for other addresses.
#[inline(always)]
pub(crate) fn row_of(addrs: &[u64; WARP_SIZE]) -> Option<u64> {
    // As in `Span::of_halves`, the compiler must not know the offsets.
    let (first, row) = (addrs[0], black_box(&WHOLE_ROW));
    let mut unlike = first & (WORD - 1);
    for lane in 0..WARP_SIZE {
        unlike |= addrs[lane] ^ first.wrapping_add(row[lane]);
    }
    (unlike == 0).then_some(first)
}

/// Offset in bytes of each of a warp's consecutive words from the first.
const WHOLE_ROW: [u64; WARP_SIZE] = offsets();

/// Offset in bytes of each of half a warp's consecutive words from the first.
const ROW: [u64; HALF] = offsets();

/// Offsets in bytes of consecutive words from the first.
const fn offsets<const LANES: usize>() -> [u64; LANES] {
    let mut row = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        row[lane] = lane as u64 * WORD;
        lane += 1;
    }
    row
}

/// Bits in which the address of any active lane differs from `first`.
#[inline(always)]
fn differing_bits(addrs: &[u64; WARP_SIZE], first: u64, mask: LaneMask) -> u64 {
    let mut differ = 0;
    if mask == LaneMask::MAX {
        for lane in 0..WARP_SIZE {
            differ |= addrs[lane] ^ first;
        }
        return differ;
    }
    for lane in 0..WARP_SIZE {
        let active = mask & LANE_BITS[lane] != 0;
        differ |= if active { addrs[lane] ^ first } else { 0 };
    }
    differ
}

#[cfg(test)]
mod tests {
    use super::{HALF, Span, WORD, row_of};
    use warploom_base::{LaneMask, Rng, WARP_SIZE};

    /// Word addresses with a regular layout, some with one irregular lane, or random ones.
    fn any_addresses(rng: &mut Rng) -> [u64; WARP_SIZE] {
        let reach = 1 << (3 + rng.below(29));
        let bases = [(); 2].map(|()| u64::from(rng.below(reach)) * WORD);
        let steps = [(); 2].map(|()| u64::from(rng.below(3)) * WORD);
        let scattered = rng.below(4) == 0;
        let mut addrs = std::array::from_fn(|lane| {
            if scattered {
                u64::from(rng.below(reach)) * WORD
            } else {
                bases[lane / HALF] + (lane % HALF) as u64 * steps[lane / HALF]
            }
        });
        if rng.below(4) == 0 {
            addrs[rng.below(32) as usize] += WORD;
        }
        addrs
    }

    /// A range contains its addresses and is inside one page exactly if the addresses are. Layouts
    /// reproduce the addresses of their lanes.
    #[test]
    fn spans_hold_their_addresses() {
        let mut rng = Rng::new(5);
        let mut halves = 0;
        for _ in 0..20_000 {
            let addrs = any_addresses(&mut rng);
            let mask = match rng.below(3) {
                0 => 1 << rng.below(32) | rng.next_u32(),
                _ => LaneMask::MAX,
            };
            let span = Span::around(&addrs, mask, WORD);
            let exact = Span::exact(&addrs, mask, WORD);
            assert!(span.low <= exact.low && exact.high <= span.high);
            assert_eq!(span.is_in_one_page(), exact.is_in_one_page());
            assert_eq!(span.bits & (WORD - 1), exact.bits & (WORD - 1));
            let row = |lane: usize| addrs[lane] == addrs[0] + lane as u64 * WORD;
            let is_row = mask == LaneMask::MAX && (0..WARP_SIZE).all(row);
            assert_eq!(span.is_row(), is_row);
            let whole = (0..WARP_SIZE).all(row).then_some(addrs[0]);
            assert_eq!(row_of(&addrs), whole);
            if let Some(parts) = span.halves {
                let place = |lane: usize| {
                    let step = if parts[lane / HALF].row { WORD } else { 0 };
                    parts[lane / HALF].first + (lane % HALF) as u64 * step
                };
                assert_eq!(addrs, std::array::from_fn(place));
                assert_eq!((span.low, span.high), (exact.low, exact.high));
                halves += 1;
            }
        }
        assert!(halves > 1000, "{halves}");
    }
}
