//! Segments of memory that the lanes of a warp access, and the sectors of a segment.

use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_exec::HalfWarp;
use warploom_gpu::SEGMENT_BYTES;

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u32 = 32;
const _: () = assert!(SEGMENT_BYTES == 4 * SECTOR_BYTES as u64 && SECTOR_BYTES == u32::BITS);
/// Bytes that half a warp accesses whose words are consecutive, and those of one word.
const ROW_BYTES: u64 = 64;
const WORD_BYTES: u64 = 4;

/// Bytes that a warp accesses in segments of memory, in the order of its lanes.
#[derive(Clone, Default)]
pub(super) struct Segments {
    found: Vec<(u64, u128)>,
}

/// The first `count` bytes of a segment.
fn first_bytes(count: u64) -> u128 {
    let end = 1u128.checked_shl(count as u32);
    end.map_or(u128::MAX, |end| end - 1)
}

impl Segments {
    /// Finds the segments that lanes access in global memory, `bytes` bytes each. Lanes below the
    /// address `lowest` access other memory.
    pub fn gather(&mut self, addrs: &[u64; WARP_SIZE], active: LaneMask, bytes: u32, lowest: u64) {
        self.found.clear();
        let of_lane = first_bytes(bytes.into());
        for addr in lanes_of(active).map(|lane| addrs[lane]) {
            if addr >= lowest {
                let segment = addr & !(SEGMENT_BYTES - 1);
                self.add(segment, of_lane << (addr - segment));
            }
        }
    }

    /// Finds the segments that all 32 lanes access, whose words have a regular layout.
    pub fn gather_halves(&mut self, halves: [HalfWarp; 2]) {
        self.found.clear();
        let [low, high] = halves;
        let is_row = low.row && high.row && high.first == low.first + ROW_BYTES;
        if is_row && low.first.is_multiple_of(SEGMENT_BYTES) {
            self.found.push((low.first, u128::MAX));
            return;
        }
        for HalfWarp { first, row } in halves {
            let bytes = if row { ROW_BYTES } else { WORD_BYTES };
            let segment = first & !(SEGMENT_BYTES - 1);
            self.add(segment, first_bytes(bytes) << (first - segment));
            let beyond = (first - segment + bytes).saturating_sub(SEGMENT_BYTES);
            if beyond > 0 {
                self.add(segment + SEGMENT_BYTES, first_bytes(beyond));
            }
        }
    }

    fn add(&mut self, segment: u64, bytes: u128) {
        // Neighbouring lanes often access one segment.
        let mut known = self.found.iter_mut().rev();
        match known.find(|(other, _)| *other == segment) {
            Some((_, mask)) => *mask |= bytes,
            None => self.found.push((segment, bytes)),
        }
    }

    pub fn all(&self) -> &[(u64, u128)] {
        &self.found
    }
}

/// The pieces of `size` bytes of a segment of which bytes are accessed, whole.
#[inline]
pub(super) fn whole(bytes: u128, size: u32) -> u128 {
    if bytes == u128::MAX {
        return bytes;
    }
    if size == SECTOR_BYTES {
        let word = |nth: u32| match (bytes >> (SECTOR_BYTES * nth)) as u32 {
            0 => 0,
            _ => u128::from(u32::MAX) << (SECTOR_BYTES * nth),
        };
        return word(0) | word(1) | word(2) | word(3);
    }
    let piece = first_bytes(size.into());
    let each = (0..SEGMENT_BYTES as u32)
        .step_by(size as usize)
        .map(|first| piece << first);
    let touched = each.filter(|piece| bytes & piece != 0);
    touched.fold(0, |all, piece| all | piece)
}

/// The sectors of a segment of which bytes are accessed, bit i for sector i.
#[inline]
pub(super) fn sectors(bytes: u128) -> u8 {
    let touched = |nth: u32| u8::from((bytes >> (SECTOR_BYTES * nth)) as u32 != 0) << nth;
    touched(0) | touched(1) | touched(2) | touched(3)
}

#[cfg(test)]
mod tests {
    use super::Segments;
    use warploom_base::{Rng, WARP_SIZE};
    use warploom_exec::HalfWarp;

    /// Lanes 0 to 15 access 64 bytes from the last 32 of a segment on; lane 16 comes back.
    #[test]
    fn lanes_are_gathered_by_segment() {
        let mut addrs: [u64; WARP_SIZE] = std::array::from_fn(|lane| 96 + 4 * lane as u64);
        addrs[16] = 0;
        let mut found = Segments::default();
        found.gather(&addrs, 0x1_ffff, 4, 0);
        let last = u128::from(u32::MAX) << 96;
        assert_eq!(found.all(), [(0, last | 15), (128, u128::from(u32::MAX))]);
        // Lanes of other state spaces lie below the lowest address.
        found.gather(&addrs, 0x1_ffff, 4, 128);
        assert_eq!(found.all().len(), 1);
    }

    /// Segments of regular layouts are those of their lanes, in the same order.
    #[test]
    fn regular_layouts_are_gathered_as_their_lanes() {
        let mut rng = Rng::new(7);
        let [mut by_lane, mut by_half] = [Segments::default(), Segments::default()];
        for _ in 0..1000 {
            let halves = [(); 2].map(|()| HalfWarp {
                first: u64::from(rng.below(200)) * 4,
                row: rng.below(3) > 0,
            });
            let addrs = std::array::from_fn(|lane| {
                let half = halves[lane / 16];
                half.first + if half.row { lane as u64 % 16 * 4 } else { 0 }
            });
            by_lane.gather(&addrs, u32::MAX, 4, 0);
            by_half.gather_halves(halves);
            assert_eq!(by_lane.all(), by_half.all());
        }
    }
}
