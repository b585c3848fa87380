//! Warps that leave their slots and come back, and their outstanding loads.

use super::Warps;
use super::state::WarpPipelineState;
use crate::prepared_kernel::{PreparedKernel, TimedInst};
use warploom_base::Pc;

impl Warps {
    /// Moves the warp in `slot` to a place for absent warps. Requires that it has nothing in the
    /// pipeline; data of loads and acknowledgements of stores may be outstanding.
    pub fn park(&mut self, slot: usize, place: usize) {
        debug_assert!(place >= self.slots && slot < self.slots);
        debug_assert!(!self.loads_shared.has(slot), "a load from shared memory");
        debug_assert!(
            self.track[slot].in_flight == self.track[slot].awaiting
                && self.track[slot].atomics == 0
        );
        self.move_state(slot, place);
        self.track[slot].buffer_len = 0;
        self.live.remove(slot);
        self.resident -= 1;
        for slots in self.flags() {
            slots.remove(slot);
        }
    }

    /// Moves an absent warp into a free slot.
    pub fn unpark(&mut self, place: usize, slot: usize, at_barrier: bool) {
        debug_assert!(!self.live.has(slot), "slot {slot} is taken");
        self.move_state(place, slot);
        self.live.insert(slot);
        self.resident += 1;
        for slots in self.flags() {
            slots.remove(slot);
        }
        self.at_barrier.put(slot, at_barrier);
        self.track[slot].buffer_len = 0;
        self.track[slot].fetch_pc = self.exec[slot].pc().unwrap_or(Pc(0));
    }

    fn move_state(&mut self, from: usize, to: usize) {
        self.exec.swap(from, to);
        self.table.move_warp(from, to);
        self.copies.swap(from, to);
        let moved = self.track[from];
        let left = &mut self.track[from];
        (left.stores, left.in_flight, left.awaiting) = (0, 0, 0);
        (left.pending, left.pending_long) = (0, 0);
        // The pipe of the next instruction is the slot's, as the masks by pipe have it.
        let pipe = self.track[to].pipe;
        self.track[to] = WarpPipelineState { pipe, ..moved };
        let more = self.words - 1;
        let boards = [
            (&mut self.pending, more),
            (&mut self.pending_long, more),
            (&mut self.missed, self.words),
        ];
        for (board, words) in boards {
            for word in 0..words {
                let moved = std::mem::take(&mut board[from * words + word]);
                board[to * words + word] = moved;
            }
        }
    }

    /// Notes a load from global memory that has left the pipeline and is waited for.
    pub fn note_load(&mut self, place: usize) {
        self.track[place].awaiting += 1;
    }

    /// Notes a load that did not find all of its data in L1D, or went past it.
    pub fn note_miss(&mut self, place: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        let writes = kernel.writes(inst);
        let own = self.missed[place * self.words..].iter_mut();
        own.zip(writes).for_each(|(word, bits)| *word |= bits);
    }

    /// Notes that the results of a memory instruction have arrived; `awaited` if it was a noted
    /// load.
    pub fn forget_load(
        &mut self,
        place: usize,
        awaited: bool,
        inst: &TimedInst,
        kernel: &PreparedKernel,
    ) {
        self.track[place].awaiting -= u32::from(awaited);
        let writes = kernel.writes(inst);
        let own = self.missed[place * self.words..].iter_mut();
        own.zip(writes).for_each(|(word, bits)| *word &= !bits);
    }

    /// True if the warp's next instruction needs a result that comes from beyond L1D.
    pub fn waits_for_misses(&self, place: usize, kernel: &PreparedKernel) -> bool {
        self.needs_any(place, kernel, |word| self.missed[place * self.words + word])
    }

    /// True if the warp's next instruction needs an outstanding result.
    pub fn waits_for_results(&self, place: usize, kernel: &PreparedKernel) -> bool {
        let start = place * (self.words - 1);
        self.needs_any(place, kernel, |word| match word {
            0 => self.track[place].pending,
            _ => self.pending[start + word - 1],
        })
    }

    /// True if the warp's next instruction needs an entry of a scoreboard, given by its words.
    fn needs_any(
        &self,
        place: usize,
        kernel: &PreparedKernel,
        board: impl Fn(usize) -> u64,
    ) -> bool {
        let Some(pc) = self.exec[place].pc() else {
            return false;
        };
        let mut needs = kernel.needs(kernel.at(pc)).enumerate();
        needs.any(|(word, needs)| board(word) & needs != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Warps;
    use warploom_base::{BlockId, KernelSlot};

    /// A warp takes its outstanding results along and leaves its slot empty. In its next slot it
    /// fetches anew.
    #[test]
    fn what_is_out_follows_its_warp() {
        let mut warps = Warps::new(4, 4, 8);
        warps.furnish();
        warps.reserve_scoreboard(2);
        warps.start(1, BlockId(2), KernelSlot(0), 7, 1);
        (
            warps.track[1].stores,
            warps.track[1].in_flight,
            warps.track[1].awaiting,
        ) = (3, 1, 1);
        (warps.track[1].pending, warps.track[1].pending_long) = (0b11, 0b10);
        (warps.pending[1], warps.pending_long[1]) = (0b110, 0b100);
        warps.missed[2..4].copy_from_slice(&[0b10, 0b1]);
        warps.buffered.insert(1);
        warps.at_barrier.insert(1);
        let place = 6;
        warps.park(1, place);
        let all = [warps.live, warps.buffered, warps.at_barrier];
        assert!(all.iter().all(|slots| slots.is_empty()));
        assert!(warps.is_drained(1), "nothing is left in the slot");
        assert_eq!(
            (warps.track[place].stores, warps.pending[place]),
            (3, 0b110)
        );
        warps.unpark(place, 3, true);
        assert_eq!([warps.live, warps.at_barrier], [0b1000; 2]);
        assert!(warps.buffered.is_empty());
        assert_eq!(warps.track[3].buffer_len, 0);
        assert_eq!((warps.track[3].block, warps.table.age[3]), (BlockId(2), 8));
        let out = (
            warps.track[3].stores,
            warps.track[3].in_flight,
            warps.track[3].awaiting,
        );
        assert_eq!(out, (3, 1, 1));
        let first = (warps.track[3].pending, warps.track[3].pending_long);
        assert_eq!(first, (0b11, 0b10));
        assert_eq!((warps.pending[3], warps.pending_long[3]), (0b110, 0b100));
        assert_eq!(warps.missed[6..8], [0b10, 0b1]);
        assert_eq!((warps.track[place].stores, warps.pending[place]), (0, 0));
    }
}
