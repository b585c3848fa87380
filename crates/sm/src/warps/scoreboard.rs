//! Scoreboards: results that are pending, and whether a warp's next instruction may issue.

use super::Warps;
use super::state::{Asked, WarpPipelineState, Words};
use crate::prepared_kernel::{PreparedKernel, TimedInst};
use std::hint::cold_path;
use warploom_base::KernelSlot;

impl Warps {
    /// Makes room for scoreboards of `words` words. Never shrinks. Results that are pending stay
    /// so.
    pub fn reserve_scoreboard(&mut self, words: usize) {
        if words <= self.words {
            return;
        }
        let places = self.track.len();
        let widen = |board: &mut Vec<u64>, from: usize, to: usize| {
            let mut wide = vec![0; places * to];
            for slot in 0..places {
                wide[slot * to..][..from].copy_from_slice(&board[slot * from..][..from]);
            }
            *board = wide;
        };
        for board in [&mut self.pending, &mut self.pending_long] {
            widen(board, self.words - 1, words - 1);
        }
        widen(&mut self.missed, self.words, words);
        widen(&mut self.pending_shared, self.words, words);
        self.words = words;
    }

    /// True if a result is pending.
    #[inline]
    pub fn has_pending(&self, slot: usize) -> bool {
        let more = self.words - 1;
        self.track[slot].pending != 0 || self.pending[slot * more..][..more].iter().any(|w| *w != 0)
    }

    /// Marks an instruction's results as pending.
    #[inline]
    pub fn reserve(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        self.each_word(slot, inst, kernel, |words, bits| {
            debug_assert!(*words.pending & bits == 0, "results reserved twice");
            *words.pending |= bits;
            *words.long |= if inst.is_long() { bits } else { 0 };
        });
    }

    /// Marks the results of an instruction as arrived.
    #[inline]
    pub fn clear_pending(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        self.each_word(slot, inst, kernel, |words, bits| {
            *words.pending &= !bits;
            *words.long &= !bits;
        });
    }

    /// Notes that the results of a load from shared memory are pending.
    #[inline(always)]
    pub(super) fn expect_shared(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        self.loads_shared.insert(slot);
        match self.words {
            1 => self.pending_shared[slot] |= inst.writes_word,
            _ => self.expect_shared_words(slot, inst, kernel),
        }
    }

    #[cold]
    #[inline(never)]
    fn expect_shared_words(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        let own = self.pending_shared[slot * self.words..].iter_mut();
        own.zip(kernel.writes(inst))
            .for_each(|(word, bits)| *word |= bits);
    }

    /// Notes that the results of a load from shared memory have arrived.
    #[inline(always)]
    pub fn receive_shared(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        let any = match self.words {
            1 => {
                let own = &mut self.pending_shared[slot];
                *own &= !inst.writes_word;
                *own != 0
            }
            _ => self.receive_shared_words(slot, inst, kernel),
        };
        self.loads_shared.put(slot, any);
    }

    /// The same for a scoreboard of several words. Returns whether results are left.
    #[cold]
    #[inline(never)]
    fn receive_shared_words(
        &mut self,
        slot: usize,
        inst: &TimedInst,
        kernel: &PreparedKernel,
    ) -> bool {
        let own = &mut self.pending_shared[slot * self.words..][..self.words];
        let words = own.iter_mut().zip(kernel.writes(inst));
        words.for_each(|(word, bits)| *word &= !bits);
        own.iter().any(|word| *word != 0)
    }

    /// True if the next instruction of a warp, which it has in its buffer, needs the result of a
    /// load from shared memory that is pending. `kernel` returns its kernel.
    #[inline]
    pub fn awaits_shared<'k>(
        &self,
        slot: usize,
        kernel: impl FnOnce(KernelSlot) -> &'k PreparedKernel,
    ) -> bool {
        let track = &self.track[slot];
        let first = self.pending_shared[slot * self.words] & track.needs != 0;
        if first || self.words == 1 {
            return first;
        }
        cold_path();
        let kernel = kernel(track.kernel);
        let own = self.pending_shared[slot * self.words + 1..].iter();
        let needs = kernel.more_needs(kernel.at(track.buffer_pc)).iter();
        own.zip(needs).any(|(word, bits)| word & bits != 0)
    }

    /// True if no result of an instruction has arrived, as far as the first word of the scoreboard
    /// knows.
    pub fn awaits(&self, slot: usize, inst: &TimedInst) -> bool {
        inst.writes_word & !self.track[slot].pending == 0
    }

    /// Calls `f` with each word of a warp's scoreboard and the bits in it that an instruction
    /// writes. Most kernels have one word.
    #[inline(always)]
    fn each_word(
        &mut self,
        slot: usize,
        inst: &TimedInst,
        kernel: &PreparedKernel,
        f: impl Fn(Words<'_>, u64),
    ) {
        let WarpPipelineState {
            pending,
            pending_long: long,
            ..
        } = &mut self.track[slot];
        f(Words { pending, long }, inst.writes_word);
        if self.words == 1 {
            return;
        }
        cold_path();
        let first = slot * (self.words - 1);
        for (word, &bits) in (first..).zip(kernel.more_writes(inst)) {
            let (pending, long) = (&mut self.pending[word], &mut self.pending_long[word]);
            f(Words { pending, long }, bits);
        }
    }

    /// Notes whether the first instruction in the buffer passes the scoreboard. `asked` is the
    /// answer of the first word; asks further words where there are any.
    #[inline]
    pub(super) fn answer(&mut self, slot: usize, kernel: &PreparedKernel, asked: Asked) {
        let Asked {
            mut hit, mut long, ..
        } = asked;
        if asked.further {
            let further = self.ask_further(slot, kernel);
            hit |= further.0;
            long |= further.1;
        }
        // Without an instruction both are false. A branch would cost more.
        let is_asked = self.buffered.has(slot);
        self.clear.put(slot, is_asked & (hit == 0));
        self.long_wait.put(slot, is_asked & (long != 0));
    }

    /// Asks further words of the scoreboard, and copies, which few instructions need. Returns the
    /// entries that are pending, and those of them that long loads will write.
    #[cold]
    fn ask_further(&self, slot: usize, kernel: &PreparedKernel) -> (u64, u64) {
        let inst = kernel.at(self.track[slot].buffer_pc);
        let start = slot * (self.words - 1);
        let held = u64::from(self.copies[slot].holds(inst.copies));
        let (mut hit, mut long) = (held, held);
        for (word, &needs) in (start..).zip(kernel.more_needs(inst)) {
            hit |= self.pending[word] & needs;
            long |= self.pending_long[word] & needs;
        }
        (hit, long)
    }

    /// Notes anew whether the first instruction in the buffer passes the scoreboard, after results
    /// have arrived.
    #[inline]
    pub fn refresh_arrived(&mut self, slot: usize, kernel: &PreparedKernel) {
        let asked = self.track[slot].ask();
        self.answer(slot, kernel, asked);
    }
}

#[cfg(test)]
mod tests {
    use super::Warps;
    use warploom_base::{BlockId, KernelSlot};

    #[test]
    fn a_wider_scoreboard_keeps_loads_from_shared_memory() {
        let mut warps = Warps::new(4, 0, 8);
        warps.reserve_scoreboard(2);
        warps.pending_shared[2..4].copy_from_slice(&[0b1, 0b10]);
        warps.reserve_scoreboard(3);
        assert_eq!(warps.pending_shared[3..6], [0b1, 0b10, 0]);
        assert_eq!(warps.pending_shared.iter().filter(|w| **w != 0).count(), 2);
    }

    /// Pending results stay pending when a kernel of more registers comes, and nothing else becomes
    /// pending. A kernel of fewer registers changes nothing.
    #[test]
    fn a_wider_scoreboard_keeps_what_is_pending() {
        let mut warps = Warps::new(4, 0, 8);
        warps.furnish();
        warps.start(1, BlockId(0), KernelSlot(0), 0, 0);
        warps.start(3, BlockId(1), KernelSlot(0), 1, 0);
        warps.reserve_scoreboard(2);
        (warps.track[1].pending, warps.track[1].pending_long) = (0b101, 0b100);
        warps.pending[1] = 0b11;
        warps.pending_long[1] = 0b10;
        warps.pending[3] = 1 << 63;
        warps.reserve_scoreboard(3);
        let kept = &warps.track[1];
        assert_eq!((kept.pending, kept.pending_long), (0b101, 0b100));
        assert_eq!(warps.pending, [0, 0, 0b11, 0, 0, 0, 1 << 63, 0]);
        assert_eq!(warps.pending_long, [0, 0, 0b10, 0, 0, 0, 0, 0]);
        let pending = |warps: &Warps| [0, 1, 2, 3].map(|slot| warps.has_pending(slot));
        assert_eq!(pending(&warps), [false, true, false, true]);
        warps.reserve_scoreboard(2);
        assert_eq!(warps.words, 3);
        assert_eq!(pending(&warps), [false, true, false, true]);
    }
}
