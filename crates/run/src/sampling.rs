//! Sampled runs, which time a part of a launch's blocks: the choice of blocks, and the estimate for
//! the whole launch.

use crate::session::{Prepared, TimedBlocks};
use warploom_base::Cycle;
use warploom_exec::{FindingReport, FunctionalStats};
use warploom_gpu::{KernelEnd, Stretches};
use warploom_sample::{Piece, estimate_blocks, estimate_rest};
use warploom_state::Value;
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

/// How far a launch was when it came to a gap, or when the caller looked at it within a stretch.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Look {
    pub cycle: Cycle,
    /// Rank of the next block.
    pub rank: u64,
    /// Warp instructions of timed blocks.
    pub warp_instructions: u64,
    /// Number of blocks of the gap, and their warp instructions.
    pub skipped: u64,
    pub skipped_instructions: u64,
}

/// Number of looks from one check whether a launch is stable to the next. Two in a row have to say
/// so, as one of many may by chance.
const AGAIN: usize = 8;

/// A running launch of which only a part is timed.
pub(crate) struct Untimed {
    pub prepared: Box<Prepared>,
    /// Bound of the relative error, if the launch is timed until it is stable.
    bound: Option<f64>,
    /// Fewest blocks of which a part would be timed, if the launch has fewer.
    fewest: Option<u64>,
    record: Record,
}

/// Record of what was seen of a launch.
#[derive(Clone, Debug, Default, Value)]
pub(crate) struct Record {
    /// Thread instructions that were executed without timing.
    thread_instructions: u64,
    looks: Vec<Look>,
}

impl Record {
    /// The pieces from one gap to the next. That before the first gap, in which the machine fills,
    /// and that after the last one, in which it empties, are omitted.
    fn between_gaps(&self) -> Vec<Piece> {
        pieces(self.looks.iter().filter(|look| look.skipped > 0))
    }

    /// Warp instructions of each gap.
    fn gaps(&self) -> Vec<f64> {
        let gaps = self.looks.iter().filter(|look| look.skipped > 0);
        gaps.map(|look| look.skipped_instructions as f64).collect()
    }
}

/// The pieces from each look to the next one.
fn pieces<'a>(looks: impl Iterator<Item = &'a Look>) -> Vec<Piece> {
    let looks: Vec<&Look> = looks.collect();
    let between = looks.windows(2).map(|pair| Piece {
        cycles: (pair[1].cycle - pair[0].cycle) as f64,
        instructions: (pair[1].warp_instructions - pair[0].warp_instructions) as f64,
    });
    between.collect()
}

impl Untimed {
    /// A launch of which the machine holds `resident` blocks at once.
    pub fn new(prepared: Box<Prepared>, blocks: &TimedBlocks, resident: u64) -> Self {
        Self::with_record(prepared, blocks, resident, Record::default())
    }

    /// A launch of which this was seen.
    pub fn with_record(
        prepared: Box<Prepared>,
        blocks: &TimedBlocks,
        resident: u64,
        record: Record,
    ) -> Self {
        let bound = match blocks {
            TimedBlocks::UntilStable(bound) => Some(*bound),
            TimedBlocks::All | TimedBlocks::Range(_) | TimedBlocks::OneOf(_) => None,
        };
        let fewest = blocks.fewest(resident);
        let fewest = fewest.filter(|fewest| prepared.grid.count() < *fewest);
        Self {
            prepared,
            bound,
            fewest,
            record,
        }
    }

    /// Fewest blocks of which a part would be timed, if the launch has fewer and is timed whole.
    pub fn fewest_sampled(&self) -> Option<u64> {
        self.fewest
    }

    /// Record of the launch so far.
    pub fn record(&self) -> Record {
        self.record.clone()
    }

    /// Notes how far the launch is.
    pub fn looked(&mut self, look: Look) {
        self.record.looks.push(look);
    }

    /// True if the cycles of all blocks are known within the bound, now and at the look before the
    /// last [`AGAIN`] ones.
    pub fn is_stable(&self) -> bool {
        let looks = &self.record.looks;
        let Some(bound) = self.bound.filter(|_| looks.len().is_multiple_of(AGAIN)) else {
            return false;
        };
        let meets = |looks: &[Look]| {
            let estimate = self.whole(looks);
            estimate.is_some_and(|estimate| estimate.relative_margin() <= bound)
        };
        meets(looks) && meets(&looks[..looks.len() - AGAIN])
    }

    /// The estimate for all blocks from looks so far, as if the rest had as many instructions in a
    /// block.
    fn whole(&self, looks: &[Look]) -> Option<Estimate> {
        let (first, last) = (looks.first()?, looks.last()?);
        let left = self.prepared.grid.count().saturating_sub(last.rank);
        let issued = last.warp_instructions - first.warp_instructions;
        let of_block = issued as f64 / last.rank.max(1) as f64;
        let cycles = (last.cycle - first.cycle) as f64;
        estimate_rest(cycles, &pieces(looks.iter()), left as f64 * of_block)
    }

    /// Notes blocks that were executed without timing, and returns their findings.
    pub fn executed(&mut self, stats: FunctionalStats) -> Vec<FindingReport> {
        self.record.thread_instructions += stats.thread_instructions;
        if let Some(look) = self.record.looks.last_mut() {
            look.skipped = stats.blocks;
            look.skipped_instructions = stats.warp_instructions;
        }
        stats.findings
    }

    /// Adds to a launch's report which of its blocks were timed.
    pub fn describe(&self, end: &KernelEnd, report: &mut KernelReport) {
        let grid_blocks = self.prepared.grid.count();
        let started = end.own.blocks_started;
        let skipped = end.timing.as_ref().map_or(0, |timing| timing.skipped);
        let blocks = started + skipped;
        let executed = report.figures.thread_instructions + self.record.thread_instructions;
        report.sample = Some(SampleReport {
            blocks_timed: started,
            blocks,
            grid_blocks,
            thread_instructions: executed,
            estimate: match blocks == grid_blocks && skipped > 0 && !end.shared {
                true => self.estimate(end),
                false => None,
            },
        });
    }

    /// Estimate of the launch's cycles with all blocks timed. It is none of a launch beside others,
    /// which the blocks that were left out would have delayed.
    fn estimate(&self, end: &KernelEnd) -> Option<Estimate> {
        let cycles = (end.ended_at - end.launched_at) as f64;
        let gaps = self.record.gaps();
        match self.bound {
            Some(_) => estimate_rest(cycles, &pieces(self.record.looks.iter()), gaps.iter().sum()),
            None => estimate_blocks(cycles, &self.record.between_gaps(), &gaps),
        }
    }
}

impl TimedBlocks {
    /// True if any block of a grid of `blocks` blocks is timed.
    pub(crate) fn any_of(&self, blocks: u64) -> bool {
        match self {
            Self::Range(ranks) => ranks.start < blocks.min(ranks.end),
            Self::All | Self::OneOf(_) | Self::UntilStable(_) => true,
        }
    }

    /// Fewest blocks of a launch of which a share is timed, where the machine holds `resident`
    /// blocks at once. `None` if no share is timed.
    fn fewest(&self, resident: u64) -> Option<u64> {
        let Self::OneOf(n) = self else {
            return None;
        };
        let shortest = LENGTHS[0] * resident.max(1);
        Some(shortest.saturating_mul(*n).saturating_mul(FEWEST))
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
            Self::UntilStable(_) => Some(Stretches {
                look: resident.max(1),
                ..Stretches::every(u64::MAX, u64::MAX)
            }),
            Self::OneOf(n) => {
                let [least, most] = LENGTHS.map(|times| times * resident.max(1));
                let timed = (blocks / n.saturating_mul(WANTED)).clamp(least, most);
                let period = timed.saturating_mul(*n);
                let enough = period.saturating_mul(FEWEST) <= blocks;
                let stretches = Stretches {
                    seed: Some(blocks),
                    ..Stretches::every(timed, period)
                };
                (*n > 1 && enough).then_some(stretches)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TimedBlocks;
    use warploom_gpu::Stretches;

    #[test]
    fn a_grid_too_small_for_stretches_is_timed_whole() {
        let one_of = |n, blocks, resident| {
            let stretches = TimedBlocks::OneOf(n).stretches(blocks, resident);
            stretches.map(|s| (s.timed, s.period))
        };
        // Five samples of two times 100 blocks fit, one in four.
        assert_eq!(one_of(4, 3_999, 100), None);
        assert_eq!(one_of(4, 4_000, 100), Some((200, 800)));
        assert_eq!(TimedBlocks::OneOf(4).fewest(100), Some(4_000));
        assert_eq!(TimedBlocks::UntilStable(0.1).fewest(100), None);
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
