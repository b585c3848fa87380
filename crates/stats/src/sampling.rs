//! Sampled programs, of which not all launches were timed: strata, timed launches, estimates.

use crate::result::Size;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of sizes of a launch.
pub const SIZES: usize = 5;

/// Report of a run that timed a part of the launches and estimated the whole program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingReport {
    /// Requested bound of the relative error of the cycles.
    pub bound: f64,
    /// Probability with which the true value lies in an interval.
    pub confidence: f64,
    /// Number of launches of the program.
    pub launches: u64,
    /// Number of launches that were timed.
    pub timed: u64,
    /// Number of timed launches whose results were not those of their execution without timing,
    /// because they depend on the order in which threads run, or on the time. The program goes on
    /// with the results of the execution.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub differing: u64,
    /// Warp instructions of all launches, which were counted.
    pub warp_instructions: u64,
    /// Thread instructions of all launches, which were counted.
    pub thread_instructions: u64,
    /// Estimates for all launches by name: `cycles`, `ipc`, `l1d.hit_rate`, `l2.hit_rate`,
    /// `dram.utilisation`, the counters of the registry that add up, and `energy.joules` where an
    /// energy preset was given.
    pub estimates: BTreeMap<String, Interval>,
    /// Strata in the order of their first launches.
    pub strata: Vec<StratumReport>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SamplingReport {
    /// Estimate of the cycles of all launches.
    pub fn cycles(&self) -> Interval {
        self.estimates.get("cycles").copied().unwrap_or_default()
    }

    /// Timed launches in their order, each with the number of its stratum.
    pub fn timed_in_order(&self) -> Vec<(usize, &TimedLaunch)> {
        let strata = self.strata.iter().enumerate();
        let timed = strata.flat_map(|(at, stratum)| stratum.timed.iter().map(move |t| (at, t)));
        let mut timed: Vec<(usize, &TimedLaunch)> = timed.collect();
        timed.sort_unstable_by_key(|(_, timed)| timed.launch);
        timed
    }
}

/// Estimated value with its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Expected value of the quantity.
    pub value: f64,
    /// Half of the width of the interval.
    pub margin: f64,
}

impl Interval {
    /// Margin as a fraction of the value; 0 for a value of 0.
    pub fn relative_margin(&self) -> f64 {
        match self.value {
            0.0 => 0.0,
            value => self.margin / value.abs(),
        }
    }

    /// Ratio of the quantity to another one. The margins count as independent, as squares, which is
    /// too much where errors have a common part.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let value = self.value / other.value;
        let margin = value.abs() * self.relative_margin().hypot(other.relative_margin());
        Self { value, margin }
    }

    /// True if a value lies within the interval.
    pub fn contains(&self, value: f64) -> bool {
        (value - self.value).abs() <= self.margin
    }
}

/// Launches that are like each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StratumReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Blocks of the grid of its first launch.
    pub grid: Size,
    /// Threads of a block.
    pub block: Size,
    /// Warp instructions of its first launch.
    pub warp_instructions: u64,
    /// Number of its launches.
    pub launches: u64,
    /// Sizes of its first launch: blocks, warp instructions, thread instructions, accesses of
    /// sectors of global memory by warps, and these with four more for each sector that L2 lacks.
    pub sizes: [u64; SIZES],
    /// Epochs of the stratum, in each of which the number of launches doubles. The timed launches
    /// of an epoch stand for the epoch alone, so that a stratum may change with time. An epoch
    /// without timed launches belongs to the one before.
    pub epochs: Vec<EpochReport>,
    /// Estimated mean core cycles of a launch.
    pub mean_cycles: f64,
    /// Standard deviation of the core cycles of a launch from what its sizes let expect, as a
    /// fraction of the mean, as the plan estimates it.
    pub deviation: f64,
    /// Timed launches of the stratum in order.
    pub timed: Vec<TimedLaunch>,
}

/// Launches of a stratum that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Number of launches of the epoch.
    pub launches: u64,
    /// Sums of their sizes.
    pub sizes: [u64; SIZES],
}

impl EpochReport {
    /// Adds a launch of the given sizes.
    pub fn add(&mut self, sizes: &[u64; SIZES]) {
        self.launches += 1;
        for (sum, size) in self.sizes.iter_mut().zip(sizes) {
            *sum += size;
        }
    }
}

/// Launch that was timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedLaunch {
    /// Number of earlier launches of the program.
    pub launch: u64,
    /// Number of its epoch in the stratum.
    pub epoch: usize,
    /// Sizes of the launch.
    pub sizes: [u64; SIZES],
    /// Core cycles of the launch.
    pub cycles: u64,
    /// Reason for timing it: `first` of a kernel, `pilot` of a stratum, `check` of an epoch, or
    /// `bound` of the error.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::Interval;

    #[test]
    fn margins_of_a_ratio_add_as_squares() {
        let of = |value, margin| Interval { value, margin };
        let ratio = of(200.0, 6.0).over(&of(100.0, 4.0));
        assert!((ratio.value - 2.0).abs() < 1e-12 && (ratio.margin - 0.1).abs() < 1e-12);
        assert!(ratio.contains(1.91) && !ratio.contains(2.11));
        assert_eq!(of(0.0, 1.0).relative_margin(), 0.0);
    }
}
