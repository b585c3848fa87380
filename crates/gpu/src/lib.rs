//! The whole machine: SMs, networks, memory partitions, block dispatch, threads.
//!
//! Time advances in steps of `gpu.link_cycles` core cycles. Within a step every SM runs on its
//! own, and so does the memory system: a message between them takes at least a step. At the
//! end of a step, shared effects are committed in a fixed order: stores by (cycle, SM), atomics by
//! (cycle, partition). So results depend neither on the order in which SMs run nor on the number
//! of threads.
//!
//! With steps of a cycle, parts of the machine run up to 32 cycles one after the other as long as
//! nothing comes up for which they must not (`machine/spell.rs`), so that each stays in the host's
//! caches meanwhile. With more than one thread, SMs meet where blocks end and once a spell.
//!
//! Invariants: no I/O, no clock but simulated time; policies choose, this crate acts.

mod backlog;
mod balance;
mod conservation;
mod counters;
mod crew;
mod dispatch;
mod domain;
mod footprints;
mod machine;
mod memory;
mod monitor;
mod probe;
mod recorder;
pub mod registry;
mod retreat;
mod sms;
mod stretches;
mod watchdog;
mod workers;

pub use counters::{BankPart, DeviceCounters, MachineCounters, PartCounters, SmPart};
pub use dispatch::{Held, KernelEnd, KernelLaunch};
pub use machine::{Gpu, Stop};
pub use probe::{Part, Probe};
pub use recorder::Recording;
pub use stretches::{Stretches, Timing};
pub use warploom_sm::KernelCounters;
