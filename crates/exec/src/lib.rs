//! What instructions do: warp-wide values, memory images, atomics. Knows no cycle.
//!
//! A [`LaunchContext`] holds what a grid shares; [`BlockState`] and [`WarpState`] hold what runs. [`step`]
//! executes one instruction of one warp and says what the timing must know of it: lanes, addresses,
//! barriers. Stores go to the SM's [`WriteLog`] and reach [`DeviceMemory`] when it is committed; atomics on
//! global memory can be left to the memory system ([`AtomicMode::Deferred`]).
//!
//! Semantics are those of the PTX ISA, bit by bit; where NVIDIA promises only error bounds, results
//! lie within them and are the same on every machine. Faults of the simulated program are results
//! ([`Fault`]), never panics.

mod atomic;
mod barrier;
mod block;
mod fault;
mod launch;
mod log;
mod memory;
mod race;
mod regs;
mod stack;
mod step;
mod texture;
mod warp;

pub use atomic::{AtomicBatch, AtomicDst, AtomicMode, apply_atomic, atom_bytes};
pub use barrier::{BARRIERS, BarrierArrival, BarrierOutcome, BarrierRelease, BarrierTable};
pub use block::BlockState;
pub use fault::{
    Checks, Fault, FaultAddress, FaultKind, Finding, FindingKind, FindingReport, Place,
};
pub use launch::{LaunchContext, LaunchError, LaunchSpec, MAX_BLOCK_THREADS};
pub use log::{MemPort, WriteLog, commit_logs};
pub use memory::{ALLOC_ALIGN, AccessCheck, Allocation, DeviceMemory, MemoryError, PAGE_BYTES};
pub use stack::{BranchOrder, Spin, StackEntry};
pub use step::{Effect, Env, MemEffect, MemKind, StepOut, step};
pub use texture::TextureTable;
pub use warp::WarpState;
