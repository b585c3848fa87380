//! Which ways to share the SMs are worth a run to the targets, for the oracle.
//!
//! The curves of the programs alone (Fig. 3a) tell the speeds that a division would have if
//! programs did not slow each other down. The divisions that are best by these, and spatial, run
//! for a part of the time alone, the first pass. What each program executes in these cycles, over
//! what it executes in as many cycles alone, is the share of its speed that it keeps. From these
//! shares the time to the targets is estimated. Ways whose estimate is close to the best one run
//! to the targets.
//!
//! A way that is left out may still be the best. `docs/results/slicer.md`, The oracle, has how
//! often this was so where all ways had been run to the targets.

use super::fig3::{curve, over_best};
use super::{GPU, Group, Setting, alone_spec, study_until, times};
use crate::figure::Request;
use crate::runs::Runs;
use crate::spec::RunSpec;
use std::slice;
use std::sync::Arc;
use warploom_stats::result::{ProcessReport, RunReport};

/// Number of divisions of an SM in the first pass: the best by the curves.
const DIVISIONS: usize = 8;
/// Share of the time alone for which a way runs in the first pass: one part of this many.
const PARTS: u64 = 20;
/// Largest distance of an estimate from the best one, as a share of the best, with which a way runs
/// to the targets.
const MARGIN: f64 = 0.03;

/// Programs of a mix with the instructions that each executes.
pub(super) struct Work<'a> {
    /// Instruction targets of the programs.
    pub targets: &'a [u64],
    /// Core cycles alone that fix the targets.
    pub alone: u64,
}

impl Work<'_> {
    /// Total IPC at which programs with these speeds, in instructions per cycle, reach the targets.
    /// A program keeps its speed until it is the last, which then has its speed alone.
    fn total_ipc(&self, speeds: &[f64]) -> f64 {
        let targets = || self.targets.iter().map(|target| *target as f64);
        let mut ends: Vec<_> = targets().zip(speeds).collect();
        ends.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let Some(((target, speed), earlier)) = ends.split_last() else {
            return 0.0;
        };
        // Alone, the last program needs `alone` cycles for its whole target.
        let last = |begin: f64| {
            let left = (1.0 - **speed * begin / target).max(0.0);
            begin + left * self.alone as f64
        };
        let time = earlier
            .last()
            .map_or(self.alone as f64, |(target, speed)| last(target / *speed));
        targets().sum::<f64>() / time
    }

    /// Total IPC of the programs one after the other.
    pub fn sequential(&self) -> f64 {
        let time = self.alone * self.targets.len() as u64;
        self.targets.iter().sum::<u64>() as f64 / time as f64
    }

    /// Total IPC of programs with these shares of their best speeds.
    fn of_shares(&self, shares: &[f64]) -> f64 {
        let alone = self
            .targets
            .iter()
            .map(|target| *target as f64 / self.alone as f64);
        let speeds = shares.iter().zip(alone).map(|(share, alone)| share * alone);
        self.total_ipc(&speeds.collect::<Vec<_>>())
    }

    /// Total IPC that the first cycles of a run lead to. `alone` are runs of as many cycles of each
    /// program alone.
    pub fn estimate(&self, mixed: &RunReport, alone: &[Arc<RunReport>]) -> f64 {
        let share = |(mixed, alone): (&ProcessReport, &Arc<RunReport>)| {
            let alone = alone.processes[0].ipc;
            if alone > 0.0 { mixed.ipc / alone } else { 0.0 }
        };
        let shares = mixed.processes.iter().zip(alone).map(share);
        self.of_shares(&shares.collect::<Vec<_>>())
    }
}

/// Indices of the ways for the first pass: divisions that are best by the curves of the programs
/// alone, and ways without a division. `None` while runs are missing.
pub(super) fn plausible(
    request: &Request,
    runs: &mut Runs<'_>,
    group: &Group,
    ways: &[Setting],
    work: &Work<'_>,
) -> Option<Vec<usize>> {
    let curves = group
        .names
        .iter()
        .map(|name| curve(request, runs, name, &[]));
    // Collected first, so that all runs are requested at once.
    let curves: Vec<_> = curves.collect();
    let curves: Option<Vec<Vec<f64>>> = curves.into_iter().collect();
    let shares: Vec<Vec<f64>> = curves?.iter().map(|curve| over_best(curve)).collect();
    let estimate = |way: &Setting| {
        let of = |(shares, blocks): (&Vec<f64>, &u32)| {
            let last = shares.len().checked_sub(1)?;
            Some(shares[last.min(*blocks as usize - 1)])
        };
        let shares = shares.iter().zip(&way.blocks).map(of);
        work.of_shares(&shares.collect::<Option<Vec<_>>>().unwrap_or_default())
    };
    Some(best_divisions(ways, estimate))
}

/// Indices of the ways without a division, and of the best divisions by an estimate.
fn best_divisions(ways: &[Setting], estimate: impl Fn(&Setting) -> f64) -> Vec<usize> {
    let (mut divisions, mut all): (Vec<usize>, Vec<usize>) =
        (0..ways.len()).partition(|at| !ways[*at].blocks.is_empty());
    divisions.sort_by(|a, b| estimate(&ways[*b]).total_cmp(&estimate(&ways[*a])));
    all.extend(divisions.into_iter().take(DIVISIONS));
    all.sort_unstable();
    all
}

/// Total IPC of a group in each way, by the first pass. `None` while runs are missing.
pub(super) fn first_pass(
    request: &Request,
    runs: &mut Runs<'_>,
    group: &Group,
    ways: &[Setting],
    work: &Work<'_>,
) -> Option<Vec<f64>> {
    let cycles = times(request.scale).alone / PARTS;
    let short = |name: &&'static str| RunSpec {
        max_cycles: Some(cycles),
        ..alone_spec(request, GPU, name, &[])
    };
    let alone: Vec<RunSpec> = group.names.iter().map(short).collect();
    let group = slice::from_ref(group);
    // Both are requested at once.
    let alone = runs.all(&alone);
    let rows = study_until(request, runs, GPU, group, ways, Some(cycles));
    let (alone, rows) = (alone?, rows?);
    let row = rows[0].iter();
    Some(
        row.map(|mixed| work.estimate(&mixed.report, &alone))
            .collect(),
    )
}

/// Indices of the ways that run to the targets, by their estimates.
pub(super) fn kept(estimates: &[f64]) -> Vec<usize> {
    let best = estimates.iter().copied().fold(0.0, f64::max);
    let near = |at: &usize| estimates[*at] >= best * (1.0 - MARGIN);
    (0..estimates.len()).filter(near).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{LEFT_OVER, Setting};
    use super::{DIVISIONS, Work, best_divisions, kept};

    /// Alone, the programs execute 10 and 40 instructions per cycle.
    const WORK: Work<'_> = Work {
        targets: &[1000, 4000],
        alone: 100,
    };

    fn total(speeds: [f64; 2]) -> f64 {
        WORK.total_ipc(&speeds)
    }

    #[test]
    fn the_last_program_has_its_speed_alone() {
        // The first ends after 200 cycles. The second has 2000 left, which take 50.
        assert_eq!(total([5.0, 10.0]), 5000.0 / 250.0);
        // The second ends after 125 cycles. The first has 500 left, which take 50.
        assert_eq!(total([4.0, 32.0]), 5000.0 / 175.0);
        // Both end at once.
        assert_eq!(total([5.0, 20.0]), 5000.0 / 200.0);
        // A program that has not begun runs after the other.
        assert_eq!(total([10.0, 0.0]), 5000.0 / 200.0);
        assert_eq!(total([0.0, 0.0]), 0.0);
        assert_eq!(WORK.sequential(), 5000.0 / 200.0);
    }

    #[test]
    fn shares_of_the_best_speed_lead_to_an_estimate() {
        // Both have half of their speed, or one has all of it and the other none.
        assert_eq!(WORK.of_shares(&[0.5, 0.5]), 5000.0 / 200.0);
        assert_eq!(WORK.of_shares(&[1.0, 0.0]), 5000.0 / 200.0);
        assert_eq!(WORK.of_shares(&[1.0, 1.0]), 5000.0 / 100.0);
    }

    #[test]
    fn the_best_divisions_are_in_the_first_pass() {
        let division = |blocks: u32| Setting {
            blocks: vec![blocks, 1],
            ..Setting::policy("fixed")
        };
        let mut ways = vec![Setting::policy(LEFT_OVER)];
        ways.extend((1..=DIVISIONS as u32 + 2).map(division));
        // The divisions with the fewest blocks are the best.
        let found = best_divisions(&ways, |way| -f64::from(way.blocks[0]));
        assert_eq!(found, (0..=DIVISIONS).collect::<Vec<_>>());
    }

    #[test]
    fn ways_near_the_best_are_kept() {
        assert_eq!(kept(&[96.9, 97.0, 100.0, 10.0, 99.0]), [1, 2, 4]);
        assert_eq!(kept(&[]), [0; 0]);
    }
}
