//! The memory system: both networks, L2 partitions, DRAM channels, in their clock domains.
//!
//! Order of work within a core cycle (model page, section 1): replies to SMs, replies into the
//! network, DRAM, L2 with its input, networks. Domains of other clocks run as often per core
//! cycle as their clocks' ratio says, by exact integer accumulation.

mod apart;

use crate::domain::Domain;
use apart::{Apart, Ticks};
use std::collections::VecDeque;
use warploom_base::{BitSet, Cycle, SmId, SubPartitionId, bits, each_bit, each_member};
use warploom_config::GpuSpec;
use warploom_mem::address::AddressDecoder;
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_mem::{AccessKind, Request};
use warploom_noc::{Network, PacketId};
use warploom_sm::Outgoing;

/// An atomic that reached the point where it acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicEvent {
    /// Core cycle.
    pub at: Cycle,
    /// Its reply.
    pub reply: Request,
}

/// A request on its way to the network, which keeps it.
#[derive(Clone, Copy, Debug)]
struct Inbound {
    /// Cycle in which it has crossed the link.
    at: Cycle,
    packet: PacketId,
    flits: u32,
}

/// What is on the way from an SM to the network, oldest first.
#[derive(Clone, Debug)]
struct Lane {
    /// The first, if there is one: most cycles find that it cannot enter.
    first: Inbound,
    /// Flits of all.
    flits: u32,
    others: VecDeque<Inbound>,
}

impl Lane {
    fn new() -> Self {
        Self {
            first: Inbound {
                at: 0,
                packet: PacketId(0),
                flits: 0,
            },
            flits: 0,
            others: VecDeque::new(),
        }
    }
}

/// A reply on its way to an SM, kept by the network that it has left.
#[derive(Clone, Copy, Debug)]
struct Outbound {
    /// Cycle from which the SM sees it.
    at: Cycle,
    packet: PacketId,
    sm: SmId,
}

/// What becomes of replies that come out of the network.
pub(crate) trait Receive {
    /// Takes a reply for an SM, by number, which sees it from cycle `at` on. Returns whether it
    /// has, else the reply waits for the exchange.
    fn receive(&mut self, sm: usize, at: Cycle, reply: &Request) -> bool;

    /// Replies that an SM has not taken, where they do not wait.
    fn untaken(&self, sm: usize) -> Option<u32>;
}

/// All wait.
pub(crate) struct Later;

impl Receive for Later {
    #[inline]
    fn receive(&mut self, _sm: usize, _at: Cycle, _reply: &Request) -> bool {
        false
    }

    #[inline]
    fn untaken(&self, _sm: usize) -> Option<u32> {
        None
    }
}

/// Replies to an SM that it has not taken.
#[derive(Clone, Copy, Debug, Default)]
struct Untaken {
    /// As of the last exchange, and those since.
    all: u32,
    /// Those since.
    fresh: u32,
}

/// Everything behind the SMs' links.
pub(crate) struct MemorySystem {
    core_khz: u64,
    noc_clock: Domain,
    l2_clock: Domain,
    dram_clock: Domain,
    link: Cycle,
    reply_room: u32,
    decoder: AddressDecoder,
    /// The lowest bits of addresses that are in one line of one L2 bank.
    together: u64,
    /// By SM: what is on the way to the network.
    inbound: Vec<Lane>,
    /// SMs from which something is.
    sending: BitSet,
    /// By SM: flits that the network took since the last exchange.
    freed_flits: Vec<u32>,
    /// SMs of which it took any.
    freed: BitSet,
    /// Replies since the last exchange, oldest first.
    outbound: Vec<Outbound>,
    /// By SM: replies that it has not taken.
    untaken: Vec<Untaken>,
    /// SMs that share a port of the network.
    cluster: usize,
    /// By SM: that port.
    cluster_of: Vec<u32>,
    /// Answers come at once: nothing behind the links works.
    perfect: bool,
    /// L2 answers by sector.
    sectored: bool,
    requests: Network,
    replies: Network,
    partitions: Vec<SubPartition>,
    channels: Vec<DramChannel>,
    per_channel: usize,
    /// What the parts that run apart leave for each other.
    apart: Apart,
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
        let cluster = spec.gpu.sms_per_cluster as usize;
        let clusters = sms / cluster;
        let per_channel = spec.gpu.sub_partitions_per_channel as usize;
        let subs = spec.gpu.channels as usize * per_channel;
        let rop = spec
            .partition
            .rop_cycles
            .saturating_sub(2 * spec.gpu.link_cycles);
        let decoder = AddressDecoder::new(spec);
        let line = u64::from(spec.partition.l2.line_bytes);
        Self {
            core_khz: spec.clocks.core_khz.into(),
            noc_clock: Domain::new(spec.clocks.noc_khz),
            l2_clock: Domain::new(spec.clocks.l2_khz),
            dram_clock: Domain::new(spec.clocks.dram_khz),
            link: spec.gpu.link_cycles.into(),
            reply_room: spec.sm.ejection_fifo + 2 * spec.gpu.link_cycles,
            together: line.min(1 << decoder.bits_below_sub_partition()) - 1,
            decoder,
            inbound: vec![Lane::new(); sms],
            sending: BitSet::new(sms),
            freed_flits: vec![0; sms],
            freed: BitSet::new(sms),
            outbound: Vec::with_capacity(64),
            untaken: vec![Untaken::default(); sms],
            cluster,
            cluster_of: (0..sms).map(|sm| (sm / cluster) as u32).collect(),
            perfect: spec.gpu.perfect_memory,
            sectored: spec.partition.l2.enabled && spec.partition.l2.sectored,
            requests: Network::new(&spec.noc, clusters, subs, spec.gpu.seed),
            replies: Network::of_replies(&spec.noc, subs, clusters, spec.gpu.seed.wrapping_add(1)),
            partitions: (0..subs)
                .map(|i| {
                    let mut bank = SubPartition::new(spec, SubPartitionId::new(i), rop);
                    bank.follow_kernels(spec.gpu.max_concurrent_kernels as usize);
                    bank
                })
                .collect(),
            channels: (0..spec.gpu.channels as usize)
                .map(|_| DramChannel::new(spec))
                .collect(),
            per_channel,
            apart: Apart::default(),
            atomics: Vec::with_capacity(64),
            dram_full_stalls: 0,
            reply_stalls: 0,
            arrival_cycles: 0,
        }
    }

    /// Takes a packet that an SM sent in the last step.
    #[inline]
    pub fn take(&mut self, sm: usize, sent: &Outgoing) {
        let request = &sent.request;
        let to = self.decoder.sub_partition(request.addr).index();
        let packet = self.requests.lodge(to, request, request.request_bytes());
        let new = Inbound {
            at: sent.sent_at + self.link,
            packet,
            flits: self.requests.flits(packet),
        };
        let lane = &mut self.inbound[sm];
        lane.flits += new.flits;
        if self.sending.contains(sm) {
            lane.others.push_back(new);
        } else {
            lane.first = new;
            self.sending.insert(sm);
        }
    }

    /// An SM that ran in the last step had not taken so many replies at its end, beside those that
    /// have come since.
    #[inline]
    pub fn note_waiting(&mut self, sm: usize, replies: u32) {
        let untaken = &mut self.untaken[sm];
        untaken.all = replies + untaken.fresh;
    }

    /// Calls `f` on the SMs of which the network took flits since the last exchange, with their
    /// number, in order.
    #[inline]
    pub fn take_credits(&mut self, mut f: impl FnMut(usize, u32)) {
        each_member!(self.freed, sm => {
            f(sm, std::mem::take(&mut self.freed_flits[sm]));
        });
        self.freed.clear();
    }

    /// Calls `f` on the replies that wait for the exchange, with the number of their SM and
    /// the cycle from which it sees them, the oldest first. They have come since the last exchange
    /// until that ends.
    #[inline]
    pub fn take_replies(&mut self, mut f: impl FnMut(usize, Cycle, &Request)) {
        for &Outbound { at, packet, sm } in &self.outbound {
            f(sm.index(), at, self.replies.content(packet));
            self.replies.release(packet);
        }
    }

    /// An exchange is over, in which every SM got its replies. `waiting`: by SM, those that it has
    /// not taken.
    #[inline]
    pub fn end_exchange_of_all(&mut self, waiting: impl Iterator<Item = u32>) {
        self.outbound.clear();
        for (untaken, all) in self.untaken.iter_mut().zip(waiting) {
            *untaken = Untaken { all, fresh: 0 };
        }
    }

    /// An exchange is over.
    #[inline]
    pub fn end_exchange(&mut self) {
        for reply in self.outbound.drain(..) {
            self.untaken[reply.sm.index()].fresh = 0;
        }
    }

    /// Nothing is anywhere behind the links.
    pub fn is_idle(&self) -> bool {
        self.requests.is_idle()
            && self.replies.is_idle()
            && self.sending.is_empty()
            && self.freed.is_empty()
            && self.outbound.is_empty()
            && self.partitions.iter().all(SubPartition::is_idle)
            && self.channels.iter().all(DramChannel::is_idle)
    }

    /// Runs the core cycles from `from` up to, not including, `to`.
    pub fn run(&mut self, from: Cycle, to: Cycle, receive: &mut impl Receive) {
        if self.is_idle() {
            self.skip(to - from);
            return;
        }
        for now in from..to {
            self.cycle(now, receive);
        }
    }

    #[inline]
    fn cycle(&mut self, now: Cycle, receive: &mut impl Receive) {
        if self.perfect {
            self.answer_at_once(now, receive);
            return self.skip(1);
        }
        let Ticks { noc, l2 } = self.cycle_before_l2(now, receive);
        for _ in 0..l2 {
            self.l2_cycle(now);
        }
        for _ in 0..noc {
            self.inject_requests(now);
            self.requests.cycle();
            self.replies.cycle();
        }
    }

    /// What comes before L2 in a cycle. Returns how often what comes then runs.
    #[inline]
    fn cycle_before_l2(&mut self, now: Cycle, receive: &mut impl Receive) -> Ticks {
        let noc = self.noc_clock.tick(self.core_khz) as u32;
        let l2 = self.l2_clock.tick(self.core_khz) as u32;
        let dram = self.dram_clock.tick(self.core_khz);
        self.deliver_replies(now, receive);
        for _ in 0..noc {
            self.inject_replies(now);
        }
        for _ in 0..dram {
            let banks = self.partitions.chunks_mut(self.per_channel);
            for (channel, banks) in self.channels.iter_mut().zip(banks) {
                channel.cycle(now, banks);
            }
        }
        Ticks { noc, l2 }
    }

    /// Answers what has crossed the links, where there is nothing behind them, as much as the
    /// cluster's FIFO takes. Atomics act here.
    fn answer_at_once(&mut self, now: Cycle, receive: &mut impl Receive) {
        for first in (0..self.untaken.len()).step_by(self.cluster) {
            for sm in first..first + self.cluster {
                while self.has_reply_room(first, receive)
                    && self.sending.contains(sm)
                    && self.inbound[sm].first.at <= now
                {
                    let Inbound { packet, flits, .. } = self.inbound[sm].first;
                    self.step_up(sm);
                    self.free(sm, flits);
                    let request = *self.requests.content(packet);
                    self.requests.release(packet);
                    self.answer(request, now, receive);
                }
            }
        }
    }

    /// The first request from an SM has gone on. Returns whether there is another.
    #[inline]
    fn step_up(&mut self, sm: usize) -> bool {
        let lane = &mut self.inbound[sm];
        lane.flits -= lane.first.flits;
        let next = lane.others.pop_front();
        match next {
            Some(next) => lane.first = next,
            None => {
                // Begins at its first place again: the host's cache has it.
                lane.others.clear();
                self.sending.remove(sm);
            }
        }
        next.is_some()
    }

    /// The FIFO of the cluster whose first SM is `first` has room for a reply.
    #[inline]
    fn has_reply_room(&self, first: usize, receive: &impl Receive) -> bool {
        let untaken = |sm| receive.untaken(sm).unwrap_or_else(|| self.untaken[sm].all);
        let all = match self.cluster {
            // Mostly an SM is alone.
            1 => untaken(first),
            sms => (first..first + sms).map(untaken).sum(),
        };
        all < self.reply_room
    }

    /// The network took so many flits of an SM.
    #[inline]
    fn free(&mut self, sm: usize, flits: u32) {
        self.freed_flits[sm] += flits;
        self.freed.insert(sm);
    }

    /// Replies to a request at once.
    fn answer(&mut self, request: Request, now: Cycle, receive: &mut impl Receive) {
        let sectored = self.sectored;
        let split = request.by_sector().filter(|_| sectored);
        let whole = Some(request).filter(|_| !sectored);
        let replies = whole.into_iter().chain(split);
        for mut reply in replies.filter(|r| r.kind != AccessKind::L1WriteBack) {
            reply.returned_at = now as u32;
            if reply.kind == AccessKind::GlobalAtomic {
                self.atomics.push(AtomicEvent { at: now, reply });
            }
            let packet = self.replies.lodge(0, &reply, reply.reply_bytes());
            self.send_out(packet, now, receive);
        }
    }

    /// A reply that the network of replies keeps goes to its SM.
    #[inline]
    fn send_out(&mut self, packet: PacketId, now: Cycle, receive: &mut impl Receive) {
        let reply = self.replies.content(packet);
        let (sm, at) = (reply.sm, now + self.link);
        if receive.receive(sm.index(), at, reply) {
            return self.replies.release(packet);
        }
        let untaken = &mut self.untaken[sm.index()];
        untaken.all += 1;
        untaken.fresh += 1;
        self.outbound.push(Outbound { at, packet, sm });
    }

    /// Accounts for core cycles in which nothing is inside.
    fn skip(&mut self, cycles: u64) {
        let noc = self.noc_clock.ticks(cycles, self.core_khz);
        let l2 = self.l2_clock.ticks(cycles, self.core_khz);
        let dram = self.dram_clock.ticks(cycles, self.core_khz);
        self.requests.skip(noc);
        self.replies.skip(noc);
        self.partitions.iter_mut().for_each(|p| p.skip(l2));
        self.channels.iter_mut().for_each(|c| c.skip(dram));
    }

    /// One packet a cycle from the network to each cluster, if its FIFO has room: that of its SMs
    /// together.
    #[inline]
    fn deliver_replies(&mut self, now: Cycle, receive: &mut impl Receive) {
        each_member!(self.replies.arrived(), cluster => {
            if self.has_reply_room(cluster * self.cluster, receive)
                && let Some(packet) = self.replies.take(cluster)
            {
                self.send_out(packet, now, receive);
            }
        });
    }

    /// One reply a cycle from each partition into the network. Atomics act here.
    fn inject_replies(&mut self, now: Cycle) {
        for (p, partition) in self.partitions.iter_mut().enumerate() {
            let Some(reply) = partition.reply_front() else {
                continue;
            };
            let cluster = self.cluster_of[reply.sm.index()] as usize;
            let bytes = reply.reply_bytes();
            let Some(packet) = self.replies.try_inject(p, cluster, reply, bytes) else {
                self.reply_stalls += 1;
                partition.count_reply_stall();
                continue;
            };
            partition.drop_reply();
            let reply = self.replies.content_mut(packet);
            reply.returned_at = now as u32;
            if reply.kind == AccessKind::GlobalAtomic {
                let reply = *reply;
                self.atomics.push(AtomicEvent { at: now, reply });
            }
        }
    }

    /// Each partition takes a packet, if its input has room for one, and does a cycle.
    fn l2_cycle(&mut self, now: Cycle) {
        let mut any = false;
        for index in 0..self.partition_words() {
            let full = self.count_full(index);
            any |= self.take_requests(now, index, full);
        }
        self.partitions.iter_mut().for_each(|p| p.cycle(now));
        self.arrival_cycles += u64::from(any);
    }

    /// Words of a set of partitions.
    #[inline]
    fn partition_words(&self) -> usize {
        self.partitions.len().div_ceil(64)
    }

    /// Partitions of a word, by its index.
    #[inline]
    fn partitions_of(&mut self, index: usize) -> &mut [SubPartition] {
        let end = self.partitions.len().min(64 * index + 64);
        &mut self.partitions[64 * index..end]
    }

    /// The partitions of a word whose input has no room for a packet, as bits.
    #[inline]
    fn count_full(&mut self, index: usize) -> u64 {
        let partitions = self.partitions_of(index);
        let full = bits(partitions.iter().map(|partition| !partition.can_accept()));
        each_bit!(full, p => { partitions[p].count_input_full(); });
        self.dram_full_stalls += u64::from(full.count_ones());
        full
    }

    /// The partitions of a word take a packet, but for those that are full. Returns whether any
    /// does.
    #[inline]
    fn take_requests(&mut self, now: Cycle, index: usize, full: u64) -> bool {
        let taken = self.requests.arrived().word(index) & !full;
        each_bit!(taken, p => {
            if let Some(packet) = self.requests.take(64 * index + p) {
                self.partitions[64 * index + p].push(now, self.requests.content(packet));
                self.requests.release(packet);
            }
        });
        taken != 0
    }

    /// What has crossed the links goes into the network's buffers. SMs of a cluster fill theirs in
    /// an order that moves on by one a core cycle (`-gpgpu_simt_core_sim_order 1`).
    fn inject_requests(&mut self, now: Cycle) {
        // Mostly an SM is alone and needs no turn.
        if self.cluster == 1 {
            each_member!(self.sending, sm => {
                if self.can_enter(sm, sm, now) {
                    self.inject_requests_of(sm, sm, now);
                }
            });
            return;
        }
        let step = now as usize % self.cluster;
        let mut from = 0;
        while let Some(sm) = self.sending.at_or_after(from) {
            let cluster = self.cluster_of[sm] as usize;
            let (first, end) = (cluster * self.cluster, (cluster + 1) * self.cluster);
            let turn = first + step;
            for sm in (turn..end).chain(first..turn) {
                if self.sending.contains(sm) && self.can_enter(sm, cluster, now) {
                    self.inject_requests_of(sm, cluster, now);
                }
            }
            from = end;
        }
    }

    /// The first request from an SM has crossed the link and finds room.
    #[inline(always)]
    fn can_enter(&self, sm: usize, cluster: usize, now: Cycle) -> bool {
        let first = &self.inbound[sm].first;
        first.at <= now && self.requests.has_room(cluster, first.flits)
    }

    /// As many as find room, of which the first does. Apart from the loop of cycles in which mostly
    /// none does.
    #[inline(never)]
    fn inject_requests_of(&mut self, sm: usize, cluster: usize, now: Cycle) {
        loop {
            let Inbound { packet, flits, .. } = self.inbound[sm].first;
            self.requests.enter(cluster, packet);
            self.free(sm, flits);
            if !self.step_up(sm) || !self.can_enter(sm, cluster, now) {
                return;
            }
        }
    }

    /// Drops the dirty lines of L2: GPGPU-Sim models no writes for them (`flushL2`).
    pub fn flush_l2(&mut self) {
        self.partitions.iter_mut().for_each(SubPartition::flush);
    }

    /// Marks the lines of a host-to-device copy as present in L2.
    pub fn warm(&mut self, addr: u64, bytes: u64) {
        let (mut first, end) = (addr & !31, addr + bytes);
        while first < end {
            let to = self.decoder.sub_partition(first).index();
            let next = end.min((first | self.together) + 1);
            self.partitions[to].warm(first, next);
            first = next;
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

#[cfg(test)]
mod tests {
    use super::{Later, MemorySystem};
    use warploom_base::{Cycle, KernelSlot, SmId};
    use warploom_config::{GpuSpec, preset};
    use warploom_mem::{AccessKind, Request};
    use warploom_sm::Outgoing;

    pub(super) fn request(kind: AccessKind) -> Request {
        Request {
            addr: 0x2000_0000,
            byte_mask: 0xffff_ffff,
            issued_at: 0,
            returned_at: 0,
            token: 0,
            bytes: 32,
            sm: SmId(0),
            kind,
            sectors: 1,
            kernel: KernelSlot(0),
            asid: 0,
        }
    }

    /// Volta's machine: all domains but DRAM have one clock, and its crossbar takes no time.
    pub(super) fn volta() -> GpuSpec {
        let spec = preset("qv100-volta").expect("a preset");
        let clocks = spec.clocks;
        assert_eq!(
            (clocks.noc_khz, clocks.l2_khz),
            (clocks.core_khz, clocks.core_khz)
        );
        spec
    }

    /// The cycle in which a request sent in cycle 0 has its reply given to the SM's port.
    fn answered(spec: &GpuSpec, kind: AccessKind, warm: bool) -> Cycle {
        let mut memory = MemorySystem::new(spec);
        let request = request(kind);
        if warm {
            memory.warm(request.addr, 32);
        }
        let sent = Outgoing {
            sent_at: 0,
            request,
        };
        memory.take(0, &sent);
        (0..10_000)
            .find(|now| {
                memory.run(*now, now + 1, &mut Later);
                !memory.outbound.is_empty()
            })
            .expect("an answer")
    }

    /// Order of work in a cycle (section 1): replies to SMs, replies into the network, DRAM, L2
    /// with its input, network. A request crosses the link and the network in cycle `link`, for the
    /// networks come last; L2 takes it in the next, and the fixed delay begins. At its end L2 puts
    /// it into its queue, after it has looked into that, so that it is looked up in the cycle
    /// after; its reply enters the network in the next, for replies enter before L2 runs, and
    /// reaches the port in the one after that, for SMs take theirs first.
    #[test]
    fn work_is_done_in_gpgpusims_order() {
        let spec = volta();
        let link = Cycle::from(spec.gpu.link_cycles);
        let delay = Cycle::from(spec.partition.rop_cycles) - 2 * link;
        let taken = link + 1;
        let looked_up = taken + delay + 1;
        let expected = looked_up + 1 + 1;
        assert_eq!(answered(&spec, AccessKind::GlobalRead, true), expected);
        // Textures go past the fixed delay: they are in L2's queue when it looks into that.
        let texture = answered(&spec, AccessKind::TextureRead, true);
        assert_eq!(texture, taken + 1 + 1);
        // A miss waits for DRAM, its fixed delay before all.
        let miss = answered(&spec, AccessKind::GlobalRead, false);
        assert!(miss > expected + Cycle::from(spec.partition.dram_latency_cycles));
    }
}
