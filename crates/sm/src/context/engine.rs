//! What leaves and comes in, and when: the context switching logic (seed 000, section 6.6).
//!
//! At the end of a cycle, while the port is free: the oldest ready unit comes in, if it has room,
//! in the place of the oldest stalled one if not; without a ready unit, the oldest stalled one leaves
//! if there are fewer units out than extra blocks bring. A transfer that begins in cycle t and moves
//! state that takes n cycles ends in cycle t + n; a swap moves out first, then in. A stalled unit
//! that gets the values it waits for while it is in the queue goes on.

use super::map::{Map, Span};
use super::places::{Places, Terms};
use super::tables::{BlockEntry, Place, Queue, State, WarpEntry};
use crate::blocks::free_run;
use crate::image::{KernelContexts, KernelImage};
use crate::ldst::image_of;
use crate::warps::Warps;
use std::sync::Arc;
use warploom_base::{BlockId, Cycle, KernelSlot, WarpSlot};
use warploom_config::{CONTEXT_UNIT_BYTES, ContextRules, ContextStorage, ExtraBlocks};
use warploom_policy::{WarpMask, warps_of};
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
        /// Cycles in which the port moved contexts.
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
        /// The same downwards.
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
type Unit = u16;

/// What moves through the port.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    out: Option<Unit>,
    back: Option<Unit>,
    /// End of the part that moves out.
    out_ends: Cycle,
    ends: Cycle,
}

/// The tables, the logic and the storage of one SM.
pub(crate) struct Contexts {
    rules: ContextRules,
    /// Warp slots.
    slots: usize,
    places: Places,
    warps: Vec<WarpEntry>,
    blocks: Vec<BlockEntry>,
    /// By context: where its warp is in the arrays of warps.
    place: Vec<Place>,
    /// By slot: the context that it holds.
    context_of: Vec<u16>,
    /// The kernel whose blocks are here.
    kernel: Option<(KernelSlot, Terms)>,
    /// Its blocks.
    here: u32,
    /// Most blocks above those that are present at once (ME).
    extra: u32,
    /// Warps that have started and are not present.
    absent: u32,
    /// L1D holds contexts.
    l1d: bool,
    stalled: Queue,
    ready: Queue,
    transfer: Option<Transfer>,
    /// What the transfer gives back at its end.
    held: Vec<Span>,
    held_slots: WarpMask,
    /// Something has changed since the logic last found nothing to do.
    changed: bool,
    /// By slot: the stalled queue holds its warp or block.
    queued: WarpMask,
    /// What was tried last: entries of those that come in and of those that leave.
    new_warps: Vec<WarpEntry>,
    new_shared: Span,
    left_warps: Vec<WarpEntry>,
    left_shared: Span,
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
            transfer: None,
            held: Vec::with_capacity(3 * warps),
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
        self.kernel.is_none() || self.transfer.is_some() || !self.changed
    }

    /// When a transfer ends, or its first half.
    pub fn next_event(&self) -> Option<Cycle> {
        let transfer = self.transfer?;
        let out_due = transfer.out.is_some();
        Some(if out_due { transfer.out_ends } else { transfer.ends })
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

    /// The machine's load decides on extra blocks, and on L1D.
    pub fn is_monitored(&self) -> bool {
        self.rules.extra == ExtraBlocks::Monitor
    }

    /// Most blocks of a kernel above those that are present at once.
    fn extra_of(&self, contexts: &KernelContexts) -> u32 {
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
        starts.into_iter().find(|&first| self.warps[first..first + warps].iter().all(free))
    }

    /// Tries places for one more block of a kernel, beside those taken so far.
    fn try_block(
        &mut self,
        image: &KernelImage,
        contexts: &KernelContexts,
        block: &mut BlockEntry,
    ) -> Option<(usize, Terms)> {
        if !self.may_join(image.slot)
            || self.here >= contexts.plan.native + self.extra_of(contexts)
        {
            return None;
        }
        let warps = image.block_warps;
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
    pub fn has_room(&mut self, image: &KernelImage, contexts: &KernelContexts) -> bool {
        let mut block = BlockEntry::FREE;
        self.try_block(image, contexts, &mut block).is_some()
    }

    /// Blocks of a kernel that have room at once, up to `most`.
    pub fn room(&self, image: &KernelImage, contexts: &KernelContexts, most: u32) -> u32 {
        let allowed = contexts.plan.native + self.extra_of(contexts);
        if !self.may_join(image.slot) {
            return 0;
        }
        let warps = image.block_warps as usize;
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
    pub fn assign(&mut self, image: &KernelImage, contexts: &KernelContexts, slot: BlockId) -> u32 {
        let mut block = BlockEntry::FREE;
        let (first, terms) = self
            .try_block(image, contexts, &mut block)
            .expect("the caller asked for room");
        self.places.commit();
        self.here += 1;
        self.kernel = Some((image.slot, terms));
        block.valid = true;
        block.first = first as u16;
        block.warps = image.block_warps as u16;
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
            let state = if present { State::Running } else { State::Ready };
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

    /// Something that a warp which is out waited for has come: a load, or the others at its barrier.
    pub fn arrived(&mut self, context: usize, warps: &Warps, kernels: &[Option<Arc<KernelImage>>]) {
        let entry = &mut self.warps[context];
        if entry.state != State::Absent || entry.at_barrier {
            return;
        }
        let place = self.place[context];
        let image = image_of(kernels, warps.kernel[place]);
        if !warps.waits_for_results(place, image) {
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
        kernels: &[Option<Arc<KernelImage>>],
        decoding: WarpMask,
        moved: &mut Vec<Moved>,
    ) {
        let Some((kernel, _)) = self.kernel else {
            return;
        };
        let image = image_of(kernels, kernel);
        let Some(contexts) = &image.contexts else {
            return;
        };
        self.finish(now, warps, kernels, moved);
        if self.units_out(contexts.plan.by_warp) == 0 {
            self.forget_stalled();
            self.changed = false;
            return;
        }
        let terms = self.terms(contexts, self.here);
        self.look_for_stalled(warps, image, &terms, decoding);
        self.look_for_ready(&terms);
        if self.transfer.is_none() && std::mem::take(&mut self.changed) {
            self.decide(now, warps, contexts, &terms, moved);
        }
    }

    /// Warps, or blocks, that are not present.
    fn units_out(&self, by_warp: bool) -> u32 {
        if by_warp || self.absent == 0 {
            return self.absent;
        }
        let absent = |b: &&BlockEntry| b.valid && b.left > 0 && b.slots == 0;
        self.blocks.iter().filter(absent).count() as u32
    }

    fn forget_stalled(&mut self) {
        while let Some(unit) = self.stalled.front() {
            self.unqueue_stalled(0, unit);
        }
    }

    /// A unit goes on although it was in the queue.
    fn unqueue_stalled(&mut self, at: usize, unit: Unit) {
        self.stalled.remove(at);
        let by_warp = self.kernel.is_some_and(|(_, terms)| terms.by_warp);
        for context in self.members(unit, by_warp) {
            if self.warps[context].state == State::Stalled {
                self.warps[context].state = State::Running;
                self.queued &= !(1 << self.warps[context].slot);
            }
        }
    }

    /// Contexts of a unit that are in use.
    fn members(&self, unit: Unit, by_warp: bool) -> std::ops::Range<usize> {
        match by_warp {
            true => usize::from(unit)..usize::from(unit) + 1,
            false => self.blocks[usize::from(unit)].contexts(),
        }
    }

    /// Warps in slots that wait for long and have nothing in the pipeline.
    fn can_leave(&self, slot: usize, warps: &Warps, image: &KernelImage) -> bool {
        let exec = &warps.exec[slot];
        let at_barrier = warps.at_barrier >> slot & 1 != 0;
        let here = |contexts: &KernelContexts| {
            exec.pc().is_some_and(|pc| contexts.units_at(pc).is_some())
        };
        warps.in_flight[slot] == warps.awaiting[slot]
            && warps.atomics[slot] == 0
            && exec.stack_depth() <= self.rules.stack_entries as usize
            && image.contexts.as_ref().is_some_and(here)
            && (at_barrier || warps.waits_for_misses(slot, image))
    }

    /// Fills the queue of stalled units, and takes out those that can go on.
    fn look_for_stalled(
        &mut self,
        warps: &Warps,
        image: &KernelImage,
        terms: &Terms,
        decoding: WarpMask,
    ) {
        let barriers = match self.rules.barriers || !terms.by_warp {
            true => warps.at_barrier,
            false => 0,
        };
        let waiting = barriers | warps.buffered & warps.long_wait & !warps.flush;
        let busy = warps.done | warps.fenced | warps.atomic | warps.fetching | decoding;
        let mask = waiting & warps.live & !busy;
        let mut at = 0;
        while let Some(unit) = self.stalled.get(at) {
            let slots = self.slots_of(unit, terms.by_warp);
            if slots & !mask == 0 && self.still_waits(slots, warps, image, terms) {
                at += 1;
            } else {
                self.unqueue_stalled(at, unit);
            }
        }
        let capacity = match terms.by_warp {
            true => self.rules.warp_queue,
            false => self.rules.block_queue,
        } as usize;
        if terms.by_warp {
            for slot in warps_of(mask & !self.queued).map(WarpSlot::index) {
                if self.stalled.len() >= capacity {
                    break;
                }
                if self.can_leave(slot, warps, image) {
                    let context = self.context_of[slot];
                    self.queue_stalled(context, true);
                }
            }
            return;
        }
        for block in 0..self.blocks.len() {
            let slots = self.blocks[block].slots;
            if self.stalled.len() >= capacity {
                break;
            }
            if slots != 0
                && slots & (!mask | self.queued) == 0
                && slots & !warps.at_barrier != 0
                && warps_of(slots).all(|slot| self.can_leave(slot.index(), warps, image))
            {
                self.queue_stalled(block as u16, false);
            }
        }
    }

    /// A queued unit has not been given what it waits for.
    fn still_waits(
        &self,
        slots: WarpMask,
        warps: &Warps,
        image: &KernelImage,
        terms: &Terms,
    ) -> bool {
        let some = terms.by_warp || slots & !warps.at_barrier != 0;
        some && warps_of(slots).all(|slot| self.can_leave(slot.index(), warps, image))
    }

    fn slots_of(&self, unit: Unit, by_warp: bool) -> WarpMask {
        match by_warp {
            true => 1 << self.warps[usize::from(unit)].slot,
            false => self.blocks[usize::from(unit)].slots,
        }
    }

    fn queue_stalled(&mut self, unit: Unit, by_warp: bool) {
        self.stalled.push(unit);
        self.queued |= self.slots_of(unit, by_warp);
        for context in self.members(unit, by_warp) {
            if self.warps[context].state == State::Running {
                self.warps[context].state = State::Stalled;
            }
        }
        self.changed = true;
    }

    /// Fills the queue of ready units, in order of their numbers where several wait for it.
    fn look_for_ready(&mut self, terms: &Terms) {
        let capacity = match terms.by_warp {
            true => self.rules.warp_queue,
            false => self.rules.block_queue,
        } as usize;
        if !self.changed || self.ready.len() >= capacity {
            return;
        }
        let units = match terms.by_warp {
            true => self.warps.len(),
            false => self.blocks.len(),
        };
        for unit in 0..units {
            if self.ready.len() >= capacity {
                return;
            }
            let fits = match terms.by_warp {
                true => self.warps[unit].state == State::Ready,
                false => self.block_is_ready(unit),
            };
            if fits && !self.ready.contains(unit as u16) {
                self.ready.push(unit as u16);
            }
        }
    }

    /// All its warps that do not wait at a barrier are ready, and there are some.
    fn block_is_ready(&self, block: usize) -> bool {
        let entry = &self.blocks[block];
        if !entry.valid || entry.slots != 0 || entry.left == 0 {
            return false;
        }
        let mut any = false;
        let all = self.warps[entry.contexts()].iter().all(|warp| match warp.state {
            State::Ready => {
                any = true;
                true
            }
            State::Free => true,
            State::Absent => warp.at_barrier,
            _ => false,
        });
        all && any
    }

    /// Begins a transfer if one is possible.
    fn decide(
        &mut self,
        now: Cycle,
        warps: &mut Warps,
        contexts: &KernelContexts,
        terms: &Terms,
        moved: &mut Vec<Moved>,
    ) {
        if let Some(back) = self.ready.front() {
            let leaving = (0..=self.stalled.len()).map(|i| i.checked_sub(1));
            for at in leaving {
                let out = at.and_then(|at| self.stalled.get(at));
                if self.try_change(out, Some(back), terms) {
                    self.begin(now, out, Some(back), warps, contexts, terms, moved);
                    return;
                }
            }
            return;
        }
        let units = match terms.by_warp {
            true => terms.needs.warps,
            false => 1,
        };
        let room = self.units_out(terms.by_warp) < self.extra_of(contexts) * units;
        if let Some(out) = self.stalled.front().filter(|_| room)
            && self.try_change(Some(out), None, terms)
        {
            self.begin(now, Some(out), None, warps, contexts, terms, moved);
        }
    }

    /// Tries places for a change: the one out, the other in. Where only one moves, it holds both its
    /// places until the end.
    fn try_change(&mut self, out: Option<Unit>, back: Option<Unit>, terms: &Terms) -> bool {
        self.places.begin();
        self.held.clear();
        self.held_slots = 0;
        let swap = out.is_some() && back.is_some();
        if let Some(unit) = out {
            self.free_present(unit, swap, terms);
        }
        if let Some(unit) = back {
            self.free_stored(unit, swap, terms);
        }
        let came = back.is_none_or(|unit| self.place_back(unit, out, terms).is_some());
        came && out.is_none_or(|unit| self.place_out(unit, terms).is_some())
    }

    fn give(&mut self, span: Span, swap: bool) {
        match swap {
            true => self.places.try_give(span),
            false => self.held.push(span),
        }
    }

    /// What a leaving unit gives up.
    fn free_present(&mut self, unit: Unit, swap: bool, terms: &Terms) {
        if !terms.by_warp && terms.shared {
            self.give(self.blocks[usize::from(unit)].shared, swap);
        }
        for context in self.members(unit, terms.by_warp) {
            let warp = self.warps[context];
            if !warp.is_present() {
                continue;
            }
            match swap {
                true => self.places.try_give_slot(warp.slot),
                false => self.held_slots |= 1 << warp.slot,
            }
            if terms.registers {
                self.give(warp.registers, swap);
            }
        }
    }

    /// What a unit that comes in gives up.
    fn free_stored(&mut self, unit: Unit, swap: bool, terms: &Terms) {
        if !terms.by_warp && self.blocks[usize::from(unit)].shared_out {
            self.give(self.blocks[usize::from(unit)].shared, swap);
        }
        for context in self.members(unit, terms.by_warp) {
            let warp = self.warps[context];
            if warp.state == State::Free {
                continue;
            }
            self.give(warp.meta, swap);
            if warp.kept {
                self.give(warp.registers, swap);
            }
        }
    }

    /// Tries slots, registers and shared memory for a unit that comes in.
    fn place_back(&mut self, unit: Unit, out: Option<Unit>, terms: &Terms) -> Option<()> {
        let wanted = out.map_or(0, |unit| self.slots_of(unit, terms.by_warp));
        self.new_warps.clear();
        for context in self.members(unit, terms.by_warp) {
            let mut warp = self.warps[context];
            if warp.state != State::Free {
                warp.slot = self.places.try_slot(wanted)?;
                if warp.kept {
                    warp.registers = self.places.try_registers(terms)?;
                }
            }
            self.new_warps.push(warp);
        }
        if !terms.by_warp && self.blocks[usize::from(unit)].shared_out {
            self.new_shared = self.places.try_shared(terms)?;
        }
        Some(())
    }

    /// Tries storage for a unit that leaves.
    fn place_out(&mut self, unit: Unit, terms: &Terms) -> Option<()> {
        self.left_warps.clear();
        for context in self.members(unit, terms.by_warp) {
            let mut warp = self.warps[context];
            if warp.is_present() {
                if terms.registers {
                    warp.registers = self.places.try_kept(terms)?;
                    warp.kept = true;
                }
                warp.meta = self.places.try_meta(terms)?;
            }
            self.left_warps.push(warp);
        }
        if !terms.by_warp && terms.shared {
            self.left_shared = self.places.try_shared_out(terms)?;
        }
        Some(())
    }

    /// Begins the change that was tried.
    #[expect(clippy::too_many_arguments, reason = "the facts of one transfer")]
    fn begin(
        &mut self,
        now: Cycle,
        out: Option<Unit>,
        back: Option<Unit>,
        warps: &mut Warps,
        contexts: &KernelContexts,
        terms: &Terms,
        moved: &mut Vec<Moved>,
    ) {
        self.places.commit();
        self.counters.units_max.note(u64::from(self.places.taken()));
        let units_out = out.map_or(0, |unit| self.leave(unit, warps, contexts, terms, moved));
        let units_back = back.map_or(0, |unit| self.enter(unit, terms));
        let cycles = |units: u32| {
            let bytes = units * CONTEXT_UNIT_BYTES;
            Cycle::from(bytes.div_ceil(self.rules.port_bytes))
        };
        let out_ends = now + cycles(units_out);
        let ends = out_ends + cycles(units_back);
        let units = u64::from(units_out + units_back);
        let bytes = units * u64::from(CONTEXT_UNIT_BYTES);
        self.counters.port_cycles += ends - now;
        self.counters.bytes += bytes;
        self.counters.swaps += u64::from(out.is_some() && back.is_some());
        self.transfer = Some(Transfer {
            out,
            back,
            out_ends,
            ends,
        });
    }

    /// Takes a unit's warps out of their slots; units of memory that move.
    fn leave(
        &mut self,
        unit: Unit,
        warps: &mut Warps,
        contexts: &KernelContexts,
        terms: &Terms,
        moved: &mut Vec<Moved>,
    ) -> u32 {
        let at = (0..self.stalled.len()).find(|at| self.stalled.get(*at) == Some(unit));
        self.stalled.remove(at.expect("what leaves is stalled"));
        let slots = self.slots_of(unit, terms.by_warp);
        self.queued &= !slots;
        let barrier = slots & warps.at_barrier != 0;
        self.counters.out_at_barriers += u64::from(barrier);
        let mut units = 0;
        for (i, context) in self.members(unit, terms.by_warp).enumerate() {
            if !self.warps[context].is_present() {
                continue;
            }
            let slot = usize::from(self.warps[context].slot);
            let pc = warps.exec[slot].pc();
            let kept = pc.and_then(|pc| contexts.units_at(pc)).unwrap_or(0);
            let entry = WarpEntry {
                state: State::Leaving,
                at_barrier: warps.at_barrier >> slot & 1 != 0,
                moves: if terms.registers { kept } else { 0 },
                ..self.left_warps[i]
            };
            units += terms.slot_units + entry.moves;
            self.warps[context] = entry;
            self.absent += 1;
            self.place[context] = self.slots + context;
            warps.park(slot, self.slots + context);
            moved.push(Moved::Out(WarpSlot::new(slot)));
        }
        if terms.by_warp {
            self.blocks[usize::from(self.warps[usize::from(unit)].block)].slots &= !slots;
            self.counters.warps_out += 1;
            return units;
        }
        let block = &mut self.blocks[usize::from(unit)];
        block.slots = 0;
        self.counters.blocks_out += 1;
        if terms.shared {
            block.shared = self.left_shared;
            block.shared_out = true;
            block.moves = terms.needs.shared;
            units += block.moves;
        }
        units
    }

    /// Reserves places for a unit that comes in; units of memory that move.
    fn enter(&mut self, unit: Unit, terms: &Terms) -> u32 {
        self.ready.remove(0);
        let mut units = 0;
        for (i, context) in self.members(unit, terms.by_warp).enumerate() {
            let entry = &mut self.warps[context];
            if entry.state == State::Free {
                continue;
            }
            units += terms.slot_units + entry.moves;
            *entry = WarpEntry {
                state: State::Entering,
                at_barrier: entry.at_barrier,
                kept: false,
                meta: Span::default(),
                moves: 0,
                ..self.new_warps[i]
            };
        }
        if terms.by_warp {
            self.counters.warps_in += 1;
            return units;
        }
        let block = &mut self.blocks[usize::from(unit)];
        self.counters.blocks_in += 1;
        if block.shared_out {
            units += block.moves;
            block.shared = self.new_shared;
            block.shared_out = false;
            block.moves = 0;
        }
        units
    }

    /// Ends the transfer, or its first half, when it is time.
    fn finish(
        &mut self,
        now: Cycle,
        warps: &mut Warps,
        kernels: &[Option<Arc<KernelImage>>],
        moved: &mut Vec<Moved>,
    ) {
        let Some(mut transfer) = self.transfer else {
            return;
        };
        let Some((_, terms)) = self.kernel else {
            return;
        };
        if now >= transfer.out_ends
            && let Some(unit) = transfer.out.take()
        {
            for context in self.members(unit, terms.by_warp) {
                if self.warps[context].state == State::Leaving {
                    self.warps[context].state = State::Absent;
                    self.arrived(context, warps, kernels);
                }
            }
            self.changed = true;
        }
        self.transfer = Some(transfer);
        if now < transfer.ends {
            return;
        }
        if let Some(unit) = transfer.back {
            self.come_in(unit, &terms, warps, kernels, moved);
        }
        while let Some(span) = self.held.pop() {
            self.places.give(span);
        }
        self.places.give_slots(std::mem::take(&mut self.held_slots));
        self.transfer = None;
        self.changed = true;
    }

    /// A unit's warps take their slots.
    fn come_in(
        &mut self,
        unit: Unit,
        terms: &Terms,
        warps: &mut Warps,
        kernels: &[Option<Arc<KernelImage>>],
        moved: &mut Vec<Moved>,
    ) {
        for context in self.members(unit, terms.by_warp) {
            let entry = &mut self.warps[context];
            if entry.state != State::Entering {
                continue;
            }
            entry.state = State::Running;
            self.absent -= 1;
            let slot = usize::from(entry.slot);
            let at_barrier = std::mem::take(&mut entry.at_barrier);
            warps.unpark(self.slots + context, slot, at_barrier);
            self.blocks[usize::from(entry.block)].slots |= 1 << slot;
            self.place[context] = slot;
            self.context_of[slot] = context as u16;
            let image = image_of(kernels, warps.kernel[slot]);
            warps.refresh(slot, image);
            moved.push(Moved::In(WarpSlot::new(slot)));
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
