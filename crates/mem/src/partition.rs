//! Sub-partition: one L2 bank with its queues, between the network and a DRAM channel
//! (docs/model/partition.md, Cycle of an L2 bank).

mod counters;
mod crossing;
mod input;

use crate::address::AddressDecoder;
use crate::cache::{AccessOutcome, Cache, CacheCounters, Level, Replay};
use crate::request::InLine;
use crate::{AccessKind, Request};
use core::hint::cold_path;
pub use counters::PartitionCounters;
use crossing::Crossing;
use input::Input;
use warploom_base::{Cycle, FixedQueue, KernelSlot, SubPartitionId, fetch_ahead};
use warploom_config::{GpuSpec, ModelStyle, WriteAllocate, WritePolicy};
use warploom_state::State;
use warploom_stats::log2_bin;

/// Bytes of an L2 sector.
const SECTOR_BYTES: u16 = 32;

/// An L2 bank with its queues. Fields that a cycle without work needs come first in memory.
#[derive(Clone, Debug, State)]
#[repr(C, align(64))]
pub struct SubPartition {
    /// L2 bank. Where there is no L2, its outlet alone is used.
    l2: Cache,
    /// L2 cycles so far, plus one for each sector that copies brought, so that these have an order
    /// of use.
    now: Cycle,
    /// L2 cycle from which a write lets L2 be accessed again.
    written_at: Cycle,
    /// Number of the sector that the last write began with.
    written: u64,
    /// Number of sectors that copies brought.
    copied: u64,
    /// Largest number of requests in the input queue with which a packet is taken.
    most_waiting: u32,
    /// Packets in the fixed delay before L2, and requests that have left it.
    input: Input,
    /// Packets that come from the other half of L2.
    crossing: Crossing,
    from_dram: FixedQueue<InLine>,
    to_noc: FixedQueue<InLine>,
    counters: PartitionCounters,
    rop_cycles: Cycle,
    #[state(fixed)]
    decoder: AddressDecoder,
    id: SubPartitionId,
    has_l2: bool,
    ideal: bool,
    /// True if writes that miss are acknowledged at once.
    acknowledges_misses: bool,
    /// Bytes that L2 reads from DRAM for a sector that misses.
    fetch_bytes: u64,
    /// L2 cycles that a write takes: of a part of a sector, and of whole sectors.
    write_cycles: [Cycle; 2],
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
        let splitting = Splitting {
            sectored: l2.enabled && l2.sectored,
            exact: partition.exact_sectors,
        };
        // Free entries that the input queue needs for a packet to be taken.
        let packet_room = match spec.gpu.style {
            ModelStyle::V3 if !l2.sectored => 1,
            _ => partition.noc_to_l2.min(4),
        };
        let mut cache = Cache::with_outlet(l2, Level::L2, spec.gpu.style, partition.l2_to_dram);
        cache.seed_replacement(spec.gpu.seed.wrapping_add(u64::from(id.0)));
        Self {
            id,
            decoder: AddressDecoder::new(spec),
            l2: cache,
            has_l2: l2.enabled,
            ideal: partition.ideal_l2,
            acknowledges_misses: lazy && l2.write == WritePolicy::WriteBack,
            most_waiting: partition.noc_to_l2 - packet_room,
            rop_cycles: rop_cycles.into(),
            input: Input::new(partition.noc_to_l2, splitting),
            crossing: Crossing::new(spec, id, rop_cycles.into()),
            from_dram: FixedQueue::new(partition.dram_to_l2 as usize),
            to_noc: FixedQueue::new(partition.l2_to_noc as usize),
            fetch_bytes: partition.fetch_bytes.into(),
            write_cycles: [partition.partial_write_cycles, partition.write_cycles].map(Cycle::from),
            now: 0,
            written_at: 0,
            written: u64::MAX,
            copied: 0,
            counters: PartitionCounters::default(),
        }
    }

    /// True if the input can take another packet from the network. If not, the machine counts
    /// `gpu_stall_dramfull` for this L2 cycle.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.input.waiting() <= self.most_waiting
    }

    /// Fixed delay before L2 in core cycles of packets from the near half. Texture packets that are
    /// not split skip it.
    #[inline]
    pub fn delay(&self) -> Cycle {
        self.rop_cycles
    }

    /// True if requests for texture lines of `line_bytes` bytes skip the fixed delay.
    pub fn textures_skip_delay(&self, line_bytes: u32) -> bool {
        let line = Request::new(AccessKind::TextureRead, 0, line_bytes as u16);
        !self.input.splits(&line)
    }

    /// Takes a packet from the network in core cycle `now_core`. A texture packet skips the fixed
    /// delay unless it is split: in GPGPU-Sim (`memory_sub_partition::push`) its parts lose their
    /// texture type. A sectored L2 splits a packet into requests of 32 bytes (`bytes` / 32 of them,
    /// also for writes that skip a sector), each with a reply of its own that has the packet's
    /// token.
    pub fn push(&mut self, now_core: Cycle, request: &Request) {
        let cycles = request.age(now_core);
        if self.counters.packets == 0 {
            self.l2.furnish();
        }
        self.counters.packets += 1;
        self.counters.arrival_cycles += cycles;
        self.counters.arrival_cycles_max.note(cycles);
        self.counters.packets_by_cycles[log2_bin(cycles)] += 1;
        let requests = match request.kind {
            AccessKind::TextureRead if !self.input.splits(request) => self.input.pass(request),
            _ if self.crossing.crosses(request) => {
                self.counters.far_packets += 1;
                self.crossing.push(now_core, request);
                self.input.parts(request)
            }
            _ => {
                self.end_crossings(now_core);
                self.input.push(now_core + self.rop_cycles, request)
            }
        };
        let requests = u64::from(requests);
        self.counters.requests += requests;
        if requests > 1 {
            self.counters.split_cycles += requests * cycles;
        }
    }

    /// Puts the packets that have crossed by core cycle `now` into the fixed delay. A packet of the
    /// near half may come up to the length of that delay later than this bank has run, but in the
    /// order of its cycles. So packets that have crossed enter before the next one of the near half
    /// that comes in the same cycle or later, or when they leave the delay.
    #[inline]
    fn end_crossings(&mut self, now: Cycle) {
        while let Some((came_at, request)) = self.crossing.pop(now) {
            cold_path();
            self.input.push(came_at + self.rop_cycles, &request);
        }
    }

    /// Runs one L2 cycle in core cycle `now_core`.
    pub fn cycle(&mut self, now_core: Cycle) {
        Self::cycle_all(std::slice::from_mut(self), now_core);
    }

    /// Runs one L2 cycle of at most 64 sub-partitions. Returns, as bits, those whose input could
    /// take no packet before it.
    // One call for all sub-partitions: most have work, and a call each would save and restore all
    // registers each time.
    #[inline(never)]
    pub fn cycle_all(all: &mut [Self], now_core: Cycle) -> u64 {
        debug_assert!(all.len() <= 64, "more sub-partitions than bits");
        let mut full = 0;
        for (at, partition) in all.iter_mut().enumerate() {
            full |= u64::from(!partition.can_accept()) << at;
            partition.now += 1;
            if now_core >= partition.crossing.leaves_at() {
                partition.end_crossings(now_core - partition.rop_cycles);
            }
            if !partition.queues_empty() || partition.input.is_due(now_core) {
                partition.return_and_fill();
                if partition.asks() {
                    partition.access();
                }
                partition.input.leave(now_core);
            }
        }
        full
    }

    /// Runs the first part of a cycle: answers, fills, and misses that move on.
    #[inline(always)]
    fn return_and_fill(&mut self) {
        if self.has_l2 {
            answer(&mut self.l2, &mut self.to_noc);
            self.take_fill();
            self.l2.send_miss();
        } else {
            self.pass_by_l2();
        }
    }

    /// True if the oldest request can be looked up.
    #[inline(always)]
    fn asks(&self) -> bool {
        let l2 = &self.l2;
        !self.input.is_empty()
            & !l2.outlet_full()
            & !self.to_noc.is_full()
            & l2.data_port_free(self.now)
            & (self.now >= self.written_at)
            & self.has_l2
    }

    /// Fills L2 with the oldest reply of DRAM, or passes it on if it replies to a write.
    #[inline]
    fn take_fill(&mut self) {
        let Some(InLine(reply)) = self.from_dram.front() else {
            return;
        };
        if !reply.kind.is_write() {
            if !self.l2.fill_port_free(self.now) {
                return;
            }
            self.l2.fill(self.now, reply.entry, reply.bytes);
        } else if self.to_noc.is_full() {
            return;
        } else if wants_reply(reply.kind) {
            self.to_noc.push(InLine(*reply));
        }
        self.from_dram.drop_oldest();
    }

    /// Looks the oldest request up.
    #[inline(always)]
    fn access(&mut self) {
        let l2 = &mut self.l2;
        let mut beside = None;
        // Built in the reply queue, where it stays if it is answered now.
        let packet = self.input.next();
        let InLine(request) = self.to_noc.push(InLine(*packet.whole()));
        packet.cut(request);
        let answers_now = if self.ideal {
            l2.hit_always(self.now, request);
            true
        } else {
            let index_addr = |addr| self.decoder.partition_addr(addr);
            let access = l2.access_near(self.now, request, self.input.after(), index_addr);
            match access.outcome {
                AccessOutcome::ReservationFail(_) => return self.to_noc.keep_newest_if(false),
                // A hit that is not sent down, or a write that L2 keeps.
                AccessOutcome::Hit => !access.sent.has_write(),
                AccessOutcome::Miss | AccessOutcome::SectorMiss
                    if self.fetch_bytes > u64::from(SECTOR_BYTES) && !request.kind.is_write() =>
                {
                    beside = Some((request.addr, request.kernel, request.asid));
                    false
                }
                _ => {
                    request.kind.is_write()
                        && self.acknowledges_misses
                        && !access.sent.has_allocate()
                }
            }
        };
        if request.kind.is_write() {
            let is_whole = fills_sectors(request);
            let sector = request.addr / u64::from(SECTOR_BYTES);
            let cycles = match self.written == sector {
                true => 1,
                false => self.write_cycles[usize::from(is_whole)],
            };
            self.written_at = self.now + cycles;
            self.written = sector;
            self.counters.partial_writes += u64::from(!is_whole);
            self.counters.write_recovery_cycles += cycles - 1;
        }
        let replies = answers_now & wants_reply(request.kind);
        self.to_noc.keep_newest_if(replies);
        self.input.take();
        if let Some(missed) = beside {
            self.fetch_beside(missed);
        }
    }

    /// Reads the sectors from DRAM that come with the one at `addr`, which a read missed, as far as
    /// they are missing and L2 has room for them.
    #[cold]
    fn fetch_beside(&mut self, (addr, kernel, asid): (u64, KernelSlot, u8)) {
        let first = addr & !(self.fetch_bytes - 1);
        for addr in (first..first + self.fetch_bytes).step_by(SECTOR_BYTES.into()) {
            let index_addr = self.decoder.partition_addr(addr);
            if self.l2.can_prefetch() && self.l2.is_missing_at(addr, index_addr) {
                let sector = Request::new(AccessKind::L2WriteAllocate, addr, SECTOR_BYTES);
                let sector = Request {
                    kernel,
                    asid,
                    ..sector
                };
                self.l2.prefetch(self.now, &sector, index_addr);
            }
        }
    }

    /// Runs a cycle where there is no L2.
    fn pass_by_l2(&mut self) {
        if !self.to_noc.is_full()
            && let Some(InLine(reply)) = self.from_dram.pop()
            && wants_reply(reply.kind)
        {
            self.to_noc.push(InLine(reply));
        }
        if !self.l2.outlet_full() && !self.input.is_empty() {
            // Without L2, packets are not split.
            self.l2.pass(self.input.next().whole());
            self.input.take();
        }
    }

    /// Oldest reply of the queue to the network.
    #[inline]
    pub fn reply_front(&self) -> Option<&Request> {
        self.to_noc.front().map(|InLine(reply)| reply)
    }

    /// Removes the oldest reply, which must exist.
    #[inline]
    pub fn drop_reply(&mut self) {
        self.to_noc.drop_oldest();
        self.counters.replies += 1;
    }

    /// Takes the oldest reply. Replies of kind `GlobalAtomic` are the atomics to execute, in this
    /// order.
    #[inline]
    pub fn pop_reply(&mut self) -> Option<Request> {
        let reply = self.reply_front().copied();
        if reply.is_some() {
            self.drop_reply();
        }
        reply
    }

    /// Oldest request of the queue to DRAM.
    #[inline]
    pub fn dram_front(&self) -> Option<&Request> {
        self.l2.sent_front()
    }

    /// True if a request waits for DRAM.
    #[inline]
    pub fn has_for_dram(&self) -> bool {
        self.l2.any_sent()
    }

    /// Removes the oldest request of the queue to DRAM, which must exist, and prefetches the next.
    #[inline]
    pub fn drop_dram(&mut self) {
        self.l2.drop_sent();
        if let Some(next) = self.dram_front() {
            fetch_ahead(next);
        }
    }

    /// True if there is room for a reply from DRAM.
    #[inline]
    pub fn can_take_from_dram(&self) -> bool {
        !self.from_dram.is_full()
    }

    /// Takes a reply from DRAM.
    #[inline]
    pub fn push_from_dram(&mut self, reply: &Request) {
        if self.has_l2 & !reply.kind.is_write() {
            self.l2.expect_fill(reply);
        }
        self.from_dram.push(InLine(*reply));
    }

    /// True if no queue holds a request and no miss is outstanding.
    pub fn is_idle(&self) -> bool {
        self.queues_empty()
            && self.input.is_idle()
            && self.crossing.comes_at() == Cycle::MAX
            && self.to_noc.is_empty()
            && self.l2.is_idle()
    }

    /// True if `cycle` could move nothing, packets in the fixed delay apart.
    #[inline]
    fn queues_empty(&self) -> bool {
        self.input.is_empty()
            && self.from_dram.is_empty()
            && !self.l2.has_ready()
            && !self.l2.has_unsent()
    }

    /// Earliest core cycle at which `cycle` can do anything if nothing is pushed before; `None` if
    /// only an input can wake the sub-partition.
    #[inline]
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        if !self.queues_empty() {
            return Some(now_core);
        }
        let due_at = self.input.due_at().unwrap_or(Cycle::MAX);
        let next = due_at.min(self.crossing.leaves_at());
        (next != Cycle::MAX).then(|| next.max(now_core))
    }

    /// Core cycle before which nothing happens here if nothing is pushed; 0 if a cycle may do
    /// anything now, or the network or the DRAM channel may take something.
    #[inline]
    pub fn calm_until(&self) -> Cycle {
        if !self.queues_empty() || !self.to_noc.is_empty() || self.has_for_dram() {
            return 0;
        }
        let due_at = self.input.due_at().unwrap_or(Cycle::MAX);
        due_at.min(self.crossing.leaves_at())
    }

    /// Accounts for `cycles` L2 cycles that were not run because nothing happens in them.
    #[inline]
    pub fn skip(&mut self, cycles: u64) {
        self.now += cycles;
    }

    /// Counts an L2 cycle in which the input could not take a packet.
    #[inline]
    pub fn count_input_full(&mut self) {
        self.counters.input_full += 1;
    }

    /// Counts a network cycle in which the network could not take the oldest reply.
    #[inline]
    pub fn count_reply_stall(&mut self) {
        self.counters.reply_stalls += 1;
    }

    /// Marks the sectors from `addr` up to `end`, all in one line of L2, as present (host-to-device
    /// copies).
    pub fn warm(&mut self, addr: u64, end: u64) {
        if self.has_l2 {
            let index_addr = self.decoder.partition_addr(addr);
            let sectors = (end - addr).div_ceil(32);
            self.l2.furnish();
            self.l2.warm(self.now, addr, index_addr, sectors);
            self.now += sectors;
            self.copied += sectors;
        }
    }

    /// Replays an access of the sector at `addr` in L2 (of the line where there are no sectors), in
    /// one cycle.
    pub fn replay(&mut self, addr: u64, access: &Replay) {
        if self.has_l2 {
            let index_addr = self.decoder.partition_addr(addr);
            self.l2.furnish();
            self.l2.replay(self.now, addr, index_addr, access);
            self.now += 1;
            self.copied += 1;
        }
    }

    /// Makes dirty lines of L2 invalid (`flush_l2`).
    pub fn flush(&mut self) {
        self.l2.flush();
    }

    /// Makes all lines of L2 invalid.
    pub fn invalidate_all(&mut self) {
        self.l2.invalidate_all();
    }

    /// Counts accesses of L2 by kernel as well, for the first `kernels` kernel slots.
    pub fn follow_kernels(&mut self, kernels: usize) {
        self.l2.follow_kernels(kernels);
    }

    /// Counts the accesses of a kernel slot anew, because a kernel is launched in it.
    pub fn begin_kernel(&mut self, slot: KernelSlot) {
        self.l2.begin_kernel(slot);
    }

    /// Accesses of L2 since the last launch in a slot, if there is an L2.
    pub fn kernel_counters(&self, slot: KernelSlot) -> Option<&CacheCounters> {
        self.has_l2.then(|| self.l2.kernel_counters(slot)).flatten()
    }

    /// Number of the sub-partition over the whole GPU.
    pub fn id(&self) -> SubPartitionId {
        self.id
    }

    /// Statistics of L2, if there is an L2.
    pub fn l2_counters(&self) -> Option<&CacheCounters> {
        self.has_l2.then(|| self.l2.counters())
    }

    /// Statistics counted so far.
    pub fn counters(&self) -> PartitionCounters {
        PartitionCounters {
            cycles: self.now - self.copied,
            copied_hits: self.l2.copied_hits(),
            ..self.counters.clone()
        }
    }
}

/// Splitting of packets into requests.
#[derive(Clone, Copy, Debug)]
struct Splitting {
    /// Packets are split by sector.
    sectored: bool,
    /// Each part has the address of its own sector.
    exact: bool,
}

impl Splitting {
    /// True if a packet becomes more than one request.
    #[inline]
    fn splits(self, packet: &Request) -> bool {
        self.sectored && packet.bytes > SECTOR_BYTES
    }

    /// Address from which the addresses of a packet's parts are counted. GPGPU-Sim 4.2
    /// (`breakdown_request_to_sector_requests`) adds the sector's offset in the line to an address
    /// that includes it already, and nothing to the address of a constant line.
    #[inline]
    fn base_addr(self, packet: &Request) -> u64 {
        let stays = (packet.kind.is_write() | (self.step(packet) == 0)) & !self.exact;
        packet.addr & if stays { !0 } else { !127 }
    }

    /// Distance in bytes between the addresses of neighbouring parts.
    #[inline]
    fn step(self, packet: &Request) -> u32 {
        let half_line = packet.bytes == 2 * SECTOR_BYTES;
        let constant = matches!(packet.kind, AccessKind::ConstRead | AccessKind::InstRead);
        let stands = half_line & constant & !self.exact;
        u32::from(SECTOR_BYTES) * u32::from(!stands)
    }
}

/// Answers one request whose line has come.
#[inline]
fn answer(l2: &mut Cache, to_noc: &mut FixedQueue<InLine>) {
    if l2.has_ready()
        && !to_noc.is_full()
        && let Some(request) = l2.take_ready()
        && wants_reply(request.kind)
    {
        to_noc.push(InLine(*request));
    }
}

/// True if a write has all bytes of the sectors that it touches.
fn fills_sectors(write: &Request) -> bool {
    write
        .byte_mask
        .count_ones()
        .is_multiple_of(u32::from(SECTOR_BYTES))
}

/// True if a reply to a request of this kind goes to an SM.
const fn wants_reply(kind: AccessKind) -> bool {
    !matches!(
        kind,
        AccessKind::L1WriteBack | AccessKind::L2WriteBack | AccessKind::L2WriteAllocate
    )
}

#[cfg(test)]
mod tests;
