//! Kernels in flight and the chain that gives their blocks to SMs. Each link is apart from the
//! others, so that systems combine; a block starts where all of them agree:
//!
//! | link | who decides | where |
//! |---|---|---|
//! | SM filter | `gpu.sm_filter`, which sees the machine's monitors | `offer` |
//! | cap on blocks of an SM | `gpu.max_blocks_per_sm` | `give_block` |
//! | kernel choice | `gpu.multiprogram`: which kernels in which order, up to how many blocks |
//! `give_block` |
//! | resources | what the SM has left | `fits` |
//! | block choice | `gpu.block_scheduler` | `give_block_of` |
//!
//! At most one block a cluster and cycle; clusters in turn, and in each its SMs
//! (docs/model/machine.md, Block dispatch).

mod launch;
mod rest;

pub use launch::{Held, KernelEnd, KernelLaunch};

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{BitSet, Cycle, KernelSlot, SmId};
use warploom_config::{ContextPlan, GpuSpec};
use warploom_exec::Lookahead;
use warploom_mem::cache::CacheCounters;
use warploom_policy::{
    BlockPolicy, BlockQueueView, BlockScheduler, CustomPolicies, Decision, DeviceView, Footprint,
    KernelView, Multiprogram, MultiprogramPolicy, MultiprogramView, SmFilter, SmFilterPolicy,
    SmSample, Turn, WarpScheduler,
};
use warploom_sm::{
    BlockNeeds, FinishedBlock, KernelCounters, OccupancyLimit, PreparedKernel, SlotCause, Sm,
};

use crate::counters::PartCounters;
use crate::footprints::{Touches, warp_ranges};
use crate::host::sms::SmArray;
use crate::stretches::{Stretches, Timing};

/// A kernel in flight.
pub(crate) struct InFlight {
    pub image: Arc<PreparedKernel>,
    pub needs: BlockNeeds,
    pub blocks_per_sm: u32,
    /// The same with those that are not wholly present, where contexts are switched.
    most: u32,
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
    /// Sum of the cycles in which blocks ended less that of those in which they started, wrapping
    /// while some run.
    block_cycles: u64,
    /// Blocks that joined those of another process on their SM.
    joined_blocks: u64,
    /// What blocks touch, if a policy wants to know, and that of those in the window and of those
    /// that run, in the same order.
    touches: Option<Touches>,
    window_touches: VecDeque<Footprint>,
    running_touches: Vec<Vec<Footprint>>,
    pub finished: u64,
    pub started_at: Option<Cycle>,
    pub last_end: Cycle,
    pub before: PartCounters,
    /// What was counted in its slot before it.
    pub own_before: KernelCounters,
    /// By SM and bank: accesses of its slot before it.
    pub caches_before: Vec<CacheCounters>,
    /// Others were in flight at some time since its launch.
    pub shared: bool,
    pub halted: bool,
    /// Its number among the codes that its process has launched.
    pub code: u32,
    /// How far SMs may run its blocks ahead of each other.
    pub lookahead: Lookahead,
    /// How its contexts could be switched, where `sm.context` says so.
    pub plan: Option<ContextPlan>,
    /// Which blocks are timed, if not all.
    pub timing: Option<Timing>,
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
        before: PartCounters,
        touches: Option<Touches>,
    ) -> Self {
        let bound = image.contexts.as_ref().map_or(0, |c| c.plan.bound);
        let most = blocks_per_sm + bound;
        Self {
            lookahead: image.launch.lookahead(),
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
            running: vec![Vec::with_capacity(most as usize); sms],
            block_cycles: 0,
            joined_blocks: 0,
            touches,
            window_touches: VecDeque::new(),
            running_touches: vec![Vec::new(); sms],
            finished: 0,
            started_at: None,
            last_end: now,
            before,
            own_before: KernelCounters::default(),
            caches_before: Vec::new(),
            shared: false,
            halted: false,
            code: 0,
            plan: None,
            timing: None,
        }
    }

    fn fill_window(&mut self, look_ahead: usize) {
        let open = match &self.timing {
            Some(timing) => timing.stretches.open(self.next_rank, self.blocks).end,
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

    /// Timed blocks before the next gap that are not among those that the block policy looks at.
    fn before_gap(&self) -> u64 {
        let open = self.timing.as_ref().map(|timing| {
            let open = timing.stretches.open(self.next_rank, self.blocks);
            open.end - open.start
        });
        open.unwrap_or(self.blocks - self.next_rank)
    }

    /// Ranks that come next and are not timed.
    #[inline]
    fn gap(&self) -> Option<Range<u64>> {
        let timing = self.timing.as_ref().filter(|_| !self.halted)?;
        timing.stretches.gap(self.next_rank, self.blocks)
    }

    /// The blocks of the gap have been executed.
    fn pass_gap(&mut self) {
        let Some(gap) = self.gap() else {
            return;
        };
        let skipped = gap.end - gap.start;
        self.next_rank = gap.end;
        self.finished += skipped;
        if let Some(timing) = &mut self.timing {
            timing.skipped += skipped;
        }
    }

    /// Takes a block out of the window, to run on an SM.
    fn take(&mut self, now: Cycle, at: usize, id: SmId) -> (u64, Option<Footprint>) {
        self.block_cycles = self.block_cycles.wrapping_sub(now);
        let rank = self.window.remove(at);
        let rank = rank.expect("the policy's choice is in the window");
        self.running[id.index()].push(rank);
        let touches = self.window_touches.remove(at);
        self.running_touches[id.index()].extend(touches);
        (rank, touches)
    }

    /// Forgets a block that has ended before `now`.
    fn leave(&mut self, now: Cycle, rank: u64, id: SmId) {
        self.block_cycles = self.block_cycles.wrapping_add(now);
        let running = &mut self.running[id.index()];
        if let Some(at) = running.iter().position(|other| *other == rank) {
            running.remove(at);
            if self.touches.is_some() {
                self.running_touches[id.index()].remove(at);
            }
        }
    }

    /// What its blocks have held up to now.
    pub fn held(&self, now: Cycle) -> Held {
        let running: u64 = self.running.iter().map(|ranks| ranks.len() as u64).sum();
        let cycles = self.block_cycles.wrapping_add(running.wrapping_mul(now));
        Held {
            register_cycles: cycles * u64::from(self.needs.registers),
            shared_byte_cycles: cycles * u64::from(self.needs.shared_bytes),
            joined_blocks: self.joined_blocks,
        }
    }

    fn has_blocks_on(&self, id: SmId) -> bool {
        !self.running[id.index()].is_empty()
    }

    #[inline]
    fn has_waiting(&self) -> bool {
        !self.halted && (!self.window.is_empty() || self.next_rank < self.blocks)
    }

    /// Blocks of it that have not started.
    pub fn waiting(&self) -> u64 {
        let running: usize = self.running.iter().map(Vec::len).sum();
        self.blocks - self.finished - running as u64
    }

    /// A block of it waits that an SM has room for, up to `quota` of them.
    fn fits(&self, id: SmId, sm: &mut Sm, quota: u32) -> bool {
        self.may_take(id, quota) && sm.has_room(self.image.slot, &self.needs)
    }

    /// A block of it waits, and the SM holds fewer than it may.
    fn may_take(&self, id: SmId, quota: u32) -> bool {
        let here = self.running[id.index()].len() as u32;
        self.has_waiting() && here < self.most.min(quota)
    }

    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished == self.blocks
    }

    /// Gives out no more blocks: those that wait are not of it any more.
    fn halt(&mut self) {
        self.halted = true;
        self.blocks = self.finished + self.running.iter().map(|r| r.len() as u64).sum::<u64>();
        self.next_rank = self.blocks;
        self.window.clear();
        self.window_touches.clear();
    }

    fn view(&self) -> KernelView {
        KernelView {
            slot: self.image.slot,
            process: self.image.asid,
            code: self.code,
            needs: self.needs,
            blocks_per_sm: self.blocks_per_sm,
            waits: self.has_waiting(),
        }
    }
}

/// The dispatcher.
pub(crate) struct Dispatcher {
    /// By kernel slot.
    pub kernels: Vec<Option<InFlight>>,
    pub sm_filter: SmFilterPolicy,
    block_policy: BlockPolicy,
    multiprogram: MultiprogramPolicy,
    /// Kernels came or went since the policy was updated.
    changed: bool,
    /// Names of the codes launched: process, kernel, registers of a thread, needs of a block.
    codes: Vec<(u8, String, u32, BlockNeeds)>,
    /// Times that an SM had enough for a block, but not in one piece.
    fragmented: u64,
    /// Warps' access ranges are wanted.
    ranges: bool,
    /// Most blocks on an SM.
    cap: Option<u32>,
    /// Cluster that took a block last.
    last_cluster: usize,
    /// By cluster: which of its SMs took a block last.
    last_in: Vec<usize>,
    /// By SM: it may have room for a block. One that has none is not asked again before a block
    /// ends there or a kernel is launched.
    open: BitSet,
    /// SMs of a cluster.
    cluster_sms: usize,
    /// Slots of the kernels in flight, in order of launch.
    slots: Vec<usize>,
}

/// What came of offering a block to an SM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    Taken,
    /// It has no room for a block of any kernel that has one.
    Full,
    /// Not in this cycle.
    Later,
}

impl Dispatcher {
    pub fn new(spec: &GpuSpec, policies: &CustomPolicies) -> Self {
        let sms = spec.gpu.sms as usize;
        let cluster = spec.gpu.sms_per_cluster as usize;
        Self {
            kernels: (0..spec.gpu.max_concurrent_kernels).map(|_| None).collect(),
            sm_filter: policies.sm_filter_policy(spec),
            block_policy: policies.block_policy(spec),
            multiprogram: policies.multiprogram_policy(spec),
            changed: false,
            codes: Vec::new(),
            fragmented: 0,
            ranges: policies.warp_policy(spec).wants_ranges(),
            cap: spec.gpu.max_blocks_per_sm,
            last_cluster: sms / cluster - 1,
            last_in: vec![cluster - 1; sms / cluster],
            open: BitSet::new(sms),
            cluster_sms: cluster,
            slots: Vec::new(),
        }
    }

    /// A policy wants to know what blocks touch.
    pub fn wants_touches(&self) -> bool {
        self.ranges || self.block_policy.wants_footprints()
    }

    /// Blocks so far that were not the oldest of their kernel.
    pub fn blocks_reordered(&self) -> u64 {
        self.block_policy.reordered()
    }

    /// Kernels in flight, in order of launch.
    #[inline]
    pub fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.slots
            .iter()
            .filter_map(|slot| self.kernels[*slot].as_ref())
    }

    /// A slot without a kernel.
    pub fn free_slot(&self) -> Option<usize> {
        self.kernels.iter().position(Option::is_none)
    }

    /// Puts a kernel into a free slot.
    pub fn put(&mut self, slot: usize, mut kernel: InFlight) {
        debug_assert!(self.kernels[slot].is_none(), "kernel slot {slot} is taken");
        kernel.code = self.code_of(&kernel.image, kernel.needs);
        for other in self.kernels.iter_mut().flatten() {
            other.shared = true;
            kernel.shared = true;
        }
        self.changed = true;
        self.kernels[slot] = Some(kernel);
        self.slots.push(slot);
        self.open_all();
    }

    /// Takes out a kernel whose blocks have all ended.
    #[inline]
    pub fn take_finished(&mut self) -> Option<(usize, InFlight)> {
        let ended = |slot: &usize| {
            self.kernels[*slot]
                .as_ref()
                .is_some_and(InFlight::is_finished)
        };
        let at = self.slots.iter().position(ended)?;
        let slot = self.slots.remove(at);
        self.changed = true;
        self.kernels[slot].take().map(|kernel| (slot, kernel))
    }

    /// The number of a kernel's code and shape among those that its process has launched.
    fn code_of(&mut self, image: &PreparedKernel, needs: BlockNeeds) -> u32 {
        let name = (
            image.asid,
            image.program.name.clone(),
            image.registers_per_thread,
            needs,
        );
        let known = self.codes.iter().position(|code| *code == name);
        let at = known.unwrap_or_else(|| {
            self.codes.push(name);
            self.codes.len() - 1
        });
        at as u32
    }

    /// Stops giving out blocks of a kernel and ends those that run.
    pub fn halt(&mut self, slot: KernelSlot, now: Cycle, sms: &mut SmArray) {
        let Some(kernel) = self.kernels[slot.index()].as_mut() else {
            return;
        };
        kernel.halt();
        kernel.last_end = now;
        self.changed = true;
        for index in 0..sms.len() {
            let sm = sms.get(index);
            // What it slept through was before the halt, and counts as such.
            sm.settle(now);
            for block in sm.halt_kernel(slot) {
                self.block_finished(SmId::new(index), sm, &block);
            }
            sms.wake(index, now);
        }
    }

    /// From now on only these blocks of a kernel are given to SMs. Requires that none was.
    pub fn time_only(&mut self, slot: KernelSlot, stretches: Stretches) {
        let kernel = self.kernels[slot.index()].as_mut();
        let kernel = kernel.expect("a kernel in flight");
        assert!(kernel.started_at.is_none(), "blocks have started");
        kernel.timing = Some(Timing::new(stretches));
    }

    /// A gap that a kernel in flight has come to.
    #[inline]
    pub fn gap(&self) -> Option<(KernelSlot, Range<u64>)> {
        self.in_flight()
            .find_map(|kernel| Some((kernel.image.slot, kernel.gap()?)))
    }

    /// The blocks of a kernel's gap have been executed.
    pub fn pass_gap(&mut self, slot: KernelSlot) {
        if let Some(kernel) = &mut self.kernels[slot.index()] {
            kernel.pass_gap();
        }
        self.open_all();
    }

    /// The multiprogramming policy is to be updated in this cycle.
    #[inline]
    pub fn is_update_due(&self, now: Cycle) -> bool {
        self.changed || now >= self.multiprogram.next_check()
    }

    /// Updates the policy: kernels came or went, or it wanted to look.
    pub fn update(&mut self, now: Cycle, spec: &GpuSpec, sms: &mut SmArray) {
        self.changed = false;
        let samples = self.samples(now, sms);
        let running = self.in_flight().filter(|kernel| !kernel.halted);
        let kernels: Vec<KernelView> = running.map(InFlight::view).collect();
        self.multiprogram.update(&MultiprogramView {
            now,
            spec,
            kernels: &kernels,
            sms: &samples,
        });
        self.open_all();
    }

    fn samples(&self, now: Cycle, sms: &mut SmArray) -> Vec<SmSample> {
        let mut samples = Vec::with_capacity(sms.len());
        sms.for_each(|index, sm| {
            sm.settle(now);
            let blocks = |kernel: &Option<InFlight>| {
                let running = kernel.as_ref().map(|k| k.running[index].len() as u32);
                running.unwrap_or(0)
            };
            samples.push(SmSample {
                instructions: sm.by_kernel.iter().map(|k| k.warp_instructions).collect(),
                blocks: self.kernels.iter().map(blocks).collect(),
                slots: sm.counters.slots.iter().sum(),
                memory_slots: sm.counters.slots[SlotCause::MemoryDependence as usize],
            });
        });
        samples
    }

    /// The first cycle in which the multiprogramming policy wants to look.
    pub fn next_check(&self) -> Cycle {
        self.multiprogram.next_check()
    }

    /// The process whose launches come before others', if the multiprogramming policy has one.
    pub fn serves_first(&self) -> Option<u8> {
        self.multiprogram.serves_first()
    }

    /// What the multiprogramming policy has decided.
    pub fn decisions(&self) -> &[Decision] {
        self.multiprogram.decisions()
    }

    /// Times so far that an SM had enough for a block, but not in one piece.
    pub fn fragmented(&self) -> u64 {
        self.fragmented
    }

    /// The first cycle from `now` on in which a block may be given to an SM that has room.
    pub fn next_offer(&self, now: Cycle) -> Cycle {
        if self.open.is_empty() {
            return Cycle::MAX;
        }
        let waiting = self.in_flight().filter(|k| k.has_waiting());
        let ready = waiting.map(|k| k.ready_at).min();
        ready.map_or(Cycle::MAX, |at| at.max(now))
    }

    /// Gives blocks to SMs for the cycles from `from` up to, not including, `to`.
    pub fn dispatch(&mut self, from: Cycle, to: Cycle, sms: &mut SmArray, view: &DeviceView) {
        if !self.in_flight().any(InFlight::has_waiting) {
            return;
        }
        self.let_filter_look(sms, view);
        if self.open.is_empty() {
            return;
        }
        for now in from..to {
            if !self.dispatch_cycle(now, sms) {
                // Nothing changes before the step's end unless a kernel becomes ready.
                let wakes = |k: &InFlight| k.has_waiting() && (now + 1..to).contains(&k.ready_at);
                if !self.in_flight().any(wakes) {
                    return;
                }
            }
        }
    }

    /// The filter looks at the machine if it wants to, a block waits and an SM has room for it.
    fn let_filter_look(&mut self, sms: &mut SmArray, view: &DeviceView) {
        if view.now < self.sm_filter.next_check() {
            return;
        }
        let mut has_room = |index: usize| {
            let (id, sm) = (SmId::new(index), sms.get(index));
            let quota = |k: &InFlight| self.quota(id, k.image.slot);
            let fits = |k: &InFlight| k.ready_at <= view.now && k.fits(id, sm, quota(k));
            let in_turn = self.in_flight().scan(true, |goes_on, k| {
                std::mem::replace(goes_on, !self.holds_up(k, view.now)).then_some(k)
            });
            !self.is_capped(id) && in_turn.into_iter().any(fits)
        };
        if (0..self.sms()).any(|sm| self.open.contains(sm) && has_room(sm)) {
            self.sm_filter.check(view);
        }
    }

    /// An SM holds as many blocks, of all kernels, as it may.
    fn is_capped(&self, id: SmId) -> bool {
        let here = || {
            self.in_flight()
                .map(|k| k.running[id.index()].len())
                .sum::<usize>()
        };
        self.cap.is_some_and(|cap| here() >= cap as usize)
    }

    /// One cycle: each cluster may take one block. Returns whether any did.
    fn dispatch_cycle(&mut self, now: Cycle, sms: &mut SmArray) -> bool {
        let (mut cluster, n) = (self.last_cluster, self.last_in.len());
        let mut any = false;
        for i in 0..n {
            cluster = if cluster + 1 == n { 0 } else { cluster + 1 };
            if self.is_open(cluster) && self.offer_cluster(now, cluster, i, sms) {
                self.last_cluster = cluster;
                any = true;
            }
        }
        any
    }

    /// An SM of a cluster may have room for a block.
    #[inline]
    fn is_open(&self, cluster: usize) -> bool {
        let first = cluster * self.cluster_sms;
        let sm = self.open.at_or_after(first);
        sm.is_some_and(|sm| sm < first + self.cluster_sms)
    }

    /// Any SM may have room for a block.
    fn open_all(&mut self) {
        (0..self.sms()).for_each(|sm| self.open.insert(sm));
    }

    fn sms(&self) -> usize {
        self.last_in.len() * self.cluster_sms
    }

    /// Offers a block to the SMs of a cluster in turn; `turn` is the cluster's own. Returns whether
    /// one took it.
    fn offer_cluster(
        &mut self,
        now: Cycle,
        cluster: usize,
        turn: usize,
        sms: &mut SmArray,
    ) -> bool {
        let size = self.cluster_sms;
        let base = self.last_in[cluster];
        for i in 0..size {
            let nth = (base + 1 + i) % size;
            let sm = cluster * size + nth;
            let turn = Turn {
                sm: SmId::new(sm),
                place: (turn * size + i) as u32,
            };
            if !self.open.contains(sm) {
                continue;
            }
            let offer = self.offer(now, &turn, sms.get(sm));
            match offer {
                Offer::Taken => {
                    sms.wake(sm, now);
                    self.last_in[cluster] = nth;
                    self.close_if_full(turn.sm, sms.get(sm));
                    return true;
                }
                Offer::Full => self.open.remove(sm),
                Offer::Later => {}
            }
        }
        false
    }

    /// Offers a block to an SM in its turn. One that the filter bars gets only what it is owed.
    fn offer(&mut self, now: Cycle, turn: &Turn, sm: &mut Sm) -> Offer {
        if self.sm_filter.allows(turn) {
            return self.give_block(now, turn.sm, sm);
        }
        let owed = self.block_policy.owed(turn.sm);
        match owed.filter(|_| !self.is_capped(turn.sm)) {
            Some(kernel) => match self.give_block_of(kernel.index(), now, turn.sm, sm) {
                Offer::Full => Offer::Later,
                offer => offer,
            },
            None => Offer::Later,
        }
    }

    /// Most blocks of a kernel on an SM, for the time being.
    #[inline]
    fn quota(&self, id: SmId, kernel: KernelSlot) -> u32 {
        let policy = &self.multiprogram;
        let bars = |held: &InFlight| {
            let other = held.image.slot;
            other != kernel && !policy.may_join(kernel, other) && held.has_blocks_on(id)
        };
        match self.in_flight().any(bars) {
            true => 0,
            false => policy.quota(id, kernel),
        }
    }

    /// Kernels that are asked after this one wait until its last block has started.
    #[inline]
    fn holds_up(&self, kernel: &InFlight, now: Cycle) -> bool {
        !self.multiprogram.overtakes() && kernel.has_waiting() && kernel.ready_at <= now
    }

    /// Starts one block on an SM if one fits: of the first kernel that has one, in the order that
    /// the multiprogramming policy chose.
    fn give_block(&mut self, now: Cycle, id: SmId, sm: &mut Sm) -> Offer {
        if self.is_capped(id) {
            return Offer::Full;
        }
        let mut offer = Offer::Full;
        let (first, kernels) = (self.multiprogram.first(id), self.slots.len());
        for i in 0..kernels {
            let turn = (first + i) % kernels;
            let slot = self.slots[turn];
            match self.give_block_of(slot, now, id, sm) {
                Offer::Taken => {
                    self.multiprogram.placed(id, turn);
                    self.let_others_go_on(slot);
                    return Offer::Taken;
                }
                Offer::Later => offer = Offer::Later,
                Offer::Full => {}
            }
            let kernel = self.kernels[slot].as_ref();
            if kernel.is_some_and(|kernel| self.holds_up(kernel, now)) {
                break;
            }
        }
        offer
    }

    /// A block of a kernel was taken: if that was the last, SMs may have room for those behind it.
    fn let_others_go_on(&mut self, slot: usize) {
        let kernel = self.kernels[slot].as_ref();
        if !self.multiprogram.overtakes() && kernel.is_some_and(|k| !k.has_waiting()) {
            self.open_all();
        }
    }

    /// Starts a block of one kernel.
    fn give_block_of(&mut self, slot: usize, now: Cycle, id: SmId, sm: &mut Sm) -> Offer {
        let quota = self.quota(id, KernelSlot::new(slot));
        let Some(k) = &mut self.kernels[slot] else {
            return Offer::Full;
        };
        if !k.fits(id, sm, quota) {
            self.fragmented +=
                u64::from(k.may_take(id, quota) && sm.is_fragmented(k.image.slot, &k.needs));
            return Offer::Full;
        }
        if k.ready_at > now {
            return Offer::Later;
        }
        k.fill_window(self.block_policy.look_ahead());
        if k.window.is_empty() {
            // A gap comes first.
            return Offer::Later;
        }
        let here = k.running[id.index()].len() as u32;
        let view = BlockQueueView {
            kernel: KernelSlot::new(slot),
            blocks_per_sm: k.most,
            room: sm.room(k.image.slot, &k.needs, k.most.min(quota) - here),
            waiting: k.window.make_contiguous(),
            running: &k.running,
            waiting_touches: k.window_touches.make_contiguous(),
            running_touches: &k.running_touches,
        };
        let Some(at) = self.block_policy.pick(id, &view) else {
            return Offer::Later;
        };
        let (rank, footprint) = k.take(now, at, id);
        k.started_at = k.started_at.or(Some(now));
        if let Some(timing) = &mut k.timing {
            timing.note_start(now);
        }
        let first_warp = sm.assign(now, KernelSlot::new(slot), rank, &k.needs);
        if self.ranges {
            let ranges = warp_ranges(k.touches.as_mut(), rank, footprint, k.needs.threads / 32);
            sm.set_ranges(first_warp, &ranges);
        }
        self.note_company(slot, id);
        Offer::Taken
    }

    /// Counts the block that a kernel has just started on an SM if it is there beside another
    /// process's.
    fn note_company(&mut self, slot: usize, id: SmId) {
        let process = self.kernels[slot].as_ref().map(|k| k.image.asid);
        let others = |k: &InFlight| Some(k.image.asid) != process && k.has_blocks_on(id);
        let joins = self.in_flight().any(others);
        if let Some(kernel) = &mut self.kernels[slot] {
            kernel.joined_blocks += u64::from(joins);
        }
    }

    /// SMs may have room that they had not: all of them, or one.
    pub fn reopen(&mut self, sm: Option<usize>) {
        match sm {
            Some(sm) => self.open.insert(sm),
            None => self.open_all(),
        }
    }

    /// Notes the end of a block.
    pub fn block_finished(&mut self, id: SmId, sm: &mut Sm, block: &FinishedBlock) {
        let kernel = self.kernels[block.kernel.index()]
            .as_mut()
            .expect("its kernel is in flight");
        kernel.leave(block.at + 1, block.rank, id);
        kernel.finished += 1;
        kernel.last_end = kernel.last_end.max(block.at + 1);
        sm.release(block.slot, &kernel.needs);
        self.open.insert(id.index());
    }
}
