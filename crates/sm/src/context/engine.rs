//! The context switching logic (GPUDuet, section 6.6).
//!
//! At most one transfer begins at the end of a cycle, and only if the number of current transfers
//! is below its limit. The unit that has been ready for the longest time is switched in if it has
//! room; otherwise it is swapped with a stalled unit. If no unit can be switched in, a stalled unit
//! is switched out, if its context has room and other units are absent already. A setting chooses
//! which stalled unit is switched out first. A transfer that begins in cycle t and moves state for
//! n cycles ends in cycle t + n, regardless of other transfers. A swap moves one unit out and then
//! the other one in, or both at once if the port is duplex. A stalled unit continues if the values
//! for which it waits arrive while it is in the queue.

use super::map::{Map, Span};
use super::places::{Places, Terms};
use super::tables::{BlockEntry, Place, Queue, State, WarpEntry};
use crate::blocks::free_run;
use crate::prepared_kernel::{KernelContexts, PreparedKernel, PreparedKernels, prepared_kernel};
use crate::warps::Warps;
use warploom_base::{BlockId, Cycle, KernelSlot, WarpSlot};
use warploom_config::{ContextRules, ContextStorage, ContextTransfers, ExtraBlocks};
use warploom_policy::{WarpMask, warps_of};
use warploom_state::Value;
use warploom_stats::trace::Activity;
use warploom_stats::{Peak, declare_stats};

declare_stats! {
    /// Counters of context switching (`sm.context`).
    pub struct ContextCounters in "context" {
        /// Warps that left alone.
        pub warps_out: u64 = Events;
        /// Warps that came in alone, new ones among them.
        pub warps_in: u64 = Events;
        /// Blocks that left as wholes.
        pub blocks_out: u64 = Events;
        /// Blocks that came in as wholes, new ones among them.
        pub blocks_in: u64 = Events;
        /// The part of warps_out and blocks_out that waited at barriers.
        pub out_at_barriers: u64 = Events;
        /// Transfers in which one unit took the place of another.
        pub swaps: u64 = Events;
        /// Cycles that transfers took, summed over transfers: several may be under way at once.
        pub port_cycles: u64 = Cycles;
        /// Bytes of contexts that moved.
        pub bytes: u64 = Bytes;
        /// Most blocks on an SM at once, so far in the run.
        pub blocks_max: Peak = Blocks;
        /// Most units of 128 bytes in use at once, so far in the run.
        pub units_max: Peak = Events;
        /// Blocks that started although not all of them was present.
        pub blocks_started_out: u64 = Blocks;
        /// Changes of the number of extra blocks upwards.
        pub steps_up: u64 = Events;
        /// The same downwards, at the launch of another kernel too: each starts without any.
        pub steps_down: u64 = Events;
        /// Times that L1D was emptied to hold contexts.
        pub l1d_taken: u64 = Events;
    }
}

/// Change of a warp slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) enum Moved {
    /// The warp in the slot was switched out.
    Out(WarpSlot),
    /// A warp was switched into the slot.
    In(WarpSlot),
}

/// Number of a warp's context or of a block.
pub(super) type Unit = u16;

/// Transfer that has begun and not ended.
#[derive(Clone, Debug, Value)]
pub(super) struct Transfer {
    /// Unit that moves out; `None` once it is out.
    pub out: Option<Unit>,
    /// Unit that moves in.
    pub back: Option<Unit>,
    /// Cycle in which the unit that moves out is out.
    pub out_ends: Cycle,
    pub ends: Cycle,
    /// Storage that becomes free when the transfer ends.
    pub held: Vec<Span>,
    /// Slots that become free when the transfer ends.
    pub held_slots: WarpMask,
}

impl Transfer {
    /// The next cycle in which a part of the transfer ends.
    fn next_event(&self) -> Cycle {
        match self.out {
            Some(_) => self.out_ends,
            None => self.ends,
        }
    }
}

/// The tables, the logic and the storage of one SM.
#[derive(warploom_state::State)]
pub(crate) struct Contexts {
    #[state(fixed)]
    pub(super) rules: ContextRules,
    /// Number of warp slots.
    pub(super) slots: usize,
    pub(super) places: Places,
    pub(super) warps: Vec<WarpEntry>,
    pub(super) blocks: Vec<BlockEntry>,
    /// Place of the warp in the arrays of warps, by context.
    pub(super) place: Vec<Place>,
    /// Number of the context in a slot, by slot.
    pub(super) context_of: Vec<u16>,
    /// Kernel of all blocks on the SM, with its terms.
    pub(super) kernel: Option<(KernelSlot, Terms)>,
    /// Number of blocks on the SM.
    pub(super) here: u32,
    /// By kernel slot: most blocks beyond the number that the SM holds without switching (ME).
    extra: Vec<u32>,
    /// True if the kernel of the blocks was halted.
    pub(super) halted: bool,
    /// Number of warps that have started and are not present.
    pub(super) absent: u32,
    /// True if L1D stores contexts.
    l1d: bool,
    pub(super) stalled: Queue,
    pub(super) ready: Queue,
    pub(super) transfers: Vec<Transfer>,
    /// Storage that the last tried change frees at its end.
    pub(super) held: Vec<Span>,
    /// Empty lists for later transfers, kept for their memory.
    pub(super) spare_lists: Vec<Vec<Span>>,
    /// Slots that the last tried change frees at its end.
    pub(super) held_slots: WarpMask,
    /// True if something has changed since the logic last found nothing to do.
    pub(super) changed: bool,
    /// True if a block may have room that had none in the cycle before.
    pub gained_room: bool,
    /// Slots whose warp or block is in the queue of stalled units.
    pub(super) queued: WarpMask,
    /// Entries of the last tried change, for warps that are switched in.
    pub(super) new_warps: Vec<WarpEntry>,
    pub(super) new_shared: Span,
    /// Entries of the last tried change, for warps that are switched out.
    pub(super) left_warps: Vec<WarpEntry>,
    pub(super) left_shared: Span,
    /// Counters of context switching.
    pub counters: ContextCounters,
}

impl Contexts {
    /// The engine of an SM with `slots` warp slots.
    pub fn new(rules: ContextRules, storage: ContextStorage, slots: usize) -> Self {
        let (warps, blocks) = (rules.warps as usize, rules.blocks as usize);
        let queue = rules.warp_queue.max(rules.block_queue);
        Self {
            slots,
            places: Places::new(Map::new(storage), slots as u32),
            warps: vec![WarpEntry::FREE; warps],
            blocks: vec![BlockEntry::FREE; blocks],
            place: (0..warps).map(|context| slots + context).collect(),
            context_of: (0..slots as u16).collect(),
            kernel: None,
            here: 0,
            extra: Vec::new(),
            halted: false,
            absent: 0,
            l1d: false,
            stalled: Queue::new(queue),
            ready: Queue::new(queue),
            transfers: Vec::with_capacity(queue as usize),
            held: Vec::with_capacity(3 * warps),
            spare_lists: Vec::with_capacity(queue as usize),
            held_slots: 0,
            changed: false,
            gained_room: false,
            queued: 0,
            new_warps: Vec::with_capacity(warps),
            new_shared: Span::default(),
            left_warps: Vec::with_capacity(warps),
            left_shared: Span::default(),
            counters: ContextCounters::default(),
            rules,
        }
    }

    /// Number of warp contexts.
    pub fn count(&self) -> usize {
        self.warps.len()
    }

    /// Number of block contexts.
    pub fn count_blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Place of the warp of a context.
    #[inline]
    pub fn place(&self, context: usize) -> Place {
        self.place[context]
    }

    /// Number of the context in a slot.
    #[inline]
    pub fn in_slot(&self, slot: usize) -> u16 {
        self.context_of[slot]
    }

    /// True if the SM holds blocks of a switched kernel.
    pub fn holds_blocks(&self) -> bool {
        self.here > 0
    }

    /// True if blocks have started and not ended.
    pub fn holds_started(&self) -> bool {
        let started = |w: &WarpEntry| !matches!(w.state, State::Free | State::Assigned);
        self.here > 0 && self.warps.iter().any(started)
    }

    /// True if the state stays as it is up to the next event, unless another part of the SM
    /// changes.
    pub fn is_quiet(&self) -> bool {
        let Some((_, terms)) = &self.kernel else {
            return true;
        };
        !self.changed || !self.may_begin(terms.by_warp)
    }

    /// The next cycle in which a transfer or its first half ends.
    pub fn next_event(&self) -> Option<Cycle> {
        self.transfers.iter().map(Transfer::next_event).min()
    }

    /// True if another transfer may begin.
    fn may_begin(&self, by_warp: bool) -> bool {
        let most = match self.rules.transfers {
            ContextTransfers::Serial => 1,
            ContextTransfers::Overlap => self.queue_entries(by_warp),
        };
        self.transfers.len() < most
    }

    /// Number of entries of the queue of stalled units, which is also that of the queue of ready
    /// units.
    pub(super) fn queue_entries(&self, by_warp: bool) -> usize {
        match by_warp {
            true => self.rules.warp_queue as usize,
            false => self.rules.block_queue as usize,
        }
    }

    /// Sets the number of extra blocks (ME) of a kernel, within its bound.
    pub fn set_extra(&mut self, kernel: KernelSlot, extra: u32) {
        let before = self.extra_in(kernel);
        self.counters.steps_up += u64::from(extra > before);
        self.counters.steps_down += u64::from(extra < before);
        if self.extra.len() <= kernel.index() {
            self.extra.resize(kernel.index() + 1, 0);
        }
        self.extra[kernel.index()] = extra;
        self.changed = true;
    }

    fn extra_in(&self, kernel: KernelSlot) -> u32 {
        self.extra.get(kernel.index()).copied().unwrap_or(0)
    }

    /// Kernel of all blocks on the SM.
    pub fn kernel(&self) -> Option<KernelSlot> {
        self.kernel.map(|(kernel, _)| kernel)
    }

    /// True if the kernel of the blocks was halted and has not ended.
    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// Notes that L1D is empty and stores contexts from now on.
    pub fn take_l1d(&mut self) {
        self.l1d = true;
        self.counters.l1d_taken += 1;
        self.changed = true;
    }

    /// Notes that L1D stores no contexts from now on. Requires that the SM holds no blocks.
    pub fn give_back_l1d(&mut self) {
        self.l1d = false;
    }

    /// True if a monitor of the machine's load decides on extra blocks and on L1D.
    pub fn is_monitored(&self) -> bool {
        self.rules.extra == ExtraBlocks::Monitor
    }

    /// Most blocks of a kernel beyond the number that the SM holds without switching.
    pub(super) fn extra_of(&self, kernel: KernelSlot, contexts: &KernelContexts) -> u32 {
        match self.rules.extra {
            ExtraBlocks::Monitor => self.extra_in(kernel).min(contexts.plan.bound),
            ExtraBlocks::Fixed(_) | ExtraBlocks::Most => contexts.plan.bound,
        }
    }

    /// Terms for transfers and new blocks of a kernel, if the SM holds this number of its blocks.
    fn terms(&self, kernel: KernelSlot, contexts: &KernelContexts, blocks: u32) -> Terms {
        let above = blocks.saturating_sub(contexts.plan.native);
        let extra = above.max(self.extra_of(kernel, contexts));
        let (registers, shared) = contexts.moves(extra);
        Terms {
            l1d: self.l1d,
            by_warp: contexts.plan.by_warp,
            registers,
            shared,
            ..Terms::new(&self.rules, contexts.needs)
        }
    }

    /// True if the SM has no blocks, or blocks of this kernel.
    fn may_join(&self, slot: KernelSlot) -> bool {
        self.here == 0 || self.kernel.is_some_and(|(kernel, _)| kernel == slot)
    }

    /// First of the consecutive free contexts for a block of this number of warps.
    fn free_contexts(&self, warps: usize) -> Option<usize> {
        let starts = (0..self.warps.len() / warps).map(|i| i * warps);
        let free = |w: &WarpEntry| w.state == State::Free;
        starts
            .into_iter()
            .find(|&first| self.warps[first..first + warps].iter().all(free))
    }

    /// Looks for room for one more block of a kernel.
    fn try_block(
        &mut self,
        prepared: &PreparedKernel,
        contexts: &KernelContexts,
        block: &mut BlockEntry,
    ) -> Option<(usize, Terms)> {
        if !self.may_join(prepared.slot)
            || self.here >= contexts.plan.native + self.extra_of(prepared.slot, contexts)
        {
            return None;
        }
        let warps = prepared.block_warps;
        let first = self.free_contexts(warps as usize)?;
        let terms = self.terms(prepared.slot, contexts, self.here + 1);
        let run = free_run(self.places.slots(), warps, self.slots as u32);
        self.new_warps.clear();
        self.new_warps.resize(warps as usize, WarpEntry::FREE);
        let new = &mut self.new_warps;
        self.places.try_block(&terms, run, block, new)?;
        block.fresh = block.slots == 0;
        let waits = terms.divided && block.fresh && self.holds_fresh();
        (!waits).then_some((first, terms))
    }

    /// True if a block has begun out and has not come in yet. In a divided register file no second
    /// one may: a block is added when the registers of a stalled one have room, which is not known
    /// before (FineReg).
    fn holds_fresh(&self) -> bool {
        self.blocks.iter().any(|block| block.fresh)
    }

    /// True if one more block of a kernel has room.
    pub fn has_room(&mut self, prepared: &PreparedKernel, contexts: &KernelContexts) -> bool {
        let mut block = BlockEntry::FREE;
        self.try_block(prepared, contexts, &mut block).is_some()
    }

    /// Number of further blocks of a kernel that have room together, up to `most`.
    pub fn room(&self, prepared: &PreparedKernel, contexts: &KernelContexts, most: u32) -> u32 {
        let allowed = contexts.plan.native + self.extra_of(prepared.slot, contexts);
        if !self.may_join(prepared.slot) {
            return 0;
        }
        let warps = prepared.block_warps as usize;
        let starts = (0..self.warps.len() / warps).map(|i| i * warps);
        let free = |w: &WarpEntry| w.state == State::Free;
        let free = |first: &usize| self.warps[*first..*first + warps].iter().all(free);
        let most = most
            .min(starts.filter(free).count() as u32)
            .min(allowed.saturating_sub(self.here));
        let mut fresh = self.holds_fresh();
        let mut places = self.places.clone();
        let mut new = vec![WarpEntry::FREE; warps];
        (0..most)
            .take_while(|more| {
                let terms = self.terms(prepared.slot, contexts, self.here + more + 1);
                let run = free_run(places.slots(), warps as u32, self.slots as u32);
                let mut block = BlockEntry::FREE;
                let fits = places.try_block(&terms, run, &mut block, &mut new);
                let out = fits.is_some() && block.slots == 0;
                let waits = terms.divided && out && fresh;
                fresh |= out;
                !waits && fits.map(|()| places.commit()).is_some()
            })
            .count() as u32
    }

    /// Gives slots of a block of an unswitched kernel the contexts of the same numbers.
    pub fn identify(&mut self, slots: WarpMask) {
        for slot in warps_of(slots).map(WarpSlot::index) {
            self.place[slot] = slot;
            self.context_of[slot] = slot as u16;
        }
    }

    /// Takes contexts, slots and storage for a new block. Returns its first context. Requires
    /// `has_room`.
    pub fn assign(
        &mut self,
        prepared: &PreparedKernel,
        contexts: &KernelContexts,
        slot: BlockId,
    ) -> u32 {
        let mut block = BlockEntry::FREE;
        let (first, terms) = self
            .try_block(prepared, contexts, &mut block)
            .expect("the caller asked for room");
        self.places.commit();
        self.here += 1;
        self.kernel = Some((prepared.slot, terms));
        block.valid = true;
        block.first = first as u16;
        block.warps = prepared.block_warps as u16;
        block.left = block.warps;
        for (i, new) in self.new_warps.iter().enumerate() {
            let context = first + i;
            self.warps[context] = WarpEntry {
                block: slot.0 as u8,
                ..*new
            };
            self.place[context] = self.slots + context;
            if new.slot != u8::MAX {
                self.place[context] = usize::from(new.slot);
                self.context_of[usize::from(new.slot)] = context as u16;
            }
        }
        let out = block.slots.count_ones() < u32::from(block.warps);
        self.counters.blocks_started_out += u64::from(out);
        self.counters.blocks_max.note(u64::from(self.here));
        self.counters.units_max.note(u64::from(self.places.taken()));
        self.blocks[slot.index()] = block;
        first as u32
    }

    /// Starts the warps of an assigned block.
    pub fn start(&mut self, slot: BlockId) {
        let contexts = self.blocks[slot.index()].contexts();
        for context in contexts {
            let present = self.place[context] < self.slots;
            let state = if present {
                State::Running
            } else {
                State::Ready
            };
            self.warps[context].state = state;
            self.absent += u32::from(!present);
        }
        self.changed = true;
    }

    /// Frees the context of a warp that has ended and left its slot.
    pub fn warp_gone(&mut self, slot: usize) {
        let context = usize::from(self.context_of[slot]);
        let entry = std::mem::replace(&mut self.warps[context], WarpEntry::FREE);
        debug_assert!(entry.state == State::Running, "{entry:?} has ended");
        self.places.give(entry.registers);
        self.places.give_slots(1 << slot);
        self.place[context] = self.slots + context;
        let block = &mut self.blocks[usize::from(entry.block)];
        block.slots &= !(1 << slot);
        block.left -= 1;
        if block.left == 0 {
            self.places.give(block.shared);
        }
        self.changed = true;
    }

    /// Frees the context of a block, after the dispatcher has noted its end.
    pub fn block_gone(&mut self, slot: BlockId) {
        self.blocks[slot.index()] = BlockEntry::FREE;
        self.here -= 1;
        if self.here == 0 {
            self.kernel = None;
            self.halted = false;
        }
    }

    /// Notes that an absent warp has got a value, or that its barrier has completed.
    pub fn arrived(&mut self, context: usize, warps: &Warps, kernels: &PreparedKernels) {
        let entry = &mut self.warps[context];
        if entry.state != State::Absent || entry.at_barrier {
            return;
        }
        let place = self.place[context];
        let prepared = prepared_kernel(kernels, warps.track[place].kernel);
        if !warps.waits_for_results(place, prepared) {
            entry.state = State::Ready;
            self.changed = true;
        }
    }

    /// Notes that the barrier at which an absent warp waits has completed.
    pub fn released(&mut self, context: usize) {
        self.warps[context].at_barrier = false;
    }

    /// Ends a cycle: ends transfers, fills the queues, and may begin a transfer. `decoding`: the
    /// warp whose instructions are being decoded.
    pub fn step(
        &mut self,
        now: Cycle,
        warps: &mut Warps,
        kernels: &PreparedKernels,
        decoding: WarpMask,
        moved: &mut Vec<Moved>,
    ) {
        let Some((kernel, _)) = self.kernel else {
            return;
        };
        let prepared = prepared_kernel(kernels, kernel);
        let Some(contexts) = &prepared.contexts else {
            return;
        };
        self.finish(now, warps, kernels, moved);
        if self.units_out(contexts.plan.by_warp) == 0 {
            self.forget_stalled();
            self.changed = false;
            return;
        }
        let terms = self.terms(kernel, contexts, self.here);
        self.look_for_stalled(warps, prepared, &terms, decoding);
        self.look_for_ready(&terms);
        if self.changed && self.may_begin(terms.by_warp) {
            self.changed = self.decide(now, warps, contexts, &terms, moved);
        }
    }

    /// Number of units that are not present.
    pub(super) fn units_out(&self, by_warp: bool) -> u32 {
        if by_warp || self.absent == 0 {
            return self.absent;
        }
        let absent = |b: &&BlockEntry| b.valid && b.left > 0 && b.slots == 0;
        self.blocks.iter().filter(absent).count() as u32
    }

    /// Activity of a context's warp, for one that is not present.
    pub fn activity(&self, context: usize) -> Activity {
        match self.warps[context].state {
            State::Leaving => Activity::MovesOut,
            State::Absent => Activity::Out,
            State::Ready => Activity::OutReady,
            State::Entering => Activity::MovesIn,
            State::Free | State::Assigned | State::Running | State::Stalled => Activity::None,
        }
    }

    /// Contexts of the warps that are not present, with a description of what they do.
    pub fn describe_absent(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let words = |(context, warp): (usize, &WarpEntry)| {
            let text = match warp.state {
                State::Absent if warp.at_barrier => "out, at a barrier",
                State::Absent => "out, waits for a load",
                State::Ready => "out, ready, waits for another to leave",
                State::Leaving => "on its way out",
                State::Entering => "on its way in",
                _ => return None,
            };
            Some((context, text))
        };
        self.warps.iter().enumerate().filter_map(words)
    }

    /// Number of contexts, units and slots in use. Must be 0 when the SM holds no blocks.
    pub fn leaks(&self) -> usize {
        let used = self.warps.iter().filter(|w| w.state != State::Free).count();
        used + self.places.taken() as usize + self.places.slots().count_ones() as usize
    }
}
