//! Transfers: the choice of units, the cycles that a transfer takes, and the storage and slots that
//! units exchange.

use super::engine::{Contexts, Moved, Transfer, Unit};
use super::map::Span;
use super::places::Terms;
use super::tables::{State, WarpEntry};
use crate::prepared_kernel::{KernelContexts, PreparedKernels, prepared_kernel};
use crate::warps::Warps;
use warploom_base::{Cycle, WarpSlot};
use warploom_config::{CONTEXT_UNIT_BYTES, ContextVictim};

impl Contexts {
    /// Begins a transfer if one is possible. Returns whether one has begun.
    pub(super) fn decide(
        &mut self,
        now: Cycle,
        warps: &mut Warps,
        contexts: &KernelContexts,
        terms: &Terms,
        moved: &mut Vec<Moved>,
    ) -> bool {
        if terms.divided {
            self.note_live(warps, contexts, terms);
        }
        let Some((out, back)) = self.possible_change(terms) else {
            return false;
        };
        self.begin(now, out, back, warps, contexts, terms, moved);
        true
    }

    /// Notes how many registers of the stalled units are live.
    fn note_live(&mut self, warps: &Warps, contexts: &KernelContexts, terms: &Terms) {
        for unit in (0..self.stalled.len()).filter_map(|at| self.stalled.get(at)) {
            for context in self.members(unit, terms.by_warp) {
                let entry = &mut self.warps[context];
                if entry.is_present() {
                    entry.moves = live_at(usize::from(entry.slot), warps, contexts);
                }
            }
        }
    }

    /// The first change that has room, if there is one: the unit to switch out, and the one to
    /// switch in. In a divided register file, a unit leaves only for another one, and one that
    /// frees more registers may come in before one that has been ready for longer.
    fn possible_change(&mut self, terms: &Terms) -> Option<(Option<Unit>, Option<Unit>)> {
        let tried = if terms.divided { self.ready.len() } else { 1 };
        for at in 0..tried {
            let Some(back) = self.ready.get(at) else {
                break;
            };
            if self.try_change(None, Some(back), terms) {
                return Some((None, Some(back)));
            }
            for nth in 0..self.stalled.len() {
                let out = self.victim(nth);
                if self.try_change(out, Some(back), terms) {
                    return Some((out, Some(back)));
                }
            }
        }
        let out = self.victim(0).filter(|_| !terms.divided)?;
        self.try_change(Some(out), None, terms)
            .then_some((Some(out), None))
    }

    /// The `nth` stalled unit, counted from 0, in the order in which they are to be switched out.
    fn victim(&self, nth: usize) -> Option<Unit> {
        match self.rules.victim {
            ContextVictim::Oldest => self.stalled.get(nth),
            ContextVictim::Youngest => self.stalled.get(self.stalled.len().checked_sub(nth + 1)?),
        }
    }

    /// Tries a change that switches one unit out and another one in. If only one unit moves, its
    /// old storage and slots stay in use up to the end of the transfer.
    pub(super) fn try_change(
        &mut self,
        out: Option<Unit>,
        back: Option<Unit>,
        terms: &Terms,
    ) -> bool {
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

    pub(super) fn give(&mut self, span: Span, swap: bool) {
        match swap {
            true => self.places.try_give(span),
            false => self.held.push(span),
        }
    }

    /// Frees the slots, registers and shared memory of a unit that is switched out: at once in a
    /// swap, otherwise at the end.
    pub(super) fn free_present(&mut self, unit: Unit, swap: bool, terms: &Terms) {
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

    /// Frees the storage of a unit that is switched in: at once in a swap, otherwise at the end.
    pub(super) fn free_stored(&mut self, unit: Unit, swap: bool, terms: &Terms) {
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

    /// Tries to take slots, registers and shared memory for a unit that is switched in.
    pub(super) fn place_back(
        &mut self,
        unit: Unit,
        out: Option<Unit>,
        terms: &Terms,
    ) -> Option<()> {
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

    /// Tries to take storage for a unit that is switched out.
    pub(super) fn place_out(&mut self, unit: Unit, terms: &Terms) -> Option<()> {
        self.left_warps.clear();
        for context in self.members(unit, terms.by_warp) {
            let mut warp = self.warps[context];
            if warp.is_present() {
                if terms.registers {
                    warp.registers = self.places.try_kept(terms, warp.moves)?;
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

    /// Begins the last tried change.
    #[expect(clippy::too_many_arguments, reason = "the facts of one transfer")]
    pub(super) fn begin(
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
        let ends = match self.rules.duplex {
            true => out_ends.max(now + cycles(units_back)),
            false => out_ends + cycles(units_back),
        };
        let units = u64::from(units_out + units_back);
        let bytes = units * u64::from(CONTEXT_UNIT_BYTES);
        self.counters.port_cycles += ends - now;
        self.counters.bytes += bytes;
        self.counters.swaps += u64::from(out.is_some() && back.is_some());
        let list = self.spare_lists.pop().unwrap_or_default();
        self.transfers.push(Transfer {
            out,
            back,
            out_ends,
            ends,
            held: std::mem::replace(&mut self.held, list),
            held_slots: std::mem::take(&mut self.held_slots),
        });
    }

    /// Takes the warps of a unit out of their slots. Returns the number of memory units that move.
    pub(super) fn leave(
        &mut self,
        unit: Unit,
        warps: &mut Warps,
        contexts: &KernelContexts,
        terms: &Terms,
        moved: &mut Vec<Moved>,
    ) -> u32 {
        self.stalled.remove_unit(unit);
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
            let kept = live_at(slot, warps, contexts);
            let entry = WarpEntry {
                state: State::Leaving,
                at_barrier: warps.at_barrier.has(slot),
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

    /// Enters the new slots and storage of a unit that is switched in. Returns the number of memory
    /// units that move.
    pub(super) fn enter(&mut self, unit: Unit, terms: &Terms) -> u32 {
        self.ready.remove_unit(unit);
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
        self.gained_room |= std::mem::take(&mut block.fresh) && terms.divided;
        self.counters.blocks_in += 1;
        if block.shared_out {
            units += block.moves;
            block.shared = self.new_shared;
            block.shared_out = false;
            block.moves = 0;
        }
        units
    }

    /// Ends the transfers, or their first halves, that are due in cycle `now`.
    pub(super) fn finish(
        &mut self,
        now: Cycle,
        warps: &mut Warps,
        kernels: &PreparedKernels,
        moved: &mut Vec<Moved>,
    ) {
        let Some((_, terms)) = self.kernel else {
            return;
        };
        let mut at = 0;
        while let Some(transfer) = self.transfers.get_mut(at) {
            let out = transfer.out.take_if(|_| now >= transfer.out_ends);
            let has_ended = now >= transfer.ends;
            if let Some(unit) = out {
                self.finish_out(unit, &terms, warps, kernels);
            }
            if has_ended {
                let transfer = self.transfers.remove(at);
                self.finish_transfer(transfer, &terms, warps, kernels, moved);
            } else {
                at += 1;
            }
        }
    }

    /// Ends the first half of a transfer, in which a unit moves out.
    fn finish_out(
        &mut self,
        unit: Unit,
        terms: &Terms,
        warps: &mut Warps,
        kernels: &PreparedKernels,
    ) {
        for context in self.members(unit, terms.by_warp) {
            if self.warps[context].state == State::Leaving {
                self.warps[context].state = State::Absent;
                self.arrived(context, warps, kernels);
            }
        }
        self.changed = true;
    }

    /// Ends a transfer, and frees the storage and slots that it held.
    fn finish_transfer(
        &mut self,
        mut transfer: Transfer,
        terms: &Terms,
        warps: &mut Warps,
        kernels: &PreparedKernels,
        moved: &mut Vec<Moved>,
    ) {
        if let Some(unit) = transfer.back {
            self.come_in(unit, terms, warps, kernels, moved);
        }
        for span in transfer.held.drain(..) {
            self.places.give(span);
        }
        self.spare_lists.push(transfer.held);
        self.places.give_slots(transfer.held_slots);
        self.gained_room |= terms.divided;
        self.changed = true;
    }

    /// Puts the warps of a unit into their slots.
    pub(super) fn come_in(
        &mut self,
        unit: Unit,
        terms: &Terms,
        warps: &mut Warps,
        kernels: &PreparedKernels,
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
            let prepared = prepared_kernel(kernels, warps.track[slot].kernel);
            warps.refresh(slot, prepared);
            moved.push(Moved::In(WarpSlot::new(slot)));
        }
    }
}

/// Units of registers that the warp in a slot keeps if it leaves now.
fn live_at(slot: usize, warps: &Warps, contexts: &KernelContexts) -> u32 {
    let pc = warps.exec[slot].pc();
    pc.and_then(|pc| contexts.units_at(pc)).unwrap_or(0)
}
