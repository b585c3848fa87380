//! Context switching of a kernel, in its result.

use serde::{Deserialize, Serialize};
use warploom_state::Value;

/// Context switching of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Value)]
pub struct ContextReport {
    /// Largest number of blocks on an SM above `blocks_per_sm` for which there is storage.
    pub extra_blocks: u32,
    /// Unit of switching: `warp` or `block`.
    pub level: String,
    /// True if L1D held contexts.
    pub l1d: bool,
    /// Reason why the kernel got no extra blocks, if it got none.
    pub refusal: Option<ContextDecline>,
}

/// Reason why a kernel got no extra blocks where contexts are switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Value)]
#[serde(rename_all = "kebab-case")]
pub enum ContextDecline {
    /// The grid or a cap of the user leaves no more blocks for an SM.
    NoMoreBlocks,
    /// Block slots are the limit, and every block needs one.
    BlockSlots,
    /// Both registers and shared memory would have to leave for one more block.
    BothLimit,
    /// The limiting resource may not be moved out (`virtual-thread`: registers, shared memory).
    Capacity,
    /// The tables are full, or there is no storage for the context of one more block.
    NoRoom,
    /// The kernel waits for no load from global memory and at no barrier.
    NoSwitchPoint,
    /// The monitor found a part of the machine saturated.
    Saturated,
    /// The contexts need L1D, and loads used it in every window of the monitor.
    L1dBusy,
    /// The kernel ended before the monitor had seen enough windows.
    TooShort,
    /// The kernel had no SM to itself: its SMs also held blocks of other kernels, or could.
    SharedSms,
    /// The settings of the context system ask for no extra block.
    NoneAsked,
    /// The divided register file would hold no more blocks than the whole one (`finereg`).
    NoGain,
}

impl ContextDecline {
    /// Reason as a clause of a sentence.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoMoreBlocks => "the grid or gpu.max_blocks_per_sm gives an SM no more blocks",
            Self::BlockSlots => "block slots limit it, and no block can do without",
            Self::BothLimit => "one more block would need both registers and shared memory",
            Self::Capacity => "registers or shared memory limit it, and these stay",
            Self::NoRoom => "no memory of the SM is spare for the context of one more block",
            Self::NoSwitchPoint => "it waits for no load from global memory and at no barrier",
            Self::Saturated => "the monitor found a part of the machine saturated",
            Self::L1dBusy => "contexts would need L1D, which its loads use",
            Self::TooShort => "it ended before the monitor had seen enough windows",
            Self::NoneAsked => "extra_blocks of the context system is 0",
            Self::NoGain => "the divided register file would hold no more blocks",
            Self::SharedSms => "it shared its SMs with other kernels",
        }
    }
}
