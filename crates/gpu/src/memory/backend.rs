//! The memory backend, after the request network: L2 partitions, DRAM channels, and the reply
//! network. It is a box of its own, so that another thread may run it for some cycles.

use crate::domain::Domain;
use crate::host::backend_trace::{BackendTrace, Ticks};
use crate::host::decoupled::PendingInput;
use crate::host::exchange::TimedReply;
use warploom_base::{Cycle, SmId, SubPartitionId, bits, each_bit, each_member};
use warploom_config::GpuSpec;
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_mem::{AccessKind, Reply, Request};
use warploom_noc::{Network, PacketId};
use warploom_state::{State, Value};

/// An atomic that reached the point where it acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicEvent {
    /// The core cycle in which it acts.
    pub at: Cycle,
    /// Reply to the atomic, which brings the old values.
    pub reply: Reply,
}

/// A reply on its way to an SM, kept by the network that it has left.
#[derive(Clone, Copy, Debug, Value)]
struct Outbound {
    /// Cycle from which the SM sees it.
    at: Cycle,
    packet: PacketId,
    sm: SmId,
}

/// Receiver of the replies that come out of the network.
pub(crate) trait ReplySink {
    /// Takes a reply for an SM, by number, which sees it from cycle `at` on. Returns whether it has
    /// taken it, else the reply waits for the exchange.
    fn receive(&mut self, sm: usize, at: Cycle, reply: &Reply) -> bool;

    /// Number of replies that an SM has not taken, if the sink takes replies.
    fn untaken(&self, sm: usize) -> Option<u32>;

    /// True if it is known how many replies an SM has not taken before cycle `now`.
    fn has_come(&self, sm: usize, now: Cycle) -> bool;
}

/// A sink that leaves all replies to the exchange.
pub(crate) struct Deferred;

impl ReplySink for Deferred {
    #[inline]
    fn receive(&mut self, _sm: usize, _at: Cycle, _reply: &Reply) -> bool {
        false
    }

    #[inline]
    fn untaken(&self, _sm: usize) -> Option<u32> {
        None
    }

    #[inline]
    fn has_come(&self, _sm: usize, _now: Cycle) -> bool {
        false
    }
}

/// Numbers of replies to an SM that it has not taken.
#[derive(Clone, Copy, Debug, Default)]
struct Untaken {
    /// All replies, from before the last exchange and since.
    all: u32,
    /// Replies since the last exchange.
    fresh: u32,
}

/// The memory backend with its clock domains.
#[derive(State)]
pub(crate) struct Backend {
    core_khz: u64,
    noc_clock: Domain,
    l2_clock: Domain,
    dram_clock: Domain,
    link: Cycle,
    reply_room: u32,
    /// Replies since the last exchange, oldest first.
    outbound: Vec<Outbound>,
    /// By SM: numbers of replies that it has not taken.
    #[state(scratch)]
    untaken: Vec<Untaken>,
    /// Number of SMs that share a port of the network.
    cluster: usize,
    /// By SM: port of the network.
    #[state(fixed)]
    cluster_of: Vec<u32>,
    /// True if L2 answers by sectors.
    sectored: bool,
    pub(crate) replies: Network,
    /// By L2 bank: flits of its oldest reply, for which the network had no room; else 0.
    refused: Vec<u32>,
    #[state(each)]
    pub(crate) partitions: Vec<SubPartition>,
    #[state(each)]
    pub(crate) channels: Vec<DramChannel>,
    per_channel: usize,
    /// Trace for the request network, where that runs later.
    #[state(scratch)]
    pub(crate) trace: BackendTrace,
    /// Replies that a task brings along, collected where no other core reads, to be copied
    /// together: see [`PendingInput`].
    #[state(scratch)]
    collected: Vec<TimedReply>,
    /// Atomics of the running step, in order.
    #[state(scratch)]
    pub(crate) atomics: Vec<AtomicEvent>,
    pub(super) dram_full_stalls: u64,
    pub(super) reply_stalls: u64,
}

impl Backend {
    pub(super) fn new(spec: &GpuSpec) -> Self {
        let sms = spec.gpu.sms as usize;
        let cluster = spec.gpu.sms_per_cluster as usize;
        let clusters = sms / cluster;
        let per_channel = spec.gpu.sub_partitions_per_channel as usize;
        let subs = spec.gpu.channels as usize * per_channel;
        let rop = spec
            .partition
            .rop_cycles
            .saturating_sub(2 * spec.gpu.link_cycles);
        Self {
            core_khz: spec.clocks.core_khz.into(),
            noc_clock: Domain::new(spec.clocks.noc_khz),
            l2_clock: Domain::new(spec.clocks.l2_khz),
            dram_clock: Domain::new(spec.clocks.dram_khz),
            link: spec.gpu.link_cycles.into(),
            reply_room: spec.sm.ejection_fifo + 2 * spec.gpu.link_cycles,
            outbound: Vec::with_capacity(64),
            untaken: vec![Untaken::default(); sms],
            cluster,
            cluster_of: (0..sms).map(|sm| (sm / cluster) as u32).collect(),
            sectored: spec.partition.l2.enabled && spec.partition.l2.sectored,
            refused: vec![0; subs],
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
            trace: BackendTrace::default(),
            collected: Vec::new(),
            atomics: Vec::with_capacity(64),
            dram_full_stalls: 0,
            reply_stalls: 0,
        }
    }

    /// Notes that SMs have taken replies since the last exchange. `left`: by SM, number of replies
    /// of before the exchange that it has not taken, if that is known.
    pub(crate) fn note_untaken(&mut self, left: impl Fn(usize) -> Option<u32>) {
        for (sm, untaken) in self.untaken.iter_mut().enumerate() {
            if let Some(left) = left(sm) {
                let all = left + untaken.fresh;
                debug_assert!(all <= untaken.all, "{sm} has {all} of {untaken:?}");
                untaken.all = all;
            }
        }
    }

    /// Applies all pending input.
    pub(crate) fn apply_pending(&mut self, input: &mut PendingInput) {
        if !input.untaken.is_empty() {
            self.end_exchange_of_all(input.untaken.drain(..));
        }
        for (bank, now, request) in input.packets.drain(..) {
            self.push(bank, now, &request);
        }
    }

    /// Adds the replies that wait for the exchange to `replies`.
    pub(crate) fn collect_replies(&mut self, replies: &mut Vec<TimedReply>) {
        let mut collected = std::mem::take(&mut self.collected);
        self.take_replies(|_, at, reply| collected.push((at, *reply)));
        replies.append(&mut collected);
        self.collected = collected;
    }

    /// Calls `f` on the replies that wait for the exchange, with the number of their SM and the
    /// cycle from which it sees them, the oldest first. They count as fresh until the exchange
    /// ends.
    #[inline]
    pub(crate) fn take_replies(&mut self, mut f: impl FnMut(usize, Cycle, &Reply)) {
        for &Outbound { at, packet, sm } in &self.outbound {
            f(sm.index(), at, &self.replies.content(packet).into());
            self.replies.release(packet);
        }
    }

    /// Ends an exchange, in which every SM got its replies. `counts`: by SM, number of replies that
    /// it has not taken.
    #[inline]
    pub(crate) fn end_exchange_of_all(&mut self, counts: impl Iterator<Item = u32>) {
        self.outbound.clear();
        for (untaken, all) in self.untaken.iter_mut().zip(counts) {
            *untaken = Untaken { all, fresh: 0 };
        }
    }

    /// Ends an exchange of replies.
    #[inline]
    pub(crate) fn end_exchange(&mut self) {
        for reply in self.outbound.drain(..) {
            self.untaken[reply.sm.index()].fresh = 0;
        }
    }

    /// True if no reply waits for the exchange.
    pub(crate) fn has_no_replies(&self) -> bool {
        self.outbound.is_empty()
    }

    /// True if there is no packet anywhere in the backend.
    pub(super) fn is_idle(&self) -> bool {
        self.outbound.is_empty() && self.is_empty()
    }

    /// True if there is no packet anywhere in the backend, apart from replies that have left the
    /// network and wait for the exchange.
    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_idle()
            && self.partitions.iter().all(SubPartition::is_idle)
            && self.channels.iter().all(DramChannel::is_idle)
    }

    /// Takes a packet for an L2 bank out of the request network.
    #[inline]
    pub(crate) fn push(&mut self, bank: usize, now: Cycle, request: &Request) {
        self.partitions[bank].push(now, request);
    }

    /// The partitions of a word run a cycle. Returns those whose input had no room for a packet
    /// before it, as bits.
    #[inline]
    pub(super) fn run_partitions(&mut self, index: usize, now: Cycle) -> u64 {
        SubPartition::cycle_all(self.partitions_of(index), now)
    }

    /// Number of core cycles in which DRAM has at most this number of command cycles.
    #[inline]
    pub(crate) fn cycles_of_dram(&self, commands: u64) -> Cycle {
        self.dram_clock.cycles_within(commands, self.core_khz)
    }

    /// Accounts for core cycles in which nothing happens. Returns the number of cycles of the
    /// networks and of L2.
    pub(super) fn skip(&mut self, cycles: u64) -> (u64, u64) {
        let noc = self.noc_clock.ticks(cycles, self.core_khz);
        let l2 = self.l2_clock.ticks(cycles, self.core_khz);
        let dram = self.dram_clock.ticks(cycles, self.core_khz);
        self.pass(noc, l2, dram);
        (noc, l2)
    }

    /// Runs the parts that come before L2 in a cycle. Returns the ticks of the other parts.
    #[inline]
    pub(super) fn cycle_before_l2(&mut self, now: Cycle, sink: &mut impl ReplySink) -> Ticks {
        let noc = self.noc_clock.tick(self.core_khz) as u32;
        let l2 = self.l2_clock.tick(self.core_khz) as u32;
        let dram = self.dram_clock.tick(self.core_khz);
        self.deliver_replies(now, sink);
        for _ in 0..noc {
            self.inject_replies(now);
        }
        let (channels, banks) = (&mut self.channels, &mut self.partitions);
        DramChannel::cycle_all(channels, (now, dram), banks, self.per_channel);
        Ticks { noc, l2 }
    }

    /// True if the FIFO of the cluster whose first SM is `first` has room for a reply.
    #[inline]
    pub(super) fn has_reply_room(&self, first: usize, sink: &impl ReplySink) -> bool {
        let untaken = |sm| {
            let count = sink.untaken(sm);
            count.unwrap_or_else(|| self.untaken[sm].all)
        };
        let all = match self.cluster {
            // In most machines a cluster has one SM.
            1 => untaken(first),
            sms => (first..first + sms).map(untaken).sum(),
        };
        all < self.reply_room
    }

    /// Replies to a request without delay (perfect memory).
    pub(super) fn answer(&mut self, request: Request, now: Cycle, sink: &mut impl ReplySink) {
        let sectored = self.sectored;
        let split = request.by_sector().filter(|_| sectored);
        let whole = Some(request).filter(|_| !sectored);
        let replies = whole.into_iter().chain(split);
        for mut reply in replies.filter(|r| r.kind != AccessKind::L1WriteBack) {
            reply.returned_at = now as u32;
            if reply.kind == AccessKind::GlobalAtomic {
                let reply = Reply::from(&reply);
                self.atomics.push(AtomicEvent { at: now, reply });
            }
            let packet = self.replies.lodge(0, &reply, reply.reply_bytes()).id;
            self.send_out(packet, now, sink);
        }
    }

    /// Sends a reply, which the reply network keeps, to its SM.
    #[inline]
    fn send_out(&mut self, packet: PacketId, now: Cycle, sink: &mut impl ReplySink) {
        let reply = Reply::from(self.replies.content(packet));
        let (sm, at) = (reply.sm, now + self.link);
        if sink.receive(sm.index(), at, &reply) {
            return self.replies.release(packet);
        }
        let untaken = &mut self.untaken[sm.index()];
        untaken.all += 1;
        untaken.fresh += 1;
        self.outbound.push(Outbound { at, packet, sm });
    }

    /// Delivers one packet of the network to each cluster, if the FIFO that its SMs share has room.
    #[inline]
    fn deliver_replies(&mut self, now: Cycle, sink: &mut impl ReplySink) {
        each_member!(self.replies.arrived(), cluster => {
            if self.has_reply_room(cluster * self.cluster, sink)
                && let Some(packet) = self.replies.take(cluster)
            {
                self.send_out(packet, now, sink);
            }
        });
    }

    /// Injects one reply of each partition into the network. Atomics act here.
    fn inject_replies(&mut self, now: Cycle) {
        let Self {
            replies, refused, ..
        } = self;
        for (p, (bank, refused)) in self.partitions.iter_mut().zip(refused).enumerate() {
            let Some(reply) = bank.reply_front() else {
                continue;
            };
            // In most cycles there is no room for what found none before: only that is looked at.
            if *refused != 0 && !replies.has_room(p, *refused) {
                self.reply_stalls += 1;
                bank.count_reply_stall();
                continue;
            }
            let cluster = self.cluster_of[reply.sm.index()] as usize;
            let (kind, bytes) = (reply.kind, reply.reply_bytes());
            let stamp = |reply: &mut Request| reply.returned_at = now as u32;
            let Some(packet) = replies.try_inject(p, cluster, reply, bytes, stamp) else {
                *refused = replies.flits_of(bytes);
                self.reply_stalls += 1;
                bank.count_reply_stall();
                continue;
            };
            *refused = 0;
            bank.drop_reply();
            if kind == AccessKind::GlobalAtomic {
                let reply = Reply::from(replies.content(packet));
                self.atomics.push(AtomicEvent { at: now, reply });
            }
        }
    }

    /// Calls `f` on the SMs that have to come to cycle `now` before it is known whether the replies
    /// that have come out of the network find room in that cycle.
    #[inline]
    pub(crate) fn each_awaited(&self, now: Cycle, sink: &impl ReplySink, mut f: impl FnMut(usize)) {
        each_member!(self.replies.arrived(), cluster => {
            let first = cluster * self.cluster;
            if !self.has_reply_room(first, sink) {
                let sms = first..first + self.cluster;
                sms.filter(|sm| !sink.has_come(*sm, now)).for_each(&mut f);
            }
        });
    }

    /// True if it is known whether they do.
    #[inline]
    pub(crate) fn knows_reply_room(&self, now: Cycle, sink: &impl ReplySink) -> bool {
        let mut known = true;
        self.each_awaited(now, sink, |_| known = false);
        known
    }

    /// Runs core cycles in which nothing happens in the backend, before the request network runs
    /// them.
    pub(crate) fn skip_with_trace(&mut self, cycles: Cycle) {
        let (mut noc_cycles, mut l2_cycles, mut dram_cycles) = (0, 0, 0);
        for _ in 0..cycles {
            let noc = self.noc_clock.tick(self.core_khz);
            let l2 = self.l2_clock.tick(self.core_khz);
            dram_cycles += self.dram_clock.tick(self.core_khz);
            (noc_cycles, l2_cycles) = (noc_cycles + noc, l2_cycles + l2);
            let (noc, l2) = (noc as u32, l2 as u32);
            self.trace.ticks.push(Ticks { noc, l2 });
        }
        // No input of L2 is full.
        let words = self.partition_words() * l2_cycles as usize;
        self.trace.full.resize(self.trace.full.len() + words, 0);
        self.pass(noc_cycles, l2_cycles, dram_cycles);
    }

    /// Counts cycles of each clock domain in which nothing happens.
    fn pass(&mut self, noc: u64, l2: u64, dram: u64) {
        self.replies.skip(noc);
        self.partitions.iter_mut().for_each(|p| p.skip(l2));
        self.channels.iter_mut().for_each(|c| c.skip(dram));
    }

    /// Runs a cycle of the backend, before the request network runs it.
    pub(crate) fn run_cycle(&mut self, now: Cycle, sink: &mut impl ReplySink) {
        let ticks = self.cycle_before_l2(now, sink);
        let Ticks { noc, l2 } = ticks;
        self.trace.ticks.push(ticks);
        for _ in 0..l2 {
            for index in 0..self.partition_words() {
                let full = self.run_partitions(index, now);
                self.count_full(index, full);
                self.trace.full.push(full);
            }
        }
        for _ in 0..noc {
            self.replies.cycle();
        }
    }

    /// Number of words of a set of partitions.
    #[inline]
    pub(super) fn partition_words(&self) -> usize {
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
    pub(super) fn full_inputs(&mut self, index: usize) -> u64 {
        let partitions = self.partitions_of(index);
        bits(partitions.iter().map(|partition| !partition.can_accept()))
    }

    /// Counts a cycle in which these partitions of a word had no room for a packet.
    #[inline]
    pub(super) fn count_full(&mut self, index: usize, full: u64) {
        let partitions = self.partitions_of(index);
        each_bit!(full, p => { partitions[p].count_input_full(); });
        self.dram_full_stalls += u64::from(full.count_ones());
    }
}
