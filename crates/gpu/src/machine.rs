//! The machine: one step after the other, with what must happen in between in a fixed order.

mod advance;
mod commit;
mod spell;

use crate::conservation::Ledger;
use crate::counters::{BankPart, DeviceCounters, PartCounters, SmPart};
use crate::dispatch::{Dispatcher, InFlight, KernelEnd, KernelLaunch};
use crate::footprints::{SliceCache, Touches};
use crate::memory::{Later, MemorySystem, Receive};
use crate::monitor::Monitor;
use crate::probe::{Part, Probe};
use crate::recorder::{Recorder, Recording};
use crate::sms::{Alone, SmArray};
use crate::stretches::Stretches;
use crate::watchdog::{Stuck, Watchdog};
use advance::Far;
use spell::Spell;
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot, SmId, each_member};
use warploom_config::{ContextPlan, GpuSpec, OccupancyLimit};
use warploom_exec::{DeviceMemory, Fault, FindingReport};
use warploom_mem::Reply;
use warploom_mem::cache::{Cache, CacheCounters};
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_policy::{Check, Decision, DeviceView, OwnPolicies, SmFilter};
use warploom_sm::{BlockNeeds, KernelContexts, KernelCounters, KernelImage, Sm, physical_base};
use warploom_stats::Counters;
use warploom_stats::trace::Trace;

/// Core cycles that one step may skip, so that a caller who watches progress sees some.
const MOST_SKIPPED: Cycle = 10_000;

/// Why the machine cannot go on.
#[derive(Debug)]
pub enum Stop {
    /// The simulated program did what no GPU allows.
    Fault(Box<Fault>),
    /// Nothing goes forward any more: what each warp waits for.
    Deadlock {
        /// Core cycle.
        at: Cycle,
        /// One line a warp.
        waits: Vec<String>,
        /// Blocks that have not started.
        waiting: u64,
    },
    /// Warps spin on what nobody left can change: lanes of one warp that wait for each other where
    /// those make no progress, or blocks that wait for blocks which have not started.
    Livelock {
        /// Core cycle.
        at: Cycle,
        /// One line a warp.
        waits: Vec<String>,
    },
}

/// What is left to do after the exchange.
#[derive(Clone, Copy, Default)]
struct Pending {
    stores: bool,
    fault: bool,
}

/// A GPU.
pub struct Gpu {
    spec: GpuSpec,
    now: Cycle,
    pub(crate) sms: SmArray,
    pub(crate) memory: MemorySystem,
    pub(crate) ledger: Ledger,
    dispatcher: Dispatcher,
    /// Address slices of the kernels launched so far.
    slices: SliceCache,
    ended: Vec<KernelEnd>,
    atomics_done: u64,
    watch: Watchdog,
    probe: Probe,
    recorder: Option<Recorder>,
    /// Where contexts are switched as the load allows.
    monitor: Option<Monitor>,
    /// SMs with stores to make visible, and the cycle of the oldest one.
    storing: Vec<(Cycle, usize)>,
    /// Where SMs are that run some cycles at a stretch.
    spell: Spell,
    /// A fault has been seen: the cycle in which the machine stops.
    stops_at: Option<Cycle>,
}

/// Replies that go to SMs at once, as no other thread runs any.
struct AtOnce<'a> {
    alone: Alone<'a>,
    ledger: &'a mut Ledger,
}

impl Receive for AtOnce<'_> {
    #[inline]
    fn receive(&mut self, sm: usize, at: Cycle, reply: &Reply) -> bool {
        self.ledger.answered(sm, reply);
        self.alone.reply(sm, at, reply);
        true
    }

    #[inline]
    fn untaken(&self, sm: usize) -> Option<u32> {
        Some(self.alone.untaken(sm))
    }
}

impl Gpu {
    /// A GPU of `spec` whose SMs are run by `threads` threads, noting in `probe` what it does.
    pub fn new(spec: GpuSpec, threads: usize, probe: Probe) -> Self {
        Self::with_policies(spec, threads, probe, &OwnPolicies::default())
    }

    /// The same, with the user's `own` policies in the place of those that `spec` names.
    pub fn with_policies(spec: GpuSpec, threads: usize, probe: Probe, own: &OwnPolicies) -> Self {
        let sms: Vec<_> = (0..spec.gpu.sms as usize)
            .map(|i| Sm::new(&spec, SmId::new(i), own))
            .collect();
        let memory = MemorySystem::new(&spec);
        Self {
            now: 0,
            ledger: Ledger::new(sms.len(), spec.partition.l2.sectored),
            sms: SmArray::new(sms, threads),
            dispatcher: Dispatcher::new(&spec, own),
            slices: SliceCache::default(),
            ended: Vec::new(),
            atomics_done: 0,
            watch: Watchdog::new(),
            probe,
            recorder: None,
            monitor: Monitor::of(&spec),
            storing: Vec::with_capacity(spec.gpu.sms as usize),
            spell: Spell::new(&spec, memory.most_apart()),
            memory,
            stops_at: None,
            spec,
        }
    }

    /// Its specification.
    pub fn spec(&self) -> &GpuSpec {
        &self.spec
    }

    /// Core cycle.
    #[inline]
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// A kernel can be launched.
    #[inline]
    pub fn has_free_slot(&self) -> bool {
        self.dispatcher.free_slot().is_some()
    }

    /// No kernel is in flight.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.dispatcher.in_flight().next().is_none()
    }

    /// Launches a kernel. Requires a free slot, and that at least one block fits an SM: the caller
    /// has checked with [`BlockNeeds::blocks_per_sm`].
    pub fn launch(&mut self, launch: KernelLaunch, device: &DeviceMemory) -> KernelSlot {
        self.check_leaks();
        let slot = self.dispatcher.free_slot().expect("a free slot");
        let slot = KernelSlot::new(slot);
        let blocks = launch.context.grid().count();
        let needs = self.needs(&launch);
        let (blocks_per_sm, limit) = needs.blocks_per_sm(blocks, &self.spec.sm, &self.spec.gpu);
        assert!(blocks_per_sm > 0, "not one block fits an SM: {needs:?}");
        let asid = launch.context.asid();
        let threads = launch.context.block().count() as u32;
        let touches = self.touches(&launch, device);
        let mut image = KernelImage::new(
            launch.context,
            launch.program,
            slot,
            asid,
            threads,
            launch.registers_per_thread,
            needs.shared_bytes,
            blocks_per_sm,
            &self.spec.sm,
            self.spec.gpu.style,
        );
        let plan = self.plan_contexts(&mut image, &needs, (blocks_per_sm, limit));
        let image = Arc::new(image);
        self.sms
            .for_each(|_, sm| sm.load_kernel(Arc::clone(&image)));
        let gpu = &self.spec.gpu;
        let delay =
            u64::from(gpu.kernel_launch_cycles) + blocks * u64::from(gpu.block_launch_cycles);
        let before = self.part_counters();
        let (own_before, caches_before) = self.counted_of(slot);
        let sms = self.sms.len();
        let occupancy = (blocks_per_sm, limit);
        let ready = self.now + delay;
        let mut kernel = InFlight::new(
            image, needs, occupancy, self.now, ready, blocks, sms, before, touches,
        );
        (kernel.own_before, kernel.caches_before) = (own_before, caches_before);
        kernel.plan = plan;
        self.dispatcher.put(slot.index(), kernel);
        slot
    }

    /// From now on only these blocks of a kernel are timed. Requires that none has started; between
    /// steps, whoever drives the machine executes each [`gap`](Self::gap) and passes it.
    pub fn time_only(&mut self, slot: KernelSlot, stretches: Stretches) {
        self.dispatcher.time_only(slot, stretches);
    }

    /// Blocks, by rank, that come next in a kernel and are not timed.
    #[inline]
    pub fn gap(&self) -> Option<(KernelSlot, Range<u64>)> {
        self.dispatcher.gap()
    }

    /// The gap of a kernel has been executed.
    pub fn pass_gap(&mut self, slot: KernelSlot) {
        self.dispatcher.pass_gap(slot);
    }

    /// Says how a kernel's contexts are switched, if they can be; the plan, where the machine
    /// switches.
    fn plan_contexts(
        &mut self,
        image: &mut KernelImage,
        needs: &BlockNeeds,
        fit: (u32, OccupancyLimit),
    ) -> Option<ContextPlan> {
        let rules = self.spec.sm.context.rules()?;
        let contexts = KernelContexts::new(fit, needs, &image.program, &rules, &self.spec);
        let plan = contexts.plan;
        if plan.bound > 0 {
            // Local memory has a place for each block.
            image.blocks_per_sm += plan.bound;
            image.contexts = Some(contexts);
            if let Some(monitor) = &mut self.monitor {
                monitor.begin(self.now, plan);
                self.sms.for_each(|_, sm| sm.set_extra_blocks(0));
            }
        }
        Some(plan)
    }

    /// What the launch's blocks touch, if a policy wants to know.
    fn touches(&mut self, launch: &KernelLaunch, device: &DeviceMemory) -> Option<Touches> {
        if !self.dispatcher.wants_touches() {
            return None;
        }
        let KernelLaunch {
            program, context, ..
        } = launch;
        self.slices.launch(program, context, &self.spec, device)
    }

    /// What one block of a launch takes of an SM.
    pub fn needs(&self, launch: &KernelLaunch) -> BlockNeeds {
        let threads = launch.context.block().count() as u32;
        let shared = launch.context.shared_bytes();
        BlockNeeds::new(threads, launch.registers_per_thread, shared, &self.spec.sm)
    }

    /// Marks the lines of a process's copy between host and device as present in L2, where the
    /// machine does so.
    pub fn note_copy(&mut self, asid: u8, addr: u64, bytes: u64) {
        if self.spec.gpu.copies_warm_l2 && bytes > 0 {
            self.memory.warm(physical_base(asid) + addr, bytes);
        }
    }

    /// Kernels that have ended since the last call, in the order of their ends.
    #[inline]
    pub fn take_ended(&mut self) -> Vec<KernelEnd> {
        std::mem::take(&mut self.ended)
    }

    /// Advances by one step, at most to cycle `limit`.
    pub fn step(&mut self, device: &mut DeviceMemory, limit: Cycle) -> Result<(), Stop> {
        let from = self.now;
        let to = self.step_end().min(limit);
        let view = self.device_view();
        self.probe.enter(Part::Dispatch);
        if self.dispatcher.is_update_due(from) {
            let Self {
                dispatcher,
                spec,
                sms,
                ..
            } = self;
            dispatcher.update(from, spec, sms);
        }
        self.dispatcher.dispatch(from, to, &mut self.sms, &view);
        let Self {
            memory,
            probe,
            ledger,
            sms,
            ..
        } = self;
        probe.enter(Part::Sms);
        sms.run(from, to, device, |alone| {
            probe.enter(Part::Memory);
            match alone {
                Some(alone) => memory.run(from, to, &mut AtOnce { alone, ledger }),
                None => memory.run(from, to, &mut Later),
            }
            probe.enter(Part::Sms);
        });
        self.now = to;
        self.probe.enter(Part::Exchange);
        let pending = self.exchange();
        self.probe.enter(Part::Commit);
        let result = self.settle(pending, device);
        self.probe.enter(Part::Outside);
        result
    }

    /// The end of the step that starts now. Steps in which nothing can happen are taken at once.
    fn step_end(&self) -> Cycle {
        let length = Cycle::from(self.spec.gpu.link_cycles.max(1));
        if !self.memory.is_idle() {
            return self.now + length;
        }
        let next = self
            .sms
            .next_wake()
            .min(self.dispatcher.next_offer(self.now));
        let idle = next.saturating_sub(self.now).min(MOST_SKIPPED) / length;
        // A window ends with the step that reaches its end.
        let due = self.recorder.as_ref().map_or(Cycle::MAX, Recorder::due);
        let due = due.min(self.stops_at.unwrap_or(Cycle::MAX));
        // So does the stretch that ends with a look of the multiprogramming policy.
        let due = due.min(self.dispatcher.next_check());
        let due = due.min(self.monitor.as_ref().map_or(Cycle::MAX, Monitor::due));
        let until_due = due.saturating_sub(self.now).div_ceil(length);
        self.now + length * idle.min(until_due).max(1)
    }

    /// What happens between steps once packets have crossed.
    fn settle(&mut self, pending: Pending, device: &mut DeviceMemory) -> Result<(), Stop> {
        self.commit(pending, device);
        self.end_step(pending.fault)
    }

    /// What happens between steps once stores are visible.
    fn end_step(&mut self, fault: bool) -> Result<(), Stop> {
        if fault && self.stops_at.is_none() {
            self.stops_at = Some(spell::stop_behind(self.now - 1));
        }
        if self.stops_at.is_some_and(|at| at <= self.now) {
            return Err(self.first_fault());
        }
        self.end_kernels();
        self.record();
        self.watch_load();
        self.check_progress()
    }

    /// The monitor's window may be over: another number of extra blocks from now on.
    fn watch_load(&mut self) {
        if self.monitor.as_ref().is_none_or(|m| m.due() > self.now) {
            return;
        }
        let counters = self.part_counters().sum();
        let Some(monitor) = &mut self.monitor else {
            return;
        };
        let Some(choice) = monitor.look(self.now, counters) else {
            return;
        };
        self.sms.for_each(|_, sm| {
            sm.set_extra_blocks(choice.extra);
            if choice.l1d {
                sm.empty_l1d();
            }
        });
        // An SM that sleeps has to empty its cache, and may take another block.
        for index in 0..self.sms.len() {
            self.sms.wake(index, self.now);
        }
        self.dispatcher.reopen(None);
    }

    fn device_view(&self) -> DeviceView {
        let (dram_full_stalls, reply_stalls) = self.memory.stalls();
        DeviceView {
            now: self.now,
            sms: self.spec.gpu.sms,
            dram_full_stalls,
            reply_stalls,
        }
    }

    /// Packets and credits cross the links; ended blocks are noted. SMs in order.
    fn exchange(&mut self) -> Pending {
        self.sms.end_step();
        let all = self.sms.flags();
        if all.finished() || all.gained_room() {
            self.note_blocks();
        }
        let now = self.now;
        let (sms, mut far) = self.far_end();
        if all.sent() {
            let Far { memory, ledger } = &mut far;
            sms.for_each_sent(|index, sent| {
                ledger.sent(index, &sent.request);
                memory.take(index, sent);
            });
        }
        far.memory
            .take_credits(|index, flits| sms.credit(index, now, flits));
        far.take_replies(|index, at, reply| sms.reply(index, at, reply));
        if let Some(waiting) = sms.waiting() {
            far.memory.end_exchange_of_all(waiting);
        }
        Pending {
            stores: all.stored(),
            fault: all.fault(),
        }
    }

    /// Blocks ended, or there is room for others.
    fn note_blocks(&mut self) {
        each_member!(self.sms.ran(), index => { self.note_blocks_of(index); });
    }

    /// The same on one SM, in the step that it ran last.
    fn note_blocks_of(&mut self, index: usize) {
        let Self {
            sms, dispatcher, ..
        } = self;
        let news = sms.news(index);
        if news.flags.finished() {
            let sm = sms.get(index);
            let mut finished = std::mem::take(&mut sm.finished);
            for block in finished.drain(..) {
                dispatcher.block_finished(SmId::new(index), sm, &block);
            }
            sm.finished = finished;
        }
        if news.flags.gained_room() {
            sms.get(index).gained_room = false;
            dispatcher.reopen(Some(index));
        }
    }

    /// The earliest fault, by cycle, then SM.
    fn first_fault(&mut self) -> Stop {
        let mut first: Option<(Cycle, Fault)> = None;
        self.sms.for_each(|_, sm| {
            if let Some((at, fault)) = sm.fault.take()
                && first.as_ref().is_none_or(|(earliest, _)| at < *earliest)
            {
                first = Some((at, fault));
            }
        });
        let (_, fault) = first.expect("an SM with a fault");
        Stop::Fault(Box::new(fault))
    }

    fn end_kernels(&mut self) {
        while let Some((slot, kernel)) = self.dispatcher.take_finished() {
            let slot = KernelSlot::new(slot);
            let end = self.kernel_end(slot, &kernel, kernel.last_end);
            self.ended.push(end);
            self.unload(slot);
            self.check_leaks();
        }
    }

    /// Ends a kernel where it is: what its warps have issued comes to its end, and then it ends
    /// like any other, as soon as nothing of it is outstanding.
    pub fn halt(&mut self, slot: KernelSlot) {
        self.dispatcher.halt(slot, self.now, &mut self.sms);
        self.end_kernels();
    }

    /// Thread instructions so far of the kernels in a slot.
    pub fn thread_instructions(&mut self, slot: KernelSlot) -> u64 {
        let mut sum = 0;
        let of = |sm: &Sm| sm.by_kernel[slot.index()].thread_instructions;
        self.sms.for_each(|_, sm| sum += of(sm));
        sum
    }

    /// The process whose launches come before others', if the multiprogramming policy has one.
    pub fn serves_first(&self) -> Option<u8> {
        self.dispatcher.serves_first()
    }

    /// What the multiprogramming policy has decided.
    pub fn decisions(&self) -> &[Decision] {
        self.dispatcher.decisions()
    }

    /// What was counted of the kernels in a slot: by all SMs, and of accesses by each SM and bank.
    fn counted_of(&mut self, slot: KernelSlot) -> (KernelCounters, Vec<CacheCounters>) {
        let mut own = KernelCounters::default();
        let mut caches = Vec::with_capacity(self.sms.len() + self.memory.partitions().len());
        self.sms.for_each(|_, sm| {
            own.add(&sm.by_kernel[slot.index()]);
            let l1d = sm.ldst.l1d.as_ref();
            caches.push(counters_of(l1d.map(|l1d| l1d.kernel_counters(slot))));
        });
        let banks = self.memory.partitions().iter();
        caches.extend(banks.map(|bank| counters_of(bank.kernel_counters(slot))));
        (own, caches)
    }

    /// What was counted of one kernel since its launch, and whole machine's counters where it ran
    /// alone.
    fn counted_since(
        &mut self,
        slot: KernelSlot,
        kernel: &InFlight,
        ended_at: Cycle,
    ) -> (KernelCounters, PartCounters) {
        let (own, caches) = self.counted_of(slot);
        let own = own.since(&kernel.own_before);
        if !kernel.shared {
            return (own, self.part_counters().since(&kernel.before));
        }
        let since = caches.iter().zip(&kernel.caches_before);
        let mut caches = since.map(|(now, before)| now.since(before));
        let mut counters = PartCounters::default();
        counters.device.cycles = ended_at - kernel.launched_at;
        counters.sms = caches
            .by_ref()
            .take(self.sms.len())
            .map(|l1d| SmPart {
                l1d,
                ..SmPart::default()
            })
            .collect();
        counters.banks = caches
            .map(|l2| BankPart {
                l2,
                ..BankPart::default()
            })
            .collect();
        if let Some(first) = counters.sms.first_mut() {
            first.sm.warp_instructions = own.warp_instructions;
            first.sm.thread_instructions = own.thread_instructions;
            first.sm.blocks_started = own.blocks_started;
            first.sm.blocks_finished = own.blocks_finished;
        }
        (own, counters)
    }

    fn kernel_end(&mut self, slot: KernelSlot, kernel: &InFlight, ended_at: Cycle) -> KernelEnd {
        let (own, counters) = self.counted_since(slot, kernel, ended_at);
        KernelEnd {
            slot,
            launched_at: kernel.launched_at,
            started_at: kernel.started_at.unwrap_or(kernel.launched_at),
            ended_at,
            blocks_per_sm: kernel.blocks_per_sm,
            limit: kernel.limit,
            shared_bytes: kernel.needs.shared_bytes,
            registers_per_thread: kernel.image.registers_per_thread,
            context_registers: kernel.image.program.context_registers(),
            contexts: kernel.plan,
            counters,
            shared: kernel.shared,
            own,
            held: kernel.held(ended_at),
            halted: kernel.halted,
            timing: kernel.timing.clone(),
        }
    }

    fn unload(&mut self, slot: KernelSlot) {
        let flush = self.spec.gpu.flush_l1_at_kernel_end;
        let mut all_idle = true;
        self.sms.for_each(|_, sm| {
            sm.unload_kernel(slot);
            all_idle &= sm.is_idle();
            if flush && sm.is_idle() {
                sm.flush_l1();
            }
        });
        if self.spec.gpu.flush_l2_at_kernel_end && all_idle {
            self.memory.flush_l2();
        }
    }

    /// What kernels in flight have come to, for a run that is cut here.
    pub fn cut_short(&mut self) -> Vec<KernelEnd> {
        let kernels = std::mem::take(&mut self.dispatcher.kernels);
        let ends = kernels.iter().enumerate().filter_map(|(slot, kernel)| {
            let kernel = kernel.as_ref()?;
            Some(self.kernel_end(KernelSlot::new(slot), kernel, self.now))
        });
        let ends = ends.collect();
        self.dispatcher.kernels = kernels;
        ends
    }

    /// Blocks that have ended, and all, of the kernels in flight.
    pub fn blocks_done(&self) -> (u64, u64) {
        let sum = |f: fn(&InFlight) -> u64| self.dispatcher.in_flight().map(f).sum();
        (sum(|k| k.finished), sum(|k| k.blocks))
    }

    /// Stops a run that cannot end.
    fn check_progress(&mut self) -> Result<(), Stop> {
        if !self.watch.is_due(self.now) {
            return Ok(());
        }
        // A policy may let nobody go before a kernel that is not ready yet.
        let busy_since = self.dispatcher.in_flight().map(|k| k.ready_at).max();
        let Some(stuck) = self.watch.look(self.now, busy_since, &mut self.sms) else {
            return Ok(());
        };
        let at = self.now;
        let mut waits = Vec::new();
        self.sms.for_each(|_, sm| sm.describe_waits(&mut waits));
        Err(match stuck {
            Stuck::Deadlock => {
                let waiting = self.dispatcher.in_flight().map(InFlight::waiting).sum();
                Stop::Deadlock { at, waits, waiting }
            }
            Stuck::Livelock => Stop::Livelock { at, waits },
        })
    }

    /// Suspicious things that the launches' checks found, SMs in order, each instruction and kind
    /// once.
    pub fn take_findings(&mut self) -> Vec<FindingReport> {
        let mut all: Vec<FindingReport> = Vec::new();
        self.sms.for_each(|_, sm| {
            for report in sm.findings.drain(..) {
                if !all.iter().any(|known| known.repeats(&report)) {
                    all.push(report);
                }
            }
        });
        all
    }

    /// Everything counted so far, by part.
    pub fn part_counters(&mut self) -> PartCounters {
        let mut sms = Vec::with_capacity(self.sms.len());
        let now = self.now;
        self.sms.for_each(|_, sm| {
            sm.settle(now);
            sms.push(SmPart {
                sm: sm.counters.clone(),
                policy: sm.policy_counters(),
                context: sm.context_counters(),
                l1d: counters_of(sm.ldst.l1d.as_ref().map(Cache::counters)),
                l1i: sm.front.l1i.counters().clone(),
                l1c: sm.ldst.l1c.counters().clone(),
                l1t: sm.ldst.l1t.counters().clone(),
                detail: sm.detail.clone(),
            });
        });
        let bank = |p: &SubPartition| BankPart {
            partition: p.counters(),
            l2: counters_of(p.l2_counters()),
        };
        let (requests, replies) = self.memory.networks();
        let (dram_full_stalls, reply_stalls) = self.memory.stalls();
        PartCounters {
            device: DeviceCounters {
                cycles: self.now,
                dram_full_stalls,
                reply_stalls,
                arrival_cycles: self.memory.arrival_cycles,
                atomics: self.atomics_done,
                blocks_reordered: self.dispatcher.blocks_reordered(),
                fragmented_blocks: self.dispatcher.fragmented(),
            },
            filter: self.dispatcher.sm_filter.counters(),
            sms,
            banks: self.memory.partitions().iter().map(bank).collect(),
            channels: self
                .memory
                .channels()
                .iter()
                .map(DramChannel::counters)
                .collect(),
            channel_details: self
                .memory
                .channels()
                .iter()
                .map(DramChannel::detail)
                .collect(),
            network_details: [*requests.detail(), *replies.detail()],
            requests: *requests.counters(),
            replies: *replies.counters(),
        }
    }

    /// What the SM filter saw and chose at each of its looks at the machine.
    pub fn sm_filter_checks(&self) -> &[Check] {
        self.dispatcher.sm_filter.trace()
    }

    /// Records what is counted in windows of `cycles` core cycles from now on, by part too if
    /// `parts` is set. Looked at between steps, so that it costs a comparison a step and a copy of
    /// the counters a window, and is the same for any number of threads.
    pub fn record_windows(&mut self, cycles: Cycle, parts: bool) {
        self.recorder = Some(Recorder::new(cycles, parts));
    }

    /// The windows recorded, the last one cut off here.
    pub fn take_windows(&mut self) -> Option<Recording> {
        let mut recorder = self.recorder.take()?;
        recorder.close(self.now, &self.part_counters());
        Some(recorder.finish())
    }

    /// Notes from now on what warps do.
    pub fn record_trace(&mut self) {
        self.sms.for_each(|_, sm| sm.record_trace());
    }

    /// The timeline so far, SMs in order.
    pub fn take_trace(&mut self) -> Trace {
        let mut trace = Trace {
            end: self.now,
            ..Trace::default()
        };
        self.sms
            .for_each(|_, sm| trace.events.extend(sm.take_trace()));
        trace
    }

    fn record(&mut self) {
        if let Some(mut recorder) = self.recorder.take_if(|r| r.due() <= self.now) {
            recorder.close(self.now, &self.part_counters());
            self.recorder = Some(recorder);
        }
    }
}

fn counters_of(counters: Option<&CacheCounters>) -> CacheCounters {
    counters.cloned().unwrap_or_default()
}
