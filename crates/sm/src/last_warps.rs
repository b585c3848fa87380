//! Warps that issue last: those of paused blocks, and those of kernels that have used up their
//! quotas. They issue in cycles in which their scheduler finds no other warp.

use crate::blocks::{BlockSlot, warp_run};
use crate::issue_quotas::IssueQuotas;
use crate::next_accesses::NextAccesses;
use crate::prepared_kernel::Pipe;
use crate::scheduler::Scheduler;
use crate::sm::Sm;
use warploom_policy::{NO_LIMIT, WarpCounts, WarpMask, WarpScheduler};

/// Quotas of the kernels on an SM.
impl Sm {
    /// Sets the quotas by kernel slot, between cycles; none if there are no slots.
    pub fn set_issue_quotas(&mut self, quotas: &[u64]) {
        let made = || Box::new(IssueQuotas::new(quotas, &self.by_kernel));
        self.issue_quotas = (!quotas.is_empty()).then(made);
        self.count_kernel_warps();
        self.order_has_changed();
    }

    /// Warps that issue last because their kernels have used up their quotas.
    #[inline]
    pub(crate) fn spent_warps(&mut self) -> WarpMask {
        let quotas = self.issue_quotas.as_mut();
        quotas.map_or(0, |quotas| quotas.spent(&self.by_kernel))
    }

    /// Notes which warps each kernel has, after a block has started or ended. An epoch that is over
    /// ends before.
    pub(crate) fn count_kernel_warps(&mut self) {
        self.spent_warps();
        let Some(mut quotas) = self.issue_quotas.take() else {
            return;
        };
        let resident = self.blocks.iter().filter(|block| block.live_warps > 0);
        quotas.set_warps(resident.map(|block| (block.kernel, self.warps_of(block))));
        self.issue_quotas = Some(quotas);
    }
}

/// Paused blocks of an SM.
impl Sm {
    /// Sets the number of blocks that run, between cycles. The SM pauses the others.
    pub fn run_blocks(&mut self, most: u32) {
        if self.pauses.most != most {
            self.pauses.most = most;
            self.choose_paused();
        }
    }

    /// Chooses the warps that issue last anew after a block has started or ended, where there are
    /// such warps.
    #[inline]
    pub(crate) fn note_resident_change(&mut self) {
        if self.issue_quotas.is_some() {
            self.count_kernel_warps();
        }
        if self.pauses.most != NO_LIMIT {
            self.choose_paused();
        }
    }

    #[cold]
    fn choose_paused(&mut self) {
        if self.context.is_some() {
            // Blocks with switched contexts are not wholly in the slots.
            return;
        }
        let limit = self.pauses.most as usize;
        let is_paused = |block: &&BlockSlot| self.older_blocks(block) >= limit;
        let resident = self.blocks.iter().filter(|block| block.live_warps > 0);
        let paused = resident.filter(is_paused).map(|block| self.warps_of(block));
        let paused = paused.fold(0, |all, warps| all | warps);
        if paused == self.pauses.warps {
            return;
        }
        self.pauses.warps = paused;
        self.order_has_changed();
    }

    /// Finds out which schedulers have to look at the order of their warps in every cycle.
    pub(crate) fn order_has_changed(&mut self) {
        self.count_rested();
        self.end_idle_cycles();
        self.at_rest = false;
        self.review_watched();
    }

    /// Finds out anew which policies are told of every cycle.
    pub(crate) fn review_watched(&mut self) {
        let (paused, has_quotas) = (self.pauses.warps, self.issue_quotas.is_some());
        for scheduler in &mut self.schedulers {
            let in_order = has_quotas || paused & scheduler.own != 0;
            let wants_cycles = scheduler.policy.wants_cycles() || in_order;
            if wants_cycles != scheduler.wants_cycles {
                scheduler.tell_passed(&self.warps.table);
                scheduler.wants_cycles = wants_cycles;
                scheduler.idle.end();
                // Warps issue meanwhile without being forgotten.
                scheduler.next = NextAccesses::default();
            }
        }
        self.find_plain_schedulers();
    }

    /// Finds out whether all schedulers are plain.
    pub(crate) fn find_plain_schedulers(&mut self) {
        let watched = |scheduler: &Scheduler| scheduler.wants_cycles;
        self.issues_plainly = self.issues_singly && !self.schedulers.iter().any(watched);
    }

    /// States of the warps that are not paused, between two cycles. Of the warps of a scheduler
    /// that could issue, one is not counted as excess, because it does issue: one for another pipe
    /// than that of memory if there is one.
    pub fn warp_counts(&self) -> WarpCounts {
        let w = &self.warps;
        let active = w.running() & !self.pauses.warps;
        let clear = active & w.buffered & w.clear & !w.flush & !w.waiting();
        let waits = active & w.buffered & !w.clear & !w.waiting();
        let memory = clear & w.next_pipe[Pipe::Mem as usize];
        let mut counts = WarpCounts {
            active: u64::from(active.count_ones()),
            waiting: u64::from(waits.count_ones()),
            excess_memory: u64::from(memory.count_ones()),
            excess_arithmetic: u64::from((clear & !memory).count_ones()),
        };
        for (s, scheduler) in self.schedulers.iter().enumerate() {
            let ready = self.with_free_pipe::<false>(s, clear & scheduler.own);
            if ready & !memory != 0 {
                counts.excess_arithmetic -= 1;
            } else if ready != 0 {
                counts.excess_memory -= 1;
            }
        }
        counts
    }

    /// Number of resident blocks that started before a block.
    fn older_blocks(&self, block: &BlockSlot) -> usize {
        let age = |block: &BlockSlot| self.warps.table.block_age[block.first_warp as usize];
        let resident = self.blocks.iter().filter(|block| block.live_warps > 0);
        resident.filter(|other| age(other) < age(block)).count()
    }

    /// Warp slots of a resident block.
    pub(crate) fn warps_of(&self, block: &BlockSlot) -> WarpMask {
        let image = self.kernels[block.kernel.index()].as_ref();
        image.map_or(0, |image| warp_run(block.first_warp, image.block_warps))
    }
}
