//! Micro-benchmarks of a simulated machine.
//!
//! Each is a small kernel that one part of the machine limits, a figure taken from its run, and the
//! figure that the machine's specification implies, with the arithmetic. Latencies and intervals
//! that the specification fixes must be equal to the last cycle; rates and bandwidths may miss
//! theirs by what the start and the end of a kernel take, and never exceed the peak, by nothing.
//!
//! A benchmark is a row of [`all`]; `warploom microbench`, `warploom list microbenchmarks`, the
//! tests and the documentation come from there.

mod bandwidth;
mod dram;
mod issue;
mod kernel;
mod memory;
mod page;
mod rate;
mod spills;
mod sync;

pub use page::{Row, markdown, measure};
pub use spills::{SpillCosts, spill_costs};
use warploom_config::GpuSpec;
use warploom_run::RunError;

/// What a benchmark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Latencies of loads.
    Memory,
    /// Bandwidths.
    Bandwidth,
    /// A DRAM channel.
    Dram,
    /// Latencies and rates of function units.
    Units,
    /// Conflicts, atomics, barriers, instruction supply.
    Sync,
}

/// One benchmark.
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// What it belongs to.
    pub family: Family,
    /// What it measures.
    pub about: &'static str,
    /// Unit of its figures.
    pub unit: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
}

/// What a benchmark found.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Figures.
    Figure(Figure),
    /// The machine has no such part: why.
    Absent(&'static str),
}

/// A measurement beside what the specification implies.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// On the simulated machine.
    pub measured: f64,
    /// By the specification.
    pub implied: f64,
    /// Most by which the two may differ, by the arithmetic.
    pub tolerance: f64,
    /// How far apart the two are at most, over all single measurements.
    pub difference: f64,
    /// What can never be exceeded, where there is such a figure.
    pub peak: Option<f64>,
    /// How the implied figure and the tolerance come about, with the numbers.
    pub arithmetic: String,
}

impl Figure {
    /// One measurement.
    pub fn new(measured: f64, implied: f64, tolerance: f64, arithmetic: String) -> Self {
        Self {
            measured,
            implied,
            tolerance,
            difference: (measured - implied).abs(),
            peak: None,
            arithmetic,
        }
    }

    /// The measurement is what the specification implies.
    pub fn agrees(&self) -> bool {
        // Means of integers: anything beyond rounding is a difference.
        const ROUNDING: f64 = 1e-9;
        let within = self.difference <= self.tolerance + ROUNDING;
        within
            && self
                .peak
                .is_none_or(|peak| self.measured <= peak + ROUNDING)
    }
}

/// Why a benchmark could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The machine refused the kernel.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The kernel did not end as it should.
    #[error("the micro-benchmark's kernel did not finish: {0}")]
    Outcome(String),
}

impl Benchmark {
    /// Runs it on a machine.
    pub fn measure(&self, gpu: &GpuSpec) -> Result<Answer, Trouble> {
        (self.measure)(gpu)
    }
}

/// The benchmark of that name.
pub fn find(name: &str) -> Option<&'static Benchmark> {
    all().find(|benchmark| benchmark.name == name)
}

/// Every benchmark, family by family.
pub fn all() -> impl Iterator<Item = &'static Benchmark> {
    let families = [
        memory::BENCHMARKS,
        bandwidth::BENCHMARKS,
        dram::BENCHMARKS,
        issue::BENCHMARKS,
        sync::BENCHMARKS,
    ];
    families.into_iter().flatten()
}

/// A figure with at most two digits after the point, three below one.
pub fn short(value: f64) -> String {
    let text = if value.abs() < 1.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.2}")
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::Figure;

    #[test]
    fn a_tolerance_is_for_the_implied_figure_and_not_for_the_peak() {
        let figure = |measured| Figure {
            peak: Some(128.0),
            ..Figure::new(measured, 127.0, 3.0, String::new())
        };
        assert!(figure(124.0).agrees() && figure(128.0).agrees());
        assert!(!figure(123.9).agrees(), "too little");
        assert!(!figure(128.1).agrees(), "above the peak");
    }
}
