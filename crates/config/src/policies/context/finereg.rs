//! Settings of the context system `finereg`.

use super::{CONTEXT_TRANSFERS, ContextTransfers};
use crate::policies::settings;
use crate::value::{Rule, int, pow2};

settings! {
    /// Settings of the policy `finereg`.
    FineRegSettings {
        active_percent: u32 = 50, int(1, 99), "percent",
            "Share of the register file for blocks that run; the rest is for those that wait.",
            "Oh et al., MICRO 2018, divide it in two regions; their sizes: this program";
        live_only: bool = true, Rule::Switch, "",
            "Of an absent warp only live registers are kept; else all of them.",
            "Oh et al., MICRO 2018: only the live registers of a block move";
        port_bytes: u32 = 128, pow2(4, 4096), "bytes per cycle",
            "Bandwidth of the port that registers and warp slots move through.",
            "as `duet.port_bytes`";
        transfers: ContextTransfers = ContextTransfers::Overlap => "overlap", CONTEXT_TRANSFERS, "",
            "How many transfers of blocks may be under way on an SM at once.",
            "as `duet.transfers`";
        duplex: bool = false, Rule::Switch, "",
            "In a swap, the block that leaves and the one that comes in move at the same time.",
            "as `duet.duplex`";
        slot_bytes: u32 = 256, int(1, 4096), "bytes",
            "Size of a warp slot, which lies in shared memory while its warp is out.",
            "as `virtual-thread.slot_bytes`";
        stack_entries: u32 = 16, int(1, 64), "entries",
            "Entries of the divergence stack that a slot holds; a block with a deeper one stays.",
            "this program";
        warps: u32 = 128, int(1, 256), "warps",
            "Warps of an SM, present or absent.", "as `virtual-thread.warps`";
        blocks: u32 = 32, int(1, 64), "blocks",
            "Blocks of an SM, present or absent.", "as `virtual-thread.blocks`";
    }
}
