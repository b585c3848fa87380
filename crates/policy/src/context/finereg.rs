//! FineReg (Oh, Yoon, Song, Ro, MICRO 2018), from the paper's abstract.
//!
//! The register file is divided into a region for blocks that run and one for blocks that wait.
//! When all warps of a block stall and another block can go on, the live registers of the first one
//! move to the second region, and the other block gets its registers in the first. The second
//! region gives each context as many registers as are live, wherever they are free: the registers
//! of a context are a chain. When that region is full, no block is added, and blocks only change
//! places.
//!
//! The engine that moves contexts is part of the SM. A warp that waits at a barrier counts as
//! stalled if another warp of its block waits for memory, as under
//! [`VirtualThread`](super::VirtualThread). The page `docs/policies-compared.md` lists what the
//! abstract leaves open.

use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_config::{CONTEXT_UNIT_BYTES, FineRegSettings, GpuSpec};

/// Context system that keeps the live registers of waiting blocks in a part of the register file.
#[derive(Clone, Copy, Debug)]
pub struct FineReg;

impl PolicyFacts for FineReg {
    const FACTS: Facts = Facts {
        about: "Of a block whose warps all wait, the live registers move to a region of the \
                register file, and another block runs in the other region.",
        source: "FineReg: Oh et al., MICRO 2018 (abstract)",
        state: "registers of the region for waiting blocks x (valid + last + log2(them): the next \
                + log2(warps of a block) + log2(256): which one it is) + blocks x (2 + log2(them): \
                state and first register) + warp slots x log2(warps)",
        bits,
        // Half of 1,024 registers of a warp: 1 + 1 + 9 + 5 + 8 each. 32 blocks of 2 + 9, and
        // numbers of seven bits for 48 warp slots.
        bits_on_gtx480: 512 * 24 + 32 * 11 + 48 * 7,
        part: Part::Sm,
        complexity: "blocks",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: FineRegSettings = spec.sm.context.settings();
    let file = u64::from(spec.sm.registers * 4 / CONTEXT_UNIT_BYTES);
    let pending = file - file * u64::from(settings.active_percent) / 100;
    let next = bits_for(pending);
    // The widest block has 1024 threads, and a thread at most 256 registers.
    let which = bits_for(32) + bits_for(256);
    let slots = u64::from(spec.sm.max_threads / 32);
    pending * (2 + next + which)
        + u64::from(settings.blocks) * (2 + next)
        + slots * bits_for(settings.warps.into())
}
