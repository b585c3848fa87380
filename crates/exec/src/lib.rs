//! What instructions do: warp-wide values, memory images, atomics. Knows no cycle.
//!
//! A [`LaunchContext`] holds what a grid shares; [`BlockState`] and [`WarpState`] hold what runs.
//! [`step()`] executes one instruction of one warp and says what the timing must know of it: lanes,
//! addresses, barriers. Stores go to the SM's [`WriteLog`] and reach [`DeviceMemory`] when it is
//! committed; atomics on global memory can be left to the memory system ([`AtomicMode::Deferred`]).
//!
//! Semantics are those of the PTX ISA, bit by bit, and those of a GPU where that differs or says
//! nothing (`docs/hardware.md`); where NVIDIA promises only error bounds, results lie within them
//! and are the same on every machine. Faults of the simulated program are results
//! ([`Fault`]), never panics.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over lanes index several arrays alike; this form is the one that vectorises"
)]

mod ahead;
mod context;
mod decode;
mod fault;
mod functional;
mod handler;
mod host_isa;
mod inst;
mod launch;
mod memory;
mod numeric;
mod ops;
mod outcome;
mod state;
mod step;

pub use ahead::{Ahead, Loaded, Pages, StoredLines};
pub use context::LaunchContext;
pub use fault::{
    Assertion, Checks, Fault, FaultAddress, FaultKind, Finding, FindingKind, FindingReport, Place,
};
pub use functional::{
    FunctionalOptions, FunctionalStats, Observer, RunError, StuckReport, run_grid,
    run_grid_observed,
};
pub use launch::{KernelLaunch, LaunchError, LaunchSpec, MAX_BLOCK_THREADS};
pub use memory::atomic::{AtomicAct, AtomicBatch, AtomicDst, AtomicMode, apply_atomic, atom_bytes};
pub use memory::device::{
    ALLOC_ALIGN, AccessCheck, Allocation, DeviceMemory, MemoryError, PAGE_BYTES, PROTECTED_BYTES,
};
pub use memory::effect::{MemEffect, MemKind};
pub use memory::mipmap::Detail;
pub use memory::module::{ModuleImage, load_module};
pub use memory::span::HalfWarp;
pub use memory::texture::{AddressMode, ChannelKind, Texture, TextureTable};
pub use memory::write_log::{MemPort, WriteLog};
pub use numeric::approx;
pub use outcome::{Effect, Env, StepOut};
pub use state::barrier::{BARRIERS, BarrierArrival, BarrierOutcome, BarrierRelease, BarrierTable};
pub use state::block::BlockState;
pub use state::stack::{BranchOrder, Divergence, Spin, StackEntry};
pub use state::warp::WarpState;
pub use step::{report_finding, step};
