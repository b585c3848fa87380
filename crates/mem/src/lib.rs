//! Timing of the memory system: coalescing, caches, MSHRs, L2 partitions and DRAM channels.
//!
//! Invariants: no data, only addresses and sizes; every request that wants a reply gets exactly
//! one; time is passed in; nothing allocates once buffers without a limit (the fixed delays) have
//! reached the size that a load needs. Addresses are physical: processes
//! share caches without sharing lines.
//!
//! Facts about GPGPU-Sim are those of `accel-sim/gpgpu-sim_distribution` at 667834cf.

pub mod address;
pub mod cache;
pub mod coalesce;
pub mod dram;
pub mod hash;
pub mod partition;
mod places;
mod request;
#[cfg(test)]
mod testing;

pub use request::{ACCESS_KINDS, AccessKind, Reply, Request};
