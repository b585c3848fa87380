//! Accesses without timing: what an access does to the tags if the level below answers at once.
//! Nothing is sent, and nothing is counted.

use super::tags::Probe;
use super::{Cache, Place};
use warploom_base::Cycle;
use warploom_config::{WriteAllocate, WritePolicy};

/// Bytes of a segment of an access without timing.
pub const SEGMENT_BYTES: u64 = 128;

/// Kind of an access without timing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayKind {
    /// The access reads memory of any kind.
    Read,
    /// The access reads memory through the texture cache.
    Texture,
    /// The access writes global memory.
    Write,
    /// The access reads and writes in one step.
    Atomic,
}

/// An access without timing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replay {
    /// Address of a segment of 128 bytes.
    pub segment: u64,
    /// Accessed bytes, bit i for byte i of the segment.
    pub bytes: u128,
    /// Kind of the access.
    pub kind: ReplayKind,
}

impl Replay {
    /// The same access of `count` bytes from `addr` on alone; `None` if it accesses none of them.
    /// Requires that they lie in the segment.
    pub fn part(&self, addr: u64, count: u32) -> Option<Self> {
        let bytes = self.bytes & self.mask(addr, count);
        (bytes != 0).then_some(Self { bytes, ..*self })
    }

    /// `count` bytes of the segment from `addr` on.
    pub(super) fn mask(&self, addr: u64, count: u32) -> u128 {
        match count {
            0..128 => ((1 << count) - 1) << (addr - self.segment),
            _ => u128::MAX,
        }
    }
}

impl Cache {
    /// Has the effect on the tags of an access whose miss is served at once. `addr` is the address
    /// of the sector, or of the line where there are no sectors, and `index_addr` gives its set.
    /// Returns whether the access finds what it needs.
    pub fn replay(&mut self, now: Cycle, addr: u64, index_addr: u64, access: &Replay) -> bool {
        self.refuses = false;
        let place = Place {
            now,
            set: self.tags.set(index_addr),
            line: self.tags.line(addr),
            sector: (addr / 32 % 4) as u8 & self.rules.sector_bits,
        };
        let writes = access.kind == ReplayKind::Write;
        let probe = self.tags.probe(place.set, place.line, place.sector, writes);
        match (probe, access.kind) {
            (Probe::Full, _) => {}
            // Only while timed accesses are under way, which bring the data.
            (Probe::HitReserved(at), _) => self.tags.touch(at, now),
            (Probe::Hit(at), ReplayKind::Write) => self.replay_write_hit(place, at, access.bytes),
            (_, ReplayKind::Write) => self.replay_write_miss(place, probe, access.bytes),
            (_, kind) => {
                let at = self.replay_read(place, probe);
                if kind == ReplayKind::Atomic {
                    self.tags.write(place.set, at, place.sector, access.bytes);
                }
            }
        }
        matches!(probe, Probe::Hit(_) | Probe::HitReserved(_))
    }

    /// Replays an access of a segment, sector by sector (line by line where there are no sectors),
    /// in a cache whose sets addresses themselves give. Returns what it asks of the level below.
    pub fn replay_all(&mut self, now: Cycle, access: &Replay) -> Option<Replay> {
        let atom = u32::from(self.rules.atom_bytes);
        let mut asked = 0;
        for addr in (access.segment..access.segment + SEGMENT_BYTES).step_by(atom as usize) {
            let Some(part) = access.part(addr, atom) else {
                continue;
            };
            let found = self.replay(now, addr, addr, &part);
            asked |= match access.kind {
                ReplayKind::Read | ReplayKind::Texture if found => 0,
                // The whole sector or line is fetched.
                ReplayKind::Read | ReplayKind::Texture => access.mask(addr, atom),
                ReplayKind::Write | ReplayKind::Atomic => part.bytes,
            };
        }
        (asked != 0).then_some(Replay {
            bytes: asked,
            ..*access
        })
    }

    /// Finds a sector or brings it in. Returns the place of its line.
    fn replay_read(&mut self, place: Place, probe: Probe) -> u32 {
        let (at, _) = self.take_line(place, probe);
        if !matches!(probe, Probe::Hit(_)) {
            self.tags
                .fill(place.set, at, place.line, place.sector, || 0);
        }
        at
    }

    fn replay_write_hit(&mut self, place: Place, at: u32, bytes: u128) {
        match self.rules.write {
            WritePolicy::WriteBack | WritePolicy::WriteThrough => {
                self.tags.touch(at, place.now);
                self.tags.write_present(place.set, at, place.sector, bytes);
            }
            WritePolicy::WriteEvict | WritePolicy::ReadOnly | WritePolicy::LocalBackGlobalEvict => {
                self.tags.invalidate(place.set, at, place.sector);
            }
        }
    }

    fn replay_write_miss(&mut self, place: Place, probe: Probe, bytes: u128) {
        match self.rules.write_allocate {
            WriteAllocate::None => {}
            // The write goes down, and the line that is read has it.
            WriteAllocate::WriteAndRead => _ = self.replay_read(place, probe),
            WriteAllocate::FetchOnWrite => self.replay_fetch(place, probe, bytes),
            WriteAllocate::LazyFetchOnRead => {
                let (at, _) = self.take_line(place, probe);
                self.tags.write(place.set, at, place.sector, bytes);
                let readable = self.tags.fully_written(at, place.sector);
                self.tags.set_readable(at, place.sector, readable);
            }
        }
    }

    /// A write that reads its sector first, unless it writes all of it.
    fn replay_fetch(&mut self, place: Place, probe: Probe, bytes: u128) {
        let Place {
            set, line, sector, ..
        } = place;
        let (at, _) = self.take_line(place, probe);
        if bytes.count_ones() == u32::from(self.rules.atom_bytes) {
            return self.tags.write(set, at, sector, bytes);
        }
        self.tags.dirty_on_fill(at, sector, false);
        self.tags.fill(set, at, line, sector, || bytes);
    }
}
