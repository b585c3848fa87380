//! Caches: tags, miss handling, write policies and ports, without data (docs/model/caches.md).
//!
//! A cache takes accesses, keeps requests for the level below in its miss queue, takes replies, and
//! returns the requests that waited for them. A port is kept as the cycle from which it is free, so
//! that an idle cache costs nothing.

mod allocation;
mod counters;
mod kept_lines;
mod kernels;
mod listing;
mod misses;
mod mshr;
mod outcome;
mod policy;
mod refusal;
mod replacement;
mod replay;
mod rules;
mod table;
mod tags;
mod texture;
mod upkeep;
mod victims;

pub use allocation::{ALLOCATIONS, AllocationInfo, AllocationPolicy, MissView};
pub use counters::{CacheCounters, CacheGroup, FAIL_REASONS, OUTCOMES};
pub use kept_lines::{KeptLines, Moved};
pub use listing::{CachePolicyInfo, Facts, cache_policies};
pub use outcome::{Access, AccessOutcome, FailReason, Sent};
pub use refusal::Refusal;
pub use replacement::{Accessor, REPLACEMENTS, ReplacementInfo};
pub use replay::{Replay, ReplayKind, SEGMENT_BYTES};
pub use rules::Level;
pub(crate) use rules::sectors_from;
pub use tags::Placed;
pub use texture::TextureCache;
pub use victims::{VICTIMS, VictimsInfo};

use crate::{AccessKind, Request};
use core::hint::cold_path;
use misses::Misses;
use mshr::{Fill, Mshrs};
use refusal::{NO_SET, Refused};
use rules::{Rules, atom_bytes};
use tags::{Probe, Tags};
use warploom_base::{Cycle, KernelSlot};
use warploom_config::{AllocatePolicy, CacheSpec, ModelStyle};
use warploom_state::{State, Value};

/// A cache with associative MSHRs (L1D, L1I, L1C, L2). `now` counts the cache's own cycles. Fields
/// that tell whether there is something to do come first, then those that every access needs.
#[derive(Clone, Debug, State)]
#[repr(C, align(64))]
pub struct Cache {
    #[state(fixed)]
    rules: Rules,
    misses: Misses,
    data_port_free_at: Cycle,
    fill_port_free_at: Cycle,
    mshrs: Mshrs,
    /// The access that was refused last.
    refused: Refused,
    /// True while that access would be refused again: nothing that its answer depends on has
    /// changed, and no other access was taken.
    refuses: bool,
    /// Number of accesses that were refused after a look at tags or MSHRs.
    refusals: u32,
    /// The line that was found or reserved last, and its set.
    near: Near,
    tags: Tags,
    counters: CacheCounters,
    /// Number of reads and atomics that were the first to find a sector that a copy brought.
    copied_hits: u64,
    /// Number of kernel slots whose accesses are counted.
    followed: usize,
    /// Accesses by kernel slot, up to the last slot with an access.
    by_kernel: Vec<CacheCounters>,
}

/// Place of a line.
#[derive(Clone, Copy, Debug, Value)]
struct Near {
    at: u32,
    set: u32,
}

impl Cache {
    /// An empty cache. `style` chooses between GPGPU-Sim 3.x and 4.x where they differ.
    pub fn new(spec: &CacheSpec, level: Level, style: ModelStyle) -> Self {
        Self::with_max_ways(spec, level, style, spec.ways)
    }

    /// An empty cache whose ways `set_ways` may raise to `max_ways`.
    pub fn with_max_ways(spec: &CacheSpec, level: Level, style: ModelStyle, max_ways: u32) -> Self {
        let mut cache = Self::unfurnished(spec, level, style, max_ways);
        cache.furnish();
        cache
    }

    /// `with_max_ways` without the memory of tags and MSHRs, which [`furnish`](Self::furnish)
    /// allocates before the first access.
    pub fn unfurnished(spec: &CacheSpec, level: Level, style: ModelStyle, max_ways: u32) -> Self {
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
            copied_hits: 0,
            counters: CacheCounters::default(),
            followed: 0,
            by_kernel: Vec::new(),
        }
    }

    /// An empty cache, unfurnished, whose misses move on into a queue for `outlet` requests
    /// (`send_miss`).
    pub fn with_outlet(spec: &CacheSpec, level: Level, style: ModelStyle, outlet: u32) -> Self {
        Self {
            misses: Misses::new(spec.miss_queue, outlet),
            ..Self::unfurnished(spec, level, style, spec.ways)
        }
    }

    /// Allocates the memory of tags and MSHRs, if that has not been done.
    pub fn furnish(&mut self) {
        if self.tags.furnish() {
            self.mshrs.furnish();
        }
    }

    /// Starts the random choices of the replacement policy from `seed`. The cache must be empty.
    pub fn seed_replacement(&mut self, seed: u64) {
        self.tags.seed(seed);
    }

    /// Offers a request, whose own address gives its set. Requires `data_port_free`.
    #[inline]
    pub fn access(&mut self, now: Cycle, request: &Request) -> Access {
        if self.misses.is_full() && self.rules.sends(request.kind) {
            return self.refuse_to_send(request);
        }
        self.look_up(now, request)
    }

    /// `access` for caches with an allocation policy: `bypasses` decides about a read whose line is
    /// neither present nor on its way. A read that bypasses goes down as it is and takes no line
    /// and no MSHR; its reply, without an entry, is not for this cache. A read that was refused is
    /// decided about again when it is looked up again.
    pub fn access_or_bypass(
        &mut self,
        now: Cycle,
        request: &Request,
        bypasses: impl FnOnce() -> bool,
    ) -> Access {
        if let Some(reason) = self.refuses_again(request) {
            return Access::refused(reason);
        }
        if !request.kind.is_write() && self.is_absent(request.addr) && bypasses() {
            return self.bypass(request);
        }
        self.access(now, request)
    }

    /// True if the line of an address is neither present nor on its way.
    fn is_absent(&self, addr: u64) -> bool {
        let found = self.tags.find(self.tags.set(addr), self.tags.line(addr));
        found.is_none() && !self.mshrs.is_coming(self.atom(addr))
    }

    /// Sends a read down past the cache.
    fn bypass(&mut self, request: &Request) -> Access {
        if self.misses.is_full() {
            return self.refuse_to_send(request);
        }
        self.refuses = false;
        self.misses.push(request);
        self.count(request, AccessOutcome::Miss);
        Access {
            outcome: AccessOutcome::Miss,
            sent: Sent::Bypass,
        }
    }

    /// Refuses a request that would go down whatever the tags say.
    #[inline(never)]
    fn refuse_to_send(&mut self, request: &Request) -> Access {
        self.note_refusal(NO_SET, request, FailReason::MissQueueFull);
        self.count_failed(request.kind, FailReason::MissQueueFull, 1);
        Access::refused(FailReason::MissQueueFull)
    }

    /// `access` of a request whose answer depends on the tags.
    fn look_up(&mut self, now: Cycle, request: &Request) -> Access {
        if let Some(reason) = self.refuses_again(request) {
            return Access::refused(reason);
        }
        let place = self.place(now, request, self.tags.set(request.addr));
        let found = self.tags.find(place.set, place.line);
        match found {
            // The usual case, above all of instructions, on a short path of its own.
            Some(at) if self.reads(at, place.sector, request) => self.read_hit(place, at, request),
            None if self.goes_past(request) => self.send_past(request),
            _ => self.access_in_full(place, found, request),
        }
    }

    /// Prefetches, into the host's nearest cache, what the access of an address looks at. The
    /// address gives its set.
    #[inline]
    pub fn expect(&self, addr: u64) {
        self.expect_near(addr, addr);
    }

    /// `expect` of L2, where the partition address `index_addr` gives the set.
    #[inline]
    pub(crate) fn expect_near(&self, addr: u64, index_addr: u64) {
        self.tags.fetch_set(self.tags.set(index_addr));
        self.mshrs.fetch_slot(self.atom(addr));
    }

    /// Prefetches what a write to a line with this index address changes.
    #[inline]
    pub(crate) fn expect_write(&self, index_addr: u64) {
        self.tags.fetch_dirty(self.tags.set(index_addr));
    }

    /// Prefetches what `fill` of a reply with this entry number looks at; the reply may be for
    /// another cache.
    #[inline]
    pub fn expect_reply(&self, entry: u32) {
        self.mshrs.fetch_entry(entry);
    }

    /// Prefetches what `fill` of a reply to L2 looks at.
    #[inline]
    pub(crate) fn expect_fill(&self, reply: &Request) {
        self.mshrs.fetch_entry(reply.entry);
        self.tags.fetch_line(reply.returned_at);
    }

    /// Offers a request to L2; `index_addr` gives the partition address of an address. Sectors of a
    /// line come one after the other, so that the line is looked for at the place of the last
    /// access first. `after` is the request that will probably come next.
    #[inline(always)]
    pub(crate) fn access_near(
        &mut self,
        now: Cycle,
        request: &Request,
        after: &Request,
        index_addr: impl Fn(u64) -> u64,
    ) -> Access {
        if let Some(reason) = self.refuses_again(request) {
            return Access::refused(reason);
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

    /// True if the request reads a sector that is present in the line at `at`.
    #[inline]
    fn reads(&self, at: u32, sector: u8, request: &Request) -> bool {
        self.tags.is_readable(at, sector) && !request.kind.is_write()
    }

    /// `access_in_full` with the place worked out again: handing it over would make hits store it
    /// in memory.
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

    /// Carries out a read of `bytes` bytes at `addr`, which lie in one sector, if it hits, and
    /// returns true. Else nothing changes, and the read is to be offered as a request. `of`: kind
    /// and kernel of the read.
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

    #[inline]
    fn place(&self, now: Cycle, request: &Request, set: u32) -> Place {
        Place {
            now,
            set,
            line: self.tags.line(request.addr),
            // The first sector touched, or the last one if none is.
            sector: (request.sectors | 8).trailing_zeros() as u8 & self.rules.sector_bits,
        }
    }

    /// Address of the line or sector that an MSHR stands for.
    #[inline]
    fn atom(&self, addr: u64) -> u64 {
        addr & !(u64::from(self.rules.atom_bytes) - 1)
    }

    /// True if the data port can take an access.
    #[inline]
    pub fn data_port_free(&self, now: Cycle) -> bool {
        now >= self.data_port_free_at
    }

    /// True if the fill port can take a fill.
    #[inline]
    pub fn fill_port_free(&self, now: Cycle) -> bool {
        now >= self.fill_port_free_at
    }

    /// Next request for the level below, if any, in a cache without an outlet. The caller moves at
    /// most one a cycle.
    #[inline]
    pub fn miss_queue_front(&self) -> Option<&Request> {
        self.misses.front()
    }

    /// True if a replaced line may have to be written back.
    #[inline]
    pub fn holds_dirty(&self) -> bool {
        self.tags.dirty_lines() > 0
    }

    /// Takes the next request for the level below.
    #[inline]
    pub fn pop_miss(&mut self) -> Option<Request> {
        self.miss_left();
        self.misses.pop()
    }

    /// Notes that the miss queue has room for one more request.
    #[inline]
    fn miss_left(&mut self) {
        // Only accesses refused for this reason may pass now.
        self.reconsider(|refused| refused.reason == FailReason::MissQueueFull);
    }

    /// True if a request waits to move into the outlet.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.misses.any_unsent()
    }

    /// Moves one request into the outlet, if there is one and room for it.
    #[inline]
    pub(crate) fn send_miss(&mut self) {
        let sends = self.misses.send();
        self.reconsider(|refused| sends & (refused.reason == FailReason::MissQueueFull));
    }

    /// Puts a request into the outlet, which must have room, past everything else: for partitions
    /// without L2, which use the outlet alone.
    #[inline]
    pub(crate) fn pass(&mut self, request: &Request) {
        self.misses.push(request);
        self.misses.send();
    }

    /// True if the outlet has no room.
    #[inline]
    pub(crate) fn outlet_full(&self) -> bool {
        self.misses.outlet_full()
    }

    /// True if a request waits to leave the outlet.
    #[inline]
    pub(crate) fn any_sent(&self) -> bool {
        self.misses.any_sent()
    }

    /// Next request that leaves the outlet, if any.
    #[inline]
    pub(crate) fn sent_front(&self) -> Option<&Request> {
        self.misses.sent_front()
    }

    /// Removes the next request from the outlet, which must have one.
    #[inline]
    pub(crate) fn drop_sent(&mut self) {
        self.misses.drop_sent();
    }

    /// Takes `bytes` bytes of the line or sector that entry `entry` waits for (the number that the
    /// request sent down had). The merged requests become ready with the last part.
    #[inline]
    pub fn fill(&mut self, now: Cycle, entry: u32, bytes: u16) {
        if self.mshrs.arrive(entry, bytes) {
            self.fill_whole(now, entry);
        } else if self.rules.allocate == AllocatePolicy::OnMiss {
            // Prefetched for the last part.
            self.tags.fetch_line(self.mshrs.fill(entry).index);
        }
    }

    /// Handles the last part of a line or sector.
    #[inline(never)]
    fn fill_whole(&mut self, now: Cycle, entry: u32) {
        let fill = self.mshrs.fill(entry);
        let Fill { set, sector, .. } = fill;
        let dirty_before = self.tags.dirty_lines();
        let line = self.tags.line(self.mshrs.first(entry).addr);
        if let Some(at) = self.line_to_fill(now, line, &fill) {
            // A closure, because the mask is seldom needed.
            let byte_mask = || self.mshrs.first(entry).byte_mask;
            self.tags.fill(set, at, line, sector, byte_mask);
            if self.mshrs.has_atomic(entry) {
                let byte_mask = self.mshrs.first(entry).byte_mask;
                self.tags.write(set, at, sector, byte_mask);
            }
        }
        // Other sets change only where the number of dirty lines decides what may be replaced.
        let same_dirty = self.tags.dirty_lines() == dirty_before;
        self.reconsider(|refused| (refused.set == set) | !same_dirty);
        let cycles = u64::from(self.rules.fill_cycles);
        self.fill_port_free_at = self.fill_port_free_at.max(now) + cycles;
        self.counters.fill_port_busy += cycles;
    }

    /// Place for a fill: the line reserved at the miss, or a line reserved now. `None` if no line
    /// of the set can be replaced.
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

    /// True if a merged request can be answered.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.mshrs.has_ready()
    }

    /// Takes the next request that can be answered, in order of arrival. Requests of kind
    /// `L1WriteAllocate` and `L2WriteAllocate` are the cache's own and need no answer.
    #[inline]
    pub fn next_ready(&mut self) -> Option<Request> {
        self.take_ready().copied()
    }

    /// `next_ready` without a copy.
    #[inline]
    pub(crate) fn take_ready(&mut self) -> Option<&Request> {
        // An MSHR becomes free; accesses refused by the tags stay refused.
        self.reconsider(|refused| refused.reason.is_of_mshrs());
        self.mshrs.next_ready()
    }

    /// True if no miss is outstanding, nothing is to be sent, and nothing is ready.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.misses.is_empty() && self.mshrs.is_empty()
    }

    /// Statistics counted so far.
    pub fn counters(&self) -> &CacheCounters {
        &self.counters
    }

    #[inline]
    fn count(&mut self, request: &Request, outcome: AccessOutcome) {
        self.counters.count(request.kind, outcome);
        if !matches!(outcome, AccessOutcome::ReservationFail(_))
            && let Some(own) = self.of_kernel(request.kernel)
        {
            own.count(request.kind, outcome);
        }
    }

    /// `count` of a hit.
    #[inline]
    fn count_hit(&mut self, (kind, kernel): (AccessKind, KernelSlot)) {
        self.counters.count_hit(kind);
        if let Some(own) = self.of_kernel(kernel) {
            own.count_hit(kind);
        }
    }

    /// Counts `attempts` attempts that were not made because they would have failed like the one
    /// before.
    pub fn count_failed(&mut self, kind: AccessKind, reason: FailReason, attempts: u64) {
        self.counters.count_failed(kind, reason, attempts);
    }

    /// Counts and times a hit without a look at the tags (an ideal cache).
    pub(crate) fn hit_always(&mut self, now: Cycle, request: &Request) {
        self.hit_port(now, request.bytes.into());
        self.count_hit((request.kind, request.kernel));
    }

    /// Moves the data of a hit through the port.
    #[inline(always)]
    fn hit_port(&mut self, now: Cycle, bytes: u32) {
        let cycles = match bytes <= self.rules.port_bytes {
            // The usual case needs no division.
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

/// Place and time of an access.
#[derive(Clone, Copy, Debug)]
struct Place {
    now: Cycle,
    set: u32,
    line: u64,
    sector: u8,
}

#[cfg(test)]
mod tests;
