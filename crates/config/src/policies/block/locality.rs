//! Settings of the block scheduler `locality`.

use crate::policies::settings;
use crate::value::{Rule, int};

/// Longest queue of waiting blocks.
const LONGEST_QUEUE: u32 = 4096;

settings! {
    /// Settings of the block scheduler `locality`.
    BlockLocalitySettings {
        queue: u32 = 128, int(1, LONGEST_QUEUE as u64), "blocks",
            "Waiting blocks that the block scheduler compares.",
            "this program: Chen, NTU thesis 2016, gives no length";
        arrays as "block_arrays": u32 = 5, int(1, 16), "arrays",
            "Arrays whose rectangles an entry of the block queue holds.",
            "Chen, NTU thesis 2016, section 5.4: 15 bytes an entry";
        ideal: bool = false, Rule::Switch, "",
            "Block scheduler without limits: 16 arrays, no field of one byte, 4096 blocks waiting.",
            "this program";
    }
}

impl BlockLocalitySettings {
    /// Number of waiting blocks that are compared.
    pub const fn entries(&self) -> u32 {
        if self.ideal {
            LONGEST_QUEUE
        } else {
            self.queue
        }
    }
}
