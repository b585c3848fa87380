//! Estimates of a launch of which some blocks are timed and the others are executed without timing.
//!
//! How many instructions the blocks without timing have is known, so that only the cycles of an
//! instruction are estimated: the ratio estimator of survey sampling (Cochran, *Sampling
//! Techniques*, 3rd edition, chapter 6).

use warploom_stats::sample::{Estimate, quantile};

/// Largest error, as a fraction of the cycles of blocks that were not timed, of what these leave
/// wrong in the machine: contents of caches, rows of DRAM, and blocks that keep in step.
const DISTURBANCE: f64 = 0.05;

/// Number of equal batches into which the pieces of a launch that is timed until it is stable are
/// put, so that what neighbouring pieces have in common is in the scatter of batches.
const BATCHES: usize = 8;

/// Pieces of which one is left out at the beginning, where the machine and its caches fill.
const FILLING: usize = 4;

/// A part of a launch in which blocks are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Piece {
    /// Core cycles that it takes.
    pub cycles: f64,
    /// Warp instructions that are issued in these.
    pub instructions: f64,
}

/// Cycles of an instruction, from several pieces.
struct Rate {
    /// Estimated cycles of an instruction.
    mean: f64,
    /// Variance of the cycles of an instruction in one piece.
    variance: f64,
    /// Cycles of an instruction in the later half of the pieces, minus the mean.
    drift: f64,
    pieces: usize,
}

impl Rate {
    /// The rate of at least two pieces; `None` if there are fewer, or no instructions.
    fn of(pieces: &[Piece]) -> Option<Self> {
        let n = pieces.len();
        let all = sum(pieces);
        if n < 2 || all.instructions <= 0.0 {
            return None;
        }
        let mean = all.cycles / all.instructions;
        let typical = all.instructions / n as f64;
        let residual = |piece: &Piece| (piece.cycles - mean * piece.instructions) / typical;
        let squares: f64 = pieces.iter().map(|piece| residual(piece).powi(2)).sum();
        let late = sum(&pieces[n / 2..]);
        let drift = match late.instructions > 0.0 {
            true => late.cycles / late.instructions - mean,
            false => 0.0,
        };
        Some(Self {
            mean,
            variance: squares / (n - 1) as f64,
            drift,
            pieces: n,
        })
    }

    /// Estimate of a launch that took `cycles` for its timed blocks, and has further `instructions`
    /// in as many `parts`.
    fn estimate(&self, cycles: f64, instructions: f64, parts: usize) -> Estimate {
        let n = self.pieces as f64;
        let scatter = self.variance * (1.0 / n + 1.0 / parts.max(1) as f64);
        let sampling = quantile(self.pieces - 1).powi(2) * scatter;
        let disturbance = (DISTURBANCE * self.mean).powi(2);
        let deviation = (sampling + self.drift.powi(2) + disturbance).sqrt();
        Estimate {
            cycles: cycles + instructions * self.mean,
            margin: instructions * deviation,
            stretches: self.pieces as u64,
        }
    }
}

fn sum(pieces: &[Piece]) -> Piece {
    pieces.iter().fold(Piece::default(), |all, piece| Piece {
        cycles: all.cycles + piece.cycles,
        instructions: all.instructions + piece.instructions,
    })
}

/// Estimates the cycles of a launch that took `cycles` with its timed blocks. `pieces` are those
/// from one gap to the next, and `gaps` has the warp instructions of each gap. `None` if there are
/// fewer than two pieces.
pub fn estimate_blocks(cycles: f64, pieces: &[Piece], gaps: &[f64]) -> Option<Estimate> {
    let rate = Rate::of(pieces)?;
    Some(rate.estimate(cycles, gaps.iter().sum(), gaps.len()))
}

/// Estimates the cycles of a launch of which the first blocks took `cycles` and the rest has
/// `instructions` warp instructions. `pieces` follow one another from the launch on. `None` if
/// there are too few.
pub fn estimate_rest(cycles: f64, pieces: &[Piece], instructions: f64) -> Option<Estimate> {
    let steady = pieces.get(pieces.len().div_ceil(FILLING)..)?;
    let each = steady.len() / BATCHES;
    if each == 0 {
        return None;
    }
    let used = &steady[steady.len() - each * BATCHES..];
    let batches: Vec<Piece> = used.chunks(each).map(sum).collect();
    Some(Rate::of(&batches)?.estimate(cycles, instructions, 1))
}

#[cfg(test)]
mod tests {
    use super::{DISTURBANCE, Piece, estimate_blocks, estimate_rest};
    use warploom_base::Rng;

    fn piece(cycles: f64, instructions: f64) -> Piece {
        Piece {
            cycles,
            instructions,
        }
    }

    /// Cycles are proportional to instructions, however unequal the pieces and the gaps are.
    #[test]
    fn cycles_follow_instructions() {
        let pieces = [(200.0, 100.0), (400.0, 200.0), (100.0, 50.0)].map(|(c, i)| piece(c, i));
        let estimate = estimate_blocks(700.0, &pieces, &[1000.0, 10.0]).expect("three pieces");
        assert_eq!(estimate.cycles, 700.0 + 2.0 * 1010.0);
        assert!((estimate.margin - DISTURBANCE * 2020.0).abs() < 1e-9);
        assert_eq!(estimate.stretches, 3);
        assert_eq!(estimate_blocks(1.0, &pieces[..1], &[1.0]), None);
        assert_eq!(estimate_blocks(1.0, &[piece(1.0, 0.0); 4], &[1.0]), None);
    }

    /// Rates 2, 3 and 4 for one instruction each: variance 1 of a piece, and of a gap, too. The
    /// later two pieces are slower than the mean by a half.
    #[test]
    fn the_margin_has_scatter_and_drift() {
        let pieces = [2.0, 3.0, 4.0].map(|cycles| piece(cycles, 1.0));
        let estimate = estimate_blocks(0.0, &pieces, &[10.0, 10.0]).expect("three pieces");
        assert_eq!(estimate.cycles, 60.0);
        let scatter = 4.303f64.powi(2) * (1.0 / 3.0 + 1.0 / 2.0);
        let expected = 20.0 * (scatter + 0.25 + (3.0 * DISTURBANCE).powi(2)).sqrt();
        assert!((estimate.margin - expected).abs() < 1e-9, "{estimate:?}");
    }

    /// Pieces scatter around a rate of 5 that keeps for some pieces what it is. Most intervals
    /// contain the mean of a long rest.
    #[test]
    fn a_rest_is_estimated_from_batches() {
        let mut covered = 0;
        for seed in 0..100 {
            let mut rng = Rng::new(seed);
            let mut level = 0.0;
            let mut next = || {
                level = 0.8 * level + 0.1 * rng.normal_f64();
                piece(100.0 * (5.0 + level), 100.0)
            };
            let pieces: Vec<Piece> = (0..64).map(|_| next()).collect();
            let rest: f64 = (0..200).map(|_| next().cycles).sum();
            let estimate = estimate_rest(0.0, &pieces, 20_000.0).expect("64 pieces");
            covered += u32::from((estimate.cycles - rest).abs() <= estimate.margin);
        }
        assert!(covered >= 90, "{covered} of 100");
        assert_eq!(estimate_rest(0.0, &[piece(1.0, 1.0); 9], 1.0), None);
    }
}
