//! Starts and ends of the blocks of a launch, from which the times in its result follow.

use warploom_base::{Cycle, SmId};
use warploom_state::State;
use warploom_stats::result::BlockTimes;

/// Starts and ends of blocks so far. Vectors have an element for each SM.
#[derive(Clone, Debug, State)]
pub(super) struct BlockClock {
    /// Cycles in which the blocks that run started, in the order of their starts.
    starts: Vec<Vec<Cycle>>,
    /// Cycle after the last end of a block; 0 where none has ended.
    last_ends: Vec<Cycle>,
    ended: u64,
    cycles: u64,
    longest: Cycle,
}

impl BlockClock {
    pub(super) fn new(sms: usize) -> Self {
        Self {
            starts: vec![Vec::new(); sms],
            last_ends: vec![0; sms],
            ended: 0,
            cycles: 0,
            longest: 0,
        }
    }

    /// Notes that a block starts.
    pub(super) fn start(&mut self, now: Cycle, sm: SmId) {
        self.starts[sm.index()].push(now);
    }

    /// Notes the end of the block that is `at`-th among those that run on the SM, before `now`.
    pub(super) fn end(&mut self, now: Cycle, sm: SmId, at: usize) {
        let took = now - self.starts[sm.index()].remove(at);
        let last = &mut self.last_ends[sm.index()];
        *last = now.max(*last);
        self.ended += 1;
        self.cycles += took;
        self.longest = self.longest.max(took);
    }

    /// Core cycles of all blocks up to `now`, those that run included.
    pub(super) fn cycles_until(&self, now: Cycle) -> u64 {
        let running = self.starts.iter().flatten().map(|start| now - start);
        self.cycles + running.sum::<u64>()
    }

    /// Times of the blocks between the first start of one and `end`, when the launch ends.
    pub(super) fn times(&self, start: Cycle, end: Cycle) -> BlockTimes {
        let of_sm = |(starts, last): (&Vec<Cycle>, &Cycle)| match (starts.is_empty(), *last) {
            (false, _) => Some(end),
            (true, 0) => None,
            (true, last) => Some(last.min(end)),
        };
        let last_ends = self.starts.iter().zip(&self.last_ends).filter_map(of_sm);
        let times = BlockTimes {
            blocks: self.ended,
            cycles: self.cycles,
            longest: self.longest,
            ..BlockTimes::default()
        };
        times.of_ends(start, end, self.starts.len() as u32, last_ends.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::BlockClock;
    use warploom_base::SmId;

    /// On SM 0 blocks run from 10 to 20 and from 10 to 50, on SM 1 one from 12 on; SM 2 has none.
    #[test]
    fn blocks_are_timed_from_start_to_end() {
        let mut clock = BlockClock::new(3);
        let (zero, one) = (SmId::new(0), SmId::new(1));
        clock.start(10, zero);
        clock.start(10, zero);
        clock.start(12, one);
        clock.end(20, zero, 1);
        assert_eq!(clock.cycles_until(30), 10 + 20 + 18);
        clock.end(50, zero, 0);
        let times = clock.times(10, 80);
        assert_eq!((times.blocks, times.cycles, times.longest), (2, 50, 40));
        assert_eq!((times.sms, times.unused_sm_cycles), (2, 70));
        assert_eq!((times.ended_sm_cycles, times.tail_cycles), (30, 0));
    }
}
