//! The SM pipeline: one file for each stage.
//!
//! | stage | file |
//! |---|---|
//! | fetch, decode | `frontend` |
//! | issue, with functional execution | `issue`, `gate` |
//! | operand collectors, banks | `collector` |
//! | registers between stages, sub-cores | `stage` |
//! | function units, result bus | `units` |
//! | load/store unit | `ldst` |
//! | blocks, warps and their resources | `admission`, `blocks`, `warps`, `carveout` |
//! | links to the network | `link` |
//! | shared memory and barriers of clusters of blocks | `peers` |
//! | the host's way of running an SM, no hardware | `host` |
//! | activities of warps, for timelines | `tracing` |
//! | warps and blocks that leave and come back | `context`, `switching` |
//!
//! Invariants: an SM accesses only itself and its ends of links. Its work in a step does not depend
//! on the work of others in that step. Time is passed in. Nothing is allocated while it runs.

mod access_class;
mod address_generation;
mod admission;
mod barriers;
mod blocks;
mod carveout;
mod collector;
mod context;
mod counters;
mod detail;
mod execution;
mod flight;
mod frontend;
mod gate;
mod host;
mod idle_cycles;
mod issue;
mod issue_quotas;
mod issue_slots;
mod last_warps;
mod ldst;
mod link;
mod next_accesses;
mod pauses;
mod peer_post;
mod peers;
mod pipe;
mod prepared_kernel;
mod scheduler;
mod sm;
mod stage;
mod stall_causes;
mod switching;
mod taken_slots;
mod tracing;
mod units;
mod warps;
mod watched;

pub use blocks::Resources;
pub use context::ContextCounters;
pub use counters::{
    KernelCounters, LANE_SPACES, LDST_STAGES, LDST_STALLS, LaneSpace, LdstStage, LdstStall,
    MEMORY_KINDS, PIPES, RESULT_SOURCES, SLOT_CAUSES, SlotCause, SlotSums, SmCounters,
};
pub use detail::{
    ISSUES, MAX_SCHEDULERS, PACKET_BYTES, PACKET_SIZES, SCHEDULERS, SmDetail, WARP_SLOTS,
    packet_size,
};
pub use host::{Outcome, Reason, SettledUpTo, SmEvents};
pub use link::{Link, Outgoing};
pub use peer_post::{PeerInst, PeerPost, PeerRequest};
pub use prepared_kernel::{
    CODE_BASE, ClassTiming, KernelContexts, Pipe, PreparedKernel, TimedInst, class_timing,
    physical_base,
};
pub use sm::{FinishedBlock, Sm};
pub use warploom_config::{BlockNeeds, OccupancyLimit};
