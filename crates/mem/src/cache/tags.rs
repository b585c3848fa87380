//! Tags: which lines are where and in what state. Set-major flat arrays; a byte of each line's
//! number is kept apart, so that a look-up compares eight ways at a time. What else a look-up needs
//! of a line lies together; what only writes need is apart.

use crate::hash::{self, Ipoly};
use warploom_base::{Cycle, fetch_ahead};
use warploom_config::{CacheSpec, Replacement, SetIndex};

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u32 = 32;

/// Geometry of a cache and the kind of its hash.
#[derive(Clone, Debug)]
struct Index {
    kind: SetIndex,
    /// Bits of a set's number.
    set_bits: u8,
    line_shift: u8,
    sets: u32,
}

impl Index {
    fn new(spec: &CacheSpec) -> Self {
        Self {
            kind: spec.index,
            set_bits: spec.sets.trailing_zeros() as u8,
            line_shift: spec.line_bytes.trailing_zeros() as u8,
            sets: spec.sets,
        }
    }

    /// The set of an address, `ipoly` being the hash of kind `Ipoly`.
    #[inline]
    fn set(&self, ipoly: &Ipoly, addr: u64) -> u32 {
        let line = addr >> self.line_shift;
        let low = line as u32 & (self.sets - 1);
        let upper = line >> self.set_bits;
        match self.kind {
            SetIndex::Linear => low,
            SetIndex::FermiHash => hash::fermi(addr, self.line_shift.into(), self.sets),
            SetIndex::Xor => hash::xor(upper, low, self.sets),
            SetIndex::Ipoly => ipoly.hash(upper, low),
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
    /// `BYTES`, `BYTES_ON_FILL`.
    flags: u8,
    /// Sectors that a read finds: follows from the others.
    readable: u8,
}

/// Its dirty bytes are not known to be none. Most lines are never written, and these bytes of
/// theirs are not looked at.
const BYTES: u8 = 1;
/// Bytes that were written count as dirty when it comes.
const BYTES_ON_FILL: u8 = 2;

impl State {
    #[inline]
    const fn present(self) -> u8 {
        self.reserved | self.valid | self.modified
    }

    /// Keeps `readable` right.
    #[inline]
    fn settle(&mut self) {
        self.readable = (self.valid | self.modified & !self.unreadable) & !self.reserved;
    }
}

/// A line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number; `NO_LINE` where no sector is present.
    number: u64,
    /// Lines are replaced in this order, from the least: those that are absent from the last way
    /// on, then others by the cycle of their last use, or where lines go in the order in which
    /// they came, of their reservation, those of one cycle from the first way on. Above all that
    /// `DIRTY` and `RESERVED`, so that those that stay come last.
    order: u64,
    state: State,
}

impl Line {
    #[inline]
    const fn absent(way: usize) -> Self {
        Self {
            number: NO_LINE,
            order: way as u64 ^ LAST_WAY,
            state: State {
                reserved: 0,
                valid: 0,
                modified: 0,
                unreadable: 0,
                modified_on_fill: 0,
                readable_on_fill: 0,
                flags: 0,
                readable: 0,
            },
        }
    }

    /// A way that is not in use: no line is there, and none comes.
    const UNUSED: Self = Self {
        order: u64::MAX,
        ..Self::absent(0)
    };

    /// A way that is empty, or not in use.
    #[inline]
    const fn empty(way: usize, ways: usize) -> Self {
        match way < ways {
            true => Self::absent(way),
            false => Self::UNUSED,
        }
    }

    /// Keeps in the order what follows from the state.
    #[inline]
    fn sort(&mut self) {
        let State {
            reserved, modified, ..
        } = self.state;
        let stays = u64::from(reserved << 4 | modified);
        self.order = self.order & !(RESERVED | DIRTY) | stays << DIRTY.trailing_zeros();
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
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
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

/// The tag store. What look-ups need comes first, as it lies in memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Tags {
    index: Index,
    /// Uses make a line recent.
    by_use: bool,
    /// Ways that exist; `ways` of them are in use.
    stride: usize,
    /// Words of marks for the ways in use.
    words: usize,
    /// A byte of each line's number, eight ways to a word.
    marks: Box<[u64]>,
    lines: Box<[Line]>,
    counts: Box<[SetCount]>,
    dirty_bytes: Box<[u128]>,
    ways: usize,
    dirty_lines: u64,
    write_ratio_percent: u64,
    /// Dirty lines are not replaced while there are fewer: the configured share.
    spared_below: u64,
    /// What was replaced last, if it was dirty.
    evicted: Box<Evicted>,
    ipoly: Ipoly,
    sectored: bool,
    /// By the last bits of a line's number: where `find_again` found such a line last.
    found: [u32; KEPT],
}

/// A line number that no address has.
const NO_LINE: u64 = u64::MAX;

/// Bits of a line's place in its set, for ways.
const WAY_BITS: u32 = 16;

/// The largest of them.
const LAST_WAY: u64 = (1 << WAY_BITS) - 1;

/// Bits of a line's place in its set that say which of its sectors are reserved, or modified.
const RESERVED: u64 = 0xf << 60;
const DIRTY: u64 = 0xf << 56;

/// Lines next to each other of which it is kept where they are: a loop's code has room.
const KEPT: usize = 16;

/// Ways to a word of marks.
const WORD: usize = 8;

/// A one in each byte of a word.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

#[inline]
const fn mark(line: u64) -> u64 {
    line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

/// The least order of a word of ways, as far as it is looked at. Hosts cannot foretell which it is:
/// in pairs, for in a row, comparisons would become branches.
#[inline]
fn least_order(word: &[Line], looked_at: u64) -> u64 {
    let [a, b, c, d, e, f, g, h] = word else {
        return u64::MAX;
    };
    let least = |one: u64, other: u64| one.min(other);
    let of = |line: &Line| line.order & looked_at;
    let first = least(least(of(a), of(b)), least(of(c), of(d)));
    least(first, least(least(of(e), of(f)), least(of(g), of(h))))
}

/// A cycle's place in the order of lines: behind all ways. It has 40 bits, two months of a host
/// that simulates 200,000 cycles a second.
#[inline]
fn order_of(now: Cycle) -> u64 {
    debug_assert!(now < (1 << 40) - 1, "cycle {now} has no place in the order");
    (now + 1) << WAY_BITS
}

/// The line of the first of the ways in `hits`.
#[inline]
const fn way_of(word: usize, hits: u64) -> usize {
    word * WORD + hits.trailing_zeros() as usize / 8
}

impl Tags {
    pub(super) fn new(spec: &CacheSpec, max_ways: u32) -> Self {
        let stride = (max_ways.max(spec.ways) as usize).next_multiple_of(8);
        assert!(
            stride < 1 << WAY_BITS,
            "more ways than a way's number has bits for"
        );
        let lines = spec.sets as usize * stride;
        let hashed = spec.index == SetIndex::Ipoly;
        let ways = spec.ways as usize;
        let mut tags = Self {
            index: Index::new(spec),
            stride,
            words: ways.div_ceil(WORD),
            // Not that of any line near 0, where constants lie.
            marks: vec![mark(NO_LINE) * EACH_BYTE; lines / 8].into(),
            lines: vec![Line::UNUSED; lines].into(),
            found: [0; KEPT],
            counts: vec![SetCount::default(); spec.sets as usize].into(),
            dirty_bytes: vec![0; lines].into(),
            ways,
            dirty_lines: 0,
            write_ratio_percent: spec.write_ratio_percent.into(),
            spared_below: 0,
            evicted: Box::default(),
            ipoly: Ipoly::new(if hashed { spec.sets } else { 1 }),
            sectored: spec.sectored,
            by_use: spec.replacement == Replacement::Lru,
        };
        tags.use_ways(ways);
        tags
    }

    /// Puts so many ways in use, all of them empty.
    fn use_ways(&mut self, ways: usize) {
        self.ways = ways;
        self.words = ways.div_ceil(WORD);
        for (at, line) in self.lines.iter_mut().enumerate() {
            *line = Line::empty(at % self.stride, ways);
        }
        let lines = u64::from(self.index.sets) * ways as u64;
        self.spared_below = (self.write_ratio_percent * lines).div_ceil(100);
    }

    /// Set of an address.
    #[inline]
    pub(super) fn set(&self, index_addr: u64) -> u32 {
        self.index.set(&self.ipoly, index_addr)
    }

    /// Number of the line that holds an address.
    #[inline]
    pub(super) fn line(&self, addr: u64) -> u64 {
        addr >> self.index.line_shift
    }

    /// Lines that are dirty.
    #[inline]
    pub(super) fn dirty_lines(&self) -> u64 {
        self.dirty_lines
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
        self.use_ways(ways as usize);
    }

    /// The line at `at` will be looked at soon.
    #[inline]
    pub(super) fn fetch_line(&self, at: u32) {
        fetch_ahead(&self.lines[at as usize]);
    }

    /// Which bytes of a set's lines are dirty will be changed soon.
    #[inline]
    pub(super) fn fetch_dirty(&self, set: u32) {
        let first = set as usize * self.stride;
        // Four lie in one line of the host's cache.
        for four in self.dirty_bytes[first..][..self.ways].chunks(4) {
            fetch_ahead(four);
        }
    }

    /// A set will be searched soon.
    #[inline]
    pub(super) fn fetch_set(&self, set: u32) {
        let first = set as usize * self.stride;
        fetch_ahead(&self.marks[first / WORD]);
        // Two lie in one line of the host's cache.
        for pair in self.lines[first..][..self.ways].chunks(2) {
            fetch_ahead(pair);
        }
    }

    /// A line is at `at`.
    #[inline]
    pub(super) fn is_at(&self, at: u32, line: u64) -> bool {
        self.lines[at as usize].number == line
    }

    /// Where a line is, if its tag is anywhere in the set.
    #[inline(always)]
    pub(super) fn find(&self, set: u32, line: u64) -> Option<u32> {
        let word = set as usize * self.stride / 8;
        let hits = self.hits(word, line);
        if hits != 0 {
            // Mostly the first is the line.
            let at = way_of(word, hits);
            if self.lines[at].number == line {
                return Some(at as u32);
            }
        } else if self.words == 1 {
            return None;
        }
        self.find_elsewhere(word, line)
    }

    /// `find` of an address's line, which was mostly found before: where, is kept of some lines.
    #[inline(always)]
    pub(super) fn find_again(&mut self, addr: u64) -> Option<u32> {
        let line = self.line(addr);
        let at = self.found[line as usize % KEPT];
        if self.lines[at as usize].number == line {
            return Some(at);
        }
        let found = self.find(self.set(addr), line);
        self.found[line as usize % KEPT] = found.unwrap_or(at);
        found
    }

    /// `find` in all words of marks from `first` on.
    #[cold]
    fn find_elsewhere(&self, first: usize, line: u64) -> Option<u32> {
        for word in first..first + self.words {
            let mut hits = self.hits(word, line);
            while hits != 0 {
                let at = way_of(word, hits);
                if self.lines[at].number == line {
                    return Some(at as u32);
                }
                hits &= hits - 1;
            }
        }
        None
    }

    /// The ways of a word of marks that may have a line: the highest bit of their bytes. Behind the
    /// first there may be more than have the line's mark.
    #[inline]
    fn hits(&self, word: usize, line: u64) -> u64 {
        let unlike = self.marks[word] ^ (mark(line) * EACH_BYTE);
        unlike.wrapping_sub(EACH_BYTE) & !unlike & (EACH_BYTE << 7)
    }

    /// Reads find a sector of line `at`.
    #[inline]
    pub(super) fn is_readable(&self, at: u32, sector: u8) -> bool {
        self.lines[at as usize].state.readable >> sector & 1 == 1
    }

    /// A sector of line `at` is there, though reads may not find all of it: writes hit.
    #[inline]
    pub(super) fn is_present(&self, at: u32, sector: u8) -> bool {
        let state = self.lines[at as usize].state;
        (state.readable | state.modified & !state.reserved) >> sector & 1 == 1
    }

    /// Looks a sector up.
    pub(super) fn probe(&self, set: u32, line: u64, sector: u8, is_write: bool) -> Probe {
        self.probe_found(self.find(set, line), set, sector, is_write)
    }

    /// `probe` of a line that was found, or not, in its set.
    #[inline]
    pub(super) fn probe_found(
        &self,
        found: Option<u32>,
        set: u32,
        sector: u8,
        is_write: bool,
    ) -> Probe {
        let Some(at) = found else {
            return match self.is_full(set) {
                true => Probe::Full,
                false => Probe::Miss,
            };
        };
        let bit = 1 << sector;
        let state = self.lines[at as usize].state;
        if state.reserved & bit != 0 {
            Probe::HitReserved(at)
        } else if (state.readable | if is_write { state.modified } else { 0 }) & bit != 0 {
            Probe::Hit(at)
        } else {
            Probe::SectorMiss(at)
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

    #[inline]
    fn spares_dirty(&self) -> bool {
        self.dirty_lines < self.spared_below
    }

    /// Notes a use.
    #[inline]
    pub(super) fn touch(&mut self, at: u32, now: Cycle) {
        if self.by_use {
            let order = &mut self.lines[at as usize].order;
            *order = order_of(now) | *order & (LAST_WAY | RESERVED | DIRTY);
        }
    }

    /// The line to be replaced: the last absent one, else the least recent, of several the first.
    fn victim(&self, set: u32) -> usize {
        let base = set as usize * self.stride;
        let looked_at = if self.spares_dirty() { !0 } else { !DIRTY };
        let ways = self.lines[base..][..self.words * WORD].chunks_exact(WORD);
        let least = ways.map(|word| least_order(word, looked_at)).min();
        let least = least.unwrap_or(u64::MAX);
        assert!(least & (RESERVED | DIRTY) == 0, "a line to replace");
        let is_absent = least <= LAST_WAY;
        let way = least & LAST_WAY ^ if is_absent { LAST_WAY } else { 0 };
        base + way as usize
    }

    /// Replaces a line of `set` and reserves a sector of the new one. Returns where, and whether
    /// what was there is dirty (`evicted`). Requires `Probe::Miss`.
    pub(super) fn allocate(&mut self, set: u32, line: u64, sector: u8, now: Cycle) -> (u32, bool) {
        let at = self.victim(set);
        let before = self.lines[at].state;
        let dirty = before.modified != 0;
        if dirty {
            *self.evicted = self.evicted_from(at);
        }
        if before.flags & BYTES != 0 {
            self.dirty_bytes[at] = 0;
        }
        let fresh = State {
            reserved: 1 << sector,
            ..State::default()
        };
        self.lines[at].number = line;
        self.lines[at].order = order_of(now) | (at - set as usize * self.stride) as u64;
        self.change(set, at, |state| *state = fresh);
        let shift = at % 8 * 8;
        self.marks[at / 8] = self.marks[at / 8] & !(0xff << shift) | mark(line) << shift;
        (at as u32, dirty)
    }

    /// The dirty line that was replaced last.
    pub(super) fn evicted(&self) -> &Evicted {
        &self.evicted
    }

    /// Makes one dirty line invalid, to be written back.
    /// Returns whether there was one (`evicted`).
    pub(super) fn take_dirty(&mut self) -> bool {
        if self.dirty_lines == 0 {
            return false;
        }
        let is_dirty = |line: &Line| line.state.modified != 0;
        let Some(at) = self.lines.iter().position(is_dirty) else {
            return false;
        };
        *self.evicted = self.evicted_from(at);
        self.change((at / self.stride) as u32, at, |state| {
            (state.valid, state.modified) = (0, 0);
        });
        true
    }

    fn evicted_from(&self, at: usize) -> Evicted {
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
            state.flags |= BYTES;
        });
    }

    /// Writes bytes of a sector that is there. Reads find it from then on if they did before, or if
    /// every byte has been written.
    #[inline(always)]
    pub(super) fn write_present(&mut self, set: u32, at: u32, sector: u8, bytes: u128) {
        debug_assert!(self.is_present(at, sector));
        let bit = 1 << sector;
        let state = self.lines[at as usize].state;
        // Mostly it has been written before, and is as it was but for the bytes.
        if state.modified & bit == 0 {
            self.write(set, at, sector, bytes);
        } else {
            self.dirty_bytes[at as usize] |= bytes;
            debug_assert!(state.flags & BYTES != 0, "what is modified was written");
        }
        if state.unreadable & bit != 0 && self.fully_written(at, sector) {
            self.set_readable(at, sector, true);
        }
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
        state.settle();
    }

    /// Every byte of the sector has been written since the line came.
    #[inline]
    pub(super) fn fully_written(&self, at: u32, sector: u8) -> bool {
        let dirty = self.dirty_bytes[at as usize];
        if self.sectored {
            // Hosts shift 64 bits at a time.
            let half = if sector & 2 == 0 { dirty } else { dirty >> 64 } as u64;
            let bytes = half >> (u32::from(sector & 1) * SECTOR_BYTES);
            return bytes as u32 == u32::MAX;
        }
        let bytes = if self.line_bytes() >= 128 {
            u128::MAX
        } else {
            let shift = (self.lines[at as usize].number << self.index.line_shift) % 128;
            ((1 << self.line_bytes()) - 1) << shift
        };
        dirty & bytes == bytes
    }

    /// When the fill of a sector comes, it is modified, readable and its bytes count as dirty.
    pub(super) fn dirty_on_fill(&mut self, at: u32, sector: u8, readable: bool) {
        let state = &mut self.lines[at as usize].state;
        state.modified_on_fill |= 1 << sector;
        state.flags |= BYTES_ON_FILL;
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

    /// A sector of the line at `at` came; `bytes` were written while it was on its way. Ignored if
    /// the line was replaced meanwhile, which can happen to a line that was written while it was on
    /// its way.
    #[inline]
    pub(super) fn fill(
        &mut self,
        set: u32,
        at: u32,
        line: u64,
        sector: u8,
        bytes: impl FnOnce() -> u128,
    ) {
        let index = at as usize;
        let Line { number, state, .. } = self.lines[index];
        if number != line {
            return;
        }
        let bit = 1 << sector;
        if state.flags & BYTES_ON_FILL != 0 {
            self.dirty_bytes[index] |= bytes();
            self.lines[index].state.flags |= BYTES;
        }
        let written = !state.reserved | state.modified_on_fill | state.readable_on_fill;
        if written & bit != 0 {
            return self.fill_written(set, at, bit);
        }
        // What `change` does of a sector that was reserved and becomes valid.
        let line = &mut self.lines[index];
        line.state.reserved &= !bit;
        line.state.valid |= bit;
        line.state.readable |= bit;
        line.order &= !(u64::from(bit) << RESERVED.trailing_zeros());
        if line.state.reserved == 0 {
            let count = &mut self.counts[set as usize];
            count.reserved -= 1;
            count.dirty += u16::from(line.state.modified != 0);
        }
    }

    /// `fill` of a sector that was written while it was on its way.
    #[inline(never)]
    pub(super) fn fill_written(&mut self, set: u32, at: u32, bit: u8) {
        self.change(set, at as usize, |state| {
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

    /// Changes a line's state and keeps right what follows from it.
    #[inline]
    fn change(&mut self, set: u32, at: usize, change: impl FnOnce(&mut State)) {
        let line = &mut self.lines[at];
        let before = line.state;
        change(&mut line.state);
        line.state.settle();
        line.sort();
        let after = line.state;
        if after.present() == 0 {
            *line = Line::absent(at - set as usize * self.stride);
            self.dirty_bytes[at] = 0;
        }
        let count = &mut self.counts[set as usize];
        count.reserved += u16::from(after.reserved != 0);
        count.reserved -= u16::from(before.reserved != 0);
        if after.modified | before.modified != 0 {
            count.dirty += u16::from(after.reserved == 0 && after.modified != 0);
            count.dirty -= u16::from(before.reserved == 0 && before.modified != 0);
            self.dirty_lines += u64::from(after.modified != 0);
            self.dirty_lines -= u64::from(before.modified != 0);
        }
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

#[cfg(test)]
mod tests;
