//! An SM: its state, and its run of several cycles.
//!
//! Stages run back to front within a cycle, so that each sees what the stage before it left in
//! the cycle before (docs/model/sm.md, Pipeline order). A cycle in which nothing can happen until a
//! known time is skipped together with those that follow; counters are the same either way.

mod cycle;
mod describe;
mod start;
mod trace;

pub(crate) use cycle::Done;

use crate::blocks::{BlockSlot, Place, Resources};
use crate::carveout::Carveout;
use crate::collector::Collectors;
use crate::context::{Contexts, Moved};
use crate::counters::{KernelCounters, SmCounters};
use crate::detail::{SmDetail, packet_size};
use crate::flight::{Flight, FlightPool, Pool};
use crate::frontend::Frontend;
use crate::host::ReplayBuffer;
use crate::issue_quotas::IssueQuotas;
use crate::ldst::{L1dInterest, Ldst};
use crate::link::{Link, Outgoing, most_sent};
use crate::pauses::Pauses;
use crate::peer_post::PeerPost;
use crate::prepared_kernel::{Pipe, PreparedKernel, PreparedKernels};
use crate::scheduler::{Scheduler, issues_singly, schedulers};
use crate::tracing::Tracer;
use crate::units::Units;
use crate::warps::Warps;
use std::collections::VecDeque;
use std::sync::Arc;
use warploom_base::{BlockId, Cycle, KernelSlot, SmId, WarpSlot};
use warploom_config::{Coalescing, GpuSpec, ModelStyle, SmSpec, UnitSpec};
use warploom_exec::{
    AtomicMode, BarrierRelease, DeviceMemory, Divergence, Env, Fault, FindingReport, Lookahead,
    StepOut, WriteLog,
};
use warploom_mem::Reply;
use warploom_mem::cache::Replay;
use warploom_mem::coalesce::SharedRule;
use warploom_policy::{
    CustomPolicies, MemoryUse, WarpMask, WarpPolicy, WarpPolicyCounters, WarpScheduler,
};
use warploom_state::{State, Value};
use warploom_stats::Counters;

/// A block that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinishedBlock {
    /// Cycle in which it ended.
    pub at: Cycle,
    /// Kernel of the block.
    pub kernel: KernelSlot,
    /// Rank of the block in the grid.
    pub rank: u64,
    /// Slot of the block in the SM.
    pub slot: BlockId,
    /// Instructions that its warps issued. Exact on an SM with at most 64 warp slots whose contexts
    /// are not switched.
    pub instructions: u64,
}

/// A block assigned to the SM that has not started.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Start {
    pub at: Cycle,
    pub kernel: KernelSlot,
    pub rank: u64,
    pub slot: BlockId,
    pub first_warp: u32,
}

/// The state of an SM. Fields lie in memory as declared, first those that every cycle reads,
/// because SMs go through the host's first cache one after the other, line by line.
#[repr(C, align(64))]
#[derive(State)]
pub struct Sm {
    /// Cycles before this one are counted.
    pub(crate) counted_to: Cycle,
    /// Nothing can happen before this cycle without input from outside.
    pub(crate) wake_at: Cycle,
    /// True if something issued in the last cycle, or no cycle may be skipped: then it is not
    /// checked whether the next one can be.
    pub(crate) wide_awake: bool,
    /// True if fetch, schedulers and collectors have nothing to do until input comes to them.
    pub(crate) at_rest: bool,
    /// True if the SM `issues_singly`, and schedulers do nothing in a cycle but let their policies
    /// pick a warp.
    pub(crate) issues_plainly: bool,
    /// True if an SM of at most 64 warp slots issues one instruction of a warp in a cycle, and all
    /// its schedulers [issue singly](Scheduler::issues_singly).
    #[state(fixed)]
    pub(crate) issues_singly: bool,
    /// True if the load/store unit runs once in a cycle and does not step the collectors.
    one_turn: bool,
    /// True if a policy is told of the use of the path to memory.
    #[state(fixed)]
    pub(crate) tells_memory_use: bool,
    /// Cycle from which on a policy that holds back warps must be asked again; the last one if none
    /// does.
    pub(crate) held_until: Cycle,
    /// Masks that policies saw when one of them held back warps last.
    pub(crate) held_view: [WarpMask; 3],
    /// Use of the path to memory of which policies have been told.
    pub(crate) memory_use: Option<MemoryUse>,
    /// Number of cycles at rest that are not yet counted. In all of them the same warps were
    /// resident, and schedulers issued nothing for the same causes.
    pub(crate) rested: Cycle,
    /// Links to the network.
    pub link: Link,
    pub(crate) starts: VecDeque<Start>,
    /// Engine of context switching, where contexts are switched.
    #[state(each)]
    pub(crate) context: Option<Box<Contexts>>,
    /// Record of activities, where a timeline is wanted.
    #[state(scratch)]
    pub(crate) tracer: Option<Box<Tracer>>,
    /// Loads of a window that may have to be repeated.
    #[state(scratch)]
    pub(crate) replay: ReplayBuffer,
    /// True if a loaded kernel has instructions that need settled memory.
    pub(crate) needs_settled: bool,
    pub(crate) flights: FlightPool,
    #[state(each)]
    pub(crate) schedulers: Vec<Scheduler>,
    /// Block slots. Empty before the first block.
    pub(crate) blocks: Vec<BlockSlot>,
    /// Counters by kernel slot.
    pub by_kernel: Vec<KernelCounters>,
    /// Blocks that ended in the running step.
    #[state(scratch)]
    pub finished: Vec<FinishedBlock>,
    /// True if a block may have room that had none before, although no block has ended.
    pub gained_room: bool,
    #[state(fixed)]
    skip_idle: bool,
    #[state(fixed)]
    pub(crate) style: ModelStyle,
    #[state(fixed)]
    pub(crate) sub_cores: bool,
    pub(crate) dual_issue_different: bool,
    pub(crate) global_skips_l1d: bool,
    pub(crate) fences_flush_l1: bool,
    #[state(fixed)]
    pub(crate) coalescing: Coalescing,
    #[state(fixed)]
    pub(crate) shared_rule: SharedRule,
    /// Cycles for each further lane of an atomic on the same word of shared memory.
    #[state(fixed)]
    pub(crate) shared_atomic_cycles: u32,
    #[state(fixed)]
    pub(crate) id: SmId,
    #[state(fixed)]
    collector_steps: u32,
    #[state(fixed)]
    pub(crate) mem_unit_ports: u32,
    #[state(fixed)]
    pub(crate) max_issue_per_warp: u32,
    /// Fault of the simulated program, with its cycle.
    #[state(scratch)]
    pub fault: Option<(Cycle, Fault)>,
    pub(crate) warps: Warps,
    pub(crate) collectors: Collectors,
    pub(crate) units: Units,
    /// The load/store unit with its caches.
    pub ldst: Ldst,
    /// The fetch and decode stages.
    pub front: Frontend,
    /// Loaded kernels by slot, in place, because every stage needs the kernel of its instructions.
    #[state(fixed)]
    pub(crate) kernels: PreparedKernels,
    /// Stores of the running step.
    #[state(scratch)]
    pub log: WriteLog,
    /// Counters of the whole SM.
    pub counters: SmCounters,
    /// Further counters, by SM only.
    pub detail: SmDetail,
    #[state(scratch)]
    pub(crate) out: StepOut,
    /// Values that instructions can read about the SM; warp and cycle are set before each.
    #[state(fixed)]
    pub(crate) env: Env,
    /// Findings of the checks that the launch asked for.
    pub findings: Vec<FindingReport>,
    #[state(scratch)]
    pub(crate) releases: Vec<BarrierRelease>,
    pub(crate) constant_line: u32,
    pub(crate) texture_line: u32,
    pub(crate) shared_banks: u32,
    pub(crate) shared_parts: u32,
    #[state(fixed)]
    carveout: Option<Carveout>,
    /// Free resources, less those of blocks that have not started.
    pub(crate) resources: Resources,
    /// Begin of the registers and of the shared memory of resident blocks, by block slot.
    pub(crate) places: Vec<Place>,
    /// Block slots and warp slots of those blocks.
    pub(crate) taken_blocks: u64,
    pub(crate) taken_warps: WarpMask,
    pub(crate) moved: Vec<Moved>,
    pub(crate) pauses: Pauses,
    /// Quotas of instructions, if kernels have some.
    pub(crate) issue_quotas: Option<Box<IssueQuotas>>,
    warps_started: u64,
    pub(crate) max_threads: u32,
    /// Requests of blocks to other blocks of their clusters in the running step.
    #[state(scratch)]
    pub posts: Vec<PeerPost>,
    /// Bytes that the SM exchanges with other blocks' shared memory in a cycle.
    pub(crate) peer_bytes: u32,
}

impl Sm {
    /// An empty SM of `spec`, whose warp schedulers follow the user's `own` policy or that of the
    /// configuration.
    pub fn new(spec: &GpuSpec, id: SmId, own: &CustomPolicies) -> Self {
        let sm = &spec.sm;
        let slots = (sm.max_threads / 32) as usize;
        let widths = pipe_widths(sm);
        let counts = Pipe::ALL.map(|pipe| (pipe, widths[pipe as usize].count));
        let context = Contexts::of(spec, slots);
        let contexts = context.as_ref().map_or(0, |c| c.count());
        let blocks = context.as_ref().map_or(0, |c| c.count_blocks());
        let schedulers = schedulers(spec, slots, own);
        let (interest, tells_memory_use) = interests(&schedulers);
        Self {
            id,
            env: environment(spec, id, slots),
            style: spec.gpu.style,
            kernels: [const { None }; _],
            warps: Warps::new(slots, contexts, sm.max_blocks),
            blocks: Vec::new(),
            issues_singly: issues_singly(sm, &schedulers),
            schedulers,
            flights: Pool::new(Flight::BLANK),
            collectors: Collectors::new(sm, widths, spec.gpu.style),
            units: Units::new(&counts[..Pipe::Mem as usize], sm.writeback_width),
            ldst: Ldst::new(spec, id, slots, interest),
            front: Frontend::new(spec),
            link: Link::new(spec.noc.flit_bytes, credits(spec), &most_sent(spec)),
            log: WriteLog::new(),
            counters: SmCounters::default(),
            by_kernel: vec![KernelCounters::default(); spec.gpu.max_concurrent_kernels as usize],
            detail: SmDetail::default(),
            finished: Vec::with_capacity(16),
            fault: None,
            findings: Vec::new(),
            out: StepOut::default(),
            releases: Vec::with_capacity(16),
            sub_cores: sm.sub_cores,
            fences_flush_l1: spec.gpu.style == ModelStyle::V4 && spec.gpu.flush_l1_at_kernel_end,
            max_issue_per_warp: sm.max_issue_per_warp.max(1),
            dual_issue_different: sm.dual_issue_different_units,
            global_skips_l1d: sm.global_skips_l1d,
            coalescing: sm.coalescing,
            constant_line: spec.l1c.line_bytes,
            texture_line: spec.l1t.line_bytes,
            shared_banks: sm.shared_banks,
            shared_parts: sm.shared_warp_parts,
            shared_rule: SharedRule::of(sm),
            shared_atomic_cycles: sm.shared_atomic_cycles,
            carveout: Carveout::new(spec),
            collector_steps: sm.collectors.steps_per_cycle.max(1),
            mem_unit_ports: sm.mem_unit_ports.max(1),
            skip_idle: spec.sim.skip_idle,
            resources: Resources::of(sm),
            places: vec![Place::default(); blocks.max(sm.max_blocks) as usize],
            taken_blocks: 0,
            taken_warps: 0,
            moved: Vec::with_capacity(2 * contexts),
            pauses: Pauses::NONE,
            issue_quotas: None,
            gained_room: false,
            tracer: None,
            replay: ReplayBuffer::default(),
            needs_settled: false,
            context,
            starts: VecDeque::new(),
            warps_started: 0,
            max_threads: sm.max_threads,
            posts: Vec::new(),
            peer_bytes: sm.cluster_bytes_per_cycle,
            counted_to: 0,
            wake_at: 0,
            wide_awake: !spec.sim.skip_idle,
            at_rest: false,
            held_until: Cycle::MAX,
            held_view: [0; 3],
            tells_memory_use,
            memory_use: None,
            one_turn: sm.mem_unit_ports <= 1 && spec.gpu.style == ModelStyle::V4,
            rested: 0,
            issues_plainly: false,
        }
    }

    /// Makes a kernel known, before its first block.
    pub fn load_kernel(&mut self, image: Arc<PreparedKernel>) {
        self.warps.reserve_scoreboard(image.score_words());
        self.find_plain_schedulers();
        let slot = image.slot.index();
        debug_assert!(self.kernels[slot].is_none(), "kernel slot {slot} is taken");
        self.needs_settled |= image.lookahead == Lookahead::Settled;
        self.kernels[slot] = Some(image);
    }

    /// Forgets a kernel whose blocks have all ended.
    pub fn unload_kernel(&mut self, slot: KernelSlot) {
        self.kernels[slot.index()] = None;
        if self.needs_settled {
            self.find_settled_kernels();
        }
        if let Some(victims) = &mut self.ldst.victims
            && self.kernels.iter().all(Option::is_none)
        {
            victims.forget_loads();
        }
        self.give_back_l1d();
    }

    /// Ends every warp of a kernel, between steps: warps issue nothing more, and blocks finish when
    /// they are drained, as after their last instruction. Blocks that have not started are dropped
    /// and returned.
    pub fn halt_kernel(&mut self, kernel: KernelSlot) -> Vec<FinishedBlock> {
        let own = |w: &usize| self.warps.track[*w].kernel == kernel;
        let running = warploom_policy::warps_of(self.warps.running()).map(WarpSlot::index);
        let ended: Vec<usize> = running.filter(own).collect();
        for w in ended {
            self.end_warp(WarpSlot::new(w));
        }
        self.halt_absent(kernel);
        let starts = std::mem::take(&mut self.starts);
        let (dropped, kept): (VecDeque<Start>, _) =
            starts.into_iter().partition(|s| s.kernel == kernel);
        self.starts = kept;
        for start in &dropped {
            self.blocks[start.slot.index()].first_warp = start.first_warp;
        }
        let finished = |start: Start| FinishedBlock {
            at: start.at,
            kernel,
            rank: start.rank,
            slot: start.slot,
            instructions: 0,
        };
        dropped.into_iter().map(finished).collect()
    }

    /// Invalidates the data cache (at a kernel's end and after fences, where the machine does so).
    pub fn flush_l1(&mut self) {
        self.ldst.invalidate_l1d();
    }

    /// Replays a fetch of code without timing in the instruction cache.
    pub fn replay_fetch(&mut self, now: Cycle, fetch: &Replay) {
        self.front.replay(now, fetch);
    }

    /// Replays an access without timing in the data cache or the texture cache. Returns what it
    /// asks of L2.
    pub fn replay_access(&mut self, now: Cycle, access: &Replay) -> Option<Replay> {
        self.ldst.replay(now, access)
    }

    /// True if no block runs or is about to start, and nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        !self.holds_warps() && self.starts.is_empty() && self.ldst.is_empty()
    }

    /// True if the SM has had a block: the caches of others have counted nothing.
    #[inline]
    pub fn had_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Cycle in which the SM must run again. It must run before if a block is assigned to it, a
    /// reply arrives, or credits come while it `waits_for_credits`.
    #[inline]
    pub fn wake_at(&self) -> Cycle {
        self.wake_at
    }

    /// True if something inside could go on if the network had room.
    pub fn waits_for_credits(&self) -> bool {
        self.front.l1i.miss_queue_front().is_some() || self.ldst.waits_for_credits()
    }

    /// Counts cycles before `now` through which the SM slept.
    #[inline]
    pub fn count_to(&mut self, now: Cycle) {
        self.count_received();
        self.sleep_to(now);
        self.count_rested();
        self.end_idle_cycles();
    }

    /// `count_to` without the counts that can be made later.
    #[inline]
    pub(crate) fn sleep_to(&mut self, now: Cycle) {
        if self.counted_to < now {
            self.account(now - self.counted_to);
            self.counted_to = now;
        }
    }

    /// Runs the cycles from `from` up to, not including, `to`.
    #[inline(always)]
    pub fn run(&mut self, from: Cycle, to: Cycle, memory: &DeviceMemory) {
        self.sleep_to(from);
        self.count_received();
        self.link.take_credits(from);
        let mut now = from;
        while now < to && self.fault.is_none() {
            self.wake_at = if self.wide_awake {
                now
            } else {
                self.sleeps_until(now)
            };
            if self.wake_at > now {
                now = self.wake_at.min(to);
                self.sleep_to(now);
            } else {
                self.run_cycle(now, memory);
                now += 1;
                self.counted_to = now;
            }
        }
        self.wake_at = self.wake_at.max(now);
        self.count_rested();
        self.end_idle_cycles();
    }

    /// Takes the packets that were sent in the last step, oldest first. Counts them here, so that a
    /// step need not check whether there are any.
    #[inline]
    pub fn take_sent(&mut self, f: impl FnMut(&Outgoing)) {
        self.count_sent();
        self.link.outgoing.iter().for_each(f);
        self.link.outgoing.clear();
    }

    fn count_sent(&mut self) {
        for sent in &self.link.outgoing {
            let request = &sent.request;
            let bytes = request.request_bytes();
            self.counters.packets_sent[request.kind.index()] += 1;
            self.counters.flits_sent += u64::from(self.link.flits(bytes));
            self.detail.requests[request.kind.index()][packet_size(bytes)] += 1;
        }
    }

    /// Takes a reply from the links, which the SM sees from cycle `at` on. The reply is counted
    /// when the SM runs, because the counters are not in the host's caches before.
    #[inline]
    pub fn receive_reply(&mut self, at: Cycle, reply: &Reply) {
        self.link.deliver(at, reply);
    }

    /// Counts the replies that have come since the SM ran last.
    #[inline]
    pub(crate) fn count_received(&mut self) {
        let Self {
            link,
            counters,
            detail,
            ldst,
            ..
        } = self;
        link.look_at_fresh(|reply, bytes, flits| {
            counters.packets_received += 1;
            counters.flits_received += u64::from(flits);
            detail.replies[reply.kind.index()][packet_size(bytes)] += 1;
            if let Some(l1d) = &ldst.l1d {
                l1d.expect_reply(reply.entry);
            }
        });
    }

    /// Counters of the schedulers' policies, summed.
    pub fn policy_counters(&self) -> WarpPolicyCounters {
        let mut sum = WarpPolicyCounters::default();
        for scheduler in &self.schedulers {
            sum.merge(&scheduler.policy.counters());
        }
        sum
    }

    /// The outstanding atomic of a warp.
    pub fn atomic_batch(&self, warp: WarpSlot) -> &warploom_exec::AtomicBatch {
        &self.ldst.atomics[self.place(warp.0)].batch
    }

    /// Stores the old values of an atomic for its reply. If the last reply has come already, the SM
    /// is stalled, and the values go on into registers.
    pub fn atomic_old_values(&mut self, warp: WarpSlot, lanes: u32, old: &[u64; 32]) {
        let place = self.place(warp.0);
        let results = &mut self.ldst.atomics[place].results;
        for lane in warploom_base::lanes_of(lanes) {
            results[lane] = old[lane];
        }
        if self.warps.track[place].atomics == 0 {
            debug_assert!(
                self.replay.is_stalled(),
                "nobody waits for the old values of an atomic"
            );
            self.write_old_values(place);
        }
    }

    /// Calls `f` with number and fingerprint of every warp that is present, runs and does not wait
    /// at a barrier: a warp whose fingerprint comes back while nothing else changes will spin for
    /// ever. A warp keeps its number while it leaves its slot and comes back into another.
    pub fn fingerprints(&self, mut f: impl FnMut(u16, u64)) {
        for slot in warploom_policy::warps_of(self.warps.running() & !self.warps.at_barrier) {
            let slot = slot.index();
            f(self.owner(slot), self.warps.exec[slot].fingerprint());
        }
    }
}

/// Packets that an SM may have on their way to the network.
fn credits(spec: &GpuSpec) -> u32 {
    spec.noc.injection_buffer + 2 * spec.gpu.link_cycles
}

/// Function units and stage registers of each pipe, in the order of [`Pipe::ALL`].
fn pipe_widths(sm: &SmSpec) -> [&UnitSpec; Pipe::COUNT] {
    let units = &sm.units;
    [
        &units.sp,
        &units.dp,
        &units.int,
        &units.sfu,
        &units.tensor,
        &units.mem,
    ]
}

/// Values that instructions can read about the SM that executes them; warp and cycle are set before
/// each instruction.
fn environment(spec: &GpuSpec, id: SmId, slots: usize) -> Env {
    Env {
        divergence: match spec.sm.divergence {
            warploom_config::Divergence::Stack => Divergence::Stack,
            warploom_config::Divergence::Independent => Divergence::Independent,
        },
        sm: id.0,
        n_sm: spec.gpu.sms as u16,
        warp_slot: 0,
        n_warps: slots as u16,
        clock: 0,
        clock_khz: u64::from(spec.clocks.core_khz),
        atomics: AtomicMode::Deferred,
    }
}

/// Interest of the policies of an SM's schedulers in L1D, and whether one asks how full memory
/// is.
fn interests(schedulers: &[Scheduler]) -> (L1dInterest, bool) {
    let asks = |what: fn(&WarpPolicy) -> bool| schedulers.iter().any(|s| what(&s.policy));
    let interest = L1dInterest {
        watches: asks(WarpScheduler::wants_l1d),
        decides: asks(WarpScheduler::decides_allocation),
        parks: schedulers
            .iter()
            .map(|s| s.policy.parks())
            .max()
            .unwrap_or(0),
    };
    (interest, asks(WarpScheduler::wants_memory_use))
}
