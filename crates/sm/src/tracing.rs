//! Record of the activities of an SM's warps, for timelines.

use warploom_stats::trace::{Activity, TraceEvent};

/// Activities that were recorded in one SM.
#[derive(Clone, Debug, Default)]
pub struct Tracer {
    /// By row: activity, rank of the block and number of the warp, as recorded last.
    pub(crate) last: Vec<(Activity, u64, u32)>,
    /// Changes so far, oldest first.
    pub(crate) events: Vec<TraceEvent>,
}
