//! Virtual Thread (Yoon et al., ISCA 2016), as the paper on GPUDuet describes it in sections 5.2
//! and 6.8.
//!
//! An SM holds more blocks than its warp slots admit. The registers and the shared memory of all of
//! them stay in place. When all warps of a block stall, the block passes its warp slots on to a
//! block without slots. A warp that waits at a barrier counts as stalled if another warp of its
//! block waits for memory.

use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_config::VirtualThreadSettings;

/// Context system in which blocks take turns in the warp slots.
#[derive(Clone, Copy, Debug)]
pub struct VirtualThread;

impl PolicyFacts for VirtualThread {
    const FACTS: Facts = Facts {
        about: "A block whose warps all wait lends its warp slots to a block that has none.",
        source: "Yoon et al., ISCA 2016, as in Lin et al., TACO 2018, section 6.8",
        state: "blocks x 7 (the block status table) + warp slots x log2(virtual warps)",
        bits: |spec| {
            let settings: VirtualThreadSettings = spec.sm.context.settings();
            // An entry holds the number of a block's stalled warps, and whether the block is
            // active.
            let slots = u64::from(spec.sm.max_threads / 32);
            u64::from(settings.blocks) * 7 + slots * bits_for(settings.warps.into())
        },
        // Seven bits for each block, and a number of seven bits for each of 48 warp slots.
        bits_on_gtx480: 32 * 7 + 48 * 7,
        part: Part::Sm,
        complexity: "blocks",
    };
}
