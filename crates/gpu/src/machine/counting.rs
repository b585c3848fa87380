//! Counters of the machine: of one kernel, and of all parts.

use super::Gpu;
use crate::counters::{BankPart, DeviceCounters, MachineCounters, PartCounters, SmPart};
use crate::dispatch::{CountsBefore, InFlight, KernelEnd};
use crate::loads::Loads;
use warploom_base::{Cycle, KernelSlot};
use warploom_mem::cache::{Cache, CacheCounters};
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_policy::context::declined;
use warploom_policy::{MonitorRefusal, SmFilter};
use warploom_sm::KernelCounters;
use warploom_stats::Counters;
use warploom_stats::result::ContextDecline;

impl Gpu {
    /// Counters of the kernels in a slot, of all SMs together.
    fn own_counters(&mut self, slot: KernelSlot) -> KernelCounters {
        let mut own = KernelCounters::default();
        self.sms
            .for_each(|_, sm| own.add(&sm.by_kernel[slot.index()]));
        own
    }

    /// Counters before the launch of a kernel in a slot. Caches count the accesses of its slot anew
    /// from here.
    pub(super) fn counts_before(&mut self, slot: KernelSlot) -> CountsBefore {
        self.sms.for_each(|_, sm| {
            if let Some(l1d) = &mut sm.ldst.l1d {
                l1d.begin_kernel(slot);
            }
        });
        for bank in self.memory.partitions_mut() {
            bank.begin_kernel(slot);
        }
        CountsBefore {
            machine: self.counters_at_launch(),
            parts: self.counts_parts.then(|| self.part_counters()),
            own: self.own_counters(slot),
            loads: self.loads(),
        }
    }

    /// Load of the L2 banks so far.
    fn loads(&self) -> Loads {
        Loads::of(self.memory.partitions(), self.memory.channels())
    }

    /// Counters of the machine at a launch: those at the end of the kernel before, if no cycle has
    /// passed since.
    fn counters_at_launch(&mut self) -> MachineCounters {
        let now = self.now;
        let last = self.counted_at_end.take().filter(|(at, _)| *at == now);
        let Some((_, counters)) = last else {
            return self.machine_counters();
        };
        debug_assert_eq!(
            *counters,
            self.machine_counters(),
            "counters without a cycle"
        );
        *counters
    }

    /// Counters of one kernel since its launch, in all and by part. The counters of the whole
    /// machine are its own if it ran alone.
    fn counted_since(
        &mut self,
        slot: KernelSlot,
        kernel: &InFlight,
        ended_at: Cycle,
    ) -> (KernelCounters, MachineCounters, Option<PartCounters>) {
        let before = &kernel.before;
        let own = self.own_counters(slot).since(&before.own);
        if kernel.shared {
            let mut parts = self.counted_of(slot, &own);
            parts.device.cycles = ended_at - kernel.launched_at;
            return (own, parts.sum(), before.parts.is_some().then_some(parts));
        }
        let now = self.machine_counters();
        let counters = now.since(&before.machine);
        self.counted_at_end = Some((self.now, Box::new(now)));
        let parts = before.parts.as_ref();
        let parts = parts.map(|before| self.part_counters().since(before));
        (own, counters, parts)
    }

    /// Counters of the kernel in a slot alone: accesses by SM and bank, and `own`.
    fn counted_of(&mut self, slot: KernelSlot, own: &KernelCounters) -> PartCounters {
        let mut counters = PartCounters::default();
        self.sms.for_each(|_, sm| {
            let l1d = sm.ldst.l1d.as_ref();
            counters.sms.push(SmPart {
                l1d: counters_of(l1d.and_then(|l1d| l1d.kernel_counters(slot))),
                ..SmPart::default()
            });
        });
        let banks = self.memory.partitions().iter();
        let bank = |bank: &SubPartition| BankPart {
            l2: counters_of(bank.kernel_counters(slot)),
            ..BankPart::default()
        };
        counters.banks = banks.map(bank).collect();
        if let Some(first) = counters.sms.first_mut() {
            first.sm.warp_instructions = own.warp_instructions;
            first.sm.thread_instructions = own.thread_instructions;
            first.sm.blocks_started = own.blocks_started;
            first.sm.blocks_finished = own.blocks_finished;
        }
        counters
    }

    pub(super) fn kernel_end(
        &mut self,
        slot: KernelSlot,
        kernel: &InFlight,
        ended_at: Cycle,
    ) -> KernelEnd {
        let (own, counters, parts) = self.counted_since(slot, kernel, ended_at);
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
            declined: self.declined(slot, kernel),
            counters,
            parts: parts.map(Box::new),
            hot_banks: match kernel.shared {
                true => None,
                false => self.loads().since(&kernel.before.loads).hottest(),
            },
            block_times: match kernel.shared {
                true => None,
                false => kernel.block_times(ended_at),
            },
            shared: kernel.shared,
            own,
            held: kernel.held(ended_at),
            halted: kernel.halted,
            timing: kernel.timing.clone(),
        }
    }

    fn device_counters(&self) -> DeviceCounters {
        let (dram_full_stalls, reply_stalls) = self.memory.stalls();
        DeviceCounters {
            cycles: self.now,
            dram_full_stalls,
            reply_stalls,
            arrival_cycles: self.memory.arrival_cycles,
            crowded_cycles: self.memory.crowding.cycles,
            atomics: self.atomics_done,
            blocks_reordered: self.dispatcher.blocks_reordered(),
            fragmented_blocks: self.dispatcher.fragmented(),
        }
    }

    /// All counters so far, summed over the parts: `part_counters().sum()` without a copy of each
    /// part's.
    pub fn machine_counters(&mut self) -> MachineCounters {
        let (requests, replies) = self.memory.networks();
        let mut sum = MachineCounters {
            device: self.device_counters(),
            filter: self.dispatcher.sm_filter.counters(),
            limit: self.dispatcher.block_limit_counters(),
            requests: *requests.counters(),
            replies: *replies.counters(),
            ..MachineCounters::default()
        };
        let now = self.now;
        self.sms.for_each(|_, sm| {
            sm.count_to(now);
            sum.sm.merge(&sm.counters);
            sum.policy.merge(&sm.policy_counters());
            sum.context.merge(&sm.context_counters());
            if !sm.had_blocks() {
                return;
            }
            if let Some(l1d) = &sm.ldst.l1d {
                sum.l1d.merge(l1d.counters());
            }
            sum.l1i.merge(sm.front.l1i.counters());
            sum.l1c.merge(sm.ldst.l1c.counters());
            sum.l1t.merge(sm.ldst.l1t.counters());
        });
        for bank in self.memory.partitions() {
            sum.partition.merge(&bank.counters());
            if let Some(l2) = bank.l2_counters() {
                sum.l2.merge(l2);
            }
        }
        for channel in self.memory.channels() {
            sum.dram.merge(&channel.counters());
        }
        debug_assert_eq!(sum, self.part_counters().sum());
        sum
    }

    /// Reason why a kernel that ends got no extra blocks, if the machine switches contexts and the
    /// kernel got none.
    fn declined(&self, slot: KernelSlot, kernel: &InFlight) -> Option<ContextDecline> {
        let plan = kernel.plan?;
        if let Some(refusal) = plan.refusal {
            return Some(declined(refusal));
        }
        if !kernel.switched {
            return (kernel.started_at.is_some()).then_some(ContextDecline::SharedSms);
        }
        let monitor = self.monitors.get(slot.index())?;
        monitor.refusal().map(|refusal| match refusal {
            MonitorRefusal::TooShort => ContextDecline::TooShort,
            MonitorRefusal::Saturated => ContextDecline::Saturated,
            MonitorRefusal::L1dBusy => ContextDecline::L1dBusy,
        })
    }

    /// All counters so far, by part.
    pub fn part_counters(&mut self) -> PartCounters {
        let mut sms = Vec::with_capacity(self.sms.len());
        let now = self.now;
        self.sms.for_each(|_, sm| {
            sm.count_to(now);
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
        PartCounters {
            device: self.device_counters(),
            filter: self.dispatcher.sm_filter.counters(),
            limit: self.dispatcher.block_limit_counters(),
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
