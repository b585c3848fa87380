//! Launches of which some blocks are timed: stretches of blocks in the grid's order, and gaps
//! between them, which the caller executes without timing.
//!
//! A gap takes no time. The blocks of the next stretch take the places that those of the last one
//! leave, so that the machine stays as full as it was. Its caches hold the lines of the last
//! stretch.

use std::ops::Range;
use warploom_base::Rng;
use warploom_state::Value;

/// Blocks that are timed: among the ranks from `from` up to, not including, `to`, a stretch of
/// `timed` in every `period`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Stretches {
    /// First rank that may be timed.
    pub from: u64,
    /// Rank after the last one that may be timed.
    pub to: u64,
    /// Number of blocks of a stretch, at least one.
    pub timed: u64,
    /// Number of blocks of which a stretch is timed.
    pub period: u64,
    /// Number of blocks of a stretch after which the caller is to look at the machine: the next
    /// block waits for it as for a gap.
    pub look: u64,
    /// Number of blocks of a cluster, which no stretch divides.
    pub whole: u64,
    /// Seed by which the place of each stretch in its period is drawn; `None` puts it at the
    /// beginning. The first stretch always begins at `from`.
    pub seed: Option<u64>,
}

impl Stretches {
    /// A single stretch of these ranks.
    pub const fn range(ranks: Range<u64>) -> Self {
        Self {
            from: ranks.start,
            to: ranks.end,
            ..Self::every(u64::MAX, u64::MAX)
        }
    }

    /// Stretches of `timed` blocks at the beginning of every `period`.
    pub const fn every(timed: u64, period: u64) -> Self {
        Self {
            from: 0,
            to: u64::MAX,
            timed,
            period,
            look: u64::MAX,
            whole: 1,
            seed: None,
        }
    }

    /// Stretches that divide no cluster of `blocks` blocks, and contain all blocks that these do.
    pub fn of_whole(self, blocks: u64) -> Self {
        let up = |ranks: u64| ranks.checked_next_multiple_of(blocks).unwrap_or(u64::MAX);
        Self {
            from: self.from - self.from % blocks,
            to: up(self.to),
            timed: up(self.timed),
            period: up(self.period),
            look: up(self.look),
            whole: blocks,
            seed: self.seed,
        }
    }

    /// First rank of the stretch of a period.
    fn begin_in(&self, period: u64) -> u64 {
        let first = self.from.saturating_add(period.saturating_mul(self.period));
        let places = (self.period - self.timed) / self.whole + 1;
        let place = match self.seed {
            Some(seed) if period > 0 => Rng::new(seed ^ period).next_u64() % places,
            _ => 0,
        };
        first.saturating_add(place * self.whole)
    }

    /// First rank of the stretch in which `rank` lies, or of the next one.
    fn begin_of(&self, rank: u64) -> u64 {
        let period = rank.saturating_sub(self.from) / self.period;
        let begin = self.begin_in(period);
        match rank >= begin && rank - begin >= self.timed {
            true => self.begin_in(period + 1),
            false => begin,
        }
    }

    /// The first rank from `rank` on that is timed.
    fn next_timed(&self, rank: u64) -> u64 {
        let next = self.begin_of(rank).max(rank);
        if next < self.to { next } else { u64::MAX }
    }

    /// Rank after the last one of the stretch in which `rank` is timed, or the next rank at which
    /// the caller is to look.
    fn end_of(&self, rank: u64) -> u64 {
        let begin = self.begin_of(rank);
        let looked = (rank - begin) / self.look + 1;
        let look = begin.saturating_add(looked.saturating_mul(self.look));
        let end = begin.saturating_add(self.timed);
        look.min(end).min(self.to)
    }

    /// True if the caller is to look before the timed `rank` starts.
    fn looks_before(&self, rank: u64) -> bool {
        let begin = self.begin_of(rank);
        rank > self.from && rank >= begin && (rank - begin).is_multiple_of(self.look)
    }
}

/// Timing of a launch of which some blocks are timed.
#[derive(Clone, Debug, Value)]
pub struct Timing {
    /// Blocks that are timed.
    pub stretches: Stretches,
    /// Number of blocks that were executed in gaps.
    pub skipped: u64,
    /// Rank after the last gap, or at which the caller has looked.
    passed: u64,
}

impl Timing {
    pub(crate) fn new(stretches: Stretches) -> Self {
        Self {
            stretches,
            skipped: 0,
            passed: 0,
        }
    }

    /// Ranks of a grid of `blocks` from `rank` on that are given to SMs before the next gap.
    pub(crate) fn open(&self, rank: u64, blocks: u64) -> Range<u64> {
        match self.gap(rank, blocks) {
            None if rank < blocks => rank..self.stretches.end_of(rank).min(blocks),
            _ => rank..rank,
        }
    }

    /// The gap of a grid of `blocks` that begins at `rank`. It is empty where the caller is only to
    /// look at the machine.
    pub(crate) fn gap(&self, rank: u64, blocks: u64) -> Option<Range<u64>> {
        let next = self.stretches.next_timed(rank).min(blocks);
        let looks = rank < blocks && self.passed < rank && self.stretches.looks_before(rank);
        (next > rank || looks).then_some(rank..next)
    }

    /// Notes that a gap has been executed.
    pub(crate) fn pass(&mut self, gap: &Range<u64>) {
        self.skipped += gap.end - gap.start;
        self.passed = gap.end;
    }
}

#[cfg(test)]
mod tests {
    use super::{Stretches, Timing};

    /// Ranks of a grid that are timed, and its gaps.
    fn parts(stretches: Stretches, blocks: u64) -> (Vec<u64>, Vec<(u64, u64)>) {
        let (mut timed, mut gaps, mut rank) = (Vec::new(), Vec::new(), 0);
        let mut timing = Timing::new(stretches);
        while rank < blocks {
            if let Some(gap) = timing.gap(rank, blocks) {
                gaps.push((gap.start, gap.end));
                rank = gap.end;
                timing.pass(&gap);
            } else {
                let open = timing.open(rank, blocks);
                assert!(!open.is_empty(), "neither timed nor a gap at {rank}");
                rank = open.end;
                timed.extend(open);
            }
        }
        (timed, gaps)
    }

    #[test]
    fn a_range_has_a_gap_on_both_sides() {
        let (timed, gaps) = parts(Stretches::range(3..6), 10);
        assert_eq!((timed, gaps), (vec![3, 4, 5], vec![(0, 3), (6, 10)]));
        let (timed, gaps) = parts(Stretches::range(0..u64::MAX), 4);
        assert_eq!((timed, gaps), (vec![0, 1, 2, 3], vec![]));
        assert_eq!(parts(Stretches::range(8..9), 4), (vec![], vec![(0, 4)]));
    }

    #[test]
    fn stretches_come_back_every_period() {
        let stretches = Stretches::every(2, 5);
        let (timed, gaps) = parts(stretches, 13);
        assert_eq!(timed, [0, 1, 5, 6, 10, 11]);
        assert_eq!(gaps, [(2, 5), (7, 10), (12, 13)]);
        assert_eq!(parts(stretches, 11).0, [0, 1, 5, 6, 10], "cut by the grid");
    }

    /// The caller looks after every two blocks of a stretch of four, and before the next one.
    #[test]
    fn the_caller_looks_at_the_machine_within_stretches() {
        let looks = |timed, period| Stretches {
            look: 2,
            ..Stretches::every(timed, period)
        };
        let (timed, gaps) = parts(looks(4, 7), 13);
        assert_eq!(timed, [0, 1, 2, 3, 7, 8, 9, 10]);
        assert_eq!(gaps, [(2, 2), (4, 7), (9, 9), (11, 13)]);
        let (timed, gaps) = parts(looks(u64::MAX, u64::MAX), 5);
        assert_eq!((timed, gaps), (vec![0, 1, 2, 3, 4], vec![(2, 2), (4, 4)]));
    }

    /// A drawn stretch lies anywhere in its period, and clusters stay whole.
    #[test]
    fn stretches_are_drawn_in_their_periods() {
        let stretches = Stretches {
            seed: Some(7),
            ..Stretches::every(4, 20).of_whole(2)
        };
        let (timed, _) = parts(stretches, 2000);
        assert_eq!((timed.len(), &timed[..4]), (400, &[0, 1, 2, 3][..]));
        let begins: Vec<u64> = timed.chunks(4).map(|stretch| stretch[0] % 20).collect();
        assert!(timed.iter().step_by(2).all(|rank| rank % 2 == 0));
        for place in (0..=16).step_by(2) {
            assert!(begins.contains(&place), "{place} in {begins:?}");
        }
    }
}
