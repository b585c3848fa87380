//! What leaves and comes in, and when: the context switching logic (GPUDuet, section 6.6).
//!
//! At most one transfer begins at the end of a cycle, if fewer are under way than may be at once.
//! The unit that has been ready for the longest time comes in if it has room, in the place of a
//! stalled one if not. If none can come in, a stalled one leaves if storage has room for it and
//! others are out already. Which stalled unit leaves first is a setting. A transfer that begins in
//! cycle t and moves state that takes n cycles ends in cycle t + n, whatever else moves. A swap
//! moves out first and then in, or both at once where the port is duplex. A stalled unit that gets
//! the values it waits for while it is in the queue goes on.

use super::map::{Map, Span};
use super::places::{Places, Terms};
use super::tables::{BlockEntry, Place, Queue, State, WarpEntry};
use crate::blocks::free_run;
use crate::prepared_kernel::{KernelContexts, PreparedKernel, PreparedKernels, prepared_kernel};
use crate::warps::Warps;
use warploom_base::{BlockId, Cycle, KernelSlot, WarpSlot};
use warploom_config::{ContextRules, ContextStorage, ContextTransfers, ExtraBlocks};
use warploom_policy::{WarpMask, warps_of};
use warploom_stats::trace::Activity;
use warploom_stats::{Peak, declare_stats};

declare_stats! {
    /// What context switching counts (`sm.context`).
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

/// What happened to a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moved {
    Out(WarpSlot),
    In(WarpSlot),
}

/// A warp or a block, by number.
pub(super) type Unit = u16;

/// A transfer that is under way.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    /// The unit that moves out, until it is out.
    pub out: Option<Unit>,
    pub back: Option<Unit>,
    /// End of the part that moves out.
    pub out_ends: Cycle,
    pub ends: Cycle,
    /// Storage that is free when the transfer ends.
    pub held: Vec<Span>,
    /// Slots that are free when the transfer ends.
    pub held_slots: WarpMask,
}

impl Transfer {
    /// The next cycle in which a part of it ends.
    fn next_event(&self) -> Cycle {
        match self.out {
            Some(_) => self.out_ends,
            None => self.ends,
        }
    }
}

/// The tables, the logic and the storage of one SM.
pub(crate) struct Contexts {
    pub(super) rules: ContextRules,
    /// Warp slots.
    pub(super) slots: usize,
    pub(super) places: Places,
    pub(super) warps: Vec<WarpEntry>,
    pub(super) blocks: Vec<BlockEntry>,
    /// By context: where its warp is in the arrays of warps.
    pub(super) place: Vec<Place>,
    /// By slot: the context that it holds.
    pub(super) context_of: Vec<u16>,
    /// The kernel whose blocks are here.
    pub(super) kernel: Option<(KernelSlot, Terms)>,
    /// Its blocks.
    pub(super) here: u32,
    /// Most blocks above those that are present at once (ME).
    pub(super) extra: u32,
    /// Warps that have started and are not present.
    pub(super) absent: u32,
    /// L1D holds contexts.
    l1d: bool,
    pub(super) stalled: Queue,
    pub(super) ready: Queue,
    pub(super) transfers: Vec<Transfer>,
    /// What the change that was tried last gives back at its end.
    pub(super) held: Vec<Span>,
    /// Storage for the lists of transfers to come.
    pub(super) spare_lists: Vec<Vec<Span>>,
    pub(super) held_slots: WarpMask,
    /// Something has changed since the logic last found nothing to do.
    pub(super) changed: bool,
    /// By slot: the stalled queue holds its warp or block.
    pub(super) queued: WarpMask,
    /// What was tried last: entries of those that come in and of those that leave.
    pub(super) new_warps: Vec<WarpEntry>,
    pub(super) new_shared: Span,
    pub(super) left_warps: Vec<WarpEntry>,
    pub(super) left_shared: Span,
    /// Counters.
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
            extra: 0,
            absent: 0,
            l1d: false,
            stalled: Queue::new(queue),
            ready: Queue::new(queue),
            transfers: Vec::with_capacity(queue as usize),
            held: Vec::with_capacity(3 * warps),
            spare_lists: Vec::with_capacity(queue as usize),
            held_slots: 0,
            changed: false,
            queued: 0,
            new_warps: Vec::with_capacity(warps),
            new_shared: Span::default(),
            left_warps: Vec::with_capacity(warps),
            left_shared: Span::default(),
            counters: ContextCounters::default(),
            rules,
        }
    }

    /// Contexts.
    pub fn count(&self) -> usize {
        self.warps.len()
    }

    /// Block contexts.
    pub fn count_blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Where the warp of a context is.
    #[inline]
    pub fn place(&self, context: usize) -> Place {
        self.place[context]
    }

    /// The context in a slot.
    #[inline]
    pub fn in_slot(&self, slot: usize) -> u16 {
        self.context_of[slot]
    }

    /// Blocks are here.
    pub fn holds_blocks(&self) -> bool {
        self.here > 0
    }

    /// Blocks are here that have started and not ended.
    pub fn holds_started(&self) -> bool {
        let started = |w: &WarpEntry| !matches!(w.state, State::Free | State::Assigned);
        self.here > 0 && self.warps.iter().any(started)
    }

    /// Nothing can happen before the next event, unless something else does.
    pub fn is_quiet(&self) -> bool {
        let Some((_, terms)) = &self.kernel else {
            return true;
        };
        !self.changed || !self.may_begin(terms.by_warp)
    }

    /// When the next transfer ends, or its first half.
    pub fn next_event(&self) -> Option<Cycle> {
        self.transfers.iter().map(Transfer::next_event).min()
    }

    /// Whether fewer transfers are under way than may be at once.
    fn may_begin(&self, by_warp: bool) -> bool {
        let most = match self.rules.transfers {
            ContextTransfers::Serial => 1,
            ContextTransfers::Overlap => self.queue_entries(by_warp),
        };
        self.transfers.len() < most
    }

    /// Entries of the queue of stalled units, and of that of ready units.
    pub(super) fn queue_entries(&self, by_warp: bool) -> usize {
        match by_warp {
            true => self.rules.warp_queue as usize,
            false => self.rules.block_queue as usize,
        }
    }

    /// Sets the number of extra blocks (ME), within the kernel's bound.
    pub fn set_extra(&mut self, extra: u32) {
        self.counters.steps_up += u64::from(extra > self.extra);
        self.counters.steps_down += u64::from(extra < self.extra);
        self.extra = extra;
        self.changed = true;
    }

    /// L1D is empty and holds contexts from now on.
    pub fn take_l1d(&mut self) {
        self.l1d = true;
        self.counters.l1d_taken += 1;
        self.changed = true;
    }

    /// L1D holds no contexts any more. Requires that no block is here.
    pub fn give_back_l1d(&mut self) {
        self.l1d = false;
    }

    /// The machine's load decides on extra blocks, and on L1D.
    pub fn is_monitored(&self) -> bool {
        self.rules.extra == ExtraBlocks::Monitor
    }

    /// Most blocks of a kernel above those that are present at once.
    pub(super) fn extra_of(&self, contexts: &KernelContexts) -> u32 {
        match self.rules.extra {
            ExtraBlocks::Monitor => self.extra.min(contexts.plan.bound),
            ExtraBlocks::Fixed(_) | ExtraBlocks::Most => contexts.plan.bound,
        }
    }

    /// What holds for transfers and new blocks of a kernel now.
    fn terms(&self, contexts: &KernelContexts, blocks: u32) -> Terms {
        let above = blocks.saturating_sub(contexts.plan.native);
        let extra = above.max(self.extra_of(contexts));
        let (registers, shared) = contexts.moves(extra);
        Terms {
            l1d: self.l1d,
            by_warp: contexts.plan.by_warp,
            registers,
            shared,
            ..Terms::new(&self.rules, contexts.needs)
        }
    }

    /// Whether blocks of a kernel may be beside those that are here.
    fn may_join(&self, slot: KernelSlot) -> bool {
        self.here == 0 || self.kernel.is_some_and(|(kernel, _)| kernel == slot)
    }

    /// Contexts in a row for a block.
    fn free_contexts(&self, warps: usize) -> Option<usize> {
        let starts = (0..self.warps.len() / warps).map(|i| i * warps);
        let free = |w: &WarpEntry| w.state == State::Free;
        starts
            .into_iter()
            .find(|&first| self.warps[first..first + warps].iter().all(free))
    }

    /// Tries places for one more block of a kernel, beside those taken so far.
    fn try_block(
        &mut self,
        prepared: &PreparedKernel,
        contexts: &KernelContexts,
        block: &mut BlockEntry,
    ) -> Option<(usize, Terms)> {
        if !self.may_join(prepared.slot)
            || self.here >= contexts.plan.native + self.extra_of(contexts)
        {
            return None;
        }
        let warps = prepared.block_warps;
        let first = self.free_contexts(warps as usize)?;
        let terms = self.terms(contexts, self.here + 1);
        let run = free_run(self.places.slots(), warps, self.slots as u32);
        self.new_warps.clear();
        self.new_warps.resize(warps as usize, WarpEntry::FREE);
        let new = &mut self.new_warps;
        self.places.try_block(&terms, run, block, new)?;
        Some((first, terms))
    }

    /// One more block of a kernel has room.
    pub fn has_room(&mut self, prepared: &PreparedKernel, contexts: &KernelContexts) -> bool {
        let mut block = BlockEntry::FREE;
        self.try_block(prepared, contexts, &mut block).is_some()
    }

    /// Blocks of a kernel that have room at once, up to `most`.
    pub fn room(&self, prepared: &PreparedKernel, contexts: &KernelContexts, most: u32) -> u32 {
        let allowed = contexts.plan.native + self.extra_of(contexts);
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
        let mut places = self.places.clone();
        let mut new = vec![WarpEntry::FREE; warps];
        (0..most)
            .take_while(|more| {
                let terms = self.terms(contexts, self.here + more + 1);
                let run = free_run(places.slots(), warps as u32, self.slots as u32);
                let mut block = BlockEntry::FREE;
                let fits = places.try_block(&terms, run, &mut block, &mut new);
                fits.map(|()| places.commit()).is_some()
            })
            .count() as u32
    }

    /// A block of a kernel that is not switched takes slots: their contexts have their numbers.
    pub fn identify(&mut self, slots: WarpMask) {
        for slot in warps_of(slots).map(WarpSlot::index) {
            self.place[slot] = slot;
            self.context_of[slot] = slot as u16;
        }
    }

    /// Takes what a new block needs. Requires `has_room`.
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

    /// The warps of an assigned block exist from now on.
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

    /// A warp has ended and left its slot.
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

    /// The device has seen the end of a block.
    pub fn block_gone(&mut self, slot: BlockId) {
        self.blocks[slot.index()] = BlockEntry::FREE;
        self.here -= 1;
        if self.here == 0 {
            self.kernel = None;
        }
    }

    /// Something that a warp which is out waited for has come: a load, or the others at its
    /// barrier.
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

    /// The barrier at which a warp that is out waited has completed.
    pub fn released(&mut self, context: usize) {
        self.warps[context].at_barrier = false;
    }

    /// The end of a cycle. `decoding`: the warp whose instructions are being decoded.
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
        let terms = self.terms(contexts, self.here);
        self.look_for_stalled(warps, prepared, &terms, decoding);
        self.look_for_ready(&terms);
        if self.changed && self.may_begin(terms.by_warp) {
            self.changed = self.decide(now, warps, contexts, &terms, moved);
        }
    }

    /// Warps, or blocks, that are not present.
    pub(super) fn units_out(&self, by_warp: bool) -> u32 {
        if by_warp || self.absent == 0 {
            return self.absent;
        }
        let absent = |b: &&BlockEntry| b.valid && b.left > 0 && b.slots == 0;
        self.blocks.iter().filter(absent).count() as u32
    }

    /// What the warp of a context does that has no slot.
    pub fn activity(&self, context: usize) -> Activity {
        match self.warps[context].state {
            State::Leaving => Activity::MovesOut,
            State::Absent => Activity::Out,
            State::Ready => Activity::OutReady,
            State::Entering => Activity::MovesIn,
            State::Free | State::Assigned | State::Running | State::Stalled => Activity::None,
        }
    }

    /// Warps that are not present, with what they do, for reports: context and words.
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

    /// What is in use although no block is here: nothing, unless this crate has a bug.
    pub fn leaks(&self) -> usize {
        let used = self.warps.iter().filter(|w| w.state != State::Free).count();
        used + self.places.taken() as usize + self.places.slots().count_ones() as usize
    }
}
