//! Caches: tags, miss handling, write policies and ports, without data (docs/model/caches.md).
//!
//! A cache takes accesses, keeps what must go down in its miss queue, takes replies, and gives
//! back the requests that waited for them. Ports are kept as the cycle at which they are free, so
//! an idle cache costs nothing.

mod counters;
mod misses;
mod mshr;
mod policy;
mod table;
mod tags;
mod texture;
mod upkeep;

pub use counters::CacheCounters;
pub use texture::TextureCache;

use crate::{AccessKind, Request};
use core::hint::cold_path;
use misses::Misses;
use mshr::{Fill, Mshrs};
use tags::{Probe, Tags};
use warploom_base::{Cycle, KernelSlot};
use warploom_config::{AllocatePolicy, CacheSpec, ModelStyle, WriteAllocate, WritePolicy};

/// Why a cache could not take an access this cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailReason {
    /// Every way of the set is reserved.
    LineAllocFail,
    /// The miss queue lacks room.
    MissQueueFull,
    /// No free MSHR.
    MshrEntryFail,
    /// The line's MSHR holds as many requests as it may.
    MshrMergeFail,
    /// A read waits behind a write in the MSHR (fetch on write).
    MshrRwPending,
}

impl FailReason {
    /// Reasons, for counters indexed by reason.
    pub const COUNT: usize = 5;

    /// The MSHRs had no room, but tags and miss queue had.
    #[inline]
    const fn is_of_mshrs(self) -> bool {
        matches!(
            self,
            Self::MshrEntryFail | Self::MshrMergeFail | Self::MshrRwPending
        )
    }
}

/// What an access found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessOutcome {
    /// Present.
    Hit,
    /// On its way: merged.
    HitReserved,
    /// Absent: line reserved or written through.
    Miss,
    /// The line is present, the sector is not.
    SectorMiss,
    /// Not taken; try again next cycle.
    ReservationFail(FailReason),
}

/// Result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// What it found. `HitReserved`, `Miss` and `SectorMiss` were taken: a read is answered by
    /// `next_ready` later.
    pub outcome: AccessOutcome,
    /// What it sent down.
    pub sent: Sent,
}

/// What an access sent down, but for the read of a miss. One value, so that hosts return an access
/// in two registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sent {
    /// Nothing.
    #[default]
    Nothing,
    /// The request itself (a write): its reply comes from below.
    Write,
    /// A read of the line, because of a write miss. With `WriteAllocate::FetchOnWrite` the write
    /// itself then comes back from `next_ready`, to be acknowledged.
    Allocate,
    /// Both.
    WriteAndAllocate,
}

impl Sent {
    /// The request itself is sent.
    #[inline]
    pub const fn has_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteAndAllocate)
    }

    /// A read of the line is sent because of a write.
    #[inline]
    pub const fn has_allocate(self) -> bool {
        matches!(self, Self::Allocate | Self::WriteAndAllocate)
    }

    /// The request itself, or nothing.
    #[inline]
    const fn write_if(sends: bool) -> Self {
        if sends { Self::Write } else { Self::Nothing }
    }
}

/// Which level a cache is: names its write-backs and allocate reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// In an SM.
    L1,
    /// In a memory partition.
    L2,
}

/// Sectors of a 128-byte line that `bytes` from `addr` touch, `addr` being a multiple of 32.
pub(crate) const fn sectors_from(addr: u64, bytes: u32) -> u8 {
    let count = if bytes >= 128 { 4 } else { bytes.div_ceil(32) };
    ((((1_u32 << count) - 1) << (addr % 128 / 32)) & 15) as u8
}

/// What accesses go by, in one line of the host's cache with what they change.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
struct Rules {
    port_bytes: u32,
    line_bytes: u32,
    /// Cycles that one fill takes.
    fill_cycles: u32,
    /// What one fill brings: a sector, or a line where there are no sectors.
    atom_bytes: u16,
    /// Sectors of that, from a line's first.
    atom_sectors: u8,
    /// Bits of a sector's number: none where there are no sectors.
    sector_bits: u8,
    /// `write` is `WritePolicy::ReadOnly`.
    read_only: bool,
    /// Global writes go down, whether they hit or miss.
    sends_global_writes: bool,
    write: WritePolicy,
    write_allocate: WriteAllocate,
    allocate: AllocatePolicy,
    level: Level,
    style: ModelStyle,
}

/// What one fill brings: a sector, or a line where there are no sectors.
fn atom_bytes(spec: &CacheSpec) -> u32 {
    match spec.sectored {
        true => tags::SECTOR_BYTES,
        false => spec.line_bytes,
    }
}

impl Rules {
    fn new(spec: &CacheSpec, level: Level, style: ModelStyle) -> Self {
        let atom_bytes = atom_bytes(spec);
        Self {
            port_bytes: spec.port_bytes,
            line_bytes: spec.line_bytes,
            fill_cycles: atom_bytes / spec.port_bytes,
            atom_bytes: atom_bytes as u16,
            atom_sectors: sectors_from(0, atom_bytes),
            sector_bits: if spec.sectored { 3 } else { 0 },
            read_only: spec.write == WritePolicy::ReadOnly,
            sends_global_writes: spec.write_allocate == WriteAllocate::None
                && spec.write != WritePolicy::WriteBack,
            write: spec.write,
            write_allocate: spec.write_allocate,
            allocate: spec.allocate,
            level,
            style,
        }
    }

    /// Requests of this kind go down, whatever the tags say.
    #[inline]
    fn sends(&self, kind: AccessKind) -> bool {
        self.sends_global_writes && kind == AccessKind::GlobalWrite
    }
}

/// The set of an access that goes by no set.
const NO_SET: u32 = u32::MAX;

/// A cache with associative MSHRs (L1D, L1I, L1C, L2). `now` counts the cache's own cycles. What
/// every look whether there is something to do needs comes first, as it lies in memory, and then
/// what every access does.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Cache {
    rules: Rules,
    misses: Misses,
    data_port_free_at: Cycle,
    fill_port_free_at: Cycle,
    mshrs: Mshrs,
    /// The access that was refused last.
    refused: Refused,
    /// Nothing has changed since for it, nor was another one taken: it would be again.
    refuses: bool,
    /// Accesses that were refused after a look.
    refusals: u32,
    /// The line that was found or reserved last, and its set.
    near: Near,
    tags: Tags,
    counters: CacheCounters,
    /// Accesses apart by kernel slot, for those that are followed.
    by_kernel: Vec<CacheCounters>,
}

/// Where a line is.
#[derive(Clone, Copy, Debug)]
struct Near {
    at: u32,
    set: u32,
}

/// An access that was not taken: all of it that the answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Refused {
    addr: u64,
    byte_mask: u128,
    /// `NO_SET` if the tags have not been looked at.
    set: u32,
    kind: AccessKind,
    sectors: u8,
    reason: FailReason,
}

/// Names an access that a cache refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal(u32);

impl Refused {
    const NOTHING: Self = Self {
        addr: 0,
        byte_mask: 0,
        set: NO_SET,
        kind: AccessKind::GlobalRead,
        sectors: 0,
        reason: FailReason::LineAllocFail,
    };

    #[inline]
    fn is(&self, request: &Request) -> bool {
        self.addr == request.addr
            && self.kind == request.kind
            && self.sectors == request.sectors
            && self.byte_mask == request.byte_mask
    }
}

impl Cache {
    /// An empty cache. `style` chooses between 3.x and 4.x where they differ.
    pub fn new(spec: &CacheSpec, level: Level, style: ModelStyle) -> Self {
        Self::with_max_ways(spec, level, style, spec.ways)
    }

    /// An empty cache whose ways `set_ways` may raise to `max_ways`.
    pub fn with_max_ways(spec: &CacheSpec, level: Level, style: ModelStyle, max_ways: u32) -> Self {
        Self {
            refused: Refused::NOTHING,
            refuses: false,
            refusals: 0,
            near: Near { at: 0, set: 0 },
            rules: Rules::new(spec, level, style),
            data_port_free_at: 0,
            fill_port_free_at: 0,
            misses: Misses::new(spec.miss_queue, 0),
            mshrs: Mshrs::new(spec.mshr_entries, spec.mshr_merge, atom_bytes(spec) as u16),
            tags: Tags::new(spec, max_ways),
            counters: CacheCounters::default(),
            by_kernel: Vec::new(),
        }
    }

    /// An empty cache whose misses go on into a queue for `outlet` requests (`send_miss`).
    pub fn with_outlet(spec: &CacheSpec, level: Level, style: ModelStyle, outlet: u32) -> Self {
        Self {
            misses: Misses::new(spec.miss_queue, outlet),
            ..Self::new(spec, level, style)
        }
    }

    /// Offers a request, indexed by its own address. Call only when `data_port_free`.
    #[inline]
    pub fn access(&mut self, now: Cycle, request: &Request) -> Access {
        if self.misses.is_full() && self.rules.sends(request.kind) {
            return self.refuse_to_send(request);
        }
        self.look_up(now, request)
    }

    /// Refuses a request that would go down whatever the tags say.
    #[inline(never)]
    fn refuse_to_send(&mut self, request: &Request) -> Access {
        self.note_refusal(NO_SET, request, FailReason::MissQueueFull);
        self.count_failed(request.kind, FailReason::MissQueueFull, 1);
        policy::refused(FailReason::MissQueueFull)
    }

    /// `access` of a request that goes by the tags.
    fn look_up(&mut self, now: Cycle, request: &Request) -> Access {
        if let Some(reason) = self.refuses_again(request) {
            return policy::refused(reason);
        }
        let place = self.place(now, request, self.tags.set(request.addr));
        let found = self.tags.find(place.set, place.line);
        match found {
            // The usual case, above all of instructions, without what others need.
            Some(at) if self.reads(at, place.sector, request) => self.read_hit(place, at, request),
            None if self.goes_past(request) => self.send_past(request),
            _ => self.access_in_full(place, found, request),
        }
    }

    /// A request for an address, by which it is indexed, will be offered soon: fetches what that
    /// looks at into the host's nearest cache.
    #[inline]
    pub fn expect(&self, addr: u64) {
        self.expect_near(addr, addr);
    }

    /// The same of L2, whose requests are indexed by their partition address.
    #[inline]
    pub(crate) fn expect_near(&self, addr: u64, index_addr: u64) {
        self.tags.fetch_set(self.tags.set(index_addr));
        self.mshrs.fetch_slot(self.atom(addr));
    }

    /// A write to an address that is indexed so will be offered soon.
    #[inline]
    pub(crate) fn expect_write(&self, index_addr: u64) {
        self.tags.fetch_dirty(self.tags.set(index_addr));
    }

    /// A reply under this number may be offered soon to `fill`, if it is to this cache.
    #[inline]
    pub fn expect_reply(&self, entry: u32) {
        self.mshrs.fetch_entry(entry);
    }

    /// The same of a reply that will be offered to L2.
    #[inline]
    pub(crate) fn expect_fill(&self, reply: &Request) {
        self.mshrs.fetch_entry(reply.entry);
        self.tags.fetch_line(reply.returned_at);
    }

    /// Offers a request to L2, `index_addr` being its partition address. Sectors of a line come one
    /// after the other, so that the line is looked for where the last was. `after`: what will
    /// probably come then.
    #[inline(always)]
    pub(crate) fn access_near(
        &mut self,
        now: Cycle,
        request: &Request,
        after: &Request,
        index_addr: impl Fn(u64) -> u64,
    ) -> Access {
        if let Some(reason) = self.refuses_again(request) {
            return policy::refused(reason);
        }
        let mut near = self.near;
        let place = self.place(now, request, near.set);
        if !self.tags.is_at(near.at, place.line) {
            let next = index_addr(after.addr);
            self.expect_near(after.addr, next);
            self.expect_write(next);
            near.set = self.tags.set(index_addr(request.addr));
            let Some(at) = self.tags.find(near.set, place.line) else {
                return self.access_out_of_line(now, near.set, None, request);
            };
            near.at = at;
            self.near = near;
        }
        let Near { at, set } = near;
        if request.kind.is_write() {
            if self.takes_write(at, place.sector) {
                return self.take_write(now, near, request);
            }
        } else if self.tags.is_readable(at, place.sector) {
            return self.read_hit(Place { set, ..place }, at, request);
        }
        self.access_out_of_line(now, set, Some(at), request)
    }

    /// The request reads a sector of line `at` that is there.
    #[inline]
    fn reads(&self, at: u32, sector: u8, request: &Request) -> bool {
        self.tags.is_readable(at, sector) && !request.kind.is_write()
    }

    // Its place is found again: else hits would have to put it into memory for this.
    #[inline(never)]
    fn access_out_of_line(
        &mut self,
        now: Cycle,
        set: u32,
        found: Option<u32>,
        request: &Request,
    ) -> Access {
        self.access_in_full(self.place(now, request, set), found, request)
    }

    /// Whether a read of `bytes` at `addr`, in one sector, finds its data: then that is counted and
    /// done. Else nothing has happened, and the read is to be offered as a request.
    #[inline]
    pub fn finds(
        &mut self,
        now: Cycle,
        addr: u64,
        bytes: u32,
        of: (AccessKind, KernelSlot),
    ) -> bool {
        let sector = (addr / u64::from(tags::SECTOR_BYTES)) as u8 & self.rules.sector_bits;
        let found = self.tags.find_again(addr);
        let Some(at) = found.filter(|at| self.tags.is_readable(*at, sector)) else {
            return false;
        };
        self.tags.touch(at, now);
        if !self.rules.read_only {
            self.hit_port(now, bytes);
        }
        self.count_hit(of);
        true
    }

    /// A read in the sector of `addr` would find its data.
    pub fn has(&self, addr: u64) -> bool {
        let sector = (addr / u64::from(tags::SECTOR_BYTES)) as u8 & self.rules.sector_bits;
        let found = self.tags.find(self.tags.set(addr), self.tags.line(addr));
        found.is_some_and(|at| self.tags.is_readable(at, sector))
    }

    /// Why a request is refused, if it was when it was offered last and nothing has changed since;
    /// that attempt is counted. Else it is to be offered.
    #[inline]
    pub fn refuses_again(&mut self, request: &Request) -> Option<FailReason> {
        if !self.refuses || !self.refused.is(request) {
            return None;
        }
        let reason = self.refused.reason;
        self.count_failed(request.kind, reason, 1);
        Some(reason)
    }

    /// The access that was refused last.
    #[inline]
    pub fn last_refusal(&self) -> Refusal {
        Refusal(self.refusals)
    }

    /// The access that was refused last is still this one, and would be refused again.
    #[inline]
    pub fn still_refuses(&self, refusal: Refusal) -> bool {
        self.refusals == refusal.0 && self.refuses
    }

    /// Something has changed that matters to accesses refused for some reasons: `may_pass`.
    #[inline]
    fn reconsider(&mut self, may_pass: impl Fn(&Refused) -> bool) {
        if self.refuses {
            cold_path();
            self.refuses = !may_pass(&self.refused);
        }
    }

    #[inline(always)]
    fn access_in_full(&mut self, place: Place, found: Option<u32>, request: &Request) -> Access {
        let is_write = request.kind.is_write();
        let probe = self
            .tags
            .probe_found(found, place.set, place.sector, is_write);
        let done = if is_write {
            self.write(place, probe, request)
        } else {
            self.read_miss(place, probe, request)
        };
        match done {
            Ok(_) => self.refuses = false,
            Err(reason) => self.note_refusal(place.set, request, reason),
        }
        let access = policy::outcome(probe, done);
        self.count(request, access.outcome);
        access
    }

    fn note_refusal(&mut self, set: u32, request: &Request, reason: FailReason) {
        self.refusals = self.refusals.wrapping_add(1);
        self.refuses = true;
        self.refused = Refused {
            addr: request.addr,
            byte_mask: request.byte_mask,
            set,
            kind: request.kind,
            sectors: request.sectors,
            reason,
        };
    }

    #[inline]
    fn place(&self, now: Cycle, request: &Request, set: u32) -> Place {
        Place {
            now,
            set,
            line: self.tags.line(request.addr),
            // The first sector touched, or the last there is.
            sector: (request.sectors | 8).trailing_zeros() as u8 & self.rules.sector_bits,
        }
    }

    /// Address that MSHRs go by.
    #[inline]
    fn atom(&self, addr: u64) -> u64 {
        addr & !(u64::from(self.rules.atom_bytes) - 1)
    }

    /// The data port can take an access.
    #[inline]
    pub fn data_port_free(&self, now: Cycle) -> bool {
        now >= self.data_port_free_at
    }

    /// The fill port can take a fill.
    #[inline]
    pub fn fill_port_free(&self, now: Cycle) -> bool {
        now >= self.fill_port_free_at
    }

    /// Next request to go down, if any, where there is no outlet. The caller moves at most one per
    /// cycle.
    #[inline]
    pub fn miss_queue_front(&self) -> Option<&Request> {
        self.misses.front()
    }

    /// A line that is replaced may have to be written back.
    #[inline]
    pub fn holds_dirty(&self) -> bool {
        self.tags.dirty_lines() > 0
    }

    /// Takes the next request to go down.
    #[inline]
    pub fn pop_miss(&mut self) -> Option<Request> {
        self.miss_left();
        self.misses.pop()
    }

    /// The miss queue has room for one more.
    #[inline]
    fn miss_left(&mut self) {
        // Nothing else is refused for want of room there.
        self.reconsider(|refused| refused.reason == FailReason::MissQueueFull);
    }

    /// A request is to go into the outlet.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.misses.any_unsent()
    }

    /// One request goes into the outlet, if there is one and room.
    #[inline]
    pub(crate) fn send_miss(&mut self) {
        let sends = self.misses.send();
        self.reconsider(|refused| sends & (refused.reason == FailReason::MissQueueFull));
    }

    /// Passes a request into the outlet, which must have room, where there is no cache but only
    /// that.
    #[inline]
    pub(crate) fn pass(&mut self, request: &Request) {
        self.misses.push(request);
        self.misses.send();
    }

    /// The outlet has no room.
    #[inline]
    pub(crate) fn outlet_full(&self) -> bool {
        self.misses.outlet_full()
    }

    /// A request is to leave the outlet.
    #[inline]
    pub(crate) fn any_sent(&self) -> bool {
        self.misses.any_sent()
    }

    /// Next request to leave the outlet, if any.
    #[inline]
    pub(crate) fn sent_front(&self) -> Option<&Request> {
        self.misses.sent_front()
    }

    /// Takes that request, of which there must be one, unseen.
    #[inline]
    pub(crate) fn drop_sent(&mut self) {
        self.misses.drop_sent();
    }

    /// Takes `bytes` bytes of what is on its way, under the number that the request sent down had.
    /// Requests merged on it become ready when its last part came.
    #[inline]
    pub fn fill(&mut self, now: Cycle, entry: u32, bytes: u16) {
        if self.mshrs.arrive(entry, bytes) {
            self.fill_whole(now, entry);
        } else if self.rules.allocate == AllocatePolicy::OnMiss {
            // For the last part.
            self.tags.fetch_line(self.mshrs.fill(entry).index);
        }
    }

    /// The last part of a line or sector came.
    #[inline(never)]
    fn fill_whole(&mut self, now: Cycle, entry: u32) {
        let fill = self.mshrs.fill(entry);
        let Fill { set, sector, .. } = fill;
        let dirty_before = self.tags.dirty_lines();
        let line = self.tags.line(self.mshrs.first(entry).addr);
        if let Some(at) = self.line_to_fill(now, line, &fill) {
            // Seldom looked at.
            let byte_mask = || self.mshrs.first(entry).byte_mask;
            self.tags.fill(set, at, line, sector, byte_mask);
            if self.mshrs.has_atomic(entry) {
                let byte_mask = self.mshrs.first(entry).byte_mask;
                self.tags.write(set, at, sector, byte_mask);
            }
        }
        // Other sets are as they were, unless how many lines are dirty decides what is replaced.
        let same_dirty = self.tags.dirty_lines() == dirty_before;
        self.reconsider(|refused| (refused.set == set) | !same_dirty);
        let cycles = u64::from(self.rules.fill_cycles);
        self.fill_port_free_at = self.fill_port_free_at.max(now) + cycles;
        self.counters.fill_port_busy += cycles;
    }

    /// Line reserved at the miss, or one reserved now.
    #[inline]
    fn line_to_fill(&mut self, now: Cycle, line: u64, fill: &Fill) -> Option<u32> {
        if self.rules.allocate == AllocatePolicy::OnMiss {
            return Some(fill.index);
        }
        let Fill { set, sector, .. } = *fill;
        match self.tags.probe(set, line, sector, false) {
            Probe::Full => None,
            Probe::Miss => Some(self.tags.allocate(set, line, sector, now).0),
            Probe::SectorMiss(at) => {
                self.tags.allocate_sector(set, at, sector, now);
                Some(at)
            }
            Probe::Hit(at) | Probe::HitReserved(at) => Some(at),
        }
    }

    /// A merged request can be answered.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.mshrs.has_ready()
    }

    /// The next request that can be answered, in order of arrival; one per call. Requests of kind
    /// `L1WriteAllocate` and `L2WriteAllocate` are the cache's own and need no answer.
    #[inline]
    pub fn next_ready(&mut self) -> Option<Request> {
        self.take_ready().copied()
    }

    /// `next_ready`, where it waited.
    #[inline]
    pub(crate) fn take_ready(&mut self) -> Option<&Request> {
        // An MSHR has room; tags are looked at before.
        self.reconsider(|refused| refused.reason.is_of_mshrs());
        self.mshrs.next_ready()
    }

    /// No miss outstanding, nothing to send, nothing ready.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.misses.is_empty() && self.mshrs.is_empty()
    }

    /// Counters so far.
    pub fn counters(&self) -> &CacheCounters {
        &self.counters
    }

    /// Counts accesses apart by kernel too, for the first `kernels` kernel slots.
    pub fn follow_kernels(&mut self, kernels: usize) {
        self.by_kernel = vec![CacheCounters::default(); kernels];
    }

    /// Accesses of the kernels in a slot so far, by kind and outcome, but for failed attempts;
    /// nothing else is counted by kernel. The slot must be followed.
    pub fn kernel_counters(&self, slot: KernelSlot) -> &CacheCounters {
        &self.by_kernel[slot.index()]
    }

    #[inline]
    fn count(&mut self, request: &Request, outcome: AccessOutcome) {
        self.counters.count(request.kind, outcome);
        if !matches!(outcome, AccessOutcome::ReservationFail(_))
            && let Some(own) = self.by_kernel.get_mut(request.kernel.index())
        {
            own.count(request.kind, outcome);
        }
    }

    /// `count` of a hit.
    #[inline]
    fn count_hit(&mut self, (kind, kernel): (AccessKind, KernelSlot)) {
        self.counters.hit[kind.index()] += 1;
        if let Some(own) = self.by_kernel.get_mut(kernel.index()) {
            own.hit[kind.index()] += 1;
        }
    }

    /// Counts attempts that were not made because they would have failed like the one before.
    pub fn count_failed(&mut self, kind: AccessKind, reason: FailReason, attempts: u64) {
        self.counters.reservation_fail[kind.index()] += attempts;
        self.counters.fail[kind.index()][reason as usize] += attempts;
    }

    /// Counts and times a hit without looking at tags (an ideal cache).
    pub(crate) fn hit_always(&mut self, now: Cycle, request: &Request) {
        self.hit_port(now, request.bytes.into());
        self.count_hit((request.kind, request.kernel));
    }

    /// The data of a hit passes the port.
    #[inline(always)]
    fn hit_port(&mut self, now: Cycle, bytes: u32) {
        let cycles = match bytes <= self.rules.port_bytes {
            // Nothing is divided.
            true => u32::from(bytes > 0),
            false => {
                cold_path();
                bytes.div_ceil(self.rules.port_bytes)
            }
        };
        self.use_data_port(now, cycles);
        self.counters.data_port_hits += u64::from(cycles);
    }

    #[inline]
    fn use_data_port(&mut self, now: Cycle, cycles: u32) {
        self.data_port_free_at = self.data_port_free_at.max(now) + u64::from(cycles);
        self.counters.data_port_busy += u64::from(cycles);
    }
}

/// Where and when an access happens.
#[derive(Clone, Copy, Debug)]
struct Place {
    now: Cycle,
    set: u32,
    line: u64,
    sector: u8,
}

#[cfg(test)]
mod tests;
