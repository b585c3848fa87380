//! The whole machine: SMs, networks, memory partitions, block dispatch, threads.
//!
//! Time advances in steps of `gpu.link_cycles` core cycles. Within a step every SM runs on its own,
//! and so does the memory system: a message between them takes at least a step. At the end of a
//! step, shared effects are committed in a fixed order: stores by (cycle, SM), atomics by (cycle,
//! partition). So results depend neither on the order in which SMs run nor on the number of
//! threads.
//!
//! Where it can, the host runs windows of up to 32 cycles instead, in which each part of the
//! machine runs its cycles one after the other, with the same results. The scheduling of this work
//! is in `host`, apart from the hardware.
//!
//! Invariants: no I/O, no clock but simulated time; policies choose, this crate acts.

mod conservation;
mod counters;
mod dispatch;
mod domain;
mod footprints;
mod host;
mod loads;
mod machine;
mod memory;
mod observer;
mod observers;
mod peer_messages;
mod peers;
mod probe;
mod recorder;
pub mod registry;
mod replay;
mod stretches;
mod watchdog;

pub use counters::{BankPart, DeviceCounters, MachineCounters, PartCounters, SmPart};
pub use dispatch::{Held, KernelEnd, KernelLaunch};
pub use machine::{Gpu, Stop};
pub use observer::{LaunchedKernel, MachineObserver, MachineView};
pub use probe::{Part, Probe};
pub use recorder::Recording;
pub use replay::{Replay, ReplayKind, SEGMENT_BYTES};
pub use stretches::{Stretches, Timing};
pub use warploom_sm::KernelCounters;
