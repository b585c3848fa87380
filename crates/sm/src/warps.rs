//! Warp slots of an SM: arrays by slot, and masks with a bit for each slot. A question about all
//! warps is one operation on masks; nothing scans warps that sleep. Where contexts are switched,
//! the arrays have places for absent warps after those of the slots. Masks have no bits for them.

mod buffer;
mod copies;
mod parking;
mod scoreboard;
mod slots;
mod state;

pub use copies::{AsyncGroups, CopyRole};
pub use slots::Slots;
pub use state::WarpPipelineState;

use crate::prepared_kernel::Pipe;
use warploom_base::{BlockId, KernelSlot, Pc};
use warploom_exec::WarpState;
use warploom_policy::{WarpMask, WarpRange, WarpTable, WarpView};
use warploom_state::State;

/// Most decoded instructions in a warp's buffer.
pub const IBUFFER: u8 = 2;

/// All warp slots. Fields lie in memory as declared: first those that every cycle looks at.
#[repr(C, align(64))]
#[derive(State)]
pub struct Warps {
    /// State of each warp in the pipeline, by slot.
    pub track: Vec<WarpPipelineState>,
    /// Architectural state of each warp, by slot. Empty before [`furnish`](Self::furnish).
    pub exec: Vec<WarpState>,
    /// Number of words of a scoreboard, at least one.
    words: usize,
    slots: usize,
    /// Number of slots in use.
    pub resident: u32,
    /// Slots that are in use.
    pub live: Slots,
    /// Warps all of whose lanes have exited.
    pub done: Slots,
    /// Warps whose buffer holds an instruction.
    pub buffered: Slots,
    /// Warps that wait for a miss of the instruction cache.
    pub fetching: Slots,
    /// Warps whose last decoded instructions are of the wrong path. They are dropped when the
    /// scheduler comes to the warp.
    pub flush: Slots,
    /// Warps whose next instruction passes the scoreboard.
    pub clear: Slots,
    /// Warps whose next instruction waits for a long load.
    pub long_wait: Slots,
    /// Warps with a load from shared memory on its way.
    pub loads_shared: Slots,
    /// Warps that wait at a block barrier.
    pub at_barrier: Slots,
    /// Warps that waited at a block barrier when they were counted last, and their number.
    counted_at_barrier: (Slots, u32),
    /// Warps that wait at a fence.
    pub fenced: Slots,
    /// Warps that wait for an atomic.
    pub atomic: Slots,
    /// Warps with something that ended since they were last looked at for reclaiming.
    pub touched: Slots,
    /// By pipe: warps whose next instruction goes there. Without meaning for warps that have no
    /// instruction in the buffer.
    pub next_pipe: [Slots; Pipe::PLACES],
    /// Facts that schedulers see, by slot: ages, and ranges of memory that warps touch.
    pub table: WarpTable,
    /// Asynchronous operations that are under way, by slot. Empty before
    /// [`furnish`](Self::furnish).
    pub copies: Vec<AsyncGroups>,
    /// Scoreboards without their first word: `words - 1` words for each warp.
    pending: Vec<u64>,
    /// Scoreboards of results of long loads, without their first word.
    pending_long: Vec<u64>,
    /// Scoreboards of results of loads from shared memory, all `words` words.
    pending_shared: Vec<u64>,
    /// Scoreboards of results of loads that missed L1D or went past it, all `words` words, where
    /// contexts are switched.
    missed: Vec<u64>,
}

impl Warps {
    /// `slots` empty slots of an SM that holds at most `max_blocks` blocks, and places for
    /// `contexts` absent warps. Requires [`furnish`](Self::furnish) before the first warp starts.
    pub fn new(slots: usize, contexts: usize, max_blocks: u32) -> Self {
        assert!(slots <= WarpMask::BITS as usize, "a mask holds all warps");
        let places = slots + contexts;
        Self {
            exec: Vec::new(),
            track: vec![WarpPipelineState::EMPTY; places],
            table: WarpTable::new(slots, places, max_blocks),
            pending_shared: vec![0; places],
            missed: vec![0; places],
            slots,
            copies: Vec::new(),
            pending: Vec::new(),
            pending_long: Vec::new(),
            words: 1,
            live: Slots::default(),
            resident: 0,
            done: Slots::default(),
            buffered: Slots::default(),
            fetching: Slots::default(),
            flush: Slots::default(),
            at_barrier: Slots::default(),
            counted_at_barrier: (Slots::default(), 0),
            fenced: Slots::default(),
            atomic: Slots::default(),
            clear: Slots::default(),
            long_wait: Slots::default(),
            loads_shared: Slots::default(),
            touched: Slots::default(),
            next_pipe: std::array::from_fn(|p| if p == 0 { Slots::ALL } else { Slots::default() }),
        }
    }

    /// Allocates the architectural state and the asynchronous operations of all warps, if that has
    /// not been done.
    pub fn furnish(&mut self) {
        let places = self.track.len();
        self.exec.resize_with(places, WarpState::default);
        self.copies.resize_with(places, AsyncGroups::default);
    }

    /// Number of warp slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Warps kept from issuing by a barrier, a fence or an atomic, and those that exited.
    #[inline]
    pub fn waiting(&self) -> WarpMask {
        self.at_barrier | self.fenced | self.atomic | self.done
    }

    /// Number of warps that wait at a block barrier. They are counted anew only after a change:
    /// many hosts count bits in a dozen instructions.
    #[inline]
    pub fn count_at_barrier(&mut self) -> u32 {
        if self.counted_at_barrier.0 != self.at_barrier {
            let warps = self.at_barrier.mask().count_ones();
            self.counted_at_barrier = (self.at_barrier, warps);
        }
        self.counted_at_barrier.1
    }

    /// True if the warp in `slot` waits for one of these.
    #[inline]
    pub fn waits(&self, slot: usize) -> bool {
        Slots::from(self.waiting()).has(slot)
    }

    /// Warps that still run.
    #[inline]
    pub fn running(&self) -> WarpMask {
        self.live & !self.done
    }

    /// View of a scheduler that serves the warps `own`.
    #[inline]
    pub fn view(&self, own: WarpMask) -> WarpView<'_> {
        WarpView {
            own,
            live: self.running(),
            waiting: self.waiting(),
            long_wait: self.long_wait.mask(),
            held: 0,
            table: &self.table,
        }
    }

    /// Sets the memory that a warp accesses which will start in a slot or another place.
    pub fn set_range(&mut self, place: usize, range: WarpRange) {
        let places = self.exec.len();
        self.table.ranges.resize(places, WarpRange::default());
        self.table.ranges[place] = range;
    }

    /// Puts the `nth` warp of a block, whose `exec` is set and whose first warp has age
    /// `block_age`, into `slot`, or into a place for absent warps.
    pub fn start(
        &mut self,
        slot: usize,
        block: BlockId,
        kernel: KernelSlot,
        block_age: u64,
        nth: u32,
    ) {
        self.track[slot].block = block;
        self.track[slot].kernel = kernel;
        self.table.start(slot, block_age, nth);
        if slot >= self.slots {
            return;
        }
        debug_assert!(!self.live.has(slot), "slot {slot} is taken");
        self.track[slot].buffer_len = 0;
        self.track[slot].fetch_pc = self.exec[slot].pc().unwrap_or(Pc(0));
        self.live.insert(slot);
        self.resident += 1;
        for slots in self.flags() {
            slots.remove(slot);
        }
    }

    /// Frees a slot whose warp is drained.
    pub fn release(&mut self, slot: usize) {
        debug_assert!(self.track[slot].in_flight == 0 && self.track[slot].stores == 0);
        debug_assert!(!self.has_pending(slot));
        self.live.remove(slot);
        self.resident -= 1;
        for slots in self.flags() {
            slots.remove(slot);
        }
    }

    fn flags(&mut self) -> [&mut Slots; 9] {
        [
            &mut self.done,
            &mut self.buffered,
            &mut self.fetching,
            &mut self.flush,
            &mut self.at_barrier,
            &mut self.fenced,
            &mut self.atomic,
            &mut self.clear,
            &mut self.long_wait,
        ]
    }

    /// Exited warps that may have become free to reclaim.
    #[inline]
    pub fn to_reclaim(&self) -> WarpMask {
        self.live & self.done & self.touched
    }

    /// True if nothing of the warp is outstanding.
    pub fn is_drained(&self, slot: usize) -> bool {
        self.track[slot].in_flight == 0
            && self.track[slot].stores == 0
            && !self.fetching.has(slot)
            && !self.has_pending(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::Warps;
    use warploom_base::{BlockId, KernelSlot};

    fn warps() -> Warps {
        let mut warps = Warps::new(4, 0, 8);
        warps.furnish();
        warps.reserve_scoreboard(1);
        warps.start(1, BlockId(0), KernelSlot(0), 0, 0);
        warps
    }

    #[test]
    fn a_slot_is_drained_when_nothing_is_out() {
        let mut warps = warps();
        assert!(warps.is_drained(1));
        (warps.track[1].in_flight, warps.track[1].stores) = (1, 1);
        assert!(!warps.is_drained(1));
        warps.track[1].in_flight = 0;
        assert!(!warps.is_drained(1), "a store is out");
        warps.track[1].stores = 0;
        warps.fetching.insert(1);
        assert!(!warps.is_drained(1), "a fetch is out");
        warps.fetching.remove(1);
        warps.release(1);
        assert_eq!(warps.running(), 0);
    }

    /// A scheduler comes to a warp on the wrong path unless it waits.
    #[test]
    fn astray_are_those_that_do_not_wait() {
        let mut warps = warps();
        warps.flush.insert(1);
        assert_eq!(warps.astray(), 0b10);
        warps.at_barrier.insert(1);
        assert_eq!(warps.astray(), 0);
        warps.at_barrier.remove(1);
        warps.turn_back(1);
        assert_eq!(warps.astray(), 0);
    }
}
