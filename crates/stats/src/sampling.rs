//! Sampled programs, of which not all launches were timed: strata, timed launches, estimates.

use crate::result::Size;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Warp instructions of all launches, which were counted.
    pub warp_instructions: u64,
    /// Thread instructions of all launches, which were counted.
    pub thread_instructions: u64,
    /// Estimates for all launches by name: `cycles`, `ipc`, the counters of the registry that add
    /// up, and `energy.joules` where an energy preset was given.
    pub estimates: BTreeMap<String, Interval>,
    /// Strata in the order of their first launches.
    pub strata: Vec<StratumReport>,
}

impl SamplingReport {
    /// Number of the stratum and of the epoch of each timed launch, in the order of launches.
    pub fn places_of_timed(&self) -> Vec<(usize, usize)> {
        let strata = self.strata.iter().enumerate();
        let timed = strata.flat_map(|(number, stratum)| {
            let launches = stratum.timed.iter();
            launches.map(move |timed| (timed.launch, (number, timed.epoch)))
        });
        let mut timed: Vec<(u64, (usize, usize))> = timed.collect();
        timed.sort_unstable();
        timed.into_iter().map(|(_, place)| place).collect()
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
    /// Number of launches of each of its epochs. In each epoch the number of launches doubles; its
    /// timed launches stand for the epoch alone, so that a stratum may change with time. An epoch
    /// without timed launches belongs to the one before.
    pub epochs: Vec<u64>,
    /// Estimated mean core cycles of a launch.
    pub mean_cycles: f64,
    /// Standard deviation of the core cycles of a launch as a fraction of the mean, as the plan
    /// estimates it.
    pub deviation: f64,
    /// Timed launches of the stratum in order.
    pub timed: Vec<TimedLaunch>,
}

/// Launch that was timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedLaunch {
    /// Number of earlier launches of the program.
    pub launch: u64,
    /// Number of its epoch in the stratum.
    pub epoch: usize,
    /// Core cycles of the launch.
    pub cycles: u64,
    /// Reason for timing it: `first` of a kernel, `pilot` of a stratum, `check` of an epoch, or
    /// `bound` of the error.
    pub why: String,
}
