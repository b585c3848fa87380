//! Sampled runs, which time a part of a launch's blocks: the choice of blocks, and the estimate for
//! the whole launch.

use crate::session::{Prepared, TimedBlocks};
use warploom_exec::{FindingReport, FunctionalStats};
use warploom_gpu::{KernelEnd, Stretches, Timing};
use warploom_stats::result::KernelReport;
use warploom_stats::sample::{Estimate, SampleReport};

/// Number of samples in a grid that is long enough, which gives a meaningful confidence
/// interval.
const WANTED: u64 = 10;
/// Smallest number of samples. Smaller grids are timed whole. Two samples are not used (see
/// `rates`).
const FEWEST: u64 = 5;
/// Smallest and largest length of a sample, as a multiple of the blocks that the machine holds.
/// Longer samples have longer gaps, which disturb caches and queues more (`docs/long-runs.md`).
const LENGTHS: [u64; 2] = [2, 8];

/// A running launch of which only a part is timed.
pub(crate) struct Untimed {
    pub prepared: Box<Prepared>,
    thread_instructions: u64,
}

impl Untimed {
    pub fn new(prepared: Box<Prepared>) -> Self {
        Self::with_instructions(prepared, 0)
    }

    /// A launch of which blocks with this many thread instructions were executed without timing.
    pub fn with_instructions(prepared: Box<Prepared>, thread_instructions: u64) -> Self {
        Self {
            prepared,
            thread_instructions,
        }
    }

    /// Number of thread instructions that were executed without timing.
    pub const fn thread_instructions(&self) -> u64 {
        self.thread_instructions
    }

    /// Notes blocks that were executed without timing, and returns their findings.
    pub fn executed(&mut self, stats: FunctionalStats) -> Vec<FindingReport> {
        self.thread_instructions += stats.thread_instructions;
        stats.findings
    }

    /// Adds to a launch's report which of its blocks were timed.
    pub fn describe(&self, end: &KernelEnd, report: &mut KernelReport) {
        let grid_blocks = self.prepared.grid.count();
        let started = end.own.blocks_started;
        let skipped = end.timing.as_ref().map_or(0, |timing| timing.skipped);
        let blocks = started + skipped;
        report.sample = Some(SampleReport {
            blocks_timed: started,
            blocks,
            grid_blocks,
            thread_instructions: report.figures.thread_instructions + self.thread_instructions,
            estimate: (blocks == grid_blocks).then(|| estimate(end)).flatten(),
        });
    }
}

/// Estimate of the launch's cycles with all blocks timed. `None` if another launch was in flight,
/// because the blocks that were left out would have delayed that one.
fn estimate(end: &KernelEnd) -> Option<Estimate> {
    let timing = end.timing.as_ref().filter(|_| !end.shared)?;
    let cycles = end.ended_at - end.launched_at;
    Estimate::new(cycles, timing.skipped, &rates(timing))
}

/// Core cycles per block in each sample, from the start of its first block to that of the next
/// sample's first block. The first sample, in which the machine fills, and the last, which may be
/// shorter, are omitted.
fn rates(timing: &Timing) -> Vec<f64> {
    let begins = timing.begins.get(1..).unwrap_or_default();
    let cycles = begins.windows(2).map(|pair| pair[1] - pair[0]);
    let blocks = timing.stretches.timed as f64;
    cycles.map(|cycles| cycles as f64 / blocks).collect()
}

impl TimedBlocks {
    /// True if any block of a grid of `blocks` blocks is timed.
    pub(crate) fn any_of(&self, blocks: u64) -> bool {
        match self {
            Self::Range(ranks) => ranks.start < blocks.min(ranks.end),
            Self::All | Self::OneOf(_) => true,
        }
    }

    /// The samples of a launch of `blocks`, of which the machine holds `resident` at once. `None`
    /// if all blocks are timed.
    pub(crate) fn stretches(&self, blocks: u64, resident: u64) -> Option<Stretches> {
        match self {
            Self::All => None,
            Self::Range(ranks) => {
                let whole = ranks.start == 0 && ranks.end >= blocks;
                (!whole).then(|| Stretches::range(ranks.clone()))
            }
            Self::OneOf(n) => {
                let [least, most] = LENGTHS.map(|times| times * resident.max(1));
                let timed = (blocks / n.saturating_mul(WANTED)).clamp(least, most);
                let period = timed.saturating_mul(*n);
                let enough = period.saturating_mul(FEWEST) <= blocks;
                let stretches = Stretches {
                    from: 0,
                    to: u64::MAX,
                    timed,
                    period,
                };
                (*n > 1 && enough).then_some(stretches)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TimedBlocks, rates};
    use warploom_gpu::{Stretches, Timing};

    #[test]
    fn the_first_and_the_last_stretch_are_not_looked_at() {
        let timing = Timing {
            stretches: Stretches {
                from: 0,
                to: u64::MAX,
                timed: 10,
                period: 40,
            },
            started: 35,
            skipped: 100,
            begins: vec![0, 50, 150, 270],
        };
        assert_eq!(rates(&timing), [10.0, 12.0]);
        let one = Timing {
            begins: vec![0],
            ..timing
        };
        assert!(rates(&one).is_empty());
    }

    #[test]
    fn a_grid_too_small_for_stretches_is_timed_whole() {
        let one_of = |n, blocks, resident| {
            let stretches = TimedBlocks::OneOf(n).stretches(blocks, resident);
            stretches.map(|s| (s.timed, s.period))
        };
        // Five samples of two times 100 blocks fit, one in four.
        assert_eq!(one_of(4, 3_999, 100), None);
        assert_eq!(one_of(4, 4_000, 100), Some((200, 800)));
        // Ten samples, as long as they are not longer than eight times 100.
        assert_eq!(one_of(4, 20_000, 100), Some((500, 2_000)));
        assert_eq!(one_of(4, 1_000_000, 100), Some((800, 3_200)));
        assert_eq!(one_of(1, 1_000_000, 100), None);
        assert_eq!(one_of(u64::MAX, 1_000_000, 100), None);
    }

    #[test]
    fn a_range_that_holds_all_leaves_nothing_out() {
        let range = |ranks| TimedBlocks::Range(ranks);
        assert_eq!(range(0..8).stretches(8, 4), None);
        assert_eq!(range(0..7).stretches(8, 4), Some(Stretches::range(0..7)));
        assert!(range(7..9).any_of(8) && !range(8..9).any_of(8) && !range(3..3).any_of(8));
    }
}
