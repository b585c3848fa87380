//! Use of an SM's path to memory, as warp schedulers see it.

use super::WarpMask;
use warploom_state::Value;

/// Use of an SM's path to memory, after the accesses of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub struct MemoryUse {
    /// Misses for which L1D still has room (free entries of its MSHRs); `None` without an L1D.
    pub free_misses: Option<u32>,
    /// True if L1D or the network has no room for the access that comes next.
    pub refuses: bool,
    /// Warps that have a parked load, which L1D has refused.
    pub parked: WarpMask,
    /// True if another load can be parked.
    pub can_park: bool,
}
