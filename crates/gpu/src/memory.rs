//! The memory system: both networks, L2 partitions, DRAM channels, in their clock domains.
//!
//! Order of work within a core cycle (docs/model/machine.md, Order within a cycle): replies to SMs,
//! replies into the network, DRAM, L2 with its input, networks. Domains of other clocks run as
//! often per core cycle as their clocks' ratio says, by exact integer accumulation.

pub(crate) mod backend;
mod crowding;
mod quiet;

use crate::host::backend_trace::Ticks;
use crate::host::decoupled::DecoupledBackend;
pub(crate) use backend::AtomicEvent;
use backend::{Backend, ReplySink};
use crowding::Crowding;
use quiet::Quiet;
use std::collections::VecDeque;
use warploom_base::{BitSet, Cycle, each_bit, each_member};
use warploom_config::GpuSpec;
use warploom_mem::address::AddressDecoder;
use warploom_mem::cache::{Replay, SEGMENT_BYTES};
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_noc::{Lodged, Network};
use warploom_sm::Outgoing;
use warploom_state::{State, Value};

/// A request on its way to the network, which stores it.
#[derive(Clone, Copy, Debug, Value)]
struct Inbound {
    /// Cycle in which it has crossed the link.
    at: Cycle,
    packet: Lodged,
}

/// Requests on the way from an SM to the network, oldest first.
#[derive(Clone, Debug, Value)]
pub(crate) struct Lane {
    /// The first request, if there is one. In most cycles it cannot enter.
    first: Inbound,
    /// Number of flits of all requests.
    pub(crate) flits: u32,
    others: VecDeque<Inbound>,
}

impl Lane {
    fn new() -> Self {
        Self {
            first: Inbound {
                at: 0,
                packet: Lodged::NONE,
            },
            flits: 0,
            others: VecDeque::new(),
        }
    }

    /// Drops the first request. Returns whether there is another one.
    #[inline]
    fn step_up(&mut self) -> bool {
        self.flits -= self.first.packet.flits;
        let next = self.others.pop_front();
        match next {
            Some(next) => self.first = next,
            // The queue begins again at its first place, which the host's cache holds.
            None => self.others.clear(),
        }
        next.is_some()
    }

    /// True if the first request has crossed the link and finds room at an input of the network.
    #[inline(always)]
    fn can_enter(&self, requests: &Network, input: usize, now: Cycle) -> bool {
        self.first.at <= now && requests.has_room(input, self.first.packet.flits)
    }
}

/// Everything beyond the SMs' links.
#[derive(State)]
pub(crate) struct MemorySystem {
    link: Cycle,
    #[state(fixed)]
    decoder: AddressDecoder,
    /// Mask of the lowest address bits that differ within a line of an L2 bank.
    together: u64,
    /// By SM: requests on the way to the network.
    pub(crate) inbound: Vec<Lane>,
    /// SMs with requests on the way.
    sending: BitSet,
    /// By SM: number of flits that the network has taken since the last exchange.
    freed_flits: Vec<u32>,
    /// SMs of which the network has taken flits.
    freed: BitSet,
    /// Number of SMs that share a port of the network.
    cluster: usize,
    /// By SM: port of the network.
    #[state(fixed)]
    pub(crate) cluster_of: Vec<u32>,
    /// True if replies come at once; networks, L2 and DRAM do nothing then.
    pub(crate) perfect: bool,
    pub(crate) requests: Network,
    /// Number of L2 banks.
    subs: usize,
    /// The backend, unless a worker has it.
    #[state(each)]
    pub(crate) backend: Option<Box<Backend>>,
    /// State that the request network needs where it runs after the backend.
    #[state(scratch)]
    pub(crate) decoupled: DecoupledBackend,
    /// Last look for cycles in which nothing happens.
    #[state(scratch)]
    pub(crate) quiet: Quiet,
    /// Number of L2 cycles in which a packet came to any partition.
    pub arrival_cycles: u64,
    /// L2 cycles in which packets wait for few banks.
    pub(crate) crowding: Crowding,
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
            freed_flits: vec![0; sms],
            freed: BitSet::new(sms),
            cluster,
            cluster_of: (0..sms).map(|sm| (sm / cluster) as u32).collect(),
            perfect: spec.gpu.perfect_memory,
            requests: Network::new(&spec.noc, sms / cluster, subs, spec.gpu.seed),
            subs,
            backend: Some(Box::new(Backend::new(spec))),
            decoupled: DecoupledBackend::default(),
            quiet: Quiet::default(),
            arrival_cycles: 0,
            crowding: Crowding::new(subs),
        }
    }

    /// The backend. Requires that no worker has it.
    #[inline]
    pub(crate) fn backend(&self) -> &Backend {
        match &self.backend {
            Some(backend) => backend,
            None => unreachable!("another thread runs it"),
        }
    }

    /// The backend, to be changed. Requires that no worker has it.
    #[inline]
    pub(crate) fn backend_mut(&mut self) -> &mut Backend {
        match &mut self.backend {
            Some(backend) => backend,
            None => unreachable!("another thread runs it"),
        }
    }

    /// Takes a packet that an SM sent in the last step.
    #[inline]
    pub fn take(&mut self, sm: usize, sent: &Outgoing) {
        self.end_quiet();
        let request = &sent.request;
        let to = self.decoder.sub_partition(request.addr).index();
        let bytes = request.request_bytes();
        let packet = self.requests.lodge(to, request, bytes);
        let new = Inbound {
            at: sent.sent_at + self.link,
            packet,
        };
        let lane = &mut self.inbound[sm];
        lane.flits += packet.flits;
        if self.sending.contains(sm) {
            lane.others.push_back(new);
        } else {
            lane.first = new;
            self.sending.insert(sm);
        }
    }

    /// Calls `f` on the SMs of which the network has taken flits since the last exchange, with the
    /// number of flits, in order.
    #[inline]
    pub fn take_credits(&mut self, mut f: impl FnMut(usize, u32)) {
        each_member!(self.freed, sm => {
            f(sm, std::mem::take(&mut self.freed_flits[sm]));
        });
        self.freed.clear();
    }

    /// True if there is no packet anywhere beyond the links.
    pub fn is_idle(&self) -> bool {
        debug_assert!(!self.decoupled.is_pending, "input is pending");
        self.has_no_requests() && self.backend().is_idle()
    }

    /// True if no request is on its way to the backend.
    #[inline]
    pub(crate) fn has_no_requests(&self) -> bool {
        self.requests.is_idle() && self.sending.is_empty() && self.freed.is_empty()
    }

    /// Runs the core cycles from `from` up to, not including, `to`.
    pub fn run(&mut self, from: Cycle, to: Cycle, sink: &mut impl ReplySink) {
        let mut now = from;
        while now < to {
            let quiet = self.quiet_until(now).min(to);
            if quiet > now {
                self.skip(quiet - now);
                now = quiet;
            } else {
                self.cycle(now, sink);
                now += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn cycle(&mut self, now: Cycle, sink: &mut impl ReplySink) {
        if self.perfect {
            self.answer_at_once(now, sink);
            return self.skip(1);
        }
        let Ticks { noc, l2 } = self.backend_mut().cycle_before_l2(now, sink);
        for _ in 0..l2 {
            self.l2_cycle(now);
        }
        for _ in 0..noc {
            self.inject_requests(now);
            self.requests.cycle();
            self.backend_mut().replies.cycle();
        }
    }

    /// Answers all requests that have crossed the links, as far as the clusters' FIFOs have room,
    /// where the memory is perfect. Atomics act here.
    fn answer_at_once(&mut self, now: Cycle, sink: &mut impl ReplySink) {
        for first in (0..self.inbound.len()).step_by(self.cluster) {
            for sm in first..first + self.cluster {
                while self.backend().has_reply_room(first, sink)
                    && self.sending.contains(sm)
                    && self.inbound[sm].first.at <= now
                {
                    let lane = &mut self.inbound[sm];
                    let Lodged { id, flits, .. } = lane.first.packet;
                    if !lane.step_up() {
                        self.sending.remove(sm);
                    }
                    self.free(sm, flits);
                    let request = *self.requests.content(id);
                    self.requests.release(id);
                    self.backend_mut().answer(request, now, sink);
                }
            }
        }
    }

    /// Notes that the network has taken flits of an SM.
    #[inline]
    fn free(&mut self, sm: usize, flits: u32) {
        self.freed_flits[sm] += flits;
        self.freed.insert(sm);
    }

    /// Accounts for core cycles in which nothing happens, and both networks are empty.
    fn skip(&mut self, cycles: u64) {
        let (noc, l2) = self.backend_mut().skip(cycles);
        self.requests.skip(noc);
        if l2 > 0 {
            // A network without packets ends a stretch with many.
            self.crowding.begin(0);
        }
    }

    /// Each partition takes a packet, if its input has room for one, and does a cycle.
    fn l2_cycle(&mut self, now: Cycle) {
        let mut any = false;
        let is_crowded = self.crowding.begin(self.requests.packets_inside());
        for index in 0..self.partition_words() {
            let backend = self.backend_mut();
            let full = backend.full_inputs(index);
            backend.count_full(index, full);
            any |= self.take_requests(now, index, full);
            self.backend_mut().run_partitions(index, now);
        }
        self.count_arrivals(any, is_crowded);
    }

    /// Counts an L2 cycle in which packets came to banks or not. `is_crowded`: whether it belongs
    /// to a stretch of cycles with many packets in the network.
    #[inline]
    pub(crate) fn count_arrivals(&mut self, any: bool, is_crowded: bool) {
        self.arrival_cycles += u64::from(any);
        if is_crowded {
            self.crowding.end();
        }
    }

    /// Number of words of a set of partitions.
    #[inline]
    pub(crate) fn partition_words(&self) -> usize {
        self.subs.div_ceil(64)
    }

    /// The partitions of a word take a packet each, except for full ones. Returns whether any does.
    #[inline]
    pub(crate) fn take_requests(&mut self, now: Cycle, index: usize, full: u64) -> bool {
        let waiting = self.requests.arrived().word(index);
        self.crowding.note(index, waiting);
        let taken = waiting & !full;
        each_bit!(taken, p => {
            if let Some(packet) = self.requests.take(64 * index + p) {
                let request = self.requests.content(packet);
                match &mut self.backend {
                    Some(backend) => backend.push(64 * index + p, now, request),
                    None => self.decoupled.keep(64 * index + p, now, request),
                }
                self.requests.release(packet);
            }
        });
        taken != 0
    }

    /// Requests that have crossed the links enter the network's buffers. SMs of a cluster fill
    /// their buffer in an order that moves on by one in each core cycle
    /// (`-gpgpu_simt_core_sim_order 1`).
    pub(crate) fn inject_requests(&mut self, now: Cycle) {
        // In most machines an SM has a port of its own.
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

    /// True if the first request from an SM has crossed the link and finds room.
    #[inline(always)]
    fn can_enter(&self, sm: usize, cluster: usize, now: Cycle) -> bool {
        self.inbound[sm].can_enter(&self.requests, cluster, now)
    }

    /// Injects the requests of an SM that find room, of which there is at least one. Out of line,
    /// because in most cycles there is none.
    #[inline(never)]
    fn inject_requests_of(&mut self, sm: usize, cluster: usize, now: Cycle) {
        let (lane, requests) = (&mut self.inbound[sm], &mut self.requests);
        let mut entered = 0;
        loop {
            let Inbound { packet, .. } = lane.first;
            requests.enter(cluster, packet);
            entered += packet.flits;
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
        let banks = self.backend_mut().partitions.iter_mut();
        banks.for_each(SubPartition::flush);
    }

    /// Marks the lines of a host-to-device copy as present in L2.
    pub fn warm(&mut self, addr: u64, bytes: u64) {
        let (mut first, end) = (addr & !31, addr + bytes);
        while first < end {
            let to = self.decoder.sub_partition(first).index();
            let next = end.min((first | self.together) + 1);
            self.backend_mut().partitions[to].warm(first, next);
            first = next;
        }
    }

    /// Replays an access without timing in L2, whose fills have `atom` bytes.
    pub fn replay(&mut self, access: &Replay, atom: u32) {
        for addr in (access.segment..access.segment + SEGMENT_BYTES).step_by(atom as usize) {
            if let Some(part) = access.part(addr, atom) {
                let to = self.decoder.sub_partition(addr).index();
                self.backend_mut().partitions[to].replay(addr, &part);
            }
        }
    }

    pub fn partitions(&self) -> &[SubPartition] {
        debug_assert!(!self.decoupled.is_pending, "input is pending");
        &self.backend().partitions
    }

    /// L2 banks, to be changed. Requires that the backend is here.
    pub fn partitions_mut(&mut self) -> &mut [SubPartition] {
        &mut self.backend_mut().partitions
    }

    pub fn channels(&self) -> &[DramChannel] {
        &self.backend().channels
    }

    pub fn networks(&self) -> (&Network, &Network) {
        (&self.requests, &self.backend().replies)
    }

    /// Atomics of the running step or window, in order.
    pub fn atomics(&mut self) -> &mut Vec<AtomicEvent> {
        &mut self.backend_mut().atomics
    }

    /// Number of L2 cycles of banks whose input had no room, and of replies that found no room in
    /// their network.
    pub fn stalls(&self) -> (u64, u64) {
        (self.backend().dram_full_stalls, self.backend().reply_stalls)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::MemorySystem;
    use super::backend::Deferred;
    use warploom_base::{Cycle, KernelSlot, SmId};
    use warploom_config::{GpuSpec, preset};
    use warploom_mem::{AccessKind, Request};
    use warploom_sm::Outgoing;

    pub(crate) fn request(kind: AccessKind) -> Request {
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
    pub(crate) fn volta() -> GpuSpec {
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
                memory.run(*now, now + 1, &mut Deferred);
                !memory.backend().has_no_replies()
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
