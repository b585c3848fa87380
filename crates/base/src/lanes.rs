//! Lane masks: bit `i` stands for lane `i` of a warp.

/// Number of threads in a warp.
pub const WARP_SIZE: usize = 32;
/// Set of lanes of a warp, one bit for each lane.
pub type LaneMask = u32;
/// Mask of all 32 lanes.
pub const FULL_MASK: LaneMask = u32::MAX;

/// Iterator over the lanes of a mask, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct LaneIter(LaneMask);

/// Returns an iterator over the lanes of `mask`, lowest first.
#[inline]
pub fn lanes_of(mask: LaneMask) -> LaneIter {
    LaneIter(mask)
}

impl Iterator for LaneIter {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}

#[cfg(test)]
mod tests {
    use super::lanes_of;

    #[test]
    fn lanes_come_lowest_first() {
        assert_eq!(lanes_of(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
        assert_eq!(lanes_of(0).count(), 0);
    }
}
