//! Tags: which lines are where and in what state. Set-major flat arrays; a byte of each line's
//! number is kept apart, so that a look-up compares eight ways at a time. What else a look-up needs
//! of a line lies together; what only writes need is apart.

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
    /// Bits of a set's number.
    set_bits: u32,
    ipoly: Ipoly,
}

impl Index {
    #[inline]
    fn set(&self, addr: u64) -> u32 {
        let line = addr >> self.line_shift;
        let low = line as u32 & (self.sets - 1);
        let upper = line >> self.set_bits;
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
struct State {
    reserved: u8,
    valid: u8,
    modified: u8,
    /// Modified, but not every byte is there: reads must fetch.
    unreadable: u8,
    modified_on_fill: u8,
    readable_on_fill: u8,
    dirty_bytes_on_fill: bool,
}

impl State {
    #[inline]
    const fn present(self) -> u8 {
        self.reserved | self.valid | self.modified
    }
}

/// A line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number, whether or not it is present.
    number: u64,
    /// Cycle by which lines are replaced: of the last use, or where lines go in the order in which
    /// they came, of its reservation.
    recent: Cycle,
    state: State,
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
    /// Uses make a line recent.
    by_use: bool,
    write_ratio_percent: u64,
    /// A byte of each line's number, eight ways to a word.
    marks: Box<[u64]>,
    lines: Box<[Line]>,
    dirty_bytes: Box<[u128]>,
    counts: Box<[SetCount]>,
    dirty_lines: u64,
}

/// A line number that no address has.
const NO_LINE: u64 = u64::MAX;

/// Bits of a line's place in its set, for ways.
const WAY_BITS: u32 = 16;

#[inline]
const fn mark(line: u64) -> u64 {
    line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

impl Tags {
    pub(super) fn new(spec: &CacheSpec, max_ways: u32) -> Self {
        let stride = (max_ways.max(spec.ways) as usize).next_multiple_of(8);
        assert!(
            stride < 1 << WAY_BITS,
            "more ways than a way's number has bits for"
        );
        let lines = spec.sets as usize * stride;
        let absent = Line {
            number: NO_LINE,
            recent: 0,
            state: State::default(),
        };
        Self {
            index: Index {
                kind: spec.index,
                sets: spec.sets,
                line_shift: spec.line_bytes.trailing_zeros(),
                set_bits: spec.sets.trailing_zeros(),
                ipoly: Ipoly::new(if spec.index == SetIndex::Ipoly {
                    spec.sets
                } else {
                    1
                }),
            },
            ways: spec.ways as usize,
            stride,
            sectored: spec.sectored,
            by_use: spec.replacement == Replacement::Lru,
            write_ratio_percent: spec.write_ratio_percent.into(),
            marks: vec![0; lines / 8].into(),
            lines: vec![absent; lines].into(),
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
    #[inline(always)]
    fn find(&self, set: u32, line: u64) -> Option<u32> {
        const LOW: u64 = 0x0101_0101_0101_0101;
        let base = set as usize * self.stride;
        let pattern = mark(line) * LOW;
        let marks = &self.marks[base / 8..][..self.ways.div_ceil(8)];
        for (word, marks) in marks.iter().enumerate() {
            let same = marks ^ pattern;
            let mut hits = same.wrapping_sub(LOW) & !same & (LOW << 7);
            while hits != 0 {
                let at = base + word * 8 + hits.trailing_zeros() as usize / 8;
                let found = &self.lines[at];
                if found.number == line && found.state.present() != 0 {
                    return Some(at as u32);
                }
                hits &= hits - 1;
            }
        }
        None
    }

    /// Looks a sector up.
    #[inline(always)]
    pub(super) fn probe(&self, set: u32, line: u64, sector: u8, is_write: bool) -> Probe {
        let bit = 1 << sector;
        if let Some(at) = self.find(set, line) {
            let state = self.lines[at as usize].state;
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
        if self.is_full(set) {
            Probe::Full
        } else {
            Probe::Miss
        }
    }

    /// No line of the set can be replaced.
    #[inline]
    fn is_full(&self, set: u32) -> bool {
        let count = self.counts[set as usize];
        let most = usize::from(count.reserved) + usize::from(count.dirty);
        // Dirty lines seldom matter.
        if most < self.ways {
            return false;
        }
        let kept = count.reserved + if self.spares_dirty() { count.dirty } else { 0 };
        usize::from(kept) == self.ways
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
        if self.by_use {
            self.lines[at as usize].recent = now;
        }
    }

    /// The line to be replaced: the last invalid one, else the least recent, of several the first.
    fn victim(&self, set: u32) -> usize {
        const LAST: u64 = (1 << WAY_BITS) - 1;
        let base = set as usize * self.stride;
        let keeps_dirty = if self.spares_dirty() { u8::MAX } else { 0 };
        let rank = |(way, line): (usize, &Line)| {
            let (way, state) = (way as u64, line.state);
            if state.reserved | state.modified & keeps_dirty != 0 {
                u64::MAX
            } else if state.present() == 0 {
                LAST - way
            } else {
                (line.recent + 1) << WAY_BITS | way
            }
        };
        let lines = self.lines[base..][..self.ways].iter().enumerate();
        let least = lines.map(rank).fold(u64::MAX, u64::min);
        assert!(least != u64::MAX, "a line to replace");
        let way = least & LAST;
        base + (if least <= LAST { LAST - way } else { way }) as usize
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
        let dirty = self.lines[at].state.modified != 0;
        let evicted = dirty.then(|| self.evicted(at));
        let fresh = State {
            reserved: 1 << sector,
            ..State::default()
        };
        self.change(set, at, |state| *state = fresh);
        self.lines[at].number = line;
        self.lines[at].recent = now;
        let shift = at % 8 * 8;
        self.marks[at / 8] = self.marks[at / 8] & !(0xff << shift) | mark(line) << shift;
        self.dirty_bytes[at] = 0;
        (at as u32, evicted)
    }

    /// Makes one dirty line invalid, to be written back.
    pub(super) fn take_dirty(&mut self) -> Option<Evicted> {
        if self.dirty_lines == 0 {
            return None;
        }
        let is_dirty = |line: &Line| line.state.modified != 0;
        let at = self.lines.iter().position(is_dirty)?;
        let evicted = self.evicted(at);
        self.change((at / self.stride) as u32, at, |state| {
            (state.valid, state.modified) = (0, 0);
        });
        Some(evicted)
    }

    fn evicted(&self, at: usize) -> Evicted {
        let line_bytes = self.line_bytes();
        let Line { number, state, .. } = self.lines[at];
        let addr = number << self.index.line_shift;
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
        self.touch(at, now);
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
        let state = &mut self.lines[at as usize].state;
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
            let shift = (self.lines[at as usize].number << self.index.line_shift) % 128;
            ((1 << self.line_bytes()) - 1) << shift
        };
        self.dirty_bytes[at as usize] & bytes == bytes
    }

    /// When the fill of a sector comes, it is modified, readable and its bytes count as dirty.
    pub(super) fn dirty_on_fill(&mut self, at: u32, sector: u8, readable: bool) {
        let state = &mut self.lines[at as usize].state;
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
        let Line { number, state, .. } = self.lines[index];
        if number != line || state.present() == 0 {
            return;
        }
        let bit = 1 << sector;
        if state.dirty_bytes_on_fill {
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
    fn change(&mut self, set: u32, at: usize, change: impl FnOnce(&mut State)) {
        let state = &mut self.lines[at].state;
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
                if chosen(self.lines[at].state.modified != 0) {
                    self.change(set, at, |state| {
                        (state.valid, state.modified) = (0, 0);
                    });
                }
            }
        }
    }
}
