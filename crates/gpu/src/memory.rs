//! The memory system: both networks, L2 partitions, DRAM channels, in their clock domains.
//!
//! Order of work within a core cycle (docs/model/machine.md, Order within a cycle): replies to SMs,
//! replies into the network, DRAM, L2 with its input, networks. Domains of other clocks run as
//! often per core cycle as their clocks' ratio says, by exact integer accumulation.

mod apart;
mod back;
mod lag;
mod parcel;

use apart::Apart;
pub(crate) use apart::Errand;
use back::Ticks;
pub(crate) use back::{AtomicEvent, Back, Later, Receive};
use lag::Lag;
#[cfg(test)]
pub(crate) use parcel::testing::reply_to;
pub(crate) use parcel::{Parcel, Seen};
use std::collections::VecDeque;
use warploom_base::{BitSet, Cycle, each_bit, each_member};
use warploom_config::GpuSpec;
use warploom_mem::address::AddressDecoder;
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_noc::{Network, PacketId};
use warploom_sm::{Entrance, FarEnd, Outgoing};

/// Fewest flits that must surely pass into the network for SMs to look at what becomes of theirs.
const FEWEST_PASSES: u32 = 8;

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

    /// The first has gone on. Returns whether there is another.
    #[inline]
    fn step_up(&mut self) -> bool {
        self.flits -= self.first.flits;
        let next = self.others.pop_front();
        match next {
            Some(next) => self.first = next,
            // Begins at its first place again: the host's cache has it.
            None => self.others.clear(),
        }
        next.is_some()
    }

    /// The first has crossed the link and finds room at an input of the network.
    #[inline(always)]
    fn can_enter(&self, requests: &Network, input: usize, now: Cycle) -> bool {
        self.first.at <= now && requests.has_room(input, self.first.flits)
    }
}

/// Everything behind the SMs' links.
pub(crate) struct MemorySystem {
    link: Cycle,
    decoder: AddressDecoder,
    /// The lowest bits of addresses that are in one line of one L2 bank.
    together: u64,
    /// By SM: what is on the way to the network.
    inbound: Vec<Lane>,
    /// SMs from which something is.
    sending: BitSet,
    /// By SM: how far the front is ahead of it.
    lags: Vec<Lag>,
    /// What entered the network in cycles that the front had run, with its SM, the cycle from which
    /// that has credits for it, and its flits.
    late: Vec<(usize, Cycle, u32)>,
    /// By SM: flits that the network took since the last exchange.
    freed_flits: Vec<u32>,
    /// SMs of which it took any.
    freed: BitSet,
    /// SMs that share a port of the network.
    cluster: usize,
    /// By SM: that port.
    cluster_of: Vec<u32>,
    /// Answers come at once: nothing behind the links works.
    perfect: bool,
    /// Each SM has a port of its own, and the network runs with it.
    sees_entrances: bool,
    requests: Network,
    /// L2 banks.
    subs: usize,
    /// The rest, unless another thread has it.
    back: Option<Box<Back>>,
    /// What the parts that run apart leave for each other.
    apart: Apart,
    /// L2 cycles in which a packet came to any partition.
    pub arrival_cycles: u64,
}

impl MemorySystem {
    pub fn new(spec: &GpuSpec) -> Self {
        let sms = spec.gpu.sms as usize;
        let cluster = spec.gpu.sms_per_cluster as usize;
        let subs = (spec.gpu.channels * spec.gpu.sub_partitions_per_channel) as usize;
        let decoder = AddressDecoder::new(spec);
        let line = u64::from(spec.partition.l2.line_bytes);
        Self {
            link: spec.gpu.link_cycles.into(),
            together: line.min(1 << decoder.bits_below_sub_partition()) - 1,
            decoder,
            inbound: vec![Lane::new(); sms],
            sending: BitSet::new(sms),
            lags: vec![Lag::default(); sms],
            late: Vec::with_capacity(64),
            freed_flits: vec![0; sms],
            freed: BitSet::new(sms),
            cluster,
            cluster_of: (0..sms).map(|sm| (sm / cluster) as u32).collect(),
            perfect: spec.gpu.perfect_memory,
            sees_entrances: cluster == 1 && spec.clocks.noc_khz == spec.clocks.core_khz,
            requests: Network::new(&spec.noc, sms / cluster, subs, spec.gpu.seed),
            subs,
            back: Some(Box::new(Back::new(spec))),
            apart: Apart::default(),
            arrival_cycles: 0,
        }
    }

    /// The back, which is here.
    #[inline]
    fn back(&self) -> &Back {
        match &self.back {
            Some(back) => back,
            None => unreachable!("another thread runs it"),
        }
    }

    /// The same, to be changed.
    #[inline]
    fn back_mut(&mut self) -> &mut Back {
        match &mut self.back {
            Some(back) => back,
            None => unreachable!("another thread runs it"),
        }
    }

    /// Where the packets of an SM enter the network: flits that are there, and flits that surely
    /// pass. If it has a port of its own, whose cycles are those of the core.
    #[inline]
    fn entrance(&self, sm: usize) -> Option<(u32, u32)> {
        let entrance = self.requests.entrance(sm);
        entrance.filter(|_| self.sees_entrances)
    }

    /// What an SM that has run the cycles before `at` is to know of the front, which has run those
    /// before `front`: where its packets enter the network, if it is behind or enough flits surely
    /// pass for it to be worth a look.
    #[inline]
    pub fn far_end(&self, sm: usize, at: Cycle, front: Cycle) -> FarEnd {
        let entrance = self.entrance(sm);
        let lag = &self.lags[sm];
        let lags = at < front && lag.is_before(front);
        let (from, end) = if lags { lag.span() } else { (front, front) };
        let passed = if lags { lag.passed() } else { 0 };
        let entrance = entrance.filter(|(_, passes)| lags || *passes >= FEWEST_PASSES);
        FarEnd {
            at: from,
            entrance: entrance.map(|(flits, passes)| Entrance {
                flits: flits + passed.count_ones(),
                cycles: (end - from) as u32,
                passed,
                passes,
            }),
        }
    }

    /// The front has run cycle `now`, and an SM has not run the one before.
    #[inline]
    pub fn note_lag(&mut self, sm: usize, now: Cycle) {
        if self.entrance(sm).is_some() {
            let waits = self.sending.contains(sm);
            self.lags[sm].note(now, waits, self.requests.has_passed(sm));
        }
    }

    /// Takes a packet that an SM sent in the last step.
    #[inline]
    pub fn take(&mut self, sm: usize, sent: &Outgoing) {
        let request = &sent.request;
        let to = self.decoder.sub_partition(request.addr).index();
        let bytes = request.request_bytes();
        let (packet, flits) = self.requests.lodge(to, request, bytes);
        let new = Inbound {
            at: sent.sent_at + self.link,
            packet,
            flits,
        };
        if !self.lags[sm].is_behind(new.at) && self.enter_late(sm, &new) {
            return;
        }
        let lane = &mut self.inbound[sm];
        lane.flits += new.flits;
        if self.sending.contains(sm) {
            lane.others.push_back(new);
        } else {
            lane.first = new;
            self.sending.insert(sm);
        }
    }

    /// Something has come for the network in a cycle that the front had run. Returns whether it
    /// entered in one of these.
    #[inline(never)]
    fn enter_late(&mut self, sm: usize, new: &Inbound) -> bool {
        let Self { lags, requests, .. } = self;
        let (lag, flits) = (&mut lags[sm], new.flits);
        let (_, end) = lag.span();
        let entered = lag.enter(new.at, |passed| requests.has_room(sm, passed + flits));
        if let Some(now) = entered {
            requests.enter_late(sm, (new.packet, flits), end - now);
            self.late.push((sm, now + 1, flits));
        }
        entered.is_some()
    }

    /// Calls `f` on the SMs of which something entered the network late since the last call, with
    /// the cycle from which they have credits for it, and its flits: of each SM in order.
    #[inline]
    pub fn take_late_credits(&mut self, mut f: impl FnMut(usize, Cycle, u32)) {
        self.late
            .drain(..)
            .for_each(|(sm, at, flits)| f(sm, at, flits));
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

    /// Nothing is anywhere behind the links.
    pub fn is_idle(&self) -> bool {
        debug_assert!(self.apart.is_settled(), "the back has post");
        self.requests.is_idle()
            && self.sending.is_empty()
            && self.freed.is_empty()
            && self.back().is_idle()
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
        let Ticks { noc, l2 } = self.back_mut().cycle_before_l2(now, receive);
        for _ in 0..l2 {
            self.l2_cycle(now);
        }
        for _ in 0..noc {
            self.inject_requests(now);
            self.requests.cycle();
            self.back_mut().replies.cycle();
        }
    }

    /// Answers what has crossed the links, where there is nothing behind them, as much as the
    /// cluster's FIFO takes. Atomics act here.
    fn answer_at_once(&mut self, now: Cycle, receive: &mut impl Receive) {
        for first in (0..self.inbound.len()).step_by(self.cluster) {
            for sm in first..first + self.cluster {
                while self.back().has_reply_room(first, receive)
                    && self.sending.contains(sm)
                    && self.inbound[sm].first.at <= now
                {
                    let lane = &mut self.inbound[sm];
                    let Inbound { packet, flits, .. } = lane.first;
                    if !lane.step_up() {
                        self.sending.remove(sm);
                    }
                    self.free(sm, flits);
                    let request = *self.requests.content(packet);
                    self.requests.release(packet);
                    self.back_mut().answer(request, now, receive);
                }
            }
        }
    }

    /// The network took so many flits of an SM.
    #[inline]
    fn free(&mut self, sm: usize, flits: u32) {
        self.freed_flits[sm] += flits;
        self.freed.insert(sm);
    }

    /// Accounts for core cycles in which nothing is inside.
    fn skip(&mut self, cycles: u64) {
        let noc = self.back_mut().skip(cycles);
        self.requests.skip(noc);
    }

    /// Each partition takes a packet, if its input has room for one, and does a cycle.
    fn l2_cycle(&mut self, now: Cycle) {
        let mut any = false;
        for index in 0..self.partition_words() {
            let back = self.back_mut();
            let full = back.full_inputs(index);
            back.count_full(index, full);
            any |= self.take_requests(now, index, full);
            self.back_mut().run_partitions(index, now);
        }
        self.arrival_cycles += u64::from(any);
    }

    /// Words of a set of partitions.
    #[inline]
    fn partition_words(&self) -> usize {
        self.subs.div_ceil(64)
    }

    /// The partitions of a word take a packet, but for those that are full. Returns whether any
    /// does.
    #[inline]
    fn take_requests(&mut self, now: Cycle, index: usize, full: u64) -> bool {
        let taken = self.requests.arrived().word(index) & !full;
        each_bit!(taken, p => {
            if let Some(packet) = self.requests.take(64 * index + p) {
                let request = self.requests.content(packet);
                match &mut self.back {
                    Some(back) => back.push(64 * index + p, now, request),
                    None => self.apart.keep(64 * index + p, now, request),
                }
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
        self.inbound[sm].can_enter(&self.requests, cluster, now)
    }

    /// As many as find room, of which the first does. Apart from the loop of cycles in which mostly
    /// none does.
    #[inline(never)]
    fn inject_requests_of(&mut self, sm: usize, cluster: usize, now: Cycle) {
        let (lane, requests) = (&mut self.inbound[sm], &mut self.requests);
        let mut entered = 0;
        loop {
            let Inbound { packet, flits, .. } = lane.first;
            requests.enter(cluster, (packet, flits));
            entered += flits;
            if !lane.step_up() {
                self.sending.remove(sm);
                break;
            }
            if !lane.can_enter(requests, cluster, now) {
                break;
            }
        }
        self.free(sm, entered);
    }

    /// Drops the dirty lines of L2: GPGPU-Sim models no writes for them (`flushL2`).
    pub fn flush_l2(&mut self) {
        let banks = self.back_mut().partitions.iter_mut();
        banks.for_each(SubPartition::flush);
    }

    /// Marks the lines of a host-to-device copy as present in L2.
    pub fn warm(&mut self, addr: u64, bytes: u64) {
        let (mut first, end) = (addr & !31, addr + bytes);
        while first < end {
            let to = self.decoder.sub_partition(first).index();
            let next = end.min((first | self.together) + 1);
            self.back_mut().partitions[to].warm(first, next);
            first = next;
        }
    }

    pub fn partitions(&self) -> &[SubPartition] {
        debug_assert!(self.apart.is_settled(), "the back has post");
        &self.back().partitions
    }

    pub fn channels(&self) -> &[DramChannel] {
        &self.back().channels
    }

    pub fn networks(&self) -> (&Network, &Network) {
        (&self.requests, &self.back().replies)
    }

    /// Atomics of the running step, in order.
    pub fn atomics(&mut self) -> &mut Vec<AtomicEvent> {
        &mut self.back_mut().atomics
    }

    /// L2 cycles of banks whose input had no room, and replies that found none in their network.
    pub fn stalls(&self) -> (u64, u64) {
        (self.back().dram_full_stalls, self.back().reply_stalls)
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
            entry: Request::NO_ENTRY,
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
                !memory.back().outbound.is_empty()
            })
            .expect("an answer")
    }

    /// Order of work in a cycle (docs/model/machine.md): replies to SMs, replies into the network,
    /// DRAM, L2 with its input, network. A request crosses the link and the network in cycle
    /// `link`, for the networks come last; L2 takes it in the next, and the fixed delay begins. At
    /// its end L2 puts it into its queue, after it has looked into that, so that it is looked up in
    /// the cycle after; its reply enters the network in the next, for replies enter before L2 runs,
    /// and reaches the port in the one after that, for SMs take theirs first.
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
