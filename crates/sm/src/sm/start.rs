//! Begin and end of an SM's blocks.

use super::{FinishedBlock, Sm, Start};
use crate::detail::MAX_SLOTS;
use crate::prepared_kernel::PreparedKernel;
use warploom_base::{BlockId, Cycle, KernelSlot, WarpSlot};
use warploom_mem::cache::Cache;

impl Sm {
    /// Starts the blocks that are due.
    pub(super) fn start_blocks(&mut self, now: Cycle) {
        while self.starts.front().is_some_and(|s| s.at <= now) {
            if let Some(start) = self.starts.pop_front() {
                self.start_block(start);
            }
        }
    }

    #[cold]
    fn start_block(&mut self, start: Start) {
        self.count_rested();
        self.tell_passed();
        let issued_before = self.issued_from(start.kernel, start.first_warp);
        let image = self.kernels[start.kernel.index()]
            .clone()
            .expect("an assigned block's kernel");
        self.at_rest = false;
        self.divide_memory(&image);
        let (slot, first) = (start.slot.index(), start.first_warp);
        let block = &mut self.blocks[slot];
        block.kernel = start.kernel;
        block.rank = start.rank;
        block.first_warp = first;
        block.issued_before = issued_before;
        block.live_warps = image.block_warps;
        block
            .state
            .reset(&image.launch, image.launch.block_at(start.rank));
        for i in 0..image.block_warps {
            let w = self.place((first + i) as u16);
            self.warps.exec[w].reset(&image.launch, &self.blocks[slot].state, i);
            self.warps
                .start(w, BlockId::new(slot), start.kernel, self.warps_started, i);
            self.warps.table.block_serial[w] = self.counters.blocks_started;
            if w < self.warps.slots() {
                let scheduler = w % self.schedulers.len();
                self.schedulers[scheduler].starts(WarpSlot::new(w));
            }
        }
        if let Some(context) = self.context.as_mut().filter(|c| c.holds_blocks()) {
            context.start(start.slot);
        }
        self.warps_started += u64::from(image.block_warps);
        self.counters.blocks_started += 1;
        self.by_kernel[start.kernel.index()].blocks_started += 1;
        self.note_block_registers(start.slot, true);
        self.note_resident_change();
    }

    /// Notes that the block in a slot has started, and holds its registers, or has ended.
    fn note_block_registers(&mut self, slot: BlockId, starts: bool) {
        if let Some(victims) = &mut self.ldst.victims {
            self.detail.victim_lines_dropped += victims.change(slot, starts);
        }
    }

    /// Divides the memory that L1D and shared memory share for a kernel, if no warp is resident.
    fn divide_memory(&mut self, image: &PreparedKernel) {
        if let (Some(carveout), Some(l1d)) = (&self.carveout, &mut self.ldst.l1d)
            && self.warps.live == 0
            && l1d.is_quiescent()
        {
            carveout.apply(image, l1d);
        }
        self.note_sm();
    }

    /// Notes the SM's number and the size of its data cache for the schedulers' policies.
    fn note_sm(&mut self) {
        self.warps.table.sm = self.id.0;
        self.warps.table.l1d_lines = self.ldst.l1d.as_ref().map_or(0, Cache::lines);
    }

    /// Instructions issued so far from the warp slots of a kernel's block that begins at a slot.
    fn issued_from(&self, kernel: KernelSlot, first_warp: u32) -> u64 {
        let image = self.kernels[kernel.index()].as_ref();
        let warps = image.map_or(0, |image| image.block_warps);
        let slots = first_warp..first_warp + warps;
        let issued = &self.detail.issued_by_slot;
        slots.map(|w| issued[(w as usize).min(MAX_SLOTS - 1)]).sum()
    }

    /// Notes that a warp's slot was freed. The last warp ends its block.
    #[cold]
    pub(crate) fn warp_gone(&mut self, now: Cycle, slot: usize) {
        self.context_gone(slot);
        let block = &mut self.blocks[self.warps.track[slot].block.index()];
        block.live_warps -= 1;
        if block.live_warps == 0 {
            let (kernel, first_warp) = (block.kernel, block.first_warp);
            let issued = self.issued_from(kernel, first_warp);
            let block = &self.blocks[self.warps.track[slot].block.index()];
            self.counters.blocks_finished += 1;
            self.by_kernel[block.kernel.index()].blocks_finished += 1;
            let ended = self.warps.track[slot].block;
            self.finished.push(FinishedBlock {
                at: now,
                kernel: block.kernel,
                rank: block.rank,
                slot: ended,
                instructions: issued - block.issued_before,
            });
            self.note_block_registers(ended, false);
            self.note_resident_change();
        }
    }
}
