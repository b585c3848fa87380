//! Counters of the machine: of one kernel, and of all parts.

use super::Gpu;
use crate::counters::{BankPart, DeviceCounters, PartCounters, SmPart};
use crate::dispatch::{InFlight, KernelEnd};
use warploom_base::{Cycle, KernelSlot};
use warploom_mem::cache::{Cache, CacheCounters};
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_policy::SmFilter;
use warploom_sm::KernelCounters;
use warploom_stats::Counters;

impl Gpu {
    /// Counters of the kernels in a slot: those of all SMs together, and accesses by SM and bank.
    pub(super) fn counted_of(&mut self, slot: KernelSlot) -> (KernelCounters, Vec<CacheCounters>) {
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

    /// Counters of one kernel since its launch, and counters of the whole machine if it ran alone.
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

    pub(super) fn kernel_end(
        &mut self,
        slot: KernelSlot,
        kernel: &InFlight,
        ended_at: Cycle,
    ) -> KernelEnd {
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

    /// All counters so far, by part.
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
}

fn counters_of(counters: Option<&CacheCounters>) -> CacheCounters {
    counters.cloned().unwrap_or_default()
}
