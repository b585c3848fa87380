//! Operations on a whole cache, between kernels, for policies or for the host: emptying it,
//! changing its size and policy, warming it, telling its state.

use super::tags::{Placed, Probe, SECTOR_BYTES};
use super::{Accessor, Cache};
use crate::Request;
use warploom_base::Cycle;
use warploom_config::AllocatePolicy;

impl Cache {
    /// Makes every line invalid (dirty lines are dropped, as in GPGPU-Sim).
    pub fn invalidate_all(&mut self) {
        self.refuses = false;
        self.tags.clear(|_| true);
    }

    /// Number of reads and atomics that were the first to find a sector that [`warm`](Self::warm)
    /// brought.
    pub fn copied_hits(&self) -> u64 {
        self.copied_hits
    }

    /// Takes the news of the line that came in with the last access or fill; `None` if none did.
    pub fn take_placed(&mut self) -> Option<Placed> {
        self.tags.take_placed()
    }

    /// Tells the replacement policy who makes the next access, or whose line the next fill brings
    /// in.
    pub fn note_accessor(&mut self, accessor: &Accessor) {
        self.tags.note_accessor(accessor);
    }

    /// True if a read in the sector of `addr` would hit.
    pub fn has(&self, addr: u64) -> bool {
        self.has_in(self.tags.set(addr), addr)
    }

    /// True if a read in the sector of `addr` would hit in a set.
    fn has_in(&self, set: u32, addr: u64) -> bool {
        let found = self.tags.find(set, self.tags.line(addr));
        found.is_some_and(|at| self.tags.is_readable(at, self.sector_of(addr)))
    }

    /// Number of the sector of `addr` in its line.
    fn sector_of(&self, addr: u64) -> u8 {
        (addr / u64::from(SECTOR_BYTES)) as u8 & self.rules.sector_bits
    }

    /// The bit of the sector of `addr`, in masks of the sectors of a line.
    pub(super) fn sector_bit(&self, addr: u64) -> u8 {
        1 << self.sector_of(addr)
    }

    /// Set of an address.
    pub(super) fn set_of(&self, addr: u64) -> u32 {
        self.tags.set(addr)
    }

    /// True if a read of the sector of `addr` would neither hit nor merge with one on its way.
    pub fn is_missing(&self, addr: u64) -> bool {
        self.is_missing_at(addr, addr)
    }

    /// As [`is_missing`](Self::is_missing), where `index_addr` gives the set.
    pub fn is_missing_at(&self, addr: u64, index_addr: u64) -> bool {
        let set = self.tags.set(index_addr);
        !self.has_in(set, addr) && !self.mshrs.is_coming(self.atom(addr))
    }

    /// Number of lines or sectors, beyond those on their way, that can be fetched (free entries of
    /// the MSHRs).
    pub fn free_misses(&self) -> u32 {
        self.mshrs.free()
    }

    /// Number of lines that the cache holds with the ways in use.
    pub fn lines(&self) -> u32 {
        self.tags.lines()
    }

    /// Number of places for lines, those of unused ways included.
    pub fn places(&self) -> usize {
        self.tags.places()
    }

    /// Address of the first byte of the line that holds an address.
    pub fn line_address(&self, addr: u64) -> u64 {
        addr & !(u64::from(self.rules.line_bytes) - 1)
    }

    /// The first of the requests that a fill of `entry` answers. Valid until all of them have been
    /// taken.
    pub fn first_waiting(&self, entry: u32) -> &Request {
        self.mshrs.first(entry)
    }

    /// Makes every dirty line invalid.
    pub fn flush(&mut self) {
        self.refuses = false;
        self.tags.clear(|is_dirty| is_dirty);
    }

    /// Runs one cycle of emptying the cache, so that its memory can serve another use: a dirty line
    /// is written back on behalf of `cause`, if there is room. Returns true when no line is left,
    /// and none is outstanding or on its way.
    pub fn empty(&mut self, now: Cycle, cause: &Request) -> bool {
        if !self.is_idle() || self.has_ready() {
            return false;
        }
        self.refuses = false;
        if !self.tags.take_dirty() {
            self.invalidate_all();
            return true;
        }
        let place = self.place(now, cause, self.tags.set(cause.addr));
        self.write_back(place, cause, false);
        false
    }

    /// True if no miss is outstanding, so that size and policy may change.
    pub fn is_quiescent(&self) -> bool {
        self.mshrs.is_empty()
    }

    /// Changes the number of ways in use (Volta's carve-out) and makes every line invalid, unless
    /// the number stays the same. The cache must be quiescent.
    pub fn set_ways(&mut self, ways: u32) {
        assert!(self.is_quiescent(), "a cache in use cannot change its size");
        self.refuses = false;
        if ways != self.tags.ways() {
            self.tags.set_ways(ways);
        }
    }

    /// Chooses when lines are reserved, for `AllocatePolicy::Streaming`. The cache must be
    /// quiescent.
    pub fn set_allocate(&mut self, allocate: AllocatePolicy) {
        assert!(
            self.is_quiescent(),
            "a cache in use cannot change its policy"
        );
        self.refuses = false;
        self.rules.allocate = allocate;
    }

    /// Marks `sectors` sectors of one line, from the one at `addr` on, valid without traffic (a
    /// host-to-device copy that warms L2), one a cycle from `now` on.
    pub fn warm(&mut self, now: Cycle, addr: u64, index_addr: u64, sectors: u64) {
        self.refuses = false;
        let set = self.tags.set(index_addr);
        let line = self.tags.line(addr);
        let mut found = self.tags.find(set, line);
        for nth in 0..sectors {
            let sector = ((addr / 32 + nth) % 4) as u8 & self.rules.sector_bits;
            let at = match self.tags.probe_found(found, set, sector, true) {
                Probe::Full | Probe::Hit(_) | Probe::HitReserved(_) => continue,
                Probe::Miss => self.tags.allocate(set, line, sector, now + nth).0,
                Probe::SectorMiss(at) => {
                    self.tags.allocate_sector(set, at, sector, now + nth);
                    at
                }
            };
            self.tags.fill(set, at, line, sector, || 0);
            self.tags.note_copied(at, sector);
            found = Some(at);
        }
    }
}
