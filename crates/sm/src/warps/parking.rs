//! Warps that leave their slots and come back, and what of their loads is out.

use super::Warps;
use crate::image::{KernelImage, TimedInst};
use warploom_base::Pc;
use warploom_policy::WarpTable;

impl Warps {
    /// Moves the warp in `slot` to a place for absent warps. Requires that nothing of it is in the
    /// pipeline but loads that have left it and acknowledgements of stores.
    pub fn park(&mut self, slot: usize, place: usize) {
        debug_assert!(place >= self.slots && slot < self.slots);
        debug_assert!(self.in_flight[slot] == self.awaiting[slot] && self.atomics[slot] == 0);
        self.move_state(slot, place);
        self.buffer_len[slot] = 0;
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
        self.buffer_len[slot] = 0;
        self.fetch_pc[slot] = self.exec[slot].pc().unwrap_or(Pc(0));
    }

    fn move_state(&mut self, from: usize, to: usize) {
        self.exec.swap(from, to);
        self.block[to] = self.block[from];
        self.kernel[to] = self.kernel[from];
        let WarpTable {
            age,
            block_age,
            block_serial,
            ..
        } = &mut self.table;
        for by_slot in [age, block_age, block_serial] {
            by_slot[to] = by_slot[from];
        }
        self.copies.swap(from, to);
        for counts in [&mut self.stores, &mut self.in_flight, &mut self.awaiting] {
            counts[to] = std::mem::take(&mut counts[from]);
        }
        for board in [&mut self.pending, &mut self.pending_long, &mut self.missed] {
            for word in 0..self.words {
                let from = &mut board[from * self.words + word];
                let moved = std::mem::take(from);
                board[to * self.words + word] = moved;
            }
        }
    }

    /// A load from global memory has left the pipeline and is waited for.
    pub fn note_load(&mut self, place: usize) {
        self.awaiting[place] += 1;
    }

    /// A load did not find all of its data in L1D, or went past it.
    pub fn note_miss(&mut self, place: usize, inst: &TimedInst, kernel: &KernelImage) {
        let writes = kernel.writes(inst);
        let own = self.missed[place * self.words..].iter_mut();
        own.zip(writes).for_each(|(word, bits)| *word |= bits);
    }

    /// The results of a memory instruction have arrived; `awaited` if it was a noted load.
    pub fn forget_load(
        &mut self,
        place: usize,
        awaited: bool,
        inst: &TimedInst,
        kernel: &KernelImage,
    ) {
        self.awaiting[place] -= u32::from(awaited);
        let writes = kernel.writes(inst);
        let own = self.missed[place * self.words..].iter_mut();
        own.zip(writes).for_each(|(word, bits)| *word &= !bits);
    }

    /// The warp's next instruction needs a result that comes from beyond L1D.
    pub fn waits_for_misses(&self, place: usize, kernel: &KernelImage) -> bool {
        self.needs_any(&self.missed, place, kernel)
    }

    /// The warp's next instruction needs a result that is out.
    pub fn waits_for_results(&self, place: usize, kernel: &KernelImage) -> bool {
        self.needs_any(&self.pending, place, kernel)
    }

    fn needs_any(&self, board: &[u64], place: usize, kernel: &KernelImage) -> bool {
        let Some(pc) = self.exec[place].pc() else {
            return false;
        };
        let own = board[place * self.words..].iter();
        let mut both = own.zip(kernel.needs(kernel.at(pc)));
        both.any(|(board, needs)| board & needs != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Warps;
    use warploom_base::{BlockId, KernelSlot};

    /// A warp takes along what is out of it, and leaves its slot empty; in its next slot it has to
    /// fetch anew.
    #[test]
    fn what_is_out_follows_its_warp() {
        let mut warps = Warps::new(4, 4, 8);
        warps.reserve_scoreboard(1);
        warps.start(1, BlockId(2), KernelSlot(0), 7, 1);
        (warps.stores[1], warps.in_flight[1], warps.awaiting[1]) = (3, 1, 1);
        (warps.pending[1], warps.pending_long[1], warps.missed[1]) = (0b11, 0b10, 0b10);
        warps.buffered.insert(1);
        warps.at_barrier.insert(1);
        let place = 6;
        warps.park(1, place);
        let all = [warps.live, warps.buffered, warps.at_barrier];
        assert!(all.iter().all(|slots| slots.is_empty()));
        assert!(warps.is_drained(1), "nothing is left in the slot");
        assert_eq!((warps.stores[place], warps.pending[place]), (3, 0b11));
        warps.unpark(place, 3, true);
        assert_eq!([warps.live, warps.at_barrier], [0b1000; 2]);
        assert!(warps.buffered.is_empty());
        assert_eq!(warps.buffer_len[3], 0);
        assert_eq!((warps.block[3], warps.table.age[3]), (BlockId(2), 8));
        let out = (warps.stores[3], warps.in_flight[3], warps.awaiting[3]);
        assert_eq!(out, (3, 1, 1));
        let boards = (warps.pending[3], warps.pending_long[3], warps.missed[3]);
        assert_eq!(boards, (0b11, 0b10, 0b10));
        assert_eq!((warps.stores[place], warps.pending[place]), (0, 0));
    }
}
