//! The verdict on a run in a few words.

use warploom_analyze::{Bound, Machine, analyze};
use warploom_config::GpuSpec;
use warploom_stats::result::{Begun, RunReport};

/// Bound of a run in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBound {
    /// Bound of the kernel of the run that took the most cycles, or of several programs together,
    /// as `run --explain` names it, and the one that comes close to it.
    pub name: String,
    /// Bound if the scheduling policy is one of the bounds in `name`, and holding warps back costs
    /// no time.
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
    let beside = kernel.bound_beside == Some(Bound::Policy);
    let without_policy = match kernel.bound_without_policy {
        None => beside.then_some(kernel.bound),
        next => next,
    };
    Some(RunBound {
        name: kernel.bounds(),
        without_policy: without_policy.map(Bound::name),
    })
}
