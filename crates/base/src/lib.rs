//! Vocabulary shared by every crate: typed indices, lane masks, three-dimensional sizes,
//! rectangles, sets of small numbers, queues, a seeded generator and digests.
//!
//! Invariants: nothing here knows PTX, a GPU or a policy; everything is plain data; nothing
//! reads a clock or does I/O.

mod bits;
mod digest;
mod dim;
mod host;
mod id;
mod lanes;
mod queue;
mod rect;
mod rng;
mod timed_queue;

pub use bits::{BitSet, bits};
pub use digest::Digest;
pub use dim::Dim3;
pub use host::fetch_ahead;
pub use id::{BlockId, ChannelId, KernelSlot, Pc, SmId, SubPartitionId, WarpSlot};
pub use lanes::{FULL_MASK, LaneIter, LaneMask, WARP_SIZE, lanes_of};
pub use queue::FixedQueue;
pub use rect::Rect;
pub use rng::Rng;
pub use timed_queue::TimedQueue;
#[doc(hidden)]
pub use warploom_state as state;

/// Time of one clock domain, counted in cycles of that domain.
pub type Cycle = u64;
