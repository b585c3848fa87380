//! Rules of the systems of `sm.context`: the contexts that they may move, and their tables.

use super::CONTEXT_UNIT_BYTES;
use crate::policies::{
    ContextChoice, ContextTransfers, ContextVictim, DuetSettings, FineRegSettings, L1dStore,
    VirtualThreadSettings,
};

/// Number of blocks that an SM may have in excess of those that it holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraBlocks {
    /// A fixed number, as far as there is storage.
    Fixed(u32),
    /// As many as there is storage for.
    Most,
    /// The monitor chooses between none and as many as there is storage for.
    Monitor,
}

/// Rules of a system of `sm.context`, and the sizes of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextRules {
    /// True if single warps are switched, unless shared memory is the limit; else whole blocks.
    pub by_warp: bool,
    /// True if registers may be moved out.
    pub registers: bool,
    /// True if shared memory may be moved out.
    pub shared: bool,
    /// True if warp slots may be stored in spare registers and L1D as well as in shared memory, but
    /// not in the memory that limits the number of blocks.
    pub slots_anywhere: bool,
    /// Number of extra blocks.
    pub extra: ExtraBlocks,
    /// Bytes that a transfer moves in a cycle.
    pub port_bytes: u32,
    /// Condition under which a transfer waits for others.
    pub transfers: ContextTransfers,
    /// True if the two halves of a swap move at the same time.
    pub duplex: bool,
    /// The stalled warp, or block, that leaves first.
    pub victim: ContextVictim,
    /// Units of storage of a warp slot.
    pub slot_units: u32,
    /// Entries of the divergence stack that these units hold.
    pub stack_entries: u32,
    /// Largest number of warps of an SM.
    pub warps: u32,
    /// Largest number of blocks of an SM.
    pub blocks: u32,
    /// Number of entries of the queues of warps.
    pub warp_queue: u32,
    /// Number of entries of the queues of blocks.
    pub block_queue: u32,
    /// True if warps at barriers may be switched out.
    pub barriers: bool,
    /// True if only live registers are stored.
    pub reduce: bool,
    /// True if stored registers are compressed.
    pub compress: bool,
    /// Share of the register file for present warps, in percent. The rest stores the registers of
    /// absent ones, each context in as many units as it needs then. 100 if the file is not divided.
    pub active_percent: u32,
    /// Condition under which L1D holds contexts.
    pub l1d: L1dStore,
}

impl ContextChoice {
    /// Rules of the system; `None` if contexts are not switched.
    pub fn rules(&self) -> Option<ContextRules> {
        match self {
            Self::Resident => None,
            Self::Duet(settings) => Some(duet(settings, true)),
            Self::DuetTb(settings) => Some(duet(settings, false)),
            Self::VirtualThread(settings) => Some(virtual_thread(settings)),
            Self::FineReg(settings) => Some(finereg(settings)),
        }
    }
}

fn virtual_thread(settings: &VirtualThreadSettings) -> ContextRules {
    ContextRules {
        by_warp: false,
        registers: false,
        shared: false,
        slots_anywhere: false,
        extra: ExtraBlocks::Most,
        port_bytes: settings.port_bytes,
        transfers: settings.transfers,
        duplex: settings.duplex,
        victim: ContextVictim::Oldest,
        slot_units: settings.slot_bytes.div_ceil(CONTEXT_UNIT_BYTES),
        stack_entries: settings.stack_entries,
        warps: settings.warps,
        blocks: settings.blocks,
        warp_queue: settings.warps,
        block_queue: settings.blocks,
        barriers: true,
        reduce: false,
        compress: false,
        active_percent: 100,
        l1d: L1dStore::Never,
    }
}

fn duet(settings: &DuetSettings, by_warp: bool) -> ContextRules {
    ContextRules {
        by_warp,
        registers: true,
        shared: true,
        slots_anywhere: true,
        extra: settings
            .extra_blocks
            .map_or(ExtraBlocks::Monitor, ExtraBlocks::Fixed),
        port_bytes: settings.port_bytes,
        transfers: settings.transfers,
        duplex: settings.duplex,
        victim: settings.victim,
        slot_units: settings.slot_bytes.div_ceil(CONTEXT_UNIT_BYTES),
        stack_entries: settings.stack_entries,
        warps: settings.warp_contexts,
        blocks: settings.block_contexts,
        warp_queue: settings.warp_queue,
        block_queue: settings.block_queue,
        barriers: settings.barriers,
        reduce: settings.reduce,
        compress: true,
        active_percent: 100,
        l1d: settings.l1d,
    }
}

fn finereg(settings: &FineRegSettings) -> ContextRules {
    ContextRules {
        by_warp: false,
        registers: true,
        shared: false,
        slots_anywhere: false,
        extra: ExtraBlocks::Most,
        port_bytes: settings.port_bytes,
        transfers: settings.transfers,
        duplex: settings.duplex,
        victim: ContextVictim::Oldest,
        slot_units: settings.slot_bytes.div_ceil(CONTEXT_UNIT_BYTES),
        stack_entries: settings.stack_entries,
        warps: settings.warps,
        blocks: settings.blocks,
        warp_queue: settings.warps,
        block_queue: settings.blocks,
        barriers: true,
        reduce: settings.live_only,
        compress: false,
        active_percent: settings.active_percent,
        l1d: L1dStore::Never,
    }
}
