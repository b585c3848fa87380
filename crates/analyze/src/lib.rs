//! Bottleneck analysis of a finished run: a verdict on what bounds it, from all parts and causes
//! that are counted, and the categories and classes of Z. Lin, M. Mantor, H. Zhou, "GPU Performance
//! vs. Thread-Level Parallelism: Scalability Analysis and a Novel Way to Improve TLP", ACM TACO
//! 15(1), 2018, sections 4 and 6.4 (GPUDuet): how much of each part's throughput is used, over the
//! run and in windows of it; what limits occupancy; what more thread-level parallelism (TLP) would
//! do.
//!
//! Invariants: a pure function of a result and its machine; every utilisation is between 0 and 1;
//! peaks come from `GpuSpec::peaks` and the specification alone.

mod accesses;
mod advice;
mod allocation;
mod analysis;
mod atomics;
mod causes;
mod classes;
mod code;
mod context;
mod difference;
mod explain;
mod growth;
mod hot_banks;
mod issued;
mod loads;
mod loadstore;
mod memories;
mod mix;
mod occupancy;
mod phases;
mod pipes;
mod recovery;
mod second;
mod shape;
mod shared;
mod steps;
mod verdict;

pub use analysis::{Analysis, KernelAnalysis, WindowSeries, analyze, analyze_with_lines};
pub use classes::Category;
pub use context::DuetAnalysis;
pub use difference::{ComparedRun, explain_difference};
pub use issued::{IssuedLine, Work};
pub use mix::{MixExplanation, explain_mix};
pub use occupancy::{Occupancy, Room};
pub use pipes::UnitUse;
pub use verdict::{Bound, SHARED_BUSY};
pub use warploom_policy::load_class::{LoadClass, Thresholds, thresholds};
pub use warploom_policy::utilisation::{Machine, Part, Throughput, Throughputs, Utilisation};
