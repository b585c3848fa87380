//! Tags: which lines are where and in what state. Set-major flat arrays; a byte of each line's
//! number is kept apart, so that a look-up compares eight ways at a time.

use crate::hash::{self, Ipoly};
use warploom_base::Cycle;
use warploom_config::{CacheSpec, Replacement, SetIndex};

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u32 = 32;

/// Geometry of a cache and its hash.
#[derive(Clone, Debug)]
struct Index {
    kind: SetIndex,
    sets: u32,
    line_shift: u32,
    ipoly: Ipoly,
}

impl Index {
    #[inline]
    fn set(&self, addr: u64) -> u32 {
        let line = addr >> self.line_shift;
        let low = line as u32 & (self.sets - 1);
        let upper = line >> self.sets.trailing_zeros();
        match self.kind {
            SetIndex::Linear => low,
            SetIndex::FermiHash => hash::fermi(addr, self.line_shift, self.sets),
            SetIndex::Xor => hash::xor(upper, low, self.sets),
            SetIndex::Ipoly => self.ipoly.hash(upper, low),
        }
    }
}

/// State of a line: one bit per sector (bit 0 alone where lines have no sectors). A sector is in
/// at most one of `reserved`, `valid` and `modified`; in none, it is invalid.
#[derive(Clone, Copy, Default, Debug)]
struct Line {
    reserved: u8,
    valid: u8,
    modified: u8,
    /// Modified, but not every byte is there: reads must fetch.
    unreadable: u8,
    modified_on_fill: u8,
    readable_on_fill: u8,
    dirty_bytes_on_fill: bool,
}

impl Line {
    #[inline]
    const fn present(self) -> u8 {
        self.reserved | self.valid | self.modified
    }
}

/// What a look-up found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe {
    /// Present, in this line.
    Hit(u32),
    /// On its way, in this line.
    HitReserved(u32),
    /// The line is here, the sector (or a byte of it) is not.
    SectorMiss(u32),
    /// Absent; a line can be replaced.
    Miss,
    /// Absent; no line can be replaced.
    Full,
}

/// A dirty line that was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Evicted {
    /// First byte.
    pub(super) addr: u64,
    /// Dirty bytes' number, in whole sectors (the line where there are none).
    pub(super) bytes: u16,
    /// Dirty bytes.
    pub(super) byte_mask: u128,
    /// Dirty sectors.
    pub(super) sectors: u8,
}

/// Lines of a set that cannot or should not be replaced.
#[derive(Clone, Copy, Default, Debug)]
struct SetCount {
    reserved: u16,
    /// Modified and not reserved.
    dirty: u16,
}

/// The tag store.
#[derive(Clone, Debug)]
pub(super) struct Tags {
    index: Index,
    ways: usize,
    /// Ways that exist; `ways` of them are in use.
    stride: usize,
    sectored: bool,
    replacement: Replacement,
    write_ratio_percent: u64,
    /// A byte of each line's number, eight ways to a word.
    marks: Box<[u64]>,
    lines: Box<[u64]>,
    states: Box<[Line]>,
    used: Box<[Cycle]>,
    allocated: Box<[Cycle]>,
    dirty_bytes: Box<[u128]>,
    counts: Box<[SetCount]>,
    dirty_lines: u64,
}

/// A line number that no address has.
const NO_LINE: u64 = u64::MAX;

#[inline]
const fn mark(line: u64) -> u64 {
    line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

impl Tags {
    pub(super) fn new(spec: &CacheSpec, max_ways: u32) -> Self {
        let stride = (max_ways.max(spec.ways) as usize).next_multiple_of(8);
        let lines = spec.sets as usize * stride;
        Self {
            index: Index {
                kind: spec.index,
                sets: spec.sets,
                line_shift: spec.line_bytes.trailing_zeros(),
                ipoly: Ipoly::new(if spec.index == SetIndex::Ipoly {
                    spec.sets
                } else {
                    1
                }),
            },
            ways: spec.ways as usize,
            stride,
            sectored: spec.sectored,
            replacement: spec.replacement,
            write_ratio_percent: spec.write_ratio_percent.into(),
            marks: vec![0; lines / 8].into(),
            lines: vec![NO_LINE; lines].into(),
            states: vec![Line::default(); lines].into(),
            used: vec![0; lines].into(),
            allocated: vec![0; lines].into(),
            dirty_bytes: vec![0; lines].into(),
            counts: vec![SetCount::default(); spec.sets as usize].into(),
            dirty_lines: 0,
        }
    }

    /// Set of an address.
    #[inline]
    pub(super) fn set(&self, index_addr: u64) -> u32 {
        self.index.set(index_addr)
    }

    /// Number of the line that holds an address.
    #[inline]
    pub(super) fn line(&self, addr: u64) -> u64 {
        addr >> self.index.line_shift
    }

    /// Ways in use.
    pub(super) fn ways(&self) -> u32 {
        self.ways as u32
    }

    fn line_bytes(&self) -> u32 {
        1 << self.index.line_shift
    }

    /// Changes the number of ways in use; every line becomes invalid.
    pub(super) fn set_ways(&mut self, ways: u32) {
        assert!(ways as usize <= self.stride, "more ways than the cache has");
        self.clear(|_| true);
        self.ways = ways as usize;
    }

    /// Where a line is, if its tag is anywhere in the set.
    #[inline]
    fn find(&self, set: u32, line: u64) -> Option<u32> {
        const LOW: u64 = 0x0101_0101_0101_0101;
        let base = set as usize * self.stride;
        let pattern = mark(line) * LOW;
        for word in 0..self.ways.div_ceil(8) {
            let same = self.marks[base / 8 + word] ^ pattern;
            let mut hits = same.wrapping_sub(LOW) & !same & (LOW << 7);
            while hits != 0 {
                let at = base + word * 8 + hits.trailing_zeros() as usize / 8;
                if self.lines[at] == line && self.states[at].present() != 0 {
                    return Some(at as u32);
                }
                hits &= hits - 1;
            }
        }
        None
    }

    /// Looks a sector up.
    #[inline]
    pub(super) fn probe(&self, set: u32, line: u64, sector: u8, is_write: bool) -> Probe {
        let bit = 1 << sector;
        if let Some(at) = self.find(set, line) {
            let state = self.states[at as usize];
            return if state.reserved & bit != 0 {
                Probe::HitReserved(at)
            } else if state.valid & bit != 0
                || state.modified & bit != 0 && (is_write || state.unreadable & bit == 0)
            {
                Probe::Hit(at)
            } else {
                Probe::SectorMiss(at)
            };
        }
        let count = self.counts[set as usize];
        let kept = count.reserved + if self.spares_dirty() { count.dirty } else { 0 };
        if usize::from(kept) == self.ways {
            Probe::Full
        } else {
            Probe::Miss
        }
    }

    /// Dirty lines are not replaced while their share is below the configured one.
    #[inline]
    fn spares_dirty(&self) -> bool {
        let lines = u64::from(self.index.sets) * self.ways as u64;
        self.dirty_lines * 100 < self.write_ratio_percent * lines
    }

    /// Notes a use.
    #[inline]
    pub(super) fn touch(&mut self, at: u32, now: Cycle) {
        self.used[at as usize] = now;
    }

    /// The line to be replaced: the last invalid one, else the least recent.
    fn victim(&self, set: u32) -> usize {
        let base = set as usize * self.stride;
        let spares_dirty = self.spares_dirty();
        let times = match self.replacement {
            Replacement::Lru => &self.used,
            Replacement::Fifo => &self.allocated,
        };
        let (mut invalid, mut oldest) = (None, None);
        let mut least = Cycle::MAX;
        for at in base..base + self.ways {
            let state = self.states[at];
            if state.reserved != 0 || spares_dirty && state.modified != 0 {
                continue;
            }
            if state.present() == 0 {
                invalid = Some(at);
            } else if times[at] < least {
                (least, oldest) = (times[at], Some(at));
            }
        }
        invalid.or(oldest).expect("a line to replace")
    }

    /// Replaces a line of `set` and reserves a sector of the new one. Requires `Probe::Miss`.
    pub(super) fn allocate(
        &mut self,
        set: u32,
        line: u64,
        sector: u8,
        now: Cycle,
    ) -> (u32, Option<Evicted>) {
        let at = self.victim(set);
        let old = self.states[at];
        let evicted = (old.modified != 0).then(|| self.evicted(at, old));
        let fresh = Line {
            reserved: 1 << sector,
            ..Line::default()
        };
        self.change(set, at, |state| *state = fresh);
        self.lines[at] = line;
        let shift = at % 8 * 8;
        self.marks[at / 8] = self.marks[at / 8] & !(0xff << shift) | mark(line) << shift;
        self.dirty_bytes[at] = 0;
        (self.used[at], self.allocated[at]) = (now, now);
        (at as u32, evicted)
    }

    /// Makes one dirty line invalid, to be written back.
    pub(super) fn take_dirty(&mut self) -> Option<Evicted> {
        if self.dirty_lines == 0 {
            return None;
        }
        let at = self.states.iter().position(|state| state.modified != 0)?;
        let evicted = self.evicted(at, self.states[at]);
        self.change((at / self.stride) as u32, at, |state| {
            (state.valid, state.modified) = (0, 0);
        });
        Some(evicted)
    }

    fn evicted(&self, at: usize, state: Line) -> Evicted {
        let line_bytes = self.line_bytes();
        let addr = self.lines[at] << self.index.line_shift;
        let (bytes, sectors) = if self.sectored {
            (state.modified.count_ones() * SECTOR_BYTES, state.modified)
        } else {
            (line_bytes, super::sectors_from(addr, line_bytes))
        };
        Evicted {
            addr,
            bytes: bytes as u16,
            byte_mask: self.dirty_bytes[at],
            sectors,
        }
    }

    /// Reserves an absent (or unreadable) sector of a line that is here.
    pub(super) fn allocate_sector(&mut self, set: u32, at: u32, sector: u8, now: Cycle) {
        let bit = 1 << sector;
        self.change(set, at as usize, |state| {
            if state.modified & bit != 0 {
                state.modified_on_fill |= bit;
            } else {
                state.modified_on_fill &= !bit;
            }
            state.readable_on_fill &= !bit;
            state.modified &= !bit;
            state.valid &= !bit;
            state.unreadable &= !bit;
            state.reserved |= bit;
        });
        self.used[at as usize] = now;
    }

    /// Writes bytes of a sector: it becomes modified.
    pub(super) fn write(&mut self, set: u32, at: u32, sector: u8, bytes: u128) {
        let bit = 1 << sector;
        self.dirty_bytes[at as usize] |= bytes;
        self.change(set, at as usize, |state| {
            state.reserved &= !bit;
            state.valid &= !bit;
            state.modified |= bit;
        });
    }

    /// Says whether reads may take the sector as it is.
    pub(super) fn set_readable(&mut self, at: u32, sector: u8, readable: bool) {
        let bit = 1 << sector;
        let state = &mut self.states[at as usize];
        if readable {
            state.unreadable &= !bit;
        } else {
            state.unreadable |= bit;
        }
    }

    /// Every byte of the sector has been written since the line came.
    pub(super) fn fully_written(&self, at: u32, sector: u8) -> bool {
        let bytes = if self.sectored {
            u128::from(u32::MAX) << (u32::from(sector) * SECTOR_BYTES)
        } else if self.line_bytes() >= 128 {
            u128::MAX
        } else {
            let shift = (self.lines[at as usize] << self.index.line_shift) % 128;
            ((1 << self.line_bytes()) - 1) << shift
        };
        self.dirty_bytes[at as usize] & bytes == bytes
    }

    /// When the fill of a sector comes, it is modified, readable and its bytes count as dirty.
    pub(super) fn dirty_on_fill(&mut self, at: u32, sector: u8, readable: bool) {
        let state = &mut self.states[at as usize];
        state.modified_on_fill |= 1 << sector;
        state.dirty_bytes_on_fill = true;
        if readable {
            state.readable_on_fill |= 1 << sector;
        }
    }

    /// Makes a sector invalid.
    pub(super) fn invalidate(&mut self, set: u32, at: u32, sector: u8) {
        let bit = 1 << sector;
        self.change(set, at as usize, |state| {
            state.reserved &= !bit;
            state.valid &= !bit;
            state.modified &= !bit;
        });
    }

    /// A sector of the line at `at` came. Ignored if the line was replaced meanwhile, which can
    /// happen to a line that was written while it was on its way.
    pub(super) fn fill(&mut self, set: u32, at: u32, line: u64, sector: u8, bytes: u128) {
        let index = at as usize;
        if self.lines[index] != line || self.states[index].present() == 0 {
            return;
        }
        let bit = 1 << sector;
        if self.states[index].dirty_bytes_on_fill {
            self.dirty_bytes[index] |= bytes;
        }
        self.change(set, index, |state| {
            state.reserved &= !bit;
            if state.modified_on_fill & bit != 0 {
                state.modified |= bit;
                state.valid &= !bit;
            } else {
                state.valid |= bit;
                state.modified &= !bit;
            }
            if state.readable_on_fill & bit != 0 {
                state.unreadable &= !bit;
                state.readable_on_fill &= !bit;
            }
        });
    }

    /// Changes a line's state and keeps the counts right.
    #[inline]
    fn change(&mut self, set: u32, at: usize, change: impl FnOnce(&mut Line)) {
        let state = &mut self.states[at];
        let before = *state;
        change(state);
        let after = *state;
        let count = &mut self.counts[set as usize];
        count.reserved += u16::from(after.reserved != 0);
        count.reserved -= u16::from(before.reserved != 0);
        count.dirty += u16::from(after.reserved == 0 && after.modified != 0);
        count.dirty -= u16::from(before.reserved == 0 && before.modified != 0);
        self.dirty_lines += u64::from(after.modified != 0);
        self.dirty_lines -= u64::from(before.modified != 0);
    }

    /// Makes every sector of the lines chosen invalid. Lines that are on their way stay so.
    pub(super) fn clear(&mut self, chosen: impl Fn(bool) -> bool) {
        for set in 0..self.index.sets {
            let base = set as usize * self.stride;
            for at in base..base + self.ways {
                if chosen(self.states[at].modified != 0) {
                    self.change(set, at, |state| {
                        (state.valid, state.modified) = (0, 0);
                    });
                }
            }
        }
    }
}
