//! Statistics: declared once with a stable name, a unit and a sentence; counted in plain structs
//! of integers; recorded in windows; written in the schema of a result file.
//!
//! A part of the machine declares its counters with [`declare_stats!`]. That gives a struct of
//! integers (so counting is an addition), a merge, a difference, and a constant table that
//! `list stats`, the generated documentation and the audit read. The registry of the program is
//! the concatenation of those tables.
//!
//! Invariants: a statistic's name is lower-case words joined by dots and never changes its
//! meaning; every statistic has a sentence; integers only, so that merging in any order gives
//! the same result; what is counted adds up, and only a [`Peak`] does not.

mod declare;
pub mod energy;
mod metrics;
pub mod mix;
mod registry;
pub mod result;
pub mod sample;
pub mod trace;
mod windows;

pub use declare::{
    Counter, Counters, LANE_COUNTS, LOG2_BINS, PEAK_SUFFIX, Peak, StatMeta, StatTable, Unit,
    log2_bin,
};
pub use metrics::METRICS;
pub use registry::{StatRow, audit, audit_shapes, rows};
pub use windows::{Snapshot, Window, Windows};
