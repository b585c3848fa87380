//! Warp slots of an SM: per-slot arrays and masks (bit i for slot i). A question about all warps
//! is one operation on masks; nothing scans warps that sleep. Where contexts are switched, the
//! arrays have places for absent warps behind those of the slots, which no mask knows.

mod copies;
mod parking;
mod slots;

pub use copies::{CopyGroups, CopyRole};
pub use slots::Slots;

use crate::prepared_kernel::{Pipe, PreparedKernel, TimedInst};
use std::hint::cold_path;
use warploom_base::{BlockId, KernelSlot, Pc, WarpSlot};
use warploom_exec::WarpState;
use warploom_policy::{WarpMask, WarpRange, WarpTable, WarpView};

/// Decoded instructions that a warp's buffer holds.
pub const IBUFFER: u8 = 2;

/// A word of a warp's scoreboard.
struct Words<'a> {
    pending: &'a mut u64,
    long: &'a mut u64,
}

/// What the pipeline keeps of one warp and asks for from issue to write-back: side by side, because
/// it goes from warp to warp, in one line of the host's cache.
#[derive(Clone, Copy, Debug)]
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
    /// Where fetch goes on: behind what issued last, whether or not the warp went there.
    pub fetch_pc: Pc,
    /// Stores whose acknowledgement is out.
    pub stores: u32,
    /// Instructions between issue and write-back.
    pub in_flight: u32,
    /// Atomic instructions without their reply.
    pub atomics: u32,
    /// Loads from global memory that are waited for, where contexts are switched.
    pub awaiting: u32,
    /// First word of the scoreboard: set while a result is pending.
    pending: u64,
    /// The same for results of long loads.
    pending_long: u64,
    /// First word of the entries that the next instruction needs free.
    needs: u64,
    /// Pipe of the next instruction.
    pipe: Pipe,
    /// Whether that one may go depends on more than `needs`.
    asks_further: bool,
}

/// What the first word of a scoreboard says of an instruction.
#[derive(Clone, Copy)]
struct Asked {
    /// Entries that it needs free and that are not.
    hit: u64,
    /// Those of long loads.
    long: u64,
    /// There is more to ask.
    further: bool,
}

impl WarpPipelineState {
    const EMPTY: Self = Self {
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

    /// The next instruction is this one now. Returns the pipe of the one before it, and what the
    /// scoreboard says.
    #[inline]
    fn ask_for(&mut self, inst: &TimedInst) -> (Pipe, Asked) {
        self.needs = inst.needs_word;
        self.asks_further = inst.asks_further;
        (std::mem::replace(&mut self.pipe, inst.pipe), self.ask())
    }

    #[inline]
    fn ask(&self) -> Asked {
        Asked {
            hit: self.pending & self.needs,
            long: self.pending_long & self.needs,
            further: self.asks_further,
        }
    }
}

/// All warp slots. Fields stand as declared: those that every cycle looks at, then the others.
#[repr(C, align(64))]
pub struct Warps {
    /// What else there is to every warp, by slot.
    pub track: Vec<WarpPipelineState>,
    /// What executes, by slot.
    pub exec: Vec<WarpState>,
    /// Words of a scoreboard; at least one.
    words: usize,
    slots: usize,
    /// How many slots are in use.
    pub resident: u32,
    /// Slots in use.
    pub live: Slots,
    /// All lanes have exited.
    pub done: Slots,
    /// The buffer holds an instruction.
    pub buffered: Slots,
    /// An instruction-cache miss is out.
    pub fetching: Slots,
    /// What was decoded last is from the wrong path: dropped when the scheduler comes to the warp.
    pub flush: Slots,
    /// The next instruction passes the scoreboard.
    pub clear: Slots,
    /// The next instruction waits for a long load.
    pub long_wait: Slots,
    /// At a block barrier.
    pub at_barrier: Slots,
    /// Behind a fence.
    pub fenced: Slots,
    /// An atomic is out.
    pub atomic: Slots,
    /// Something of the warp came to its end since it was last looked at for reclaiming.
    pub touched: Slots,
    /// By pipe: the next instruction goes there. Means something only of warps with a buffered one.
    pub next_pipe: [Slots; Pipe::PLACES],
    /// What schedulers see of them, by slot: ages, and where they touch memory.
    pub table: WarpTable,
    /// Asynchronous copies that are under way.
    pub copies: Vec<CopyGroups>,
    /// Scoreboard, but for its first word: `words - 1` words a warp.
    pending: Vec<u64>,
    /// The same for results of long loads.
    pending_long: Vec<u64>,
    /// All `words` words for results of loads that missed L1D or went past it, where contexts are
    /// switched.
    missed: Vec<u64>,
}

impl Warps {
    /// `slots` empty slots of an SM that holds at most `max_blocks` blocks, and places for
    /// `contexts` absent warps.
    pub fn new(slots: usize, contexts: usize, max_blocks: u32) -> Self {
        assert!(slots <= WarpMask::BITS as usize, "a mask holds all warps");
        let places = slots + contexts;
        Self {
            exec: (0..places).map(|_| WarpState::default()).collect(),
            track: vec![WarpPipelineState::EMPTY; places],
            table: WarpTable::new(slots, places, max_blocks),
            missed: vec![0; places],
            slots,
            copies: vec![CopyGroups::default(); places],
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
            fenced: Slots::default(),
            atomic: Slots::default(),
            clear: Slots::default(),
            long_wait: Slots::default(),
            touched: Slots::default(),
            next_pipe: std::array::from_fn(|p| if p == 0 { Slots::ALL } else { Slots::default() }),
        }
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Warps kept from issuing by a barrier, a fence or an atomic, and those that exited.
    #[inline]
    pub fn waiting(&self) -> WarpMask {
        self.at_barrier | self.fenced | self.atomic | self.done
    }

    /// One of those.
    #[inline]
    pub fn waits(&self, slot: usize) -> bool {
        Slots::from(self.waiting()).has(slot)
    }

    /// Warps that still run.
    #[inline]
    pub fn running(&self) -> WarpMask {
        self.live & !self.done
    }

    /// Makes room for scoreboards of `words` words. Only grows, and only while no warp runs or
    /// by re-laying out those that do.
    pub fn reserve_scoreboard(&mut self, words: usize) {
        if words <= self.words {
            return;
        }
        let places = self.exec.len();
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
        self.words = words;
    }

    /// What a scheduler of the warps `own` may see.
    #[inline]
    pub fn view(&self, own: WarpMask) -> WarpView<'_> {
        WarpView {
            own,
            live: self.running(),
            waiting: self.waiting(),
            long_wait: self.long_wait.mask(),
            table: &self.table,
        }
    }

    /// Notes where warps touch memory that will start in the slots from `first` on.
    pub fn set_ranges(&mut self, first: usize, ranges: &[WarpRange]) {
        let slots = self.slots();
        self.table.ranges.resize(slots, WarpRange::default());
        self.table.ranges[first..][..ranges.len()].copy_from_slice(ranges);
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

    /// Frees `slot`.
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

    /// Nothing of the warp is outstanding.
    pub fn is_drained(&self, slot: usize) -> bool {
        self.track[slot].in_flight == 0
            && self.track[slot].stores == 0
            && !self.fetching.has(slot)
            && !self.has_pending(slot)
    }

    /// A result is pending.
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
            *words.long |= if inst.long { bits } else { 0 };
        });
    }

    /// The first instruction in the buffer has issued: marks its results as pending and steps the
    /// buffer, or marks it for emptying when the warp went elsewhere. Fetch does not know yet:
    /// behind the buffer's last instruction it goes on with the next one in the program.
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
        track.pending_long |= if inst.long { inst.writes_word } else { 0 };
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

    /// An instruction's results have arrived.
    #[inline]
    pub fn clear_pending(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        self.each_word(slot, inst, kernel, |words, bits| {
            *words.pending &= !bits;
            *words.long &= !bits;
        });
    }

    /// Nothing that an instruction writes, of what the first word of the scoreboard knows, has
    /// arrived.
    pub fn awaits(&self, slot: usize, inst: &TimedInst) -> bool {
        inst.writes_word & !self.track[slot].pending == 0
    }

    /// An instruction has ended, all of whose results come at once: they have arrived.
    #[inline(always)]
    pub fn finished(&mut self, slot: usize, inst: &TimedInst, kernel: &PreparedKernel) {
        if self.words > 1 {
            cold_path();
            self.clear_pending(slot, inst, kernel);
        }
        let track = &mut self.track[slot];
        track.in_flight -= 1;
        track.pending &= !inst.writes_word;
        track.pending_long &= !inst.writes_word;
        let asked = track.ask();
        // Its next instruction may go now.
        self.exec[slot].fetch_ahead();
        self.touched.insert(slot);
        self.answer(slot, kernel, asked);
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

    /// Works out anew what the first instruction in the buffer needs: its pipe, and whether it
    /// passes the scoreboard.
    #[inline(always)]
    pub fn refresh(&mut self, slot: usize, kernel: &PreparedKernel) {
        if self.track[slot].buffer_len == 0 {
            self.note_empty(slot);
        } else {
            self.refresh_from_buffer(slot, kernel);
        }
    }

    /// The buffer holds nothing.
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

    /// The buffer's first instruction goes to the second of these pipes, the one before it went to
    /// the first of them.
    #[inline(always)]
    fn note_next(
        &mut self,
        (slot, pipes): (usize, [Pipe; 2]),
        kernel: &PreparedKernel,
        asked: Asked,
    ) {
        // Twice if it is the same one: a branch would cost more.
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

    /// Whether the first instruction in the buffer passes the scoreboard, and what holds it back.
    #[inline]
    fn ask_scoreboard(&mut self, slot: usize, kernel: &PreparedKernel) {
        let asked = self.track[slot].ask();
        self.answer(slot, kernel, asked);
    }

    /// Notes what the first word of the scoreboard says, and asks further where that is not all.
    #[inline]
    fn answer(&mut self, slot: usize, kernel: &PreparedKernel, asked: Asked) {
        let Asked {
            mut hit, mut long, ..
        } = asked;
        if asked.further {
            let further = self.ask_further(slot, kernel);
            hit |= further.0;
            long |= further.1;
        }
        // Without an instruction there is no answer, whose question would be a branch too many.
        let is_asked = self.buffered.has(slot);
        self.clear.put(slot, is_asked & (hit == 0));
        self.long_wait.put(slot, is_asked & (long != 0));
    }

    /// What few instructions have to ask: further words of the scoreboard, and copies. Returns
    /// what is pending, and what of that is long.
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

    /// As `refresh`, after results have arrived.
    #[inline]
    pub fn refresh_arrived(&mut self, slot: usize, kernel: &PreparedKernel) {
        self.ask_scoreboard(slot, kernel);
    }

    /// Warps that hold instructions from the wrong path and that a scheduler can come to.
    #[inline]
    pub fn astray(&self) -> WarpMask {
        self.flush & !self.waiting()
    }

    /// Empties the buffer of a warp that holds the wrong path; fetch follows the warp again.
    #[inline]
    pub fn turn_back(&mut self, slot: usize) {
        self.drop_buffer(slot);
        self.track[slot].fetch_pc = self.exec[slot].pc().unwrap_or(Pc(0));
    }

    /// Empties a buffer.
    #[inline]
    pub fn drop_buffer(&mut self, slot: usize) {
        self.track[slot].buffer_len = 0;
        self.flush.remove(slot);
        self.note_empty(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::Warps;
    use warploom_base::{BlockId, KernelSlot};

    fn warps() -> Warps {
        let mut warps = Warps::new(4, 0, 8);
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

    /// What is pending stays so for its warp when a kernel of more registers comes, and nothing
    /// else becomes pending; a kernel of fewer changes nothing.
    #[test]
    fn a_wider_scoreboard_keeps_what_is_pending() {
        let mut warps = warps();
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
