//! The machine: launches, ends of kernels, and everything that examines it as a whole. `host` runs
//! its cycles.

mod counting;
mod leaks;
mod saved;

use crate::conservation::Ledger;
use crate::counters::MachineCounters;
use crate::dispatch::{Dispatcher, InFlight, KernelEnd, KernelLaunch};
use crate::footprints::{SliceCache, Touches};
use crate::host::sms::SmArray;
use crate::host::window::Window;
use crate::memory::MemorySystem;
use crate::observer::{LaunchedKernel, MachineObserver, MachineView};
use crate::observers::Observers;
use crate::peer_messages::PeerMessages;
use crate::probe::Probe;
use crate::recorder::{Recorder, Recording};
use crate::stretches::Stretches;
use crate::watchdog::{Stuck, Watchdog};
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{Cycle, KernelSlot, SmId};
use warploom_config::{ContextPlan, GpuSpec, OccupancyLimit};
use warploom_exec::{DeviceMemory, Fault, FindingReport, Lookahead};
use warploom_policy::{
    Check, ContextDecision, CustomPolicies, Decision, DeviceView, SmFilter, ThroughputMonitor,
};
use warploom_sm::{BlockNeeds, KernelContexts, PreparedKernel, Sm, physical_base};
use warploom_stats::result::Counts;
use warploom_stats::trace::Trace;

/// Reason why the machine cannot go on.
#[derive(Debug)]
pub enum Stop {
    /// The simulated program did something that no GPU allows.
    Fault(Box<Fault>),
    /// No warp can ever go on.
    Deadlock {
        /// Core cycle of the report.
        at: Cycle,
        /// Reason why each warp waits, one line for each.
        waits: Vec<String>,
        /// Number of blocks that have not started.
        waiting: u64,
    },
    /// Warps spin on a condition that nothing can change any more: lanes of one warp wait for each
    /// other where these make no progress, or blocks wait for blocks that have not started.
    Livelock {
        /// Core cycle of the report.
        at: Cycle,
        /// State of each warp, one line for each.
        waits: Vec<String>,
    },
}

/// The simulated GPU, with everything that follows it.
pub struct Gpu {
    pub(crate) spec: GpuSpec,
    pub(crate) now: Cycle,
    pub(crate) sms: SmArray,
    pub(crate) memory: MemorySystem,
    pub(crate) ledger: Ledger,
    pub(crate) dispatcher: Dispatcher,
    /// Messages between blocks of clusters.
    pub(crate) peers: PeerMessages,
    /// Address slices of the kernels launched so far.
    slices: SliceCache,
    pub(crate) ended: Vec<KernelEnd>,
    pub(crate) atomics_done: u64,
    pub(crate) watch: Watchdog,
    pub(crate) probe: Probe,
    pub(crate) observers: Observers,
    /// By kernel slot: monitor that decides about the kernel's extra blocks. Empty where contexts
    /// are not switched, and where the number is fixed.
    monitors: Vec<ThroughputMonitor>,
    /// SMs with stores that are not visible, and the cycle of the oldest one.
    pub(crate) storing: Vec<(Cycle, usize)>,
    /// How far the parts of the machine have come in a window.
    pub(crate) window: Window,
    /// Cycle in which the machine stops, after a fault.
    pub(crate) stops_at: Option<Cycle>,
    /// True if kernels are counted by part.
    counts_parts: bool,
    /// Counters of the machine at the end of the last kernel, with the cycle.
    counted_at_end: Option<(Cycle, Box<MachineCounters>)>,
}

impl Gpu {
    /// A GPU of `spec` whose SMs are run by `threads` threads. It notes in `probe` what it does.
    pub fn new(spec: GpuSpec, threads: usize, probe: Probe) -> Self {
        Self::with_policies(spec, threads, probe, &CustomPolicies::default())
    }

    /// `new` with the user's `own` policies in the place of those that `spec` names.
    pub fn with_policies(
        spec: GpuSpec,
        threads: usize,
        probe: Probe,
        own: &CustomPolicies,
    ) -> Self {
        let sms: Vec<_> = (0..spec.gpu.sms as usize)
            .map(|i| Sm::new(&spec, SmId::new(i), own))
            .collect();
        let memory = MemorySystem::new(&spec);
        Self {
            now: 0,
            ledger: Ledger::new(sms.len(), spec.partition.l2.sectored),
            sms: SmArray::new(sms, threads),
            dispatcher: Dispatcher::new(&spec, own),
            peers: PeerMessages::new((spec.sm.cluster_latency_cycles / 2).into()),
            slices: SliceCache::default(),
            ended: Vec::new(),
            atomics_done: 0,
            watch: Watchdog::new(),
            probe,
            observers: Observers::default(),
            monitors: monitors(&spec),
            storing: Vec::with_capacity(spec.gpu.sms as usize),
            window: Window::new(&spec, memory.max_lead()),
            memory,
            stops_at: None,
            counts_parts: false,
            counted_at_end: None,
            spec,
        }
    }

    /// Specification of the machine.
    pub fn spec(&self) -> &GpuSpec {
        &self.spec
    }

    /// Core cycle that comes next.
    #[inline]
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// True if a kernel can be launched.
    #[inline]
    pub fn has_free_slot(&self) -> bool {
        self.dispatcher.free_slot().is_some()
    }

    /// True if no kernel is in flight.
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
        self.launch_into(slot, launch, device);
        slot
    }

    /// Launches a kernel into a free slot.
    fn launch_into(&mut self, slot: KernelSlot, launch: KernelLaunch, device: &DeviceMemory) {
        let blocks = launch.context.grid().count();
        let needs = self.needs(&launch);
        let spread = launch.context.spread_blocks();
        let (blocks_per_sm, limit) = needs.blocks_per_sm(spread, &self.spec.sm, &self.spec.gpu);
        assert!(blocks_per_sm > 0, "not one block fits an SM: {needs:?}");
        let asid = launch.context.asid();
        let threads = launch.context.block().count() as u32;
        let touches = self.touches(&launch, device);
        let mut image = PreparedKernel::new(
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
        self.observers.kernel_launched(&LaunchedKernel {
            at: self.now,
            slot,
            process: asid,
            program: &image.program,
            blocks,
            block_threads: threads,
            blocks_per_sm,
        });
        self.sms
            .for_each(|_, sm| sm.load_kernel(Arc::clone(&image)));
        let gpu = &self.spec.gpu;
        let delay =
            u64::from(gpu.kernel_launch_cycles) + blocks * u64::from(gpu.block_launch_cycles);
        let before = self.counts_before(slot);
        let sms = self.sms.len();
        let occupancy = (blocks_per_sm, limit);
        let ready = self.now + delay;
        let mut kernel = Box::new(InFlight::new(
            image, needs, occupancy, self.now, ready, blocks, sms, before, touches,
        ));
        kernel.plan = plan;
        if kernel.image.launch.fetches_texels() && self.memory.textures_skip_delay(&self.spec) {
            kernel.lookahead = Lookahead::Never;
        }
        self.dispatcher.put(slot.index(), kernel);
    }

    /// Restricts timing to some blocks of a kernel. Requires that none of its blocks has started.
    /// Between steps, the caller executes each [`gap`](Self::gap) and passes it.
    pub fn time_only(&mut self, slot: KernelSlot, stretches: Stretches) {
        self.dispatcher.time_only(slot, stretches);
    }

    /// Stops timing further blocks of a kernel that has come to a [`gap`](Self::gap): all of them
    /// are the gap.
    pub fn time_no_more(&mut self, slot: KernelSlot) {
        self.dispatcher.time_no_more(slot);
    }

    /// Ranks of the blocks that come next in a kernel and are not timed; none of them where the
    /// caller is only to look at the machine ([`Stretches::look`]).
    #[inline]
    pub fn gap(&self) -> Option<(KernelSlot, Range<u64>)> {
        self.dispatcher.gap()
    }

    /// Notes that the gap of a kernel has been executed.
    pub fn pass_gap(&mut self, slot: KernelSlot) {
        self.dispatcher.pass_gap(slot);
    }

    /// Plans how a kernel's contexts are switched. Returns the plan where the machine switches
    /// contexts.
    fn plan_contexts(
        &mut self,
        image: &mut PreparedKernel,
        needs: &BlockNeeds,
        fit: (u32, OccupancyLimit),
    ) -> Option<ContextPlan> {
        let rules = self.spec.sm.context.rules()?;
        if image.launch.cluster().are_several() {
            // All blocks of a cluster have to be present.
            return None;
        }
        let contexts = KernelContexts::new(fit, needs, &image.program, &rules, &self.spec);
        let plan = contexts.plan;
        if plan.bound > 0 {
            // Each block has local memory of its own.
            image.blocks_per_sm = plan.native + plan.bound;
            image.contexts = Some(contexts);
            let slot = image.slot;
            if let Some(monitor) = self.monitors.get_mut(slot.index()) {
                monitor.begin(self.now, plan);
                self.sms.for_each(|_, sm| sm.set_extra_blocks(slot, 0));
                // The steps back to 0 belong to no kernel.
                self.counted_at_end = None;
            }
        }
        Some(plan)
    }

    /// Memory that the launch's blocks access, if a policy uses it.
    fn touches(&mut self, launch: &KernelLaunch, device: &DeviceMemory) -> Option<Touches> {
        if !self.dispatcher.wants_touches() {
            return None;
        }
        let KernelLaunch {
            program, context, ..
        } = launch;
        self.slices.launch(program, context, &self.spec, device)
    }

    /// Resources of an SM that a block of a launch takes.
    pub fn needs(&self, launch: &KernelLaunch) -> BlockNeeds {
        let threads = launch.context.block().count() as u32;
        let shared = launch.context.shared_bytes();
        BlockNeeds::new(threads, launch.registers_per_thread, shared, &self.spec.sm)
    }

    /// Marks the lines of a process's copy between host and device as present in L2, if
    /// `gpu.copies_warm_l2` is set.
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

    /// First cycle in which a monitor of context switching wants to see the counters.
    pub(crate) fn next_load_check(&self) -> Cycle {
        let checks = self.monitors.iter().map(ThroughputMonitor::next_check);
        checks.min().unwrap_or(Cycle::MAX)
    }

    /// Shows the counters to the monitors of context switching that want to see them, and changes
    /// the numbers of extra blocks as they decide.
    pub(crate) fn watch_load(&mut self) {
        if self.next_load_check() > self.now {
            return;
        }
        let counts: Counts = self.machine_counters().named().into_iter().collect();
        for slot in 0..self.monitors.len() {
            let monitor = &mut self.monitors[slot];
            if monitor.next_check() <= self.now
                && let Some(decision) = monitor.check(self.now, counts.clone())
            {
                self.set_extra_blocks(KernelSlot::new(slot), decision);
            }
        }
    }

    /// Changes the number of a kernel's extra blocks, and begins to empty L1D where the kernel has
    /// the SM to itself.
    fn set_extra_blocks(&mut self, slot: KernelSlot, decision: ContextDecision) {
        let dispatcher = &self.dispatcher;
        self.sms.for_each(|id, sm| {
            sm.set_extra_blocks(slot, decision.extra_blocks);
            if decision.l1d_holds_contexts && dispatcher.is_alone(SmId::new(id), slot) {
                sm.empty_l1d();
            }
        });
        // A sleeping SM has to empty its cache, and may take another block.
        for index in 0..self.sms.len() {
            self.sms.wake(index, self.now);
        }
        self.dispatcher.reopen(None);
    }

    pub(crate) fn device_view(&self) -> DeviceView {
        let (dram_full_stalls, reply_stalls) = self.memory.stalls();
        DeviceView {
            now: self.now,
            sms: self.spec.gpu.sms,
            dram_full_stalls,
            reply_stalls,
        }
    }

    /// The earliest fault so far, by cycle, then SM, which a later step reports. A caller that ends
    /// the run before needs it.
    pub fn fault(&mut self) -> Option<Stop> {
        self.stops_at.is_some().then(|| self.first_fault())
    }

    /// The earliest fault, by cycle, then SM.
    pub(crate) fn first_fault(&mut self) -> Stop {
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

    pub(crate) fn end_kernels(&mut self) {
        while let Some((slot, kernel)) = self.dispatcher.take_finished() {
            let slot = KernelSlot::new(slot);
            let end = self.kernel_end(slot, &kernel, kernel.last_end);
            self.observers.kernel_ended(&end);
            self.ended.push(end);
            self.peers.forget(slot);
            self.unload(slot);
            self.check_leaks();
        }
    }

    /// Halts a kernel: its warps issue nothing more, and it ends like any other kernel as soon as
    /// nothing of it is outstanding.
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

    /// Warp instructions so far of the kernels in a slot.
    pub fn warp_instructions(&mut self, slot: KernelSlot) -> u64 {
        let mut sum = 0;
        let of = |sm: &Sm| sm.by_kernel[slot.index()].warp_instructions;
        self.sms.for_each(|_, sm| sum += of(sm));
        sum
    }

    /// The process whose launches come before others', if the multiprogramming policy has one.
    pub fn serves_first(&self) -> Option<u8> {
        self.dispatcher.serves_first()
    }

    /// Decisions of the multiprogramming policy so far.
    pub fn decisions(&self) -> &[Decision] {
        self.dispatcher.decisions()
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

    /// Figures of the kernels in flight, for a run that is cut short.
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

    /// Number of blocks that have ended, and of all blocks, of the kernels in flight.
    pub fn blocks_done(&self) -> (u64, u64) {
        let sum = |f: fn(&InFlight) -> u64| self.dispatcher.in_flight().map(f).sum();
        (sum(|k| k.finished), sum(|k| k.blocks))
    }

    /// Places of all unfinished warps, and what they wait for: a line for each.
    pub fn describe_waits(&mut self) -> Vec<String> {
        let mut waits = Vec::new();
        self.sms.for_each(|_, sm| sm.describe_waits(&mut waits));
        waits
    }

    /// Stops a run that can never end.
    pub(crate) fn check_progress(&mut self) -> Result<(), Stop> {
        if !self.watch.is_due(self.now) {
            return Ok(());
        }
        // A policy may let no kernel start before one that is not ready yet.
        let busy_since = self.dispatcher.in_flight().map(|k| k.ready_at).max();
        let Some(stuck) = self.watch.look(self.now, busy_since, &mut self.sms) else {
            return Ok(());
        };
        let at = self.now;
        let waits = self.describe_waits();
        Err(match stuck {
            Stuck::Deadlock => {
                let waiting = self.dispatcher.in_flight().map(InFlight::waiting).sum();
                Stop::Deadlock { at, waits, waiting }
            }
            Stuck::Livelock => Stop::Livelock { at, waits },
        })
    }

    /// Findings of the launches' checks, in the order of SMs. Each instruction and kind appears
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

    /// Looks of the SM filter at the machine, and its choices.
    pub fn sm_filter_checks(&self) -> &[Check] {
        self.dispatcher.sm_filter.trace()
    }

    /// Counts kernels that are launched from now on by part too ([`KernelEnd::parts`]).
    pub fn count_parts(&mut self) {
        self.counts_parts = true;
    }

    /// Records the counters in windows of `cycles` core cycles from now on, by part too if `parts`
    /// is set. With `most`, fewer windows than that are kept: whenever there are as many, each two
    /// are joined, and later ones are twice as long.
    pub fn record_windows(&mut self, cycles: Cycle, parts: bool, most: Option<usize>) {
        let most = most.unwrap_or(usize::MAX - 1);
        self.observers.record(Recorder::new(cycles, parts, most));
    }

    /// Lets an observer follow the run from now on.
    pub fn observe(&mut self, observer: Box<dyn MachineObserver>) {
        self.observers.add(observer);
    }

    /// Tells all observers that the run is over, and drops them. Returns the windows that were
    /// recorded, if any were; the last one ends here.
    pub fn end_observation(&mut self) -> Option<Recording> {
        if self.observers.is_empty() {
            return None;
        }
        let counters = self.part_counters();
        let view = MachineView {
            now: self.now,
            spec: &self.spec,
            counters: &counters,
        };
        self.observers.finish(&view)
    }

    /// Records the activities of warps from now on.
    pub fn record_trace(&mut self) {
        self.sms.for_each(|_, sm| sm.record_trace());
    }

    /// The timeline so far, in the order of SMs.
    pub fn take_trace(&mut self) -> Trace {
        let mut trace = Trace {
            end: self.now,
            ..Trace::default()
        };
        self.sms
            .for_each(|_, sm| trace.events.extend(sm.take_trace()));
        trace
    }

    /// Shows the counters to the observers that want to see them now.
    pub(crate) fn show_to_observers(&mut self) {
        if self.observers.next_sample() > self.now {
            return;
        }
        let counters = self.part_counters();
        self.observers.sample(&MachineView {
            now: self.now,
            spec: &self.spec,
            counters: &counters,
        });
    }
}

/// The monitors of context switching, one for each kernel that may be in flight.
fn monitors(spec: &GpuSpec) -> Vec<ThroughputMonitor> {
    let one = ThroughputMonitor::new(spec, warploom_noc::sustainable);
    one.map_or_else(Vec::new, |one| {
        vec![one; spec.gpu.max_concurrent_kernels as usize]
    })
}
