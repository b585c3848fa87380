//! Events of an SM's data cache, as warp schedulers see them.

use warploom_base::{Pc, WarpSlot};
use warploom_state::Value;

/// Event of the data cache of an SM. Events come in the order in which the cache took the accesses;
/// of one access, the eviction comes before the access itself. An access that the cache refused is
/// no event. A line is named by the address of its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum L1dEvent {
    /// A warp read from global or local memory, one event for each transaction.
    Read {
        /// Warp that makes the read.
        warp: WarpSlot,
        /// Instruction that makes the read.
        pc: Pc,
        /// Line that the warp reads.
        line: u64,
        /// Outcome of the access.
        outcome: L1dOutcome,
    },
    /// A warp wrote to global memory.
    Write {
        /// Warp that makes the store.
        warp: WarpSlot,
        /// Line that the warp writes.
        line: u64,
    },
    /// A valid line made room for another one.
    Evict {
        /// Warp for which the line had come in. The slot may hold another warp by now.
        owner: WarpSlot,
        /// Line that left the cache.
        line: u64,
    },
}

/// Outcome of a read of the data cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum L1dOutcome {
    /// The data were present.
    Hit,
    /// The data were on their way.
    Merged,
    /// The line was present, its sector was not.
    SectorMiss,
    /// The line was absent.
    Miss,
}
