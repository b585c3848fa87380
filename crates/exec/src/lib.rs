//! Functional execution of instructions, without any notion of time.
//!
//! A [`LaunchContext`] holds the data that all blocks of a grid share. [`BlockState`] and
//! [`WarpState`] hold the state of running blocks and warps. [`step()`] executes one instruction of
//! one warp and reports what the timing needs: lanes, addresses and barrier arrivals. Stores are
//! recorded in the SM's [`WriteLog`] and reach [`DeviceMemory`] when the log is committed. Atomic
//! operations on global memory can be deferred to the memory system ([`AtomicMode::Deferred`]).
//!
//! Results follow the PTX ISA bit by bit. Where a GPU differs from the ISA, or the ISA leaves a
//! result open, they follow the GPU (`docs/hardware.md`). Where NVIDIA documents only error bounds,
//! results are within these bounds and equal on every host. Faults of the simulated program are
//! results of a run ([`Fault`]) and never panics.
//!
//! The modules are sorted by subject: `ops` implements the instructions, `state` holds the state of
//! warps and blocks, `memory` holds memory contents, textures and pending stores, and `numeric`
//! implements arithmetic on single values.

#![allow(
    clippy::needless_range_loop,
    reason = "loops over lanes index several arrays alike; this form is the one that vectorises"
)]

mod context;
mod decode;
mod fault;
mod fold;
mod functional;
mod handler;
mod host_isa;
mod inst;
mod launch;
mod lookahead;
mod matrix_places;
mod memory;
mod numeric;
mod observer;
mod ops;
mod outcome;
mod peer_access;
mod peers;
mod replay;
mod row;
mod state;
mod step;
mod texture_reads;

pub use context::LaunchContext;
pub use fault::{
    Assertion, Checks, Fault, FaultAddress, FaultKind, Finding, FindingKind, FindingReport, Place,
};
pub use functional::{
    FunctionalOptions, FunctionalStats, Poll, RunError, StuckReport, run_grid, run_grid_polled,
};
pub use launch::{KernelLaunch, LaunchError, LaunchSpec, MAX_BLOCK_THREADS};
pub use lookahead::Lookahead;
pub use memory::atomic::{
    AtomicAction, AtomicBatch, AtomicDst, AtomicMode, apply_atomic, atom_bytes,
};
pub use memory::device::{
    ALLOC_ALIGN, AccessCheck, Allocation, DeviceMemory, MemoryError, PAGE_BYTES, PROTECTED_BYTES,
    Version,
};
pub use memory::effect::{MemEffect, MemKind};
pub use memory::mipmap::MipmapSettings;
pub use memory::module::{LoadedModule, load_module};
pub use memory::span::HalfWarp;
pub use memory::stored_lines::{Pages, StoredLines};
pub use memory::texture::{AddressMode, ChannelKind, Texture};
pub use memory::texture_table::TextureTable;
pub use memory::write_log::{MemPort, WriteLog};
pub use numeric::approx;
pub use observer::Observer;
pub use outcome::{BULK_LINE_BYTES, BulkCopies, Completion, Effect, Env, StepOut};
pub use peer_access::{PeerAccess, PeerAccesses, PeerAct};
pub use replay::LoadRecord;
pub use state::barrier::{BARRIERS, BarrierArrival, BarrierOutcome, BarrierRelease, BarrierTable};
pub use state::block::BlockState;
pub use state::cluster::{ClusterPlace, ClusterShape, ClusterSignal, ImpossibleCluster};
pub use state::stack::{BranchOrder, Divergence, Spin, StackEntry};
pub use state::warp::WarpState;
pub use step::{report_finding, step};
