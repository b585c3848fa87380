//! Timing of the memory system: coalescing, caches, MSHRs, L2 partitions and DRAM channels.
//!
//! Invariants: requests carry addresses and sizes, no data; every request that wants a reply gets
//! exactly one; time is passed in; nothing is allocated once queues without a limit (the fixed
//! delays) have reached the length that a load needs. Addresses are physical: processes share
//! caches without sharing lines.
//!
//! The pages of docs/model describe the model with its sources. Facts about GPGPU-Sim are those of `accel-sim/gpgpu-sim_distribution` at 667834cf.

pub mod address;
pub mod cache;
pub mod coalesce;
pub mod dram;
pub mod hash;
pub mod partition;
mod request;
mod request_arena;
#[cfg(test)]
mod testing;

pub use request::{ACCESS_KINDS, AccessKind, Reply, Request};
