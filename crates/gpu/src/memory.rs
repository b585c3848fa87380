//! The memory system: both networks, L2 partitions, DRAM channels, in their clock domains.
//!
//! Order of work within a core cycle (model page, section 1): replies to SMs, replies into the
//! network, DRAM, L2 with its input, networks. Domains of other clocks run as often per core
//! cycle as their clocks' ratio says, by exact integer accumulation.

use std::collections::VecDeque;
use warploom_base::{Cycle, SmId, SubPartitionId};
use warploom_config::GpuSpec;
use warploom_mem::address::AddressDecoder;
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_mem::{AccessKind, Request};
use warploom_noc::Network;
use warploom_sm::Outgoing;

/// An atomic that reached the point where it acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicEvent {
    /// Core cycle.
    pub at: Cycle,
    /// Its reply.
    pub reply: Request,
}

/// What an SM's end of the links exchanges with the memory system at the end of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Port {
    /// On the way to the network, oldest first.
    inbound: VecDeque<Outgoing>,
    /// Flits that the network took since the last exchange.
    pub freed_flits: u32,
    /// Replies for the SM, with the cycle from which it sees them.
    pub outbound: Vec<(Cycle, Request)>,
    /// Replies that the SM has not taken, as of the last exchange, and those since.
    pub waiting: u32,
}

/// How often a domain runs per core cycle.
#[derive(Clone, Copy, Debug)]
struct Domain {
    khz: u64,
    credit: u64,
}

impl Domain {
    fn ticks(&mut self, core_khz: u64) -> u64 {
        self.credit += self.khz;
        let ticks = self.credit / core_khz;
        self.credit %= core_khz;
        ticks
    }
}

/// Everything behind the SMs' links.
pub(crate) struct MemorySystem {
    core_khz: u64,
    noc_clock: Domain,
    l2_clock: Domain,
    dram_clock: Domain,
    link: Cycle,
    reply_room: u32,
    flit_bytes: u32,
    decoder: AddressDecoder,
    /// By SM.
    pub ports: Vec<Port>,
    requests: Network,
    replies: Network,
    partitions: Vec<SubPartition>,
    channels: Vec<DramChannel>,
    per_channel: usize,
    /// Atomics of the running step, in order.
    pub atomics: Vec<AtomicEvent>,
    pub dram_full_stalls: u64,
    pub reply_stalls: u64,
    /// L2 cycles in which a packet came to any partition.
    pub arrival_cycles: u64,
}

impl MemorySystem {
    pub fn new(spec: &GpuSpec) -> Self {
        let sms = spec.gpu.sms as usize;
        let per_channel = spec.gpu.sub_partitions_per_channel as usize;
        let subs = spec.gpu.channels as usize * per_channel;
        let rop = spec
            .partition
            .rop_cycles
            .saturating_sub(2 * spec.gpu.link_cycles);
        let domain = |khz: u32| Domain {
            khz: khz.into(),
            credit: 0,
        };
        Self {
            core_khz: spec.clocks.core_khz.into(),
            noc_clock: domain(spec.clocks.noc_khz),
            l2_clock: domain(spec.clocks.l2_khz),
            dram_clock: domain(spec.clocks.dram_khz),
            link: spec.gpu.link_cycles.into(),
            reply_room: spec.sm.ejection_fifo + 2 * spec.gpu.link_cycles,
            flit_bytes: spec.noc.flit_bytes,
            decoder: AddressDecoder::new(spec),
            ports: vec![Port::default(); sms],
            requests: Network::new(&spec.noc, sms, subs, spec.gpu.seed),
            replies: Network::new(&spec.noc, subs, sms, spec.gpu.seed.wrapping_add(1)),
            partitions: (0..subs)
                .map(|i| SubPartition::new(spec, SubPartitionId::new(i), rop))
                .collect(),
            channels: (0..spec.gpu.channels as usize)
                .map(|_| DramChannel::new(spec))
                .collect(),
            per_channel,
            atomics: Vec::with_capacity(64),
            dram_full_stalls: 0,
            reply_stalls: 0,
            arrival_cycles: 0,
        }
    }

    /// Takes what an SM sent in the last step.
    pub fn take(&mut self, sm: SmId, sent: &mut Vec<Outgoing>) {
        self.ports[sm.index()].inbound.extend(sent.drain(..));
    }

    /// Nothing is anywhere behind the links.
    pub fn is_idle(&self) -> bool {
        self.requests.is_idle()
            && self.replies.is_idle()
            && self
                .ports
                .iter()
                .all(|p| p.inbound.is_empty() && p.outbound.is_empty())
            && self.partitions.iter().all(SubPartition::is_idle)
            && self.channels.iter().all(DramChannel::is_idle)
    }

    /// Runs the core cycles from `from` up to, not including, `to`.
    pub fn run(&mut self, from: Cycle, to: Cycle) {
        if self.is_idle() {
            self.skip(to - from);
            return;
        }
        for now in from..to {
            self.cycle(now);
        }
    }

    fn cycle(&mut self, now: Cycle) {
        let noc = self.noc_clock.ticks(self.core_khz);
        let l2 = self.l2_clock.ticks(self.core_khz);
        let dram = self.dram_clock.ticks(self.core_khz);
        self.deliver_replies(now);
        for _ in 0..noc {
            self.inject_replies(now);
        }
        for _ in 0..dram {
            let banks = self.partitions.chunks_mut(self.per_channel);
            for (channel, banks) in self.channels.iter_mut().zip(banks) {
                channel.cycle(now, banks);
            }
        }
        for _ in 0..l2 {
            self.l2_cycle(now);
        }
        for _ in 0..noc {
            self.inject_requests(now);
            self.requests.cycle();
            self.replies.cycle();
        }
    }

    /// Accounts for core cycles in which nothing is inside.
    fn skip(&mut self, cycles: u64) {
        let mut ticks = [0u64; 3];
        for _ in 0..cycles {
            ticks[0] += self.noc_clock.ticks(self.core_khz);
            ticks[1] += self.l2_clock.ticks(self.core_khz);
            ticks[2] += self.dram_clock.ticks(self.core_khz);
        }
        self.requests.skip(ticks[0]);
        self.replies.skip(ticks[0]);
        self.partitions.iter_mut().for_each(|p| p.skip(ticks[1]));
        self.channels.iter_mut().for_each(|c| c.skip(ticks[2]));
    }

    /// One packet a cycle from the network to each SM, if its FIFO has room.
    fn deliver_replies(&mut self, now: Cycle) {
        if self.replies.is_idle() {
            return;
        }
        for (sm, port) in self.ports.iter_mut().enumerate() {
            if port.waiting < self.reply_room
                && let Some(reply) = self.replies.pop(sm)
            {
                port.waiting += 1;
                port.outbound.push((now + self.link, reply));
            }
        }
    }

    /// One reply a cycle from each partition into the network. Atomics act here.
    fn inject_replies(&mut self, now: Cycle) {
        for (p, partition) in self.partitions.iter_mut().enumerate() {
            let Some(front) = partition.reply_front() else {
                continue;
            };
            let bytes = front.reply_bytes();
            if !self.replies.can_inject(p, bytes) {
                self.reply_stalls += 1;
                partition.count_reply_stall();
                continue;
            }
            let Some(reply) = partition.pop_reply() else {
                continue;
            };
            if reply.kind == AccessKind::GlobalAtomic {
                self.atomics.push(AtomicEvent { at: now, reply });
            }
            self.replies.inject(p, reply.sm.index(), reply, bytes);
        }
    }

    fn l2_cycle(&mut self, now: Cycle) {
        let mut any = false;
        for (p, partition) in self.partitions.iter_mut().enumerate() {
            if !partition.can_accept() {
                self.dram_full_stalls += 1;
                partition.count_input_full();
            } else if let Some(request) = self.requests.pop(p) {
                partition.push(now, request);
                any = true;
            }
            partition.cycle(now);
        }
        self.arrival_cycles += u64::from(any);
    }

    /// What has crossed the links goes into the network's buffers.
    fn inject_requests(&mut self, now: Cycle) {
        for (sm, port) in self.ports.iter_mut().enumerate() {
            while let Some(sent) = port
                .inbound
                .front()
                .filter(|s| s.sent_at + self.link <= now)
            {
                let bytes = sent.request.request_bytes();
                if !self.requests.can_inject(sm, bytes) {
                    break;
                }
                let to = self.decoder.sub_partition(sent.request.addr).index();
                self.requests.inject(sm, to, sent.request, bytes);
                port.freed_flits += bytes.div_ceil(self.flit_bytes);
                port.inbound.pop_front();
            }
        }
    }

    /// Marks the lines of a host-to-device copy as present in L2.
    pub fn warm(&mut self, addr: u64, bytes: u64) {
        for sector in (addr & !31..addr + bytes).step_by(32) {
            let to = self.decoder.sub_partition(sector).index();
            self.partitions[to].warm(sector);
        }
    }

    pub fn partitions(&self) -> &[SubPartition] {
        &self.partitions
    }

    pub fn channels(&self) -> &[DramChannel] {
        &self.channels
    }

    pub fn networks(&self) -> (&Network, &Network) {
        (&self.requests, &self.replies)
    }
}
