//! A sub-partition: one L2 bank with its queues, between the network and a DRAM channel (model
//! page, section 8).

use crate::address::AddressDecoder;
use crate::cache::{AccessOutcome, Cache, CacheCounters, Level, sectors_from};
use crate::timed::Timed;
use crate::{AccessKind, Request};
use warploom_base::{Cycle, FixedQueue, KernelSlot, SubPartitionId};
use warploom_config::{GpuSpec, ModelStyle, WriteAllocate, WritePolicy};
use warploom_stats::{LOG2_BINS, Peak, declare_stats, log2_bin};

/// Bytes of an L2 sector.
const SECTOR_BYTES: u16 = 32;

declare_stats! {
    /// Counters of one sub-partition or of all.
    pub struct PartitionCounters in "partition" {
        /// L2 cycles, summed over sub-partitions.
        pub cycles: u64 = Cycles;
        /// Packets taken from the network.
        pub packets: u64 = Packets, as "partiton_reqs_in_parallel";
        /// Core cycles from an access to its packet's arrival here, summed over packets.
        pub arrival_cycles: u64 = Cycles, as "avg_icnt2mem_latency x replies";
        /// The longest of those times so far in the run.
        pub arrival_cycles_max: Peak = Cycles, as "max_icnt2mem_latency";
        /// Packets by the logarithm of that time.
        pub packets_by_cycles: [u64; 16] = Packets, as "icnt2mem_lat_table", by [LOG2_BINS];
        /// The same for packets that were split by sector, counted once for each request made of
        /// them: where GPGPU-Sim splits a packet its averagemflatency begins anew.
        pub split_cycles: u64 = Cycles;
        /// Requests made of those packets: a sectored L2 takes one a sector.
        pub requests: u64 = Requests;
        /// Replies handed to the network.
        pub replies: u64 = Packets, as "partiton_replys_in_parallel";
        /// L2 cycles in which a waiting packet would not have been taken.
        pub input_full: u64 = Cycles, as "gpu_stall_dramfull";
        /// Network cycles in which a reply could not enter the network.
        pub reply_stalls: u64 = Cycles, as "gpu_stall_icnt2sh";
    }
}

/// One L2 bank with its queues. What a cycle without work needs comes first, as it lies in memory.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SubPartition {
    l2: Option<Cache>,
    /// L2 cycles so far, and one for each sector copied in, so that copies have an order too.
    now: Cycle,
    /// L2 cycles so far: `counters` leaves them out.
    cycles: u64,
    /// Entries that the input queue must have free for a packet to be taken.
    packet_room: usize,
    from_noc: FixedQueue<Request>,
    from_dram: FixedQueue<Request>,
    /// Packets in the fixed delay before L2, with the core cycle at which they leave it. One that
    /// is split does so as it leaves, since it takes one line of the host's cache and not four:
    /// `sectors` are those for which a request is still to be made.
    rop: Timed<Request>,
    to_noc: FixedQueue<Request>,
    to_dram: FixedQueue<Request>,
    counters: PartitionCounters,
    rop_cycles: Cycle,
    decoder: AddressDecoder,
    id: SubPartitionId,
    ideal: bool,
    /// Requests are split into sectors.
    sectored: bool,
    /// Their parts keep their own addresses.
    exact_sectors: bool,
    /// Writes that miss are acknowledged at once.
    acknowledges_misses: bool,
}

impl SubPartition {
    /// An empty sub-partition. `rop_cycles` is the fixed delay before L2 in core cycles (the
    /// specification's less what links already take).
    pub fn new(spec: &GpuSpec, id: SubPartitionId, rop_cycles: u32) -> Self {
        let partition = &spec.partition;
        let l2 = &partition.l2;
        let lazy = matches!(
            l2.write_allocate,
            WriteAllocate::FetchOnWrite | WriteAllocate::LazyFetchOnRead
        );
        Self {
            id,
            decoder: AddressDecoder::new(spec),
            l2: l2
                .enabled
                .then(|| Cache::new(l2, Level::L2, spec.gpu.style)),
            ideal: partition.ideal_l2,
            sectored: l2.enabled && l2.sectored,
            exact_sectors: partition.exact_sectors,
            acknowledges_misses: lazy && l2.write == WritePolicy::WriteBack,
            packet_room: match spec.gpu.style {
                ModelStyle::V3 if !l2.sectored => 1,
                _ => (partition.noc_to_l2 as usize).min(4),
            },
            rop_cycles: rop_cycles.into(),
            rop: Timed::new(64),
            from_noc: FixedQueue::new(partition.noc_to_l2 as usize),
            to_dram: FixedQueue::new(partition.l2_to_dram as usize),
            from_dram: FixedQueue::new(partition.dram_to_l2 as usize),
            to_noc: FixedQueue::new(partition.l2_to_noc as usize),
            now: 0,
            cycles: 0,
            counters: PartitionCounters::default(),
        }
    }

    /// The input can take another packet from the network; when not, the machine counts
    /// `gpu_stall_dramfull` for this L2 cycle.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.from_noc.room() >= self.packet_room
    }

    /// Takes a packet from the network. A sectored L2 splits it in 32-byte requests (`bytes` / 32
    /// of them, also for writes that skip a sector), each of which is answered by a reply of its
    /// own with the packet's token.
    pub fn push(&mut self, now_core: Cycle, request: Request) {
        let cycles = now_core - request.issued_at;
        self.counters.packets += 1;
        self.counters.arrival_cycles += cycles;
        self.counters.arrival_cycles_max.note(cycles);
        self.counters.packets_by_cycles[log2_bin(cycles)] += 1;
        let mut packet = request;
        if self.splits(&packet) {
            packet.sectors = sectors_to_ask(&packet);
            debug_assert!(packet.sectors != 0, "a packet of something");
            let requests = u64::from(packet.sectors.count_ones());
            self.counters.requests += requests;
            self.counters.split_cycles += requests * cycles;
        } else {
            self.counters.requests += 1;
        }
        if packet.kind == AccessKind::TextureRead {
            self.pass_by_rop(packet);
        } else {
            self.rop.push(now_core + self.rop_cycles, packet);
        }
    }

    /// A packet that does not wait.
    fn pass_by_rop(&mut self, mut packet: Request) {
        let splits = self.splits(&packet);
        loop {
            self.from_noc.push(self.next_request(&packet));
            if !splits || !next_sector(&mut packet) {
                return;
            }
        }
    }

    /// More than one request is made of a packet.
    #[inline]
    fn splits(&self, packet: &Request) -> bool {
        self.sectored && packet.bytes > SECTOR_BYTES
    }

    /// The next request of a packet.
    #[inline]
    fn next_request(&self, packet: &Request) -> Request {
        if !self.splits(packet) {
            return *packet;
        }
        let sector = packet.sectors.trailing_zeros();
        let bytes = u128::from(u32::MAX) << (32 * sector);
        Request {
            addr: self.sector_addr(packet, sector.into()),
            bytes: SECTOR_BYTES,
            sectors: 1 << sector,
            byte_mask: packet.byte_mask & bytes,
            ..*packet
        }
    }

    /// Address of the part of a request that lies in a sector of its line. GPGPU-Sim 4.2
    /// (`breakdown_request_to_sector_requests`) adds the sector's offset in the line to an address
    /// that has it already, and to that of a constant line nothing.
    fn sector_addr(&self, request: &Request, sector: u64) -> u64 {
        let half_line = request.bytes == 2 * SECTOR_BYTES;
        match request.kind {
            AccessKind::ConstRead | AccessKind::InstRead if half_line && !self.exact_sectors => {
                request.addr
            }
            kind if kind.is_write() && !self.exact_sectors => request.addr + 32 * sector,
            _ => (request.addr & !127) + 32 * sector,
        }
    }

    /// One L2 cycle. Returns whether anything moved.
    pub fn cycle(&mut self, now_core: Cycle) -> bool {
        self.now += 1;
        self.cycles += 1;
        if self.queues_empty() {
            return self.leave_rop(now_core);
        }
        let mut moved = self.answer();
        moved |= self.take_fill();
        moved |= self.send_miss();
        moved |= self.access();
        moved |= self.leave_rop(now_core);
        moved
    }

    /// One request whose line came goes back.
    fn answer(&mut self) -> bool {
        let Some(l2) = &mut self.l2 else { return false };
        if !l2.has_ready() || self.to_noc.is_full() {
            return false;
        }
        if let Some(request) = l2.next_ready()
            && wants_reply(request.kind)
        {
            self.to_noc.push(request);
        }
        true
    }

    /// The oldest reply of DRAM fills L2, or goes on if L2 does not wait for it.
    fn take_fill(&mut self) -> bool {
        let Some(reply) = self.from_dram.front() else {
            return false;
        };
        let waits = self.l2.as_ref().and_then(|l2| l2.waiting_for_fill(reply));
        if let (Some(l2), Some(line)) = (&mut self.l2, waits) {
            if !l2.fill_port_free(self.now) {
                return false;
            }
            l2.fill_line(self.now, line, reply);
        } else if self.to_noc.is_full() {
            return false;
        } else if wants_reply(reply.kind) {
            self.to_noc.push(*reply);
        }
        self.from_dram.pop();
        true
    }

    fn send_miss(&mut self) -> bool {
        let Some(l2) = &mut self.l2 else { return false };
        if self.to_dram.is_full() {
            return false;
        }
        let Some(request) = l2.miss_queue_front() else {
            return false;
        };
        self.to_dram.push(*request);
        l2.pop_miss();
        true
    }

    /// The oldest request is looked up.
    fn access(&mut self) -> bool {
        if self.to_dram.is_full() {
            return false;
        }
        let Some(request) = self.from_noc.front() else {
            return false;
        };
        let Some(l2) = &mut self.l2 else {
            self.to_dram.push(*request);
            self.from_noc.pop();
            return true;
        };
        if self.to_noc.is_full() || !l2.data_port_free(self.now) {
            return false;
        }
        let answers_now = if self.ideal {
            l2.hit_always(self.now, request);
            true
        } else if l2.refuses_again(request).is_some() {
            return false;
        } else {
            let index_addr = self.decoder.partition_addr(request.addr);
            let access = l2.access_indexed(self.now, request, index_addr);
            match access.outcome {
                AccessOutcome::ReservationFail(_) => return false,
                // A hit that was not passed down, or a write that L2 took.
                AccessOutcome::Hit => !access.write_sent,
                _ => request.kind.is_write() && self.acknowledges_misses && !access.allocate_sent,
            }
        };
        if answers_now && wants_reply(request.kind) {
            self.to_noc.push(*request);
        }
        self.from_noc.pop();
        true
    }

    #[inline]
    fn leave_rop(&mut self, now_core: Cycle) -> bool {
        if self.from_noc.is_full() {
            return false;
        }
        let Some(packet) = self.rop.due(now_core) else {
            return false;
        };
        let (request, splits) = (self.next_request(packet), self.splits(packet));
        self.from_noc.push(request);
        self.rop.leave(|packet| !splits || !next_sector(packet));
        true
    }

    /// Reply at the head of the queue to the network.
    #[inline]
    pub fn reply_front(&self) -> Option<&Request> {
        self.to_noc.front()
    }

    /// Takes that reply. Replies of kind `GlobalAtomic` are the atomics to execute, in this order.
    #[inline]
    pub fn pop_reply(&mut self) -> Option<Request> {
        let reply = self.to_noc.pop();
        self.counters.replies += u64::from(reply.is_some());
        reply
    }

    /// Request at the head of the queue to DRAM.
    #[inline]
    pub fn dram_front(&self) -> Option<&Request> {
        self.to_dram.front()
    }

    /// Takes that request.
    #[inline]
    pub fn pop_dram(&mut self) -> Option<Request> {
        self.to_dram.pop()
    }

    /// There is room for a reply from DRAM.
    #[inline]
    pub fn can_take_from_dram(&self) -> bool {
        !self.from_dram.is_full()
    }

    /// Takes a reply from DRAM.
    #[inline]
    pub fn push_from_dram(&mut self, reply: Request) {
        self.from_dram.push(reply);
    }

    /// Nothing inside, in any queue or miss.
    pub fn is_idle(&self) -> bool {
        self.queues_empty()
            && self.rop.is_empty()
            && self.to_dram.is_empty()
            && self.to_noc.is_empty()
            && self.l2.as_ref().is_none_or(Cache::is_idle)
    }

    /// Nothing that `cycle` could move, but for the fixed delay.
    #[inline]
    fn queues_empty(&self) -> bool {
        self.from_noc.is_empty()
            && self.from_dram.is_empty()
            && self
                .l2
                .as_ref()
                .is_none_or(|l2| !l2.has_ready() && l2.miss_queue_front().is_none())
    }

    /// Earliest core cycle at which `cycle` can do anything if nothing is pushed before:
    /// `None` when only an input can wake it.
    #[inline]
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        if !self.queues_empty() {
            return Some(now_core);
        }
        self.rop.due_at().map(|due_at| due_at.max(now_core))
    }

    /// Accounts for `cycles` L2 cycles that were not run because `next_event` said so.
    #[inline]
    pub fn skip(&mut self, cycles: u64) {
        self.now += cycles;
        self.cycles += cycles;
    }

    /// Counts an L2 cycle in which the input could not take a packet.
    #[inline]
    pub fn count_input_full(&mut self) {
        self.counters.input_full += 1;
    }

    /// Counts a network cycle in which the network could not take the reply that waits.
    #[inline]
    pub fn count_reply_stall(&mut self) {
        self.counters.reply_stalls += 1;
    }

    /// Marks 32 bytes at `addr` as present (host-to-device copies).
    pub fn warm(&mut self, addr: u64) {
        if let Some(l2) = &mut self.l2 {
            let index_addr = self.decoder.partition_addr(addr);
            l2.warm(self.now, addr, index_addr);
            self.now += 1;
        }
    }

    /// Drops dirty lines (`flush_l2`).
    pub fn flush(&mut self) {
        if let Some(l2) = &mut self.l2 {
            l2.flush();
        }
    }

    /// Invalidates L2.
    pub fn invalidate_all(&mut self) {
        if let Some(l2) = &mut self.l2 {
            l2.invalidate_all();
        }
    }

    /// Counts L2's accesses apart by kernel too, for the first `kernels` kernel slots.
    pub fn follow_kernels(&mut self, kernels: usize) {
        if let Some(l2) = &mut self.l2 {
            l2.follow_kernels(kernels);
        }
    }

    /// L2's accesses of the kernels in a slot, if there is an L2.
    pub fn kernel_counters(&self, slot: KernelSlot) -> Option<&CacheCounters> {
        Some(self.l2.as_ref()?.kernel_counters(slot))
    }

    /// Which one this is.
    pub fn id(&self) -> SubPartitionId {
        self.id
    }

    /// L2's counters, if there is an L2.
    pub fn l2_counters(&self) -> Option<&CacheCounters> {
        self.l2.as_ref().map(Cache::counters)
    }

    /// Counters so far.
    pub fn counters(&self) -> PartitionCounters {
        PartitionCounters {
            cycles: self.cycles,
            ..self.counters.clone()
        }
    }
}

/// Sectors for each of which a packet that is split makes a request: the dirty ones of a
/// write-back, of anything else those of the bytes that it spans.
fn sectors_to_ask(packet: &Request) -> u8 {
    match packet.kind {
        AccessKind::L1WriteBack => packet.sectors,
        _ => sectors_from(packet.addr, packet.bytes.into()),
    }
}

/// Goes on to the next sector of a packet that is split, if there is one.
#[inline]
const fn next_sector(packet: &mut Request) -> bool {
    packet.sectors &= packet.sectors.wrapping_sub(1);
    packet.sectors != 0
}

/// A reply to a request of this kind goes to an SM.
const fn wants_reply(kind: AccessKind) -> bool {
    !matches!(
        kind,
        AccessKind::L1WriteBack | AccessKind::L2WriteBack | AccessKind::L2WriteAllocate
    )
}

#[cfg(test)]
mod tests;
