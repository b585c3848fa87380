//! A kernel in flight: its launch, and its blocks that wait, run and have ended.

use super::Held;
use super::block_times::BlockClock;
use super::gpcs::ClusterHomes;
use crate::counters::{MachineCounters, PartCounters};
use crate::footprints::Touches;
use crate::loads::Loads;
use crate::stretches::Timing;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{Cycle, SmId};
use warploom_config::ContextPlan;
use warploom_exec::Lookahead;
use warploom_policy::{Footprint, KernelView};
use warploom_sm::{BlockNeeds, KernelCounters, OccupancyLimit, PreparedKernel, Sm};
use warploom_state::{State, Value};
use warploom_stats::result::BlockTimes;

/// Counters before the launch of a kernel.
#[derive(Value)]
pub(crate) struct CountsBefore {
    /// Counters of the machine.
    pub machine: MachineCounters,
    /// Counters of each part of the machine, if the run counts parts.
    pub parts: Option<PartCounters>,
    /// Counters of the kernel's slot, of all SMs.
    pub own: KernelCounters,
    /// Load of the L2 banks.
    pub loads: Loads,
}

/// A kernel in flight.
#[derive(State)]
pub(crate) struct InFlight {
    #[state(fixed)]
    pub image: Arc<PreparedKernel>,
    #[state(fixed)]
    pub needs: BlockNeeds,
    pub blocks_per_sm: u32,
    /// Most blocks on an SM, counting those that are partly absent where contexts are switched.
    pub(super) most: u32,
    #[state(fixed)]
    pub limit: OccupancyLimit,
    pub launched_at: Cycle,
    /// The first cycle in which a block may start.
    pub ready_at: Cycle,
    pub blocks: u64,
    /// First rank that the block scheduler has not seen.
    pub(super) next_rank: u64,
    /// Waiting ranks that the block scheduler sees, oldest first.
    pub(super) window: VecDeque<u64>,
    /// By SM: ranks that run there.
    pub(super) running: Vec<Vec<u64>>,
    /// Starts and ends of its blocks.
    pub(super) clock: BlockClock,
    /// Number of blocks that joined blocks of another process on their SM.
    pub(super) joined_blocks: u64,
    /// Memory that blocks access, if a policy uses it. Then footprints of the blocks in the window,
    /// and of those that run, in the same order as these.
    #[state(fixed)]
    pub(super) touches: Option<Touches>,
    pub(super) window_touches: VecDeque<Footprint>,
    pub(super) running_touches: Vec<Vec<Footprint>>,
    pub finished: u64,
    pub started_at: Option<Cycle>,
    pub last_end: Cycle,
    pub before: CountsBefore,
    /// True if other kernels were in flight at some time since its launch.
    pub shared: bool,
    pub halted: bool,
    /// Number of its code among those that its process has launched.
    pub code: u32,
    /// How far SMs may run its blocks ahead of each other.
    #[state(fixed)]
    pub lookahead: Lookahead,
    /// Plan of context switching, if `sm.context` switches contexts.
    #[state(fixed)]
    pub plan: Option<ContextPlan>,
    /// True if blocks started whose contexts are switched.
    pub switched: bool,
    /// Timing, if not all blocks are timed.
    pub timing: Option<Timing>,
    /// Number of blocks of a cluster.
    pub cluster: u32,
    /// SMs of the clusters that run, if clusters have several blocks.
    pub(super) homes: ClusterHomes,
}

impl InFlight {
    #[expect(clippy::too_many_arguments, reason = "the facts of one launch")]
    pub fn new(
        image: Arc<PreparedKernel>,
        needs: BlockNeeds,
        (blocks_per_sm, limit): (u32, OccupancyLimit),
        now: Cycle,
        ready_at: Cycle,
        blocks: u64,
        sms: usize,
        before: CountsBefore,
        touches: Option<Touches>,
    ) -> Self {
        let contexts = image.contexts.as_ref();
        let most = contexts.map_or(blocks_per_sm, |c| c.plan.native + c.plan.bound);
        Self {
            lookahead: image.lookahead,
            cluster: image.launch.cluster().blocks(),
            homes: ClusterHomes::default(),
            image,
            needs,
            blocks_per_sm,
            most,
            limit,
            launched_at: now,
            ready_at,
            blocks,
            next_rank: 0,
            window: VecDeque::new(),
            running: vec![Vec::new(); sms],
            clock: BlockClock::new(sms),
            joined_blocks: 0,
            touches,
            window_touches: VecDeque::new(),
            running_touches: vec![Vec::new(); sms],
            finished: 0,
            started_at: None,
            last_end: now,
            before,
            shared: false,
            halted: false,
            code: 0,
            plan: None,
            switched: false,
            timing: None,
        }
    }

    pub(super) fn fill_window(&mut self, look_ahead: usize) {
        let open = match &self.timing {
            Some(timing) => timing.open(self.next_rank, self.blocks).end,
            None => self.blocks,
        };
        while self.window.len() < look_ahead && self.next_rank < open {
            self.window.push_back(self.next_rank);
            if let Some(touches) = &mut self.touches {
                self.window_touches.push_back(touches.block(self.next_rank));
            }
            self.next_rank += 1;
        }
    }

    /// Number of timed blocks before the next gap that the block policy does not see yet.
    pub(super) fn before_gap(&self) -> u64 {
        let open = self.timing.as_ref().map(|timing| {
            let open = timing.open(self.next_rank, self.blocks);
            open.end - open.start
        });
        open.unwrap_or(self.blocks - self.next_rank)
    }

    /// Ranks that come next and are not timed, if there are any. There is none of them where the
    /// caller is only to look at the machine.
    #[inline]
    pub(super) fn gap(&self) -> Option<Range<u64>> {
        let timing = self.timing.as_ref().filter(|_| !self.halted)?;
        timing.gap(self.next_rank, self.blocks)
    }

    /// Notes that the blocks of the gap have been executed.
    pub(super) fn pass_gap(&mut self) {
        let Some(gap) = self.gap() else {
            return;
        };
        self.next_rank = gap.end;
        self.finished += gap.end - gap.start;
        if let Some(timing) = &mut self.timing {
            timing.pass(&gap);
        }
    }

    /// Stops timing its blocks that the block policy does not see yet. They are a gap.
    pub(super) fn time_no_more(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.stretches.to = self.next_rank;
        }
    }

    /// Takes a block out of the window, to run on an SM.
    pub(super) fn take(&mut self, now: Cycle, at: usize, id: SmId) -> (u64, Option<Footprint>) {
        let rank = self.window.remove(at);
        let rank = rank.expect("the policy's choice is in the window");
        self.running[id.index()].push(rank);
        self.clock.start(now, id);
        let touches = self.window_touches.remove(at);
        self.running_touches[id.index()].extend(touches);
        (rank, touches)
    }

    /// Removes a block that has ended before `now`.
    pub(super) fn leave(&mut self, now: Cycle, rank: u64, id: SmId) {
        if self.cluster > 1 {
            self.homes.leave(rank / u64::from(self.cluster));
        }
        let running = &mut self.running[id.index()];
        if let Some(at) = running.iter().position(|other| *other == rank) {
            running.remove(at);
            self.clock.end(now, id, at);
            if self.touches.is_some() {
                self.running_touches[id.index()].remove(at);
            }
        }
    }

    /// Times of its blocks up to `end`; `None` if none has started.
    pub fn block_times(&self, end: Cycle) -> Option<BlockTimes> {
        let start = self.started_at?;
        Some(self.clock.times(start, end))
    }

    /// Resources that its blocks have held up to now.
    pub fn held(&self, now: Cycle) -> Held {
        let cycles = self.clock.cycles_until(now);
        Held {
            register_cycles: cycles * u64::from(self.needs.registers),
            shared_byte_cycles: cycles * u64::from(self.needs.shared_bytes),
            joined_blocks: self.joined_blocks,
        }
    }

    /// True if the SM has a block of the kernel.
    pub fn has_blocks_on(&self, id: SmId) -> bool {
        !self.running[id.index()].is_empty()
    }

    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        !self.halted && (!self.window.is_empty() || self.next_rank < self.blocks)
    }

    /// Number of its blocks that have not started.
    pub fn waiting(&self) -> u64 {
        let running: usize = self.running.iter().map(Vec::len).sum();
        self.blocks - self.finished - running as u64
    }

    /// True if a block waits, and an SM that may hold `quota` of them has room for it.
    /// `alone`: no other kernel has or may start blocks there.
    pub(super) fn fits(&self, id: SmId, sm: &mut Sm, quota: u32, alone: bool) -> bool {
        self.may_take(id, quota) && sm.has_room(self.image.slot, &self.needs, alone)
    }

    /// True if a block waits, and the SM holds fewer of them than it may.
    pub(super) fn may_take(&self, id: SmId, quota: u32) -> bool {
        let here = self.running[id.index()].len() as u32;
        self.has_waiting() && here < self.most.min(quota)
    }

    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished == self.blocks
    }

    /// Drops the waiting blocks, so that no more blocks are given out.
    pub(super) fn halt(&mut self) {
        self.halted = true;
        self.blocks = self.finished + self.running.iter().map(|r| r.len() as u64).sum::<u64>();
        self.next_rank = self.blocks;
        self.window.clear();
        self.window_touches.clear();
    }

    pub(super) fn view(&self) -> KernelView {
        KernelView {
            slot: self.image.slot,
            process: self.image.asid,
            code: self.code,
            needs: self.needs,
            blocks_per_sm: self.blocks_per_sm,
            launched_at: self.launched_at,
            waits: self.has_waiting(),
        }
    }
}
