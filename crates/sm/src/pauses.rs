//! Paused blocks. An SM that holds more blocks than it is to run (`sm.block_limit`) pauses those
//! that started last. A paused warp issues only in a cycle in which its scheduler finds no other
//! warp.
//!
//! Invariant: pausing changes the order of warps and stops none, so that blocks which wait for each
//! other come to their end.

use warploom_policy::{NO_LIMIT, WarpMask};
use warploom_state::State;

/// Paused blocks of an SM.
#[derive(State)]
pub(crate) struct Pauses {
    /// Number of blocks that run.
    pub most: u32,
    /// Warp slots of the paused blocks.
    pub warps: WarpMask,
}

impl Pauses {
    /// An SM that runs all its blocks.
    pub const NONE: Self = Self {
        most: NO_LIMIT,
        warps: 0,
    };
}
