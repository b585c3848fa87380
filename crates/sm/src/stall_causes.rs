//! Causes for which a scheduler does not issue in a cycle.

use crate::counters::{PipeBlocker, SlotCause};
use crate::issue::with_choice;
use crate::pipe::Pipe;
use crate::sm::Sm;
use crate::stage::{bit_of, pipe_of_bit};
use warploom_policy::WarpMask;

impl Sm {
    /// The cause of a cycle in which no warp was ready. `own` holds all warps of the scheduler,
    /// `valid` those with a decoded instruction, `clear` those of them that pass the scoreboard.
    #[inline]
    pub(crate) fn why_not(&self, own: WarpMask, valid: WarpMask, clear: WarpMask) -> SlotCause {
        let w = &self.warps;
        if clear != 0 {
            if clear & w.next_pipe[Pipe::Mem as usize] != 0 {
                SlotCause::MemoryPipe
            } else {
                SlotCause::ExecutionPipe
            }
        } else if valid != 0 {
            if valid & w.long_wait != 0 {
                SlotCause::MemoryDependence
            } else {
                SlotCause::ExecutionDependence
            }
        } else if own & w.running() == 0 {
            SlotCause::NoWarp
        } else if own & w.running() & !w.waiting() == 0 {
            SlotCause::Barrier
        } else {
            SlotCause::InstructionBuffer
        }
    }

    /// Counts what fills the pipes for which the warps of `clear` wait, over `cycles` cycles of
    /// scheduler `s` with the cause [`SlotCause::ExecutionPipe`].
    #[inline(never)]
    pub(crate) fn count_full_pipe(&mut self, s: usize, clear: WarpMask, cycles: u64) {
        let blocker = self.pipe_blocker(s, clear);
        self.counters.execution_pipe_slots[blocker as usize] += cycles;
    }

    /// Part of the SM that fills the pipes for which the warps of `clear` wait. An instruction
    /// leaves its collector as soon as its unit's register has room. Where the warps' own units
    /// have room, instructions of others occupy the collectors that the warps need.
    pub(crate) fn pipe_blocker(&self, s: usize, clear: WarpMask) -> PipeBlocker {
        let full = with_choice(self.collectors.output.full(self.sub_core(s)));
        let mut wanted = full;
        while wanted != 0 {
            if clear & self.warps.next_pipe[pipe_of_bit(wanted)] != 0 {
                return PipeBlocker::Units;
            }
            wanted &= wanted - 1;
        }
        // Sub-cores share the ports through which instructions enter collectors.
        let sub_cores = (0..self.schedulers.len()).map(|s| self.sub_core(s));
        let full = sub_cores.fold(0, |all, sub| all | self.collectors.output.full(sub));
        if full & bit_of(Pipe::Mem as usize) != 0 {
            PipeBlocker::LoadStore
        } else if full != 0 {
            PipeBlocker::OtherUnits
        } else {
            PipeBlocker::Operands
        }
    }
}
