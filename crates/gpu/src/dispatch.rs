//! Kernels in flight and the chain that gives their blocks to SMs: cap on blocks per SM, SM
//! filter, kernel choice, block choice; each link is a key of its own, so that systems combine.
//! At most one block an SM and cycle, SMs in turn (model page, section 2).

use std::collections::VecDeque;
use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::GpuSpec;
use warploom_ir::Program;
use warploom_policy::block::BlockScheduler;
use warploom_policy::sm_filter::SmFilter;
use warploom_policy::{BlockPolicy, BlockQueueView, DeviceView, SmFilterPolicy};
use warploom_sm::{BlockNeeds, FinishedBlock, KernelImage, OccupancyLimit, Sm};

use crate::counters::PartCounters;
use crate::workers::SmArray;

/// What a launch asks of the machine.
pub struct KernelLaunch {
    /// What executes.
    pub context: warploom_exec::LaunchContext,
    /// Its code.
    pub program: Arc<Program>,
    /// Registers per thread, which decide how many blocks fit.
    pub registers_per_thread: u32,
}

/// A kernel that has ended.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    /// Which one.
    pub slot: KernelSlot,
    /// Core cycle of its launch.
    pub launched_at: Cycle,
    /// Core cycle after that in which its last block ended.
    pub ended_at: Cycle,
    /// Most of its blocks on one SM.
    pub blocks_per_sm: u32,
    /// What limits that number.
    pub limit: OccupancyLimit,
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// What the machine counted from launch to end.
    pub counters: PartCounters,
}

/// A kernel in flight.
pub(crate) struct InFlight {
    pub image: Arc<KernelImage>,
    pub needs: BlockNeeds,
    pub blocks_per_sm: u32,
    pub limit: OccupancyLimit,
    pub launched_at: Cycle,
    /// First cycle in which a block may start.
    pub ready_at: Cycle,
    pub blocks: u64,
    /// Ranks up to here have been looked at by the block scheduler.
    next_rank: u64,
    /// Waiting ranks that it sees, oldest first.
    window: VecDeque<u64>,
    /// By SM: ranks that run there.
    running: Vec<Vec<u64>>,
    pub finished: u64,
    pub last_end: Cycle,
    pub before: PartCounters,
}

impl InFlight {
    #[expect(clippy::too_many_arguments, reason = "the facts of one launch")]
    pub fn new(
        image: Arc<KernelImage>,
        needs: BlockNeeds,
        (blocks_per_sm, limit): (u32, OccupancyLimit),
        now: Cycle,
        ready_at: Cycle,
        blocks: u64,
        sms: usize,
        before: PartCounters,
    ) -> Self {
        Self {
            image,
            needs,
            blocks_per_sm,
            limit,
            launched_at: now,
            ready_at,
            blocks,
            next_rank: 0,
            window: VecDeque::new(),
            running: vec![Vec::with_capacity(blocks_per_sm as usize); sms],
            finished: 0,
            last_end: now,
            before,
        }
    }

    fn fill_window(&mut self, look_ahead: usize) {
        while self.window.len() < look_ahead && self.next_rank < self.blocks {
            self.window.push_back(self.next_rank);
            self.next_rank += 1;
        }
    }

    fn has_waiting(&self) -> bool {
        !self.window.is_empty() || self.next_rank < self.blocks
    }

    pub fn is_finished(&self) -> bool {
        self.finished == self.blocks
    }
}

/// The dispatcher.
pub(crate) struct Dispatcher {
    /// By kernel slot.
    pub kernels: Vec<Option<InFlight>>,
    block_policy: BlockPolicy,
    sm_filter: SmFilterPolicy,
    /// SM that took a block last.
    last_sm: usize,
    sms: usize,
}

impl Dispatcher {
    pub fn new(spec: &GpuSpec) -> Self {
        let sms = spec.gpu.sms as usize;
        Self {
            kernels: (0..spec.gpu.max_concurrent_kernels).map(|_| None).collect(),
            block_policy: BlockPolicy::new(spec.gpu.block_scheduler),
            sm_filter: SmFilterPolicy::new(spec.gpu.sm_filter),
            last_sm: sms - 1,
            sms,
        }
    }

    /// Kernels in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.kernels.iter().flatten()
    }

    /// Gives blocks to SMs for the cycles from `from` up to, not including, `to`.
    pub fn dispatch(&mut self, from: Cycle, to: Cycle, sms: &mut SmArray, view: &DeviceView) {
        if !self.kernels.iter().flatten().any(InFlight::has_waiting) {
            return;
        }
        self.sm_filter.update(view);
        for now in from..to {
            if !self.dispatch_cycle(now, sms) {
                // Nothing changes before the step's end unless a kernel becomes ready.
                let wakes = |k: &InFlight| k.has_waiting() && (now + 1..to).contains(&k.ready_at);
                if !self.kernels.iter().flatten().any(wakes) {
                    return;
                }
            }
        }
    }

    /// One cycle: each SM may take one block. Returns whether any did.
    fn dispatch_cycle(&mut self, now: Cycle, sms: &mut SmArray) -> bool {
        let base = self.last_sm;
        let mut any = false;
        for i in 0..self.sms {
            let sm = (base + 1 + i) % self.sms;
            if self.sm_filter.allows(SmId::new(sm))
                && self.give_block(now, SmId::new(sm), &mut sms.get(sm))
            {
                self.last_sm = sm;
                any = true;
            }
        }
        any
    }

    /// Starts one block on `sm` if one fits: the first kernel in slot order that has one.
    fn give_block(&mut self, now: Cycle, id: SmId, sm: &mut Sm) -> bool {
        for (slot, kernel) in self.kernels.iter_mut().enumerate() {
            let Some(k) = kernel else { continue };
            let here = k.running[id.index()].len() as u32;
            if k.ready_at > now
                || here >= k.blocks_per_sm
                || !k.has_waiting()
                || !sm.has_room(&k.needs)
            {
                continue;
            }
            k.fill_window(self.block_policy.look_ahead());
            let view = BlockQueueView {
                waiting: k.window.make_contiguous(),
                running: &k.running,
            };
            let Some(at) = self.block_policy.pick(id, &view) else {
                continue;
            };
            let rank = k
                .window
                .remove(at)
                .expect("the policy's choice is in the window");
            k.running[id.index()].push(rank);
            sm.assign(now, KernelSlot::new(slot), rank, &k.needs);
            return true;
        }
        false
    }

    /// Notes the end of a block.
    pub fn block_finished(&mut self, id: SmId, sm: &mut Sm, block: &FinishedBlock) {
        let kernel = self.kernels[block.kernel.index()]
            .as_mut()
            .expect("its kernel is in flight");
        kernel.running[id.index()].retain(|rank| *rank != block.rank);
        kernel.finished += 1;
        kernel.last_end = kernel.last_end.max(block.at + 1);
        sm.release(block.slot, &kernel.needs);
    }
}
