//! Settings of the context systems `duet` and `duet-tb`.

use crate::policies::{names, settings};
use crate::value::{Rule, int, pow2};

names! {
    /// When L1D may hold contexts, in `duet` and `duet-tb`.
    pub enum L1dStore: L1D_STORES {
        Auto = "auto": "when nothing else is spare, the kernel is not saturated and L1D idles",
        Never = "never": "never",
        Always = "always": "from the start; loads go past it",
    }
}

names! {
    /// How many transfers of contexts may be under way on an SM at once.
    pub enum ContextTransfers: CONTEXT_TRANSFERS {
        Overlap = "overlap": "as many as a queue of stalled warps, or blocks, has entries; each at \
            the full bandwidth",
        Serial = "serial": "one; the others wait for it",
    }
}

names! {
    /// Which of the stalled warps, or blocks, leaves first.
    pub enum ContextVictim: CONTEXT_VICTIMS {
        Oldest = "oldest": "the one that has been stalled for the longest time",
        Youngest = "youngest": "the one that stalled last",
    }
}

settings! {
    /// Settings of the policy `duet` and of `duet-tb`.
    DuetSettings {
        extra_blocks: Option<u32> = None => "none", Rule::IntegerOrNone { min: 0, max: 64 },
            "blocks",
            "Blocks above what an SM holds at once (ME), at most as many as have room; none: the \
             monitor chooses.",
            "Lin et al., TACO 2018, sections 6.4 and 7.1";
        port_bytes: u32 = 128, pow2(4, 4096), "bytes per cycle",
            "Bandwidth of the port that contexts move through.",
            "Lin et al., TACO 2018, sections 6.7 and 7.4";
        transfers: ContextTransfers = ContextTransfers::Overlap => "overlap", CONTEXT_TRANSFERS, "",
            "How many transfers of contexts may be under way on an SM at once.",
            "Lin et al., TACO 2018, section 6.7: a transfer takes its size over the bandwidth, \
             whatever else moves; Table 4 has the queues";
        duplex: bool = false, Rule::Switch, "",
            "In a swap, the context that leaves and the one that comes in move at the same time, \
             through a port for reads and one for writes; else one after the other.",
            "Lin et al., TACO 2018: section 6.7 adds what is spilled and what is restored, section \
             7.4 gives a width of \"the read/write port\"";
        victim: ContextVictim = ContextVictim::Oldest => "oldest", CONTEXT_VICTIMS, "",
            "Which of the stalled warps, or blocks, leaves first.",
            "this program: Lin et al., TACO 2018, section 6.6, has a queue and does not say from \
             which end";
        slot_bytes: u32 = 256, int(1, 4096), "bytes",
            "Size of a warp slot (ST): 16 stack entries of 12 bytes, scoreboard, program counter, \
             flags, in units of 128 bytes.",
            "Fung et al., MICRO 2007, for the stack's entries; this program";
        stack_entries: u32 = 16, int(1, 64), "entries",
            "Entries of the divergence stack that a slot holds; a warp with more stays.",
            "this program";
        warp_contexts: u32 = 128, int(1, 256), "warps",
            "Entries of the warp context table: most warps of an SM.",
            "Lin et al., TACO 2018, section 6.6";
        block_contexts: u32 = 32, int(1, 64), "blocks",
            "Entries of the block context table: most blocks of an SM.",
            "Lin et al., TACO 2018, Table 4 (its text says 16)";
        warp_queue: u32 = 16, int(1, 256), "warps",
            "Entries of the queue of stalled warps, and of that of ready warps.",
            "Lin et al., TACO 2018, Table 4";
        block_queue: u32 = 8, int(1, 64), "blocks",
            "Entries of the queue of stalled blocks, and of that of ready blocks.",
            "Lin et al., TACO 2018, Table 4";
        barriers: bool = true, Rule::Switch, "",
            "Warps that wait at a barrier may be switched out; without it kernels may deadlock.",
            "Lin et al., TACO 2018, section 6.3";
        reduce: bool = true, Rule::Switch, "",
            "Of an absent warp only live registers are kept, compressed; else all of them.",
            "Lin et al., TACO 2018, section 6.6";
        l1d: L1dStore = L1dStore::Auto => "auto", L1D_STORES, "",
            "When L1D holds contexts; it is drained first, and loads go past it from then on.",
            "Lin et al., TACO 2018, section 6.4";
        l1d_percent: u32 = 3, int(0, 100), "percent",
            "Use of L1D's port below which it may hold contexts.",
            "Lin et al., TACO 2018, section 6.4";
        warm_up_cycles: u32 = 10_000 => "10000", int(0, 100_000_000), "core cycles",
            "Time after a kernel's start before the monitor looks.",
            "Lin et al., TACO 2018, section 6.4";
        window_cycles: u32 = 10_000 => "10000", int(100, 100_000_000), "core cycles",
            "Length of the monitor's windows.", "Lin et al., TACO 2018, section 6.4";
    }
}
