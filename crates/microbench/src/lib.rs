//! Micro-benchmarks of a simulated machine.
//!
//! A benchmark is a small kernel that one part of the machine limits, with a measured figure and
//! the figure that the specification of the machine implies, including the arithmetic. Latencies
//! and intervals must agree to the cycle. Rates and bandwidths may be lower by the time of the
//! start and the end of a kernel, and never exceed the peak.
//!
//! Each benchmark is a row of [`all`], from which `warploom microbench`, `warploom list
//! microbenchmarks`, the tests and the documentation are made.

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

/// Family to which a benchmark belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Latencies of loads from each level of memory.
    Memory,
    /// Bandwidths that one SM sees.
    Bandwidth,
    /// Bandwidth of a DRAM channel.
    Dram,
    /// Latencies and rates of execution units.
    Units,
    /// Conflicts in shared memory, atomics, barriers, instruction supply.
    Sync,
}

/// Micro-benchmark of one part of the machine.
pub struct Benchmark {
    /// Name of the benchmark.
    pub name: &'static str,
    /// Family of the benchmark.
    pub family: Family,
    /// Description of the accesses or instructions measured.
    pub about: &'static str,
    /// Unit of the figures.
    pub unit: &'static str,
    measure: fn(&GpuSpec) -> Result<Answer, Trouble>,
}

/// Answer of a benchmark on a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Measured and implied figures.
    Figure(Figure),
    /// Reason why the machine has no such figure.
    Absent(&'static str),
}

/// Measured figure with the one that the specification implies.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Figure measured on the simulated machine.
    pub measured: f64,
    /// Figure implied by the specification.
    pub implied: f64,
    /// Largest allowed difference of the two, by the arithmetic.
    pub tolerance: f64,
    /// Largest difference of the two over all single measurements.
    pub difference: f64,
    /// Peak that no measurement can exceed, if there is one.
    pub peak: Option<f64>,
    /// Derivation of the implied figure and of the tolerance, with the numbers.
    pub arithmetic: String,
}

impl Figure {
    /// Creates a figure of one measurement.
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

    /// True if the measurement agrees with the specification.
    pub fn agrees(&self) -> bool {
        // The figures are means of integers, so that anything beyond rounding is a difference.
        const ROUNDING: f64 = 1e-9;
        let within = self.difference <= self.tolerance + ROUNDING;
        within
            && self
                .peak
                .is_none_or(|peak| self.measured <= peak + ROUNDING)
    }
}

/// Error that prevented a benchmark.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The machine refused the kernel.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The kernel did not end normally.
    #[error("the kernel of the micro-benchmark did not finish: {0}")]
    Outcome(String),
}

impl Benchmark {
    /// Runs the benchmark on a machine.
    pub fn measure(&self, gpu: &GpuSpec) -> Result<Answer, Trouble> {
        (self.measure)(gpu)
    }
}

/// Finds the benchmark with a name.
pub fn find(name: &str) -> Option<&'static Benchmark> {
    all().find(|benchmark| benchmark.name == name)
}

/// Iterates over all benchmarks, family by family.
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

/// Formats a figure with at most two digits after the point, or three below 1.
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
