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
            "this program: Chen, NTU thesis 2016, section 3.1, states no limit";
        rectangles as "block_rectangles": u32 = 5, int(1, 16), "rectangles",
            "Rectangles that an entry of the block queue holds, in the order of first access.",
            "Chen, NTU thesis 2016, section 5.4: 15 bytes an entry";
        ideal: bool = false, Rule::Switch, "",
            "Block scheduler with 16 rectangles and 4096 waiting blocks.",
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
