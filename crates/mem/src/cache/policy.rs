//! Hits and misses under each write and allocation policy (docs/model/caches.md, Write policies).

use super::mshr::{Fill, Room};
use super::tags::Probe;
use super::{Access, AccessOutcome, Cache, FailReason, Level, Near, Place, Sent};
use crate::{AccessKind, Request};
use core::hint::cold_path;
use warploom_base::Cycle;
use warploom_config::{AllocatePolicy, ModelStyle, WriteAllocate, WritePolicy};

/// Effect of an access that was taken.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Done {
    hit: bool,
    sent: Sent,
}

const HIT: Done = Done {
    hit: true,
    sent: Sent::Nothing,
};

/// Result of an access, from the answer of the tags and what was done.
#[inline]
pub(super) fn outcome(probe: Probe, done: Result<Done, FailReason>) -> Access {
    let done = match done {
        Ok(done) => done,
        Err(reason) => return Access::refused(reason),
    };
    let outcome = match probe {
        _ if done.hit => AccessOutcome::Hit,
        Probe::HitReserved(_) => AccessOutcome::HitReserved,
        Probe::SectorMiss(_) => AccessOutcome::SectorMiss,
        _ => AccessOutcome::Miss,
    };
    Access {
        outcome,
        sent: done.sent,
    }
}

impl Cache {
    /// Fails unless the miss queue has room for `more` requests.
    #[inline]
    fn queue_has(&self, more: usize) -> Result<(), FailReason> {
        if self.misses.room() < more {
            Err(FailReason::MissQueueFull)
        } else {
            Ok(())
        }
    }

    /// Carries out a read or an atomic that finds its sector in the line at `at`.
    #[inline(always)]
    pub(super) fn read_hit(&mut self, place: Place, at: u32, request: &Request) -> Access {
        self.tags.touch(at, place.now);
        if self.tags.take_copied(at, place.sector) {
            cold_path();
            self.copied_hits += 1;
        }
        if request.kind == AccessKind::GlobalAtomic {
            cold_path();
            self.refuses = false;
            self.tags
                .write(place.set, at, place.sector, request.byte_mask);
        }
        if !self.rules.read_only {
            self.hit_port(place.now, request.bytes.into());
        }
        self.count_hit((request.kind, request.kernel));
        Access {
            outcome: AccessOutcome::Hit,
            sent: Sent::Nothing,
        }
    }

    /// Carries out a read that does not find its sector.
    #[inline(always)]
    pub(super) fn read_miss(
        &mut self,
        place: Place,
        probe: Probe,
        request: &Request,
    ) -> Result<Done, FailReason> {
        if probe == Probe::Full {
            return Err(FailReason::LineAllocFail);
        }
        self.queue_has(self.sent_by_read_miss())?;
        let evicts = self.fetch(place, probe, request, request.kind)?;
        self.write_back_if(evicts, place, request, true);
        Ok(Done::default())
    }

    /// Most requests that a read miss sends: the replaced line may have to be written back.
    #[inline]
    const fn sent_by_read_miss(&self) -> usize {
        if self.rules.read_only { 1 } else { 2 }
    }

    /// True if there is room for a read ahead of need, and an MSHR stays free for others.
    pub fn can_prefetch(&self) -> bool {
        self.mshrs.free() > 1 && self.misses.room() >= self.sent_by_read_miss()
    }

    /// Fetches the line of a read, which must be missing, ahead of need; `index_addr` gives its
    /// set. The read is not counted as an access; its answer comes out of
    /// [`next_ready`](Self::next_ready). Returns false, and changes nothing, if no line of the set
    /// can be replaced. Requires `can_prefetch`.
    pub fn prefetch(&mut self, now: Cycle, request: &Request, index_addr: u64) -> bool {
        debug_assert!(self.can_prefetch() && self.is_missing_at(request.addr, index_addr));
        let place = self.place(now, request, self.tags.set(index_addr));
        let found = self.tags.find(place.set, place.line);
        let probe = self.tags.probe_found(found, place.set, place.sector, false);
        let done = self.read_miss(place, probe, request).is_ok();
        self.refuses &= !done;
        done
    }

    /// True if the request is a write that takes no line when it misses, and the miss queue has
    /// room for it.
    #[inline]
    pub(super) fn goes_past(&self, request: &Request) -> bool {
        request.kind.is_write()
            && self.rules.write_allocate == WriteAllocate::None
            && !self.misses.is_full()
    }

    /// Sends such a write down: the part of `write` that it needs.
    #[inline]
    pub(super) fn send_past(&mut self, request: &Request) -> Access {
        self.refuses = false;
        self.misses.push(request);
        self.count(request, AccessOutcome::Miss);
        Access {
            outcome: AccessOutcome::Miss,
            sent: Sent::Write,
        }
    }

    #[inline(never)]
    pub(super) fn write(
        &mut self,
        place: Place,
        probe: Probe,
        request: &Request,
    ) -> Result<Done, FailReason> {
        if let Probe::Hit(at) = probe {
            return self.write_hit(place, at, request);
        }
        match self.rules.write_allocate {
            WriteAllocate::None => {
                self.queue_has(1)?;
                self.misses.push(request);
                Ok(Done {
                    sent: Sent::Write,
                    ..Done::default()
                })
            }
            _ if probe == Probe::Full => Err(FailReason::LineAllocFail),
            WriteAllocate::WriteAndRead => self.write_and_read(place, probe, request),
            WriteAllocate::FetchOnWrite => self.fetch_on_write(place, probe, request),
            WriteAllocate::LazyFetchOnRead => self.write_lazily(place, probe, request),
        }
    }

    /// True if the line at `at` has the sector, and keeps what is written to it.
    #[inline]
    pub(super) fn takes_write(&self, at: u32, sector: u8) -> bool {
        self.rules.write == WritePolicy::WriteBack && self.tags.is_present(at, sector)
    }

    /// Carries out such a write: the part of `write` that it needs.
    #[inline(never)]
    pub(super) fn take_write(&mut self, now: Cycle, near: Near, request: &Request) -> Access {
        self.refuses = false;
        self.write_present(self.place(now, request, near.set), near.at, request);
        self.count_hit((request.kind, request.kernel));
        Access {
            outcome: AccessOutcome::Hit,
            sent: Sent::Nothing,
        }
    }

    /// Writes to a sector that is present, and stays.
    #[inline(always)]
    fn write_present(&mut self, place: Place, at: u32, request: &Request) {
        let Place { set, sector, .. } = place;
        self.tags.touch(at, place.now);
        self.tags.write_present(set, at, sector, request.byte_mask);
        self.hit_port(place.now, request.bytes.into());
    }

    fn write_hit(&mut self, place: Place, at: u32, request: &Request) -> Result<Done, FailReason> {
        let (sends, stays) = match self.rules.write {
            WritePolicy::WriteBack => (false, true),
            WritePolicy::WriteThrough => (true, true),
            WritePolicy::WriteEvict | WritePolicy::ReadOnly => (true, false),
            WritePolicy::LocalBackGlobalEvict => {
                let local = request.kind != AccessKind::GlobalWrite;
                (!local, local)
            }
        };
        if sends {
            self.queue_has(1)?;
            self.misses.push(request);
        }
        if stays {
            self.write_present(place, at, request);
        } else {
            self.tags.invalidate(place.set, at, place.sector);
            self.hit_port(place.now, request.bytes.into());
        }
        Ok(Done {
            sent: Sent::write_if(sends),
            ..HIT
        })
    }

    /// Write miss that forwards the write and reads the line.
    #[inline(never)]
    fn write_and_read(
        &mut self,
        place: Place,
        probe: Probe,
        request: &Request,
    ) -> Result<Done, FailReason> {
        self.queue_has(3)?;
        self.mshr_has_room(request)?;
        self.misses.push(request);
        let read = Request {
            kind: self.allocate_kind(),
            bytes: self.rules.atom_bytes,
            ..*request
        };
        let evicts = self.fetch(place, probe, &read, read.kind)?;
        self.write_back_if(evicts, place, request, false);
        Ok(Done {
            sent: Sent::WriteAndAllocate,
            ..Done::default()
        })
    }

    /// Write miss that keeps the sector if all of it is written, and else reads it first and is
    /// acknowledged then.
    #[inline(never)]
    fn fetch_on_write(
        &mut self,
        place: Place,
        probe: Probe,
        request: &Request,
    ) -> Result<Done, FailReason> {
        if request.byte_mask.count_ones() == u32::from(self.rules.atom_bytes) {
            self.queue_has(1)?;
            let (at, evicts) = self.take_line(place, probe);
            self.tags
                .write(place.set, at, place.sector, request.byte_mask);
            self.write_back_if(evicts, place, request, false);
            return Ok(Done::default());
        }
        self.queue_has(2)?;
        if let Room::Merge(entry) = self.mshr_has_room(request)?
            && self.mshrs.read_after_write(entry)
        {
            return Err(FailReason::MshrRwPending);
        }
        let evicts = self.fetch(place, probe, request, self.allocate_kind())?;
        if let Some(at) = self.tag_of(place) {
            self.tags.dirty_on_fill(at, place.sector, false);
        }
        self.write_back_if(evicts, place, request, false);
        Ok(Done {
            sent: Sent::Allocate,
            ..Done::default()
        })
    }

    /// Write miss that keeps the bytes now; a later read of missing bytes fetches the sector.
    fn write_lazily(
        &mut self,
        place: Place,
        probe: Probe,
        request: &Request,
    ) -> Result<Done, FailReason> {
        self.queue_has(1)?;
        let write_sent = self.rules.write == WritePolicy::WriteThrough;
        if write_sent {
            self.misses.push(request);
        }
        let (at, evicts) = self.take_line(place, probe);
        let was_reserved = matches!(probe, Probe::HitReserved(_));
        self.tags
            .write(place.set, at, place.sector, request.byte_mask);
        let readable = self.tags.fully_written(at, place.sector);
        self.tags.set_readable(at, place.sector, readable);
        if was_reserved {
            self.tags.dirty_on_fill(at, place.sector, !readable);
        }
        self.write_back_if(evicts, place, request, false);
        Ok(Done {
            sent: Sent::write_if(write_sent),
            ..Done::default()
        })
    }

    /// Room of the MSHRs for a request, or the reason why there is none.
    #[inline]
    fn mshr_has_room(&self, request: &Request) -> Result<Room, FailReason> {
        match self.mshrs.room(self.atom(request.addr)) {
            Room::Full => Err(FailReason::MshrEntryFail),
            Room::MergeFull => Err(FailReason::MshrMergeFail),
            room => Ok(room),
        }
    }

    /// Merges a request into the MSHR of its line, or starts an MSHR and sends a read of kind
    /// `down`. Returns whether a dirty line was replaced.
    #[inline(always)]
    fn fetch(
        &mut self,
        place: Place,
        probe: Probe,
        waiting: &Request,
        down: AccessKind,
    ) -> Result<bool, FailReason> {
        let room = self.mshr_has_room(waiting)?;
        let (index, evicts) = match (self.rules.allocate, probe) {
            (AllocatePolicy::OnMiss, _) => self.take_line(place, probe),
            (_, Probe::HitReserved(at)) => (at, false),
            _ => (0, false),
        };
        let slot = match room {
            Room::Merge(entry) => {
                self.mshrs.merge(entry, waiting);
                self.counters.count_merged(down);
                if !matches!(probe, Probe::HitReserved(_)) {
                    self.lead_fill_to(place, index, entry, waiting);
                }
                return Ok(evicts);
            }
            Room::New(slot) => slot,
            Room::Full | Room::MergeFull => unreachable!("there is room"),
        };
        let addr = self.atom(waiting.addr);
        let fill = Fill {
            set: place.set,
            index,
            sector: place.sector,
        };
        let entry = self
            .mshrs
            .start(slot, addr, self.rules.atom_bytes, fill, waiting);
        let read = self.misses.push(waiting);
        read.addr = addr;
        read.bytes = self.rules.atom_bytes;
        read.sectors = self.rules.atom_sectors << (addr % 128 / 32) & 15;
        read.kind = down;
        // The reply carries the entry that waits for it, and for L2 the line that it fills.
        read.entry = entry;
        if self.rules.level == Level::L2 {
            read.returned_at = index;
        }
        Ok(evicts)
    }

    /// Gives the fill of `entry` to the sector that was reserved at `index` for a request which
    /// merged into the entry. The entry is older than the reservation: the sector that it filled,
    /// or was to fill, has been invalidated, replaced or written since. Without this the new one
    /// would stay reserved for ever, and could not be replaced.
    #[cold]
    fn lead_fill_to(&mut self, place: Place, index: u32, entry: u32, waiting: &Request) {
        if self.rules.allocate != AllocatePolicy::OnMiss {
            return;
        }
        if !self.mshrs.is_whole(entry) {
            return self.mshrs.lead_fill_to(entry, index);
        }
        let Place {
            set, line, sector, ..
        } = place;
        self.tags.fill(set, index, line, sector, || 0);
        if waiting.kind.is_write() || waiting.kind == AccessKind::GlobalAtomic {
            self.tags.write(set, index, sector, waiting.byte_mask);
        }
    }

    /// Reserves the line or sector that a miss needs. Returns its place, and whether a dirty line
    /// was replaced.
    #[inline(always)]
    pub(super) fn take_line(&mut self, place: Place, probe: Probe) -> (u32, bool) {
        let Place {
            now,
            set,
            line,
            sector,
        } = place;
        match probe {
            Probe::SectorMiss(at) => {
                self.tags.allocate_sector(set, at, sector, now);
                (at, false)
            }
            Probe::Hit(at) | Probe::HitReserved(at) => {
                self.tags.touch(at, now);
                (at, false)
            }
            Probe::Miss | Probe::Full => {
                let (at, evicts) = self.tags.allocate(set, line, sector, now);
                self.near = Near { at, set };
                (at, evicts)
            }
        }
    }

    fn tag_of(&self, place: Place) -> Option<u32> {
        match self.tags.probe(place.set, place.line, place.sector, true) {
            Probe::Hit(at) | Probe::HitReserved(at) | Probe::SectorMiss(at) => Some(at),
            Probe::Miss | Probe::Full => None,
        }
    }

    /// `write_back` if a dirty line was replaced.
    #[inline]
    fn write_back_if(&mut self, evicts: bool, place: Place, cause: &Request, by_read: bool) {
        if evicts {
            self.write_back(place, cause, by_read);
        }
    }

    /// Sends the dirty line that was replaced down, unless lower levels have it already, and reads
    /// it out of the data array. In GPGPU-Sim 4.2 the size is lost where a read replaced the line,
    /// so that such a write-back does not use the port; 3.2.2 always reads out the whole line.
    #[inline(never)]
    pub(super) fn write_back(&mut self, place: Place, cause: &Request, by_read: bool) {
        if self.rules.write == WritePolicy::WriteThrough {
            return;
        }
        let evicted = *self.tags.evicted();
        self.misses.push(&Request {
            addr: evicted.addr,
            byte_mask: evicted.byte_mask,
            bytes: evicted.bytes,
            sectors: evicted.sectors,
            kind: match self.rules.level {
                Level::L1 => AccessKind::L1WriteBack,
                Level::L2 => AccessKind::L2WriteBack,
            },
            token: u32::MAX,
            ..*cause
        });
        let bytes = match self.rules.style {
            ModelStyle::V3 => self.rules.line_bytes,
            ModelStyle::V4 if by_read => 0,
            ModelStyle::V4 => evicted.bytes.into(),
        };
        self.use_data_port(place.now, bytes / self.rules.port_bytes);
    }

    const fn allocate_kind(&self) -> AccessKind {
        match self.rules.level {
            Level::L1 => AccessKind::L1WriteAllocate,
            Level::L2 => AccessKind::L2WriteAllocate,
        }
    }
}
