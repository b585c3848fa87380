//! The verdict on a run in a few words.

use warploom_analyze::{Machine, analyze};
use warploom_config::GpuSpec;
use warploom_stats::result::{Begun, RunReport};

/// Bound of the kernel of a run that took the most cycles, or of several programs together, as `run
/// --explain` names it. `None` where nothing was timed. `sustainable` is the share of the network's
/// peak that the machine sustains.
pub fn bound(gpu: &GpuSpec, sustainable: f64, report: &RunReport) -> Option<&'static str> {
    if report.begun() < Begun::Instructions {
        return None;
    }
    let analysis = analyze(&Machine::new(gpu, sustainable), report)?;
    let kernel = match report.processes.len() {
        0 | 1 => analysis.longest().0,
        _ => &analysis.whole,
    };
    Some(kernel.bound.name())
}
