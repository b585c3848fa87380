//! Launches of which some blocks are timed: stretches of blocks in the grid's order, and gaps
//! between them, which the caller executes without timing.
//!
//! A gap takes no time. The blocks of the next stretch take the places that those of the last one
//! leave, so that the machine stays as full as it was. Its caches hold the lines of the last
//! stretch.

use std::ops::Range;
use warploom_base::Cycle;
use warploom_state::Value;

/// Blocks that are timed: among the ranks from `from` up to, not including, `to`, the first `timed`
/// of every `period`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Stretches {
    /// First rank that may be timed.
    pub from: u64,
    /// Rank after the last one that may be timed.
    pub to: u64,
    /// Number of blocks of a stretch, at least one.
    pub timed: u64,
    /// Number of blocks of a stretch and of the gap after it.
    pub period: u64,
}

impl Stretches {
    /// A single stretch of these ranks.
    pub const fn range(ranks: Range<u64>) -> Self {
        Self {
            from: ranks.start,
            to: ranks.end,
            timed: u64::MAX,
            period: u64::MAX,
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
        }
    }

    /// First rank of the stretch in which, or after which, `rank` lies.
    fn begin_of(&self, rank: u64) -> u64 {
        self.from + (rank - self.from) / self.period * self.period
    }

    /// The first rank from `rank` on that is timed.
    fn next_timed(&self, rank: u64) -> u64 {
        if rank < self.from {
            return self.next_timed(self.from);
        }
        let begin = self.begin_of(rank);
        let next = if rank - begin < self.timed {
            rank
        } else {
            begin.saturating_add(self.period)
        };
        if next < self.to { next } else { u64::MAX }
    }

    /// Rank after the last one of the stretch in which `rank` is timed.
    fn end_of(&self, rank: u64) -> u64 {
        self.begin_of(rank).saturating_add(self.timed).min(self.to)
    }

    /// Ranks of a grid of `blocks` from `rank` on that are given to SMs before the next gap.
    pub(crate) fn open(&self, rank: u64, blocks: u64) -> Range<u64> {
        match self.next_timed(rank) {
            next if next == rank => rank..self.end_of(rank).min(blocks),
            _ => rank..rank,
        }
    }

    /// The gap of a grid of `blocks` that begins at `rank`.
    pub(crate) fn gap(&self, rank: u64, blocks: u64) -> Option<Range<u64>> {
        let next = self.next_timed(rank).min(blocks);
        (next > rank).then_some(rank..next)
    }
}

/// Timing of a launch of which some blocks are timed.
#[derive(Clone, Debug, Value)]
pub struct Timing {
    /// Blocks that are timed.
    pub stretches: Stretches,
    /// Number of timed blocks that have started.
    pub started: u64,
    /// Number of blocks that were executed in gaps.
    pub skipped: u64,
    /// By stretch: core cycle in which its first block started. Blocks count in the order in which
    /// they start.
    pub begins: Vec<Cycle>,
}

impl Timing {
    pub(crate) fn new(stretches: Stretches) -> Self {
        Self {
            stretches,
            started: 0,
            skipped: 0,
            begins: Vec::new(),
        }
    }

    /// Notes that a block starts.
    pub(crate) fn note_start(&mut self, now: Cycle) {
        if self.started.is_multiple_of(self.stretches.timed) {
            self.begins.push(now);
        }
        self.started += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Stretches, Timing};

    /// Ranks of a grid that are timed, and its gaps.
    fn parts(stretches: Stretches, blocks: u64) -> (Vec<u64>, Vec<(u64, u64)>) {
        let (mut timed, mut gaps, mut rank) = (Vec::new(), Vec::new(), 0);
        while rank < blocks {
            if let Some(gap) = stretches.gap(rank, blocks) {
                gaps.push((gap.start, gap.end));
                rank = gap.end;
            } else {
                let open = stretches.open(rank, blocks);
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
        let stretches = Stretches {
            from: 0,
            to: u64::MAX,
            timed: 2,
            period: 5,
        };
        let (timed, gaps) = parts(stretches, 13);
        assert_eq!(timed, [0, 1, 5, 6, 10, 11]);
        assert_eq!(gaps, [(2, 5), (7, 10), (12, 13)]);
        assert_eq!(parts(stretches, 11).0, [0, 1, 5, 6, 10], "cut by the grid");
    }

    #[test]
    fn every_stretch_has_the_cycle_of_its_first_block() {
        let mut timing = Timing::new(Stretches {
            from: 0,
            to: u64::MAX,
            timed: 3,
            period: 9,
        });
        for now in [10, 10, 12, 15, 15, 16, 20] {
            timing.note_start(now);
        }
        assert_eq!((timing.begins, timing.started), (vec![10, 15, 20], 7));
    }
}
