//! Comparison of two runs that must agree in everything that the machine counts.

use warploom_stats::result::{Counts, Outcome, RunReport};

/// Results of a run without the time taken and the command. The digest covers only some counters;
/// here all of them are compared.
#[derive(PartialEq, Debug)]
pub struct Results {
    digest: String,
    outcome: Outcome,
    /// Name, cycles and counters of every launch in order.
    kernels: Vec<(String, u64, Counts)>,
    counts: Counts,
}

/// Returns the results of a run for comparison with those of another.
pub fn results(report: &RunReport) -> Results {
    let kernels = report.kernels.iter().map(|kernel| {
        let figures = &kernel.figures;
        (
            kernel.name.clone(),
            figures.cycles,
            figures.statistics.clone(),
        )
    });
    Results {
        digest: report.digest.clone(),
        outcome: report.outcome.clone(),
        kernels: kernels.collect(),
        counts: report.totals.figures.statistics.clone(),
    }
}
