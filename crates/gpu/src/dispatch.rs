//! Kernels in flight, and the chain of decisions that gives their blocks to SMs. The links are
//! independent, so that systems combine; a block starts where all of them agree:
//!
//! | link | decided by | in |
//! |---|---|---|
//! | SM filter | `gpu.sm_filter`, which sees counters of stalls | `offer` |
//! | cap on blocks of an SM | `gpu.max_blocks_per_sm`, and `sm.block_limit` | `give_block` |
//! | kernel choice | `gpu.multiprogram`: which kernels in which order, up to how many blocks |
//! `give_block` |
//! | resources | the resources that are left in the SM | `fits` |
//! | block choice | `gpu.block_scheduler` | `give_block_of` |
//!
//! A cluster of SMs gets at most one block in a cycle. Such clusters take turns, and so do the SMs
//! of one (docs/model/machine.md, Block dispatch). Clusters of several blocks are given out in
//! `clusters`.

mod block_times;
mod clusters;
mod gpcs;
mod in_flight;
mod launch;
mod offer;
mod windows;

use gpcs::Gpcs;
pub(crate) use in_flight::{CountsBefore, InFlight};
pub use launch::{Held, KernelEnd, KernelLaunch};

use crate::host::sms::SmArray;
use crate::stretches::{Stretches, Timing};
use std::ops::Range;
use warploom_base::{BitSet, Cycle, KernelSlot, SmId};
use warploom_config::GpuSpec;
use warploom_policy::{
    BlockLimit, BlockLimitCounters, BlockLimitPolicy, BlockPolicy, BlockScheduler, CustomPolicies,
    Decision, EndedBlock, KernelView, Multiprogram, MultiprogramPolicy, MultiprogramView, NO_LIMIT,
    SmFilterPolicy, SmSample, WarpScheduler,
};
use warploom_sm::{BlockNeeds, FinishedBlock, PreparedKernel, SlotSums, Sm};
use warploom_state::{Io, State, StateError, each};

/// The block dispatcher of the machine.
#[derive(State)]
pub(crate) struct Dispatcher {
    /// Kernels in flight, by kernel slot.
    #[state(with = "state_of_kernels")]
    pub kernels: Vec<Option<Box<InFlight>>>,
    pub sm_filter: SmFilterPolicy,
    block_policy: BlockPolicy,
    multiprogram: MultiprogramPolicy,
    /// Quotas of instructions that SMs have, by kernel slot.
    issue_quotas: Vec<u64>,
    block_limit: BlockLimitPolicy,
    /// True if a cooperative kernel is in flight, all of whose blocks have to be resident at once.
    is_cooperative: bool,
    /// True if kernels came or went since the policy was updated.
    changed: bool,
    /// Names of the codes launched: process, kernel, registers of a thread, needs of a block.
    codes: Vec<(u8, String, u32, BlockNeeds)>,
    /// Number of times that an SM had enough for a block, but not in one piece.
    fragmented: u64,
    /// True if the warp schedulers use access ranges.
    #[state(fixed)]
    ranges: bool,
    /// True if the machine switches contexts.
    #[state(fixed)]
    switches: bool,
    /// Most blocks on an SM.
    #[state(fixed)]
    cap: Option<u32>,
    /// Cluster that took a block last.
    last_cluster: usize,
    /// By cluster: which of its SMs took a block last.
    last_in: Vec<usize>,
    /// SMs that may have room for a block. A full SM is not asked again before a block ends there
    /// or a kernel is launched.
    open: BitSet,
    /// Number of SMs of a cluster.
    cluster_sms: usize,
    /// Slots of the kernels in flight, in order of launch.
    slots: Vec<usize>,
    /// GPCs, which take clusters of several blocks.
    gpcs: Gpcs,
    /// True if a kernel with clusters of several blocks is in flight.
    pub has_clusters: bool,
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
            issue_quotas: Vec::new(),
            block_limit: policies.block_limit_policy(spec),
            is_cooperative: false,
            changed: false,
            codes: Vec::new(),
            fragmented: 0,
            ranges: policies.warp_policy(spec).wants_ranges(),
            switches: spec.sm.context.rules().is_some(),
            cap: spec.gpu.max_blocks_per_sm,
            last_cluster: sms / cluster - 1,
            last_in: vec![cluster - 1; sms / cluster],
            open: BitSet::new(sms),
            cluster_sms: cluster,
            slots: Vec::new(),
            gpcs: Gpcs::new(&spec.gpu),
            has_clusters: false,
        }
    }

    /// True if a policy uses the memory that blocks access.
    pub fn wants_touches(&self) -> bool {
        self.ranges || self.block_policy.wants_footprints()
    }

    /// Number of blocks so far that were not the oldest of their kernel.
    pub fn blocks_reordered(&self) -> u64 {
        self.block_policy.reordered()
    }

    /// Kernels in flight, in order of launch.
    #[inline]
    pub fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.slots
            .iter()
            .filter_map(|slot| self.kernels[*slot].as_deref())
    }

    /// A slot without a kernel.
    pub fn free_slot(&self) -> Option<usize> {
        self.kernels.iter().position(Option::is_none)
    }

    /// Puts a kernel into a free slot.
    pub fn put(&mut self, slot: usize, mut kernel: Box<InFlight>) {
        debug_assert!(self.kernels[slot].is_none(), "kernel slot {slot} is taken");
        kernel.code = self.code_of(&kernel.image, kernel.needs);
        for other in self.kernels.iter_mut().flatten() {
            other.shared = true;
            kernel.shared = true;
        }
        self.changed = true;
        self.kernels[slot] = Some(kernel);
        self.slots.push(slot);
        self.find_clusters();
        self.open_all();
    }

    /// Takes out a kernel whose blocks have all ended.
    #[inline]
    pub fn take_finished(&mut self) -> Option<(usize, Box<InFlight>)> {
        let ended = |slot: &usize| {
            self.kernels[*slot]
                .as_deref()
                .is_some_and(InFlight::is_finished)
        };
        let at = self.slots.iter().position(ended)?;
        let slot = self.slots.remove(at);
        self.changed = true;
        self.find_clusters();
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
            // Cycles through which it slept were before the halt.
            sm.count_to(now);
            for block in sm.halt_kernel(slot) {
                self.block_finished(SmId::new(index), sm, &block);
            }
            sms.wake(index, now);
        }
    }

    /// Restricts the blocks of a kernel that are given to SMs. Requires that none has started.
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

    /// Notes that the blocks of a kernel's gap have been executed.
    pub fn pass_gap(&mut self, slot: KernelSlot) {
        if let Some(kernel) = &mut self.kernels[slot.index()] {
            kernel.pass_gap();
        }
        self.open_all();
    }

    /// Stops timing further blocks of a kernel, which has come to a gap.
    pub fn time_no_more(&mut self, slot: KernelSlot) {
        if let Some(kernel) = &mut self.kernels[slot.index()] {
            kernel.time_no_more();
        }
    }

    /// True if the multiprogramming policy or the block limit is to be updated in this cycle.
    #[inline]
    pub fn is_update_due(&self, now: Cycle) -> bool {
        self.changed || now >= self.next_check()
    }

    /// Updates the multiprogramming policy and the block limit, because kernels came or went or a
    /// check is due.
    pub fn update(&mut self, now: Cycle, spec: &GpuSpec, sms: &mut SmArray) {
        let changed = std::mem::take(&mut self.changed);
        let is_cooperative = |kernel: &InFlight| kernel.image.launch.is_cooperative();
        let any_cooperative = self.in_flight().any(is_cooperative);
        self.is_cooperative = any_cooperative;
        let multiprogram = changed || now >= self.multiprogram.next_check();
        let block_limit = changed || now >= self.block_limit.next_check();
        let wanted = multiprogram && self.multiprogram.wants_samples()
            || block_limit && self.block_limit.wants_samples();
        let samples = match wanted {
            true => self.samples(now, sms),
            false => Vec::new(),
        };
        let running = self.in_flight().filter(|kernel| !kernel.halted);
        let kernels: Vec<KernelView> = running.map(InFlight::view).collect();
        let view = MultiprogramView {
            now,
            spec,
            kernels: &kernels,
            sms: &samples,
        };
        if multiprogram {
            self.multiprogram.update(&view);
            self.pass_issue_quotas(sms);
        }
        if block_limit {
            self.block_limit.update(&view);
            self.pause_blocks(sms);
        }
        self.open_all();
    }

    /// Most blocks of a kernel that an SM is to take.
    #[inline]
    fn limit_of(&self, id: SmId, kernel: KernelSlot) -> u32 {
        if self.is_cooperative {
            NO_LIMIT
        } else {
            self.block_limit.limit_of(id, kernel)
        }
    }

    /// Lets SMs that hold more blocks than their limit pause the youngest ones.
    fn pause_blocks(&self, sms: &mut SmArray) {
        if self.block_limit.pauses() {
            sms.for_each(|index, sm| sm.run_blocks(self.limit(SmId::new(index))));
        }
    }

    /// Tells the SMs of changed quotas of instructions.
    fn pass_issue_quotas(&mut self, sms: &mut SmArray) {
        let quotas = self.multiprogram.issue_quotas();
        if quotas != self.issue_quotas {
            self.issue_quotas = quotas.to_vec();
            sms.for_each(|_, sm| sm.set_issue_quotas(&self.issue_quotas));
        }
    }

    /// Most blocks of all kernels that an SM is to run.
    #[inline]
    fn limit(&self, id: SmId) -> u32 {
        if self.is_cooperative {
            NO_LIMIT
        } else {
            self.block_limit.limit(id)
        }
    }

    fn samples(&self, now: Cycle, sms: &mut SmArray) -> Vec<SmSample> {
        let mut samples = Vec::with_capacity(sms.len());
        sms.for_each(|index, sm| {
            sm.count_to(now);
            let blocks = |kernel: &Option<Box<InFlight>>| {
                let running = kernel.as_ref().map(|k| k.running[index].len() as u32);
                running.unwrap_or(0)
            };
            let slots = SlotSums::new(&sm.counters.slots);
            samples.push(SmSample {
                instructions: sm.by_kernel.iter().map(|k| k.warp_instructions).collect(),
                blocks: self.kernels.iter().map(blocks).collect(),
                slots: slots.all,
                stalled_slots: slots.stalled,
                idle_slots: slots.idle - sm.counters.inactive_slots,
                memory_slots: slots.memory,
                flits_received: sm.counters.flits_received,
                warps: sm.warp_counts(),
            });
        });
        samples
    }

    /// The first cycle in which the multiprogramming policy or the block limit wants to be updated.
    pub fn next_check(&self) -> Cycle {
        let limit = self.block_limit.next_check();
        self.multiprogram.next_check().min(limit)
    }

    /// Counters of the block limit so far.
    pub fn block_limit_counters(&self) -> BlockLimitCounters {
        self.block_limit.counters()
    }

    /// Updates the policies in the next cycle, as after the launch of a kernel.
    pub fn begin_policies(&mut self) {
        self.changed = true;
        self.open_all();
    }

    /// The process whose launches come before others', if the multiprogramming policy has one.
    pub fn serves_first(&self) -> Option<u8> {
        self.multiprogram.serves_first()
    }

    /// Decisions of the multiprogramming policy so far.
    pub fn decisions(&self) -> &[Decision] {
        self.multiprogram.decisions()
    }

    /// Number of times so far that an SM had enough for a block, but not in one piece.
    pub fn fragmented(&self) -> u64 {
        self.fragmented
    }

    /// Notes that any SM may have room for a block.
    fn open_all(&mut self) {
        (0..self.sms()).for_each(|sm| self.open.insert(sm));
    }

    fn sms(&self) -> usize {
        self.last_in.len() * self.cluster_sms
    }

    /// SMs that would take the first blocks of a grid of `blocks` blocks on the idle machine, one
    /// each, in order.
    pub fn next_sms(&self, blocks: u64) -> Vec<usize> {
        let mut turns = (self.last_cluster, self.last_in.clone());
        let count = blocks.min(self.sms() as u64);
        (0..count).map(|_| self.next_sm(&mut turns)).collect()
    }

    /// The SM whose turn it is after the given last cluster and last SMs of clusters.
    fn next_sm(&self, (cluster, last_in): &mut (usize, Vec<usize>)) -> usize {
        *cluster = (*cluster + 1) % last_in.len();
        let nth = (last_in[*cluster] + 1) % self.cluster_sms;
        last_in[*cluster] = nth;
        *cluster * self.cluster_sms + nth
    }

    /// Lets the turns of SMs go on as if `blocks` blocks had been given out.
    pub fn pass(&mut self, blocks: u64) {
        let mut turns = (self.last_cluster, std::mem::take(&mut self.last_in));
        for _ in 0..blocks % (turns.1.len() * self.cluster_sms) as u64 {
            self.next_sm(&mut turns);
        }
        (self.last_cluster, self.last_in) = turns;
    }

    /// Notes that one SM, or all of them for `None`, may have room again.
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
        self.block_limit.block_ended(&EndedBlock {
            sm: id,
            kernel: block.kernel,
            instructions: block.instructions,
            instructions_of_kernel: sm.by_kernel[block.kernel.index()].warp_instructions,
        });
        self.open.insert(id.index());
    }
}

/// Saves or restores the kernels in flight. Those of the saved state have been launched again.
fn state_of_kernels(
    kernels: &mut Vec<Option<Box<InFlight>>>,
    io: &mut Io<'_>,
) -> Result<(), StateError> {
    io.same(kernels.len() as u64)?;
    for kernel in kernels {
        each(kernel.iter_mut(), io)?;
    }
    Ok(())
}
