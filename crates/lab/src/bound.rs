//! The verdict on a run in a few words.

use warploom_analyze::{Machine, analyze};
use warploom_config::GpuSpec;
use warploom_stats::result::{Begun, RunReport};

/// Bound of a run in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBound {
    /// Bound of the kernel of the run that took the most cycles, or of several programs together,
    /// as `run --explain` names it, and the one that comes close to it.
    pub name: String,
    /// Bound if that is the scheduling policy, and holding warps back costs no time.
    pub without_policy: Option<&'static str>,
}

/// Bound of a run. `None` where nothing was timed. `sustainable` is the share of the network's
/// peak that the machine sustains.
pub fn bound(gpu: &GpuSpec, sustainable: f64, report: &RunReport) -> Option<RunBound> {
    if report.begun() < Begun::Instructions {
        return None;
    }
    let analysis = analyze(&Machine::new(gpu, sustainable), report)?;
    let kernel = match report.processes.len() {
        0 | 1 => analysis.longest().0,
        _ => &analysis.whole,
    };
    Some(RunBound {
        name: kernel.bounds(),
        without_policy: kernel.bound_without_policy.map(|bound| bound.name()),
    })
}
