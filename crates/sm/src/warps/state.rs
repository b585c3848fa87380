//! State of one warp in the pipeline.

use crate::prepared_kernel::{Pipe, TimedInst};
use warploom_base::{BlockId, KernelSlot, Pc};
use warploom_state::Value;

/// A word of a warp's scoreboard, and the same word for long loads.
pub(super) struct Words<'a> {
    pub(super) pending: &'a mut u64,
    pub(super) long: &'a mut u64,
}

/// State of one warp that the pipeline needs from issue to write-back. In one line of the host's
/// cache, because the pipeline goes from warp to warp.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
pub struct WarpPipelineState {
    /// Block of the warp.
    pub block: BlockId,
    /// Kernel of the warp.
    pub kernel: KernelSlot,
    /// Instructions in the buffer.
    pub buffer_len: u8,
    /// First instruction in the buffer.
    pub buffer_pc: Pc,
    /// Where fetch goes on: after the instruction issued last, whether or not the warp went there.
    pub fetch_pc: Pc,
    /// Number of stores without their acknowledgement.
    pub stores: u32,
    /// Number of instructions between issue and write-back.
    pub in_flight: u32,
    /// Number of atomic instructions without their reply.
    pub atomics: u32,
    /// Number of loads from global memory that are waited for, where contexts are switched.
    pub awaiting: u32,
    /// First word of the scoreboard: set while a result is pending.
    pub(super) pending: u64,
    /// First word of the scoreboard of results of long loads.
    pub(super) pending_long: u64,
    /// First word of the entries that the next instruction needs free.
    pub(super) needs: u64,
    /// Pipe of the next instruction.
    pub(super) pipe: Pipe,
    /// True if more than `needs` decides whether the next instruction may issue.
    pub(super) asks_further: bool,
}

/// Answer of the first word of a scoreboard about an instruction.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// Entries that the instruction needs free and that are pending.
    pub(super) hit: u64,
    /// Entries of `hit` that long loads will write.
    pub(super) long: u64,
    /// True if further words, or copies, have to be asked.
    pub(super) further: bool,
}

impl WarpPipelineState {
    pub(super) const EMPTY: Self = Self {
        block: BlockId(0),
        kernel: KernelSlot(0),
        buffer_len: 0,
        buffer_pc: Pc(0),
        fetch_pc: Pc(0),
        stores: 0,
        in_flight: 0,
        atomics: 0,
        awaiting: 0,
        pending: 0,
        pending_long: 0,
        needs: 0,
        pipe: Pipe::ALL[0],
        asks_further: false,
    };

    /// Makes an instruction the next one. Returns the pipe of the next one before, and the answer
    /// of the scoreboard.
    #[inline]
    pub(super) fn ask_for(&mut self, inst: &TimedInst) -> (Pipe, Asked) {
        self.needs = inst.needs_word;
        self.asks_further = inst.asks_further;
        (std::mem::replace(&mut self.pipe, inst.pipe), self.ask())
    }

    /// Answer of the scoreboard about the next instruction.
    #[inline]
    pub(super) fn ask(&self) -> Asked {
        Asked {
            hit: self.pending & self.needs,
            long: self.pending_long & self.needs,
            further: self.asks_further,
        }
    }
}
