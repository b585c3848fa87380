//! Instruction buffers: issue, the end of instructions, and the next instruction of each warp.

use super::Warps;
use super::state::Asked;
use crate::prepared_kernel::{Pipe, PreparedKernel, TimedInst};
use std::hint::cold_path;
use warploom_base::{Pc, WarpSlot};
use warploom_policy::WarpMask;

impl Warps {
    /// Marks the results of the buffer's first instruction, which has issued, as pending, and
    /// removes it from the buffer. Marks the buffer for emptying if the warp went elsewhere. Fetch
    /// does not know that yet: after the last instruction of the buffer it goes on with the next
    /// one of the program.
    #[inline(always)]
    pub fn issued(
        &mut self,
        (slot, pc): (WarpSlot, Pc),
        inst: &TimedInst,
        kernel: &PreparedKernel,
        goes_on: Option<Pc>,
    ) {
        let slot = slot.index();
        if self.words > 1 {
            cold_path();
            self.reserve(slot, inst, kernel);
        }
        if inst.loads_shared() {
            self.expect_shared(slot, inst, kernel);
        }
        if inst.fence {
            self.fenced.insert(slot);
        }
        let track = &mut self.track[slot];
        debug_assert_eq!(pc, track.buffer_pc, "buffer and execution disagree");
        debug_assert_eq!(inst.pipe, track.pipe, "not the buffer's first");
        debug_assert!(
            self.words > 1 || track.pending & inst.writes_word == 0,
            "reserved twice"
        );
        track.pending |= inst.writes_word;
        track.pending_long |= if inst.is_long() { inst.writes_word } else { 0 };
        track.in_flight += 1;
        let next = Pc(pc.0 + 1);
        track.buffer_pc = next;
        track.fetch_pc = next;
        track.buffer_len -= 1;
        if track.buffer_len == 0 {
            return self.note_empty(slot);
        }
        let strays = goes_on != Some(next);
        let inst = kernel.at(next);
        let (before, asked) = track.ask_for(inst);
        if strays {
            self.flush.insert(slot);
        }
        self.note_next((slot, [before, inst.pipe]), kernel, asked);
    }

    /// Ends an instruction whose results arrive together.
    #[inline(always)]
    pub fn finished(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        if self.words > 1 {
            cold_path();
            self.clear_pending(slot, inst, kernel);
        }
        if inst.loads_shared() {
            self.receive_shared(slot, inst, kernel);
        }
        let track = &mut self.track[slot];
        track.in_flight -= 1;
        track.pending &= !inst.writes_word;
        track.pending_long &= !inst.writes_word;
        let asked = track.ask();
        // The warp's next instruction may issue now.
        self.exec[slot].fetch_ahead();
        self.touched.insert(slot);
        self.answer(slot, kernel, asked);
    }

    /// Notes anew the pipe of the first instruction in the buffer, and whether it passes the
    /// scoreboard.
    #[inline(always)]
    pub fn refresh(&mut self, slot: usize, kernel: &PreparedKernel) {
        if self.track[slot].buffer_len == 0 {
            self.note_empty(slot);
        } else {
            self.refresh_from_buffer(slot, kernel);
        }
    }

    /// Notes that the buffer is empty.
    #[inline]
    fn note_empty(&mut self, slot: usize) {
        self.buffered.remove(slot);
        self.clear.remove(slot);
        self.long_wait.remove(slot);
    }

    #[inline(always)]
    fn refresh_from_buffer(&mut self, slot: usize, kernel: &PreparedKernel) {
        let track = &mut self.track[slot];
        let inst = kernel.at(track.buffer_pc);
        let (before, asked) = track.ask_for(inst);
        self.buffered.insert(slot);
        self.note_next((slot, [before, inst.pipe]), kernel, asked);
    }

    /// Notes the pipe of the buffer's first instruction, the second of `pipes`, in place of that of
    /// the one before it, the first of them.
    #[inline(always)]
    fn note_next(
        &mut self,
        (slot, pipes): (usize, [Pipe; 2]),
        kernel: &PreparedKernel,
        asked: Asked,
    ) {
        // Flips the same bit twice if both are equal: a branch would cost more.
        for pipe in pipes {
            self.next_pipe[pipe as usize].flip(slot);
        }
        self.answer(slot, kernel, asked);
    }

    /// Pipe of the next instruction of a warp that has one.
    #[inline]
    pub fn next_pipe_of(&self, slot: usize) -> Pipe {
        self.track[slot].pipe
    }

    /// Warps that hold instructions of the wrong path and do not wait.
    #[inline]
    pub fn astray(&self) -> WarpMask {
        self.flush & !self.waiting()
    }

    /// Empties the buffer of a warp that holds the wrong path, and lets fetch go on where the warp
    /// is.
    #[inline]
    pub fn turn_back(&mut self, slot: usize) {
        self.drop_buffer(slot);
        self.track[slot].fetch_pc = self.exec[slot].pc().unwrap_or(Pc(0));
    }

    /// Empties the buffer of a warp.
    #[inline]
    pub fn drop_buffer(&mut self, slot: usize) {
        self.track[slot].buffer_len = 0;
        self.flush.remove(slot);
        self.note_empty(slot);
    }
}
