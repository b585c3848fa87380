//! Virtual Thread: blocks beyond the warp slots wait with their registers and shared memory in
//! place; a block whose warps all stall lends its slots to one of them.
//!
//! After Yoon et al., ISCA 2016, as GPUDuet describes it (sections 5.2 and 6.8). A warp that
//! waits at a barrier counts as stalled when another of its block waits for memory.

use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_config::VirtualThreadSettings;

/// Blocks take turns in the warp slots.
#[derive(Clone, Copy, Debug)]
pub struct VirtualThread;

impl PolicyFacts for VirtualThread {
    const FACTS: Facts = Facts {
        about: "A block whose warps all wait lends its warp slots to a block that has none.",
        source: "Yoon et al., ISCA 2016, as in Lin et al., TACO 2018, section 6.8",
        state: "blocks x 7 (the block status table) + warp slots x log2(virtual warps)",
        bits: |spec| {
            let settings: VirtualThreadSettings = spec.sm.context.settings();
            // An entry counts a block's stalled warps, and marks it as active.
            let slots = u64::from(spec.sm.max_threads / 32);
            u64::from(settings.blocks) * 7 + slots * bits_for(settings.warps.into())
        },
        // 7 bits a block, and 48 numbers of 7 bits.
        bits_on_gtx480: 32 * 7 + 48 * 7,
        part: Part::Sm,
        complexity: "blocks",
    };
}
