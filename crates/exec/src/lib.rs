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

mod access;
pub mod approx;
mod async_ops;
mod atomic;
mod atomic_ops;
mod barrier;
mod bit_ops;
mod block;
mod compare;
mod control;
mod convert;
mod decode;
mod fault;
mod float8;
mod float_ops;
mod frames;
mod functional;
mod heap;
mod int_ops;
mod launch;
mod load_ops;
mod log;
mod machine;
mod matrix;
mod meet;
mod memory;
mod mipmap;
mod module;
mod move_ops;
mod printed;
mod printf;
mod race;
mod regs;
mod replay;
mod scalar_video;
mod soft;
mod space;
mod span;
mod special;
mod spin;
mod stack;
mod step;
mod store_ops;
mod surface;
mod system;
mod texture;
mod texture_ops;
mod tiny;
mod vals;
mod video;
mod warp;
mod warp_ops;
mod wide;

pub use atomic::{AtomicAct, AtomicBatch, AtomicDst, AtomicMode, apply_atomic, atom_bytes};
pub use barrier::{BARRIERS, BarrierArrival, BarrierOutcome, BarrierRelease, BarrierTable};
pub use block::BlockState;
pub use fault::{
    Assertion, Checks, Fault, FaultAddress, FaultKind, Finding, FindingKind, FindingReport, Place,
};
pub use functional::{
    FunctionalOptions, FunctionalStats, Observer, RunError, StuckReport, run_grid,
    run_grid_observed,
};
pub use launch::{LaunchContext, LaunchError, LaunchSpec, MAX_BLOCK_THREADS};
pub use log::{MemPort, WriteLog};
pub use memory::{
    ALLOC_ALIGN, AccessCheck, Allocation, DeviceMemory, MemoryError, PAGE_BYTES, PROTECTED_BYTES,
};
pub use mipmap::Detail;
pub use module::{ModuleImage, load_module};
pub use replay::{LoadRecord, Lookahead, Pages, StoredLines};
pub use span::HalfWarp;
pub use stack::{BranchOrder, Divergence, Spin, StackEntry};
pub use step::{Effect, Env, MemEffect, MemKind, StepOut, report_finding, step};
pub use texture::{AddressMode, ChannelKind, Texture, TextureTable};
pub use warp::WarpState;
