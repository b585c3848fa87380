//! Where the addresses of a warp's lanes lie, found without a branch for each: in two halves of
//! words, as they mostly do, or in the aligned block around them.

use crate::memory::device::PAGE_BYTES;
use crate::state::registers::LANE_BITS;
use std::hint::black_box;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};

/// Bytes of a word.
const WORD: u64 = 4;
/// Lanes of half a warp.
pub(crate) const HALF: usize = WARP_SIZE / 2;

/// Where the addresses of a warp's active lanes lie.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// At or below the first byte.
    pub low: u64,
    /// Behind the last byte.
    pub high: u64,
    /// All addresses or-ed: the alignment that they share.
    pub bits: u64,
    /// How all 32 lanes' words lie, if it is in one of the usual ways.
    pub halves: Option<[HalfWarp; 2]>,
}

/// The words of half a warp: at one address for all, or one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct HalfWarp {
    /// Address of the first lane's.
    pub first: u64,
    /// One behind the other.
    pub row: bool,
}

impl HalfWarp {
    #[inline(always)]
    fn end(self) -> u64 {
        self.first + if self.row { HALF as u64 * WORD } else { WORD }
    }

    /// Reads its words from all the words of a memory.
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
    /// All 32 lanes take part and their words follow each other without gaps.
    #[inline(always)]
    pub fn is_row(&self) -> bool {
        self.halves
            .is_some_and(|[a, b]| a.row && b.row && b.first == a.end())
    }

    #[inline(always)]
    pub fn is_in_one_page(&self) -> bool {
        let page = |address: u64| address / PAGE_BYTES as u64;
        page(self.low) == page(self.high - 1)
    }

    /// Where the words lie, else the aligned block around all addresses: what differs between them
    /// says how large it is, without a search for the least and the greatest. For aligned accesses
    /// of up to `align` bytes.
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

    /// From the least address to the end of the greatest.
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

    /// The span of words in two halves, found without branches. Addresses near the end of the
    /// address space are left to the general way.
    #[inline(always)]
    fn of_halves(addrs: &[u64; WARP_SIZE]) -> Option<Self> {
        let [a, b] = [0, HALF].map(|lane| HalfWarp {
            first: addrs[lane],
            row: addrs[lane + 1] == addrs[lane].wrapping_add(WORD),
        });
        // What the compiler would see through here, such as that the first lane is like itself, it
        // would make an exception of, and vectors bear none.
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

/// Where the words of half a warp lie behind the first, if they follow each other.
const ROW: [u64; HALF] = {
    let mut row = [0; HALF];
    let mut lane = 0;
    while lane < HALF {
        row[lane] = lane as u64 * WORD;
        lane += 1;
    }
    row
};

/// The bits in which some active lane's address is unlike `first`.
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
    use super::{HALF, Span, WORD};
    use warploom_base::{LaneMask, Rng, WARP_SIZE};

    /// Addresses of words: in halves, some with a lane that is unlike the others, or anywhere.
    fn any_addresses(rng: &mut Rng) -> [u64; WARP_SIZE] {
        let reach = 1 << (3 + rng.below(29));
        let bases = [(); 2].map(|()| u64::from(rng.below(reach)) * WORD);
        let steps = [(); 2].map(|()| u64::from(rng.below(3)) * WORD);
        let scattered = rng.below(4) == 0;
        let mut addrs = std::array::from_fn(|lane| match scattered {
            true => u64::from(rng.below(reach)) * WORD,
            false => bases[lane / HALF] + (lane % HALF) as u64 * steps[lane / HALF],
        });
        if rng.below(4) == 0 {
            addrs[rng.below(32) as usize] += WORD;
        }
        addrs
    }

    /// A span holds what it is of, is in one page exactly if that is, and halves are where their
    /// lanes are.
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
