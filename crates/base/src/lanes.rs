//! Lane masks: bit `i` stands for lane `i` of a warp.

/// Threads in a warp.
pub const WARP_SIZE: usize = 32;
/// One bit per lane of a warp.
pub type LaneMask = u32;
/// All 32 lanes.
pub const FULL_MASK: LaneMask = u32::MAX;

/// Iterates over the set lanes, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct LaneIter(LaneMask);

/// The set lanes of `mask`, lowest first.
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
