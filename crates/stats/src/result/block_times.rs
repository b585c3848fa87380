//! Times of a launch's blocks: how long they take, and when SMs hold none.

use serde::{Deserialize, Serialize};
use warploom_state::Value;

/// Times of the blocks of a launch, or of several launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Value)]
pub struct BlockTimes {
    /// Number of blocks that ended.
    pub blocks: u64,
    /// Core cycles of these blocks, summed over blocks.
    pub cycles: u64,
    /// Core cycles of the longest block.
    pub longest: u64,
    /// SMs that held a block; of several launches, in the longest.
    pub sms: u32,
    /// Cycles from the start of the first block on of SMs that held no block of the launch, summed
    /// over SMs.
    pub unused_sm_cycles: u64,
    /// Cycles of SMs after their last block, until the last block of the launch ended.
    pub ended_sm_cycles: u64,
    /// Core cycles at the end of a launch in which at most half of the SMs that held blocks still
    /// hold one.
    pub tail_cycles: u64,
    /// Cycles of SMs with a block in that time.
    pub tail_sm_cycles: u64,
}

impl BlockTimes {
    /// Times of a launch whose first block started at `start`, and whose last block has ended by
    /// `end`. `last_ends` has the end of the last block of each SM that held one, of `sms` SMs in
    /// all; the end of the launch for a block that still runs.
    #[must_use]
    pub fn of_ends(self, start: u64, end: u64, sms: u32, mut last_ends: Vec<u64>) -> Self {
        last_ends.sort_unstable();
        let Some(&body_end) = last_ends.get(last_ends.len() / 2) else {
            return self;
        };
        let used = last_ends.len() as u32;
        Self {
            sms: used,
            unused_sm_cycles: u64::from(sms - used) * (end - start),
            ended_sm_cycles: last_ends.iter().map(|at| end - at).sum(),
            tail_cycles: end - body_end,
            tail_sm_cycles: last_ends.iter().map(|at| at.saturating_sub(body_end)).sum(),
            ..self
        }
    }

    /// Times of two launches together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            cycles: self.cycles + other.cycles,
            longest: self.longest.max(other.longest),
            sms: self.sms.max(other.sms),
            unused_sm_cycles: self.unused_sm_cycles + other.unused_sm_cycles,
            ended_sm_cycles: self.ended_sm_cycles + other.ended_sm_cycles,
            tail_cycles: self.tail_cycles + other.tail_cycles,
            tail_sm_cycles: self.tail_sm_cycles + other.tail_sm_cycles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BlockTimes;

    /// A launch from cycle 100 to 200 on four of five SMs, whose last blocks end in cycles 150, 160,
    /// 170 and 200. After 170 a single SM holds a block.
    #[test]
    fn half_of_the_sms_end_before_the_tail() {
        let times = BlockTimes::default().of_ends(100, 200, 5, vec![170, 150, 200, 160]);
        assert_eq!((times.sms, times.unused_sm_cycles), (4, 100));
        assert_eq!(times.ended_sm_cycles, 50 + 40 + 30);
        assert_eq!((times.tail_cycles, times.tail_sm_cycles), (30, 30));
    }

    #[test]
    fn equal_ends_leave_no_tail() {
        let times = BlockTimes::default().of_ends(0, 90, 2, vec![90, 90]);
        assert_eq!((times.tail_cycles, times.ended_sm_cycles), (0, 0));
        let one = BlockTimes::default().of_ends(0, 90, 2, vec![90]);
        assert_eq!((one.tail_cycles, one.unused_sm_cycles), (0, 90));
        let none = BlockTimes::default().of_ends(0, 90, 2, Vec::new());
        assert_eq!(none, BlockTimes::default());
    }
}
