//! Statistics: declared once with a stable name, a unit and a sentence, counted in plain structs of
//! integers, recorded in windows, and written in the schema of a result file.
//!
//! A part of the machine declares its counters with [`declare_stats!`]. The macro makes a struct of
//! integers, so that counting is an addition, functions to merge and to subtract, and a constant
//! table. `list stats`, the generated documentation and the audit read the tables, and the registry
//! of the program is their concatenation.
//!
//! Invariants: the name of a statistic consists of lower-case words joined by dots and never
//! changes its meaning. Every statistic has a sentence. Counters are integers, so that merging in
//! any order gives the same result. All counters add up except for a [`Peak`].

mod combine;
mod declare;
mod digest_set;
pub mod energy;
mod metrics;
pub mod mix;
mod registry;
pub mod result;
pub mod sample;
pub mod sampling;
pub mod trace;
mod windows;

pub use combine::concat_stats;
pub use declare::{
    Counter, Counters, LANE_COUNTS, LOG2_BINS, PEAK_SUFFIX, Peak, StatMeta, StatTable, Unit,
    log2_bin, tables,
};
pub use digest_set::{DIGEST_COUNTERS, DIGEST_SET, run_digest};
pub use metrics::METRICS;
pub use registry::{StatRow, audit, audit_shapes, rows};
#[doc(hidden)]
pub use warploom_state as state;
pub use windows::{Snapshot, Window, Windows};
