//! Interface between context switching and the pipeline: places of warps, results for absent warps,
//! and resources of blocks.

use crate::context::{Contexts, Moved, Place};
use crate::ldst::L1dUse;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use warploom_base::{BlockId, Cycle, KernelSlot};
use warploom_config::{ContextStorage, GpuSpec};
use warploom_exec::BarrierRelease;
use warploom_policy::warps_of;

impl Contexts {
    /// The engine of context switching that `spec` asks for.
    pub(crate) fn of(spec: &GpuSpec, slots: usize) -> Option<Box<Self>> {
        let rules = spec.sm.context.rules()?;
        let storage = ContextStorage::of(spec);
        Some(Box::new(Self::new(rules, storage, slots)))
    }
}

impl Sm {
    /// Place of the warp that memory instructions name `owner`: its slot, or its place among absent
    /// warps.
    #[inline]
    pub(crate) fn place(&self, owner: u16) -> Place {
        match &self.context {
            None => owner.into(),
            Some(context) => context.place(owner.into()),
        }
    }

    /// Number by which memory instructions name the warp in a slot.
    #[inline]
    pub(crate) fn owner(&self, slot: usize) -> u16 {
        match &self.context {
            None => slot as u16,
            Some(context) => context.in_slot(slot),
        }
    }

    /// True if the SM holds blocks, whether their warps are present or absent.
    #[inline]
    pub(crate) fn holds_warps(&self) -> bool {
        self.warps.live != 0 || self.context.as_ref().is_some_and(|c| c.holds_started())
    }

    /// Counters of context switching.
    pub fn context_counters(&self) -> crate::ContextCounters {
        let counters = self.context.as_ref().map(|c| c.counters.clone());
        counters.unwrap_or_default()
    }

    /// Number of blocks of a kernel for which there is room, up to `most`; `None` if the kernel's
    /// next block keeps its resources to its end and the SM holds no blocks that are switched.
    pub(crate) fn switched_room(
        &mut self,
        kernel: KernelSlot,
        most: u32,
        alone: bool,
    ) -> Option<u32> {
        let switches = alone && self.taken_warps == 0;
        let context = self.context.as_mut()?;
        let prepared = prepared_kernel(&self.kernels, kernel);
        match prepared.contexts.as_ref().filter(|_| switches) {
            None if context.holds_blocks() => Some(0),
            None => None,
            Some(contexts) if most == 1 => Some(context.has_room(prepared, contexts).into()),
            Some(contexts) => Some(context.room(prepared, contexts, most)),
        }
    }

    /// Takes the resources of a block whose contexts are switched. Returns its first context.
    pub(crate) fn assign_switched(
        &mut self,
        kernel: KernelSlot,
        slot: BlockId,
        alone: bool,
    ) -> Option<u32> {
        let switches = alone && self.taken_warps == 0;
        let context = self.context.as_mut().filter(|_| switches)?;
        let prepared = prepared_kernel(&self.kernels, kernel);
        let contexts = prepared.contexts.as_ref()?;
        let first = context.assign(prepared, contexts, slot);
        if contexts.plan.l1d && !context.is_monitored() {
            self.empty_l1d();
        }
        Some(first)
    }

    /// Removes an ended block whose contexts were switched. Returns false if they were not.
    pub(crate) fn release_switched(&mut self, slot: BlockId) -> bool {
        let Some(context) = self.context.as_mut().filter(|c| c.holds_blocks()) else {
            return false;
        };
        context.block_gone(slot);
        true
    }

    /// Notes that a warp has ended and left its slot.
    pub(crate) fn context_gone(&mut self, slot: usize) {
        if let Some(context) = self.context.as_mut().filter(|c| c.holds_blocks()) {
            context.warp_gone(slot);
        }
    }

    /// Notes that the results of an absent warp's load have come.
    pub(crate) fn arrived(&mut self, owner: u16) {
        if let Some(context) = &mut self.context {
            context.arrived(owner.into(), &self.warps, &self.kernels);
        }
    }

    /// Releases the warps of a block that waited at a barrier, present or absent.
    pub(crate) fn release_contexts(&mut self, block: BlockId, release: &BarrierRelease) {
        let first = self.blocks[block.index()].first_warp as usize;
        for index in (0..64).filter(|index| release.warps >> index & 1 != 0) {
            let place = self.place((first + index) as u16);
            self.warps.exec[place].finish_barrier(release);
            if place < self.warps.slots() {
                self.warps.at_barrier.remove(place);
            } else if let Some(context) = &mut self.context {
                context.released(first + index);
                context.arrived(first + index, &self.warps, &self.kernels);
            }
        }
    }

    /// Sets the number of a kernel's blocks that the SM may hold beyond those that are wholly
    /// present.
    pub fn set_extra_blocks(&mut self, kernel: KernelSlot, extra: u32) {
        if let Some(context) = &mut self.context {
            context.set_extra(kernel, extra);
        }
    }

    /// True if the SM holds blocks whose contexts are switched.
    pub fn switches_contexts(&self) -> bool {
        self.context.as_ref().is_some_and(|c| c.holds_blocks())
    }

    /// Begins to empty L1D, so that it can hold contexts.
    pub fn empty_l1d(&mut self) {
        if self.ldst.l1d_use == L1dUse::Caches {
            self.ldst.l1d_use = L1dUse::Empties;
        }
    }

    /// Lets L1D cache data again, after the end of the kernel whose contexts it held.
    pub(crate) fn give_back_l1d(&mut self) {
        if let Some(context) = self.context.as_mut().filter(|c| !c.holds_blocks()) {
            context.give_back_l1d();
            self.ldst.l1d_use = L1dUse::Caches;
        }
    }

    fn go_on_emptying(&mut self, now: Cycle) {
        let own = self.context.as_ref().and_then(|context| context.kernel());
        let loaded = own
            .into_iter()
            .chain((0..self.kernels.len()).map(KernelSlot::new));
        let Some((kernel, prepared)) = loaded
            .filter_map(|slot| Some((slot, self.kernels[slot.index()].as_ref()?)))
            .next()
        else {
            return;
        };
        if self.ldst.empty_l1d(now, prepared.asid, kernel) {
            self.ldst.l1d_use = L1dUse::HoldsContexts;
            self.gained_room = true;
            if let Some(context) = &mut self.context {
                context.take_l1d();
            }
        }
    }

    /// Switches contexts at the end of a cycle: warps leave and come in.
    #[cold]
    pub(crate) fn switch_contexts(&mut self, now: Cycle) {
        if self.ldst.l1d_use == L1dUse::Empties {
            self.go_on_emptying(now);
        }
        self.tell_passed();
        let decoding = self.front.decoding();
        let Some(context) = &mut self.context else {
            return;
        };
        let mut moved = std::mem::take(&mut self.moved);
        context.step(now, &mut self.warps, &self.kernels, decoding, &mut moved);
        self.gained_room |= std::mem::take(&mut context.gained_room);
        for change in moved.drain(..) {
            let (Moved::Out(slot) | Moved::In(slot)) = change;
            let scheduler = slot.index() % self.schedulers.len();
            let scheduler = &mut self.schedulers[scheduler];
            match change {
                Moved::Out(_) => scheduler.exits(slot),
                Moved::In(_) => scheduler.starts(slot),
            }
        }
        self.moved = moved;
        if self.context.as_ref().is_some_and(|c| c.is_halted()) {
            self.end_present();
        }
    }

    /// Ends every present warp of a halted kernel: those that came in since.
    #[cold]
    fn end_present(&mut self) {
        let running = warps_of(self.warps.running());
        running.for_each(|slot| self.end_warp(slot));
    }

    /// Notes that a kernel was halted. Its absent warps come in to end there, as soon as they have
    /// the values for which they wait.
    pub(crate) fn halt_absent(&mut self, kernel: KernelSlot) {
        if let Some(context) = &mut self.context {
            context.halt(kernel, &self.warps, &self.kernels);
        }
    }

    /// True if there are absent warps.
    pub fn has_absent(&self) -> bool {
        let context = self.context.as_ref();
        context.is_some_and(|context| context.describe_absent().next().is_some())
    }

    /// Adds a line for each absent warp that says what it waits for.
    pub(crate) fn describe_absent(&self, out: &mut Vec<String>) {
        let Some(context) = &self.context else { return };
        for (number, words) in context.describe_absent() {
            let place = context.place(number);
            let warp = &self.warps.exec[place];
            let block = &self.blocks[self.warps.track[place].block.index()];
            let prepared = prepared_kernel(&self.kernels, self.warps.track[place].kernel);
            let at = warp.describe_wait(&prepared.launch, &block.state.barriers);
            out.push(format!(
                "{}, block {} of `{}`, warp {}: {words}; {at}",
                self.id,
                block.state.ctaid(),
                prepared.program.name,
                warp.warp_index(),
            ));
        }
    }
}
