//! Causes for which a scheduler does not issue in a cycle.

use crate::counters::{MemoryBlocker, PipeBlocker, ResultSource, SlotCause};
use crate::issue::with_choice;
use crate::pipe::Pipe;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use crate::stage::{bit_of, pipe_of_bit};
use crate::warps::Slots;
use warploom_base::Cycle;
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

    /// Counts `cycles` cycles, the first of them `now`, in which scheduler `s` does not issue for
    /// the same cause, by the part that causes it: the part that fills the pipes for which the
    /// warps of `clear` wait, or the source of the results for which those of `valid` wait.
    #[inline(always)]
    pub(crate) fn count_stalls(
        &mut self,
        (s, cause): (usize, SlotCause),
        of: (WarpMask, WarpMask),
        (now, cycles): (Cycle, u64),
    ) {
        if cause == SlotCause::MemoryPipe && self.has_full_memory_register(s) {
            self.counters.memory_pipe_slots[MemoryBlocker::LoadStore as usize] += cycles;
        } else if cause.has_division() {
            self.count_by_division((s, cause), of, (now, cycles));
        }
    }

    /// True if an access waits behind the collectors of a scheduler for the load/store unit.
    #[inline(always)]
    fn has_full_memory_register(&self, s: usize) -> bool {
        let full = self.collectors.output.full(self.sub_core(s));
        full & bit_of(Pipe::Mem as usize) != 0
    }

    /// The same for causes whose part takes longer to find.
    #[inline(never)]
    fn count_by_division(
        &mut self,
        (s, cause): (usize, SlotCause),
        (valid, clear): (WarpMask, WarpMask),
        (now, cycles): (Cycle, u64),
    ) {
        match cause {
            SlotCause::ExecutionDependence => {
                let source = self.result_source(s, valid, now);
                self.counters.execution_dependence_slots[source as usize] += cycles;
            }
            SlotCause::MemoryPipe => {
                let blocker = self.memory_blocker(s);
                self.counters.memory_pipe_slots[blocker as usize] += cycles;
            }
            SlotCause::ExecutionPipe => {
                let blocker = self.pipe_blocker(s, clear);
                self.counters.execution_pipe_slots[blocker as usize] += cycles;
            }
            _ => {}
        }
    }

    /// Source of the results for which the warps of `valid` wait in cycle `now`. An
    /// instruction that has just left its collector enters its unit in the next cycle, unless the
    /// unit is taken.
    #[inline(always)]
    pub(crate) fn result_source(&self, s: usize, valid: WarpMask, now: Cycle) -> ResultSource {
        let sub = self.sub_core(s);
        let mut full = self.collectors.output.full(sub) & !bit_of(Pipe::Mem as usize);
        let unit = self.sub_cores.then_some(sub);
        while full != 0 {
            if self.units.are_taken(pipe_of_bit(full), unit, now) {
                return ResultSource::Units;
            }
            full &= full - 1;
        }
        match self.any_awaits_shared(valid) {
            true => ResultSource::Shared,
            false => ResultSource::Arithmetic,
        }
    }

    /// True if one of some warps, which have instructions in their buffers, waits for a load from
    /// shared memory.
    #[inline(always)]
    fn any_awaits_shared(&self, of: WarpMask) -> bool {
        let w = &self.warps;
        let mut left = Slots::from(of & w.loads_shared);
        while let Some(slot) = left.first() {
            if w.awaits_shared(slot, |kernel| prepared_kernel(&self.kernels, kernel)) {
                return true;
            }
            left.remove(slot);
        }
        false
    }

    /// Part of the SM that fills the pipe of the load/store unit for scheduler `s`.
    #[inline(always)]
    pub(crate) fn memory_blocker(&self, s: usize) -> MemoryBlocker {
        let (memory, sub) = (bit_of(Pipe::Mem as usize), self.sub_core(s));
        let full = self.collectors.output.full(sub);
        if full & memory != 0 {
            return MemoryBlocker::LoadStore;
        }
        // The scheduler itself may let accesses wait.
        let enters = self.collectors.input.full(sub) & memory == 0;
        if enters || !self.ldst.has_room() {
            return MemoryBlocker::LoadStore;
        }
        let all = full | self.full_anywhere();
        if full == 0 && all & memory != 0 {
            MemoryBlocker::LoadStore
        } else if all != 0 {
            MemoryBlocker::Units
        } else {
            MemoryBlocker::Operands
        }
    }

    /// The pipes whose registers behind the collectors are full for any sub-core, as a mask of
    /// their [`bit_of`].
    #[inline]
    fn full_anywhere(&self) -> u64 {
        if !self.sub_cores {
            return self.collectors.output.full(0);
        }
        let sub_cores = (0..self.schedulers.len()).map(|s| self.sub_core(s));
        sub_cores.fold(0, |all, sub| all | self.collectors.output.full(sub))
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
        let full = self.full_anywhere();
        if full & bit_of(Pipe::Mem as usize) != 0 {
            PipeBlocker::LoadStore
        } else if full != 0 {
            PipeBlocker::OtherUnits
        } else {
            PipeBlocker::Operands
        }
    }
}
