//! The SM pipeline: one file a stage.
//!
//! | stage | file |
//! |---|---|
//! | fetch, decode | `frontend` |
//! | issue, with functional execution | `issue` |
//! | operand collectors, banks | `collector` |
//! | registers between stages, sub-cores | `stage` |
//! | function units, result bus | `units` |
//! | load/store unit | `ldst` |
//! | blocks, warps and their resources | `admission`, `blocks`, `warps`, `carveout` |
//! | links to the network, what others hear after a step | `link`, `news` |
//! | cycles in which nothing happens, or little | `sleep` |
//! | what warps do, for timelines | `tracing` |
//! | warps and blocks that leave and come back | `context`, `switching` |
//!
//! Invariants: an SM touches only itself and its ends of links; what it does in a step depends on
//! nothing that others do in that step; time is passed in; no allocation while it runs.

mod admission;
mod blocks;
mod carveout;
mod collector;
mod context;
mod counters;
mod detail;
mod execution;
mod flight;
mod frontend;
mod image;
mod issue;
mod kept;
mod ldst;
mod link;
mod names;
mod news;
mod passage;
mod sleep;
mod sm;
mod stage;
mod switching;
mod tracing;
mod units;
mod warps;

pub use blocks::Resources;
pub use context::ContextCounters;
pub use counters::{
    KernelCounters, LANE_SPACES, LDST_STAGES, LDST_STALLS, LaneSpace, LdstStage, LdstStall,
    SLOT_CAUSES, SlotCause, SmCounters,
};
pub use detail::{
    ISSUES, MAX_SCHEDULERS, PACKET_BYTES, PACKET_SIZES, SCHEDULERS, SmDetail, WARP_SLOTS,
    packet_size,
};
pub use image::{
    CODE_BASE, INST_BYTES, KernelContexts, KernelImage, Pipe, TimedInst, physical_base,
};
pub use kept::Others;
pub use link::{Arrival, Link, Outgoing};
pub use news::{Flags, News};
pub use passage::{Entrance, FarEnd};
pub use sm::{FinishedBlock, Sm};
pub use warploom_config::{BlockNeeds, OccupancyLimit};
