//! Races on shared memory, found by happens-before over barriers (vector clocks, as FastTrack keeps
//! them, Flanagan and Freund, PLDI 2009), at warp granularity. Accesses that warps order by other
//! means (flags with fences) are reported too: the check is made on request.

/// Clocks of a block's warps and the last accesses of every shared byte.
#[derive(Clone, Debug)]
pub(crate) struct RaceTable {
    bytes: usize,
    warps: u32,
}

impl RaceTable {
    pub fn new(bytes: usize, warps: u32) -> Self {
        Self { bytes, warps }
    }
}
