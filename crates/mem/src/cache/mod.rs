//! Caches: tags, miss handling, write policies and ports, without data.

mod texture;

pub use texture::TextureCache;

use crate::{AccessKind, Request};
use warploom_base::Cycle;
use warploom_config::{CacheSpec, ModelStyle};

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
    /// The request itself (a write) went into the miss queue: its reply comes from below.
    pub write_sent: bool,
    /// A write miss made the cache read the line (the acknowledgement then waits where the policy
    /// says so).
    pub allocate_sent: bool,
}

/// Which level a cache is: names its write-backs and allocate reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// In an SM.
    L1,
    /// In a memory partition.
    L2,
}

/// Counters as GPGPU-Sim keeps them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CacheCounters {
    /// Accesses that hit, by `AccessKind::index()`.
    pub hit: [u64; AccessKind::COUNT],
    /// Accesses to lines on their way.
    pub hit_reserved: [u64; AccessKind::COUNT],
    /// Misses.
    pub miss: [u64; AccessKind::COUNT],
    /// Sector misses.
    pub sector_miss: [u64; AccessKind::COUNT],
    /// Attempts that failed (each retry counts).
    pub reservation_fail: [u64; AccessKind::COUNT],
    /// Accesses merged into an MSHR (these are counted by outcome too).
    pub mshr_hit: [u64; AccessKind::COUNT],
    /// Failed attempts by reason (`FailReason as usize`).
    pub fail: [[u64; 5]; AccessKind::COUNT],
    /// Cycles in which the data port was busy.
    pub data_port_busy: u64,
    /// Cycles in which the fill port was busy.
    pub fill_port_busy: u64,
}

impl CacheCounters {
    /// `*_total_cache_accesses`: all but failed attempts.
    pub fn accesses(&self) -> u64 {
        todo!()
    }
    /// `*_total_cache_misses`: misses and sector misses.
    pub fn misses(&self) -> u64 {
        todo!()
    }
    /// `*_total_cache_pending_hits`.
    pub fn pending_hits(&self) -> u64 {
        todo!()
    }
    /// `*_total_cache_reservation_fails`.
    pub fn reservation_fails(&self) -> u64 {
        todo!()
    }
}

/// A cache with associative MSHRs (L1D, L1I, L1C, L2). `now` counts the cache's own cycles.
#[derive(Clone, Debug)]
pub struct Cache {}

impl Cache {
    /// An empty cache. `style` chooses between 3.x and 4.x where they differ.
    pub fn new(spec: &CacheSpec, level: Level, style: ModelStyle) -> Self {
        let _ = (spec, level, style);
        todo!()
    }
    /// Offers a request, indexed by its own address. Call only when `data_port_free`.
    pub fn access(&mut self, now: Cycle, request: &Request) -> Access {
        let _ = (now, request);
        todo!()
    }
    /// The data port can take an access.
    pub fn data_port_free(&self, now: Cycle) -> bool {
        let _ = now;
        todo!()
    }
    /// The fill port can take a fill.
    pub fn fill_port_free(&self, now: Cycle) -> bool {
        let _ = now;
        todo!()
    }
    /// Next request to go down, if any. The caller moves at most one per cycle.
    pub fn miss_queue_front(&self) -> Option<&Request> {
        todo!()
    }
    /// Takes the next request to go down.
    pub fn pop_miss(&mut self) -> Option<Request> {
        todo!()
    }
    /// A reply belongs to a miss of this cache. Replies to accesses that bypassed the cache must
    /// not be asked about: the cache knows only addresses.
    pub fn waiting_for_fill(&self, reply: &Request) -> bool {
        let _ = reply;
        todo!()
    }
    /// Takes a reply (one sector, or the line). Requests merged on the line become ready when its
    /// last reply came.
    pub fn fill(&mut self, now: Cycle, reply: &Request) {
        let _ = (now, reply);
        todo!()
    }
    /// A merged request can be answered.
    pub fn has_ready(&self) -> bool {
        todo!()
    }
    /// The next request that can be answered, in order of arrival; one per call.
    pub fn next_ready(&mut self) -> Option<Request> {
        todo!()
    }
    /// No miss outstanding, nothing to send, nothing ready.
    pub fn is_idle(&self) -> bool {
        todo!()
    }
    /// Makes every line invalid (dirty lines are dropped, as in GPGPU-Sim).
    pub fn invalidate_all(&mut self) {
        todo!()
    }
    /// Makes every dirty line invalid.
    pub fn flush(&mut self) {
        todo!()
    }
    /// Changes the number of ways in use (Volta's carve-out). The cache must be idle.
    pub fn set_ways(&mut self, ways: u32) {
        let _ = ways;
        todo!()
    }
    /// Marks sectors valid without traffic (a host-to-device copy that warms L2).
    pub fn warm(&mut self, now: Cycle, addr: u64, sectors: u8) {
        let _ = (now, addr, sectors);
        todo!()
    }
    /// Counters so far.
    pub fn counters(&self) -> &CacheCounters {
        todo!()
    }
}
