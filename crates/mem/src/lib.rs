//! Timing of the memory system: coalescing, caches, MSHRs, L2 partitions and DRAM channels.
//!
//! Invariants: no data, only addresses and sizes; every request that wants a reply gets exactly
//! one; time is passed in; nothing allocates after construction.

pub mod address;
pub mod cache;
pub mod coalesce;
pub mod dram;
pub mod partition;
mod request;

pub use request::{AccessKind, Request};
