//! Settings of the context system `virtual-thread`.

use super::{CONTEXT_TRANSFERS, ContextTransfers};
use crate::policies::settings;
use crate::value::{Rule, int, pow2};

settings! {
    /// Settings of the policy `virtual-thread`.
    VirtualThreadSettings {
        port_bytes: u32 = 128, pow2(4, 4096), "bytes per cycle",
            "Bandwidth of the port that warp slots move through.",
            "Lin et al., TACO 2018, section 6.7: the same as GPUDuet's";
        transfers: ContextTransfers = ContextTransfers::Overlap => "overlap", CONTEXT_TRANSFERS, "",
            "How many transfers of warp slots may be under way on an SM at once.",
            "as `duet.transfers`";
        duplex: bool = false, Rule::Switch, "",
            "In a swap, the slots that leave and those that come in move at the same time.",
            "as `duet.duplex`";
        slot_bytes: u32 = 256, int(1, 4096), "bytes",
            "Size of a warp slot.", "as `duet.slot_bytes`";
        stack_entries: u32 = 16, int(1, 64), "entries",
            "Entries of the divergence stack that a slot holds; a block with a deeper one stays.",
            "this program";
        warps: u32 = 128, int(1, 256), "warps",
            "Virtual warps of an SM: their numbers have 7 bits.",
            "Lin et al., TACO 2018, section 6.8";
        blocks: u32 = 32, int(1, 64), "blocks",
            "Entries of the block status table.", "Lin et al., TACO 2018, section 6.8";
    }
}
