//! Tags of a cache: which lines are where, and in what state. Set-major flat arrays. One byte of
//! each line's number is kept apart, so that a look-up compares eight ways at a time. Data that
//! look-ups need of a line lie together, apart from those that only writes need.

mod index;
mod line;
mod parts;
mod sectors;

pub(super) use line::Ways;

use super::replacement::{Accessor, Policy};
use crate::hash::Ipoly;
use index::Index;
use line::{BYTES, DIRTY, LAST_WAY, Line, NO_LINE, RESERVED, State};
use warploom_base::{Cycle, each_bit, fetch_ahead};
use warploom_config::{CacheSpec, SetIndex};
use warploom_state::Value;

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u32 = 32;

/// Result of a look-up. The number in a variant is the place of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe {
    /// The sector is present.
    Hit(u32),
    /// The sector is on its way.
    HitReserved(u32),
    /// The line is there, the sector (or a byte of it) is not.
    SectorMiss(u32),
    /// The line is absent, and a line of the set can be replaced.
    Miss,
    /// The line is absent, and no line of the set can be replaced.
    Full,
}

/// A dirty line that was replaced.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Value)]
pub(super) struct Evicted {
    /// Address of the first byte.
    pub(super) addr: u64,
    /// Bytes of the dirty sectors (of the line where there are no sectors).
    pub(super) bytes: u16,
    /// Dirty bytes, bit i for byte i of the line.
    pub(super) byte_mask: u128,
    /// Dirty sectors, bit i for sector i.
    pub(super) sectors: u8,
}

/// A line that has come into a cache, and the line whose place it has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Place of the line: a number below [`Cache::places`](super::Cache::places).
    pub at: u32,
    /// Address of the first byte of the line that was there, if one was valid.
    pub replaced: Option<u64>,
    /// Sectors of that line that a read would have found, one bit each.
    pub readable: u8,
}

/// Lines of a set that cannot or should not be replaced.
#[derive(Clone, Copy, Default, Debug, Value)]
struct SetCount {
    reserved: u16,
    /// Lines that are modified and not reserved.
    dirty: u16,
}

/// The tag store. Fields that look-ups need come first in memory.
#[derive(Clone, Debug, warploom_state::State)]
#[repr(C)]
pub(super) struct Tags {
    #[state(fixed)]
    index: Index,
    policy: Policy,
    /// Ways that exist, of which `ways` are in use.
    stride: usize,
    /// Words of marks for the ways in use.
    words: usize,
    /// A byte of each line's number, eight ways to a word.
    marks: Box<[u64]>,
    lines: Box<[Line]>,
    counts: Box<[SetCount]>,
    dirty_bytes: Box<[u128]>,
    /// A bit for each set in which a line may be present.
    filled: Box<[u64]>,
    ways: usize,
    dirty_lines: u64,
    write_ratio_percent: u64,
    /// Number of dirty lines below which they are not replaced: the configured share.
    spared_below: u64,
    /// The line that was replaced last, if it was dirty.
    evicted: Box<Evicted>,
    /// Place that a line took last, and sectors that could be read and number of the line that was
    /// there; [`NOT_PLACED`] once it was told.
    placed: (u32, u8, u64),
    #[state(fixed)]
    ipoly: Ipoly,
    sectored: bool,
    /// True if the replacement policy puts lines into parts of the ways.
    #[state(fixed)]
    divided: bool,
    /// Place at which `find_again` found a line last, by the last bits of the line's number.
    found: [u32; KEPT],
}

/// Neighbouring lines whose places are remembered: a loop's code fits.
const KEPT: usize = 16;

/// Value of `placed` after it was taken.
const NOT_PLACED: (u32, u8, u64) = (u32::MAX, 0, NO_LINE);

/// Ways in a word of marks.
const WORD: usize = 8;

/// A one in each byte of a word.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

#[inline]
const fn mark(line: u64) -> u64 {
    line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

/// Least order of a word of ways, restricted to the bits of `looked_at`. Which way has the least is
/// unpredictable, so the comparisons go in pairs: in a row, they would become branches.
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

/// Place of the first of the ways in `hits`.
#[inline]
const fn way_of(word: usize, hits: u64) -> usize {
    word * WORD + hits.trailing_zeros() as usize / 8
}

impl Tags {
    /// Empty tags of `spec`, with room for `max_ways` ways. Their memory is not allocated before
    /// [`furnish`](Self::furnish).
    pub(super) fn new(spec: &CacheSpec, max_ways: u32) -> Self {
        let stride = (max_ways.max(spec.ways) as usize).next_multiple_of(8);
        assert!(
            stride as u64 <= LAST_WAY,
            "more ways than a way's number has bits for"
        );
        let hashed = spec.index == SetIndex::Ipoly;
        let ways = spec.ways as usize;
        let policy = Policy::new(spec);
        let mut tags = Self {
            index: Index::new(spec),
            divided: policy.divides(),
            policy,
            stride,
            words: ways.div_ceil(WORD),
            marks: Box::default(),
            lines: Box::default(),
            found: [0; KEPT],
            counts: Box::default(),
            dirty_bytes: Box::default(),
            filled: Box::default(),
            ways,
            dirty_lines: 0,
            write_ratio_percent: spec.write_ratio_percent.into(),
            spared_below: 0,
            evicted: Box::default(),
            placed: NOT_PLACED,
            ipoly: Ipoly::new(if hashed { spec.sets } else { 1 }),
            sectored: spec.sectored,
        };
        tags.use_ways(ways);
        tags
    }

    /// Allocates the memory of the tags. Returns false, without an effect, if that has been done.
    pub(super) fn furnish(&mut self) -> bool {
        if !self.lines.is_empty() {
            return false;
        }
        let sets = self.index.sets() as usize;
        let lines = sets * self.stride;
        // A mark that no line near address 0, where constants lie, has.
        self.marks = vec![mark(NO_LINE) * EACH_BYTE; lines / 8].into();
        self.counts = vec![SetCount::default(); sets].into();
        self.dirty_bytes = vec![0; lines].into();
        self.filled = vec![0; sets.div_ceil(64)].into();
        let ways = 0..self.stride;
        let set = ways.map(|way| Line::empty(way, self.ways));
        self.lines = set.collect::<Vec<_>>().repeat(sets).into();
        true
    }

    /// Starts the random choices of the replacement policy from `seed`.
    pub(super) fn seed(&mut self, seed: u64) {
        self.policy.seed(seed);
    }

    /// Tells the replacement policy who makes the next access, or whose line comes in next.
    pub(super) fn note_accessor(&mut self, accessor: &Accessor) {
        self.policy.note_accessor(accessor);
    }

    /// Puts `ways` ways in use, all of them empty.
    fn use_ways(&mut self, ways: usize) {
        self.ways = ways;
        self.words = ways.div_ceil(WORD);
        for (at, line) in self.lines.iter_mut().enumerate() {
            *line = Line::empty(at % self.stride, ways);
        }
        let lines = u64::from(self.index.sets()) * ways as u64;
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
        addr >> self.index.line_shift()
    }

    /// Number of dirty lines.
    #[inline]
    pub(super) fn dirty_lines(&self) -> u64 {
        self.dirty_lines
    }

    /// Number of ways in use.
    pub(super) fn ways(&self) -> u32 {
        self.ways as u32
    }

    fn line_bytes(&self) -> u32 {
        1 << self.index.line_shift()
    }

    /// Changes the number of ways in use; every line becomes invalid.
    pub(super) fn set_ways(&mut self, ways: u32) {
        assert!(ways as usize <= self.stride, "more ways than the cache has");
        self.clear(|_| true);
        self.use_ways(ways as usize);
    }

    /// Prefetches the line at `at` into the host's nearest cache.
    #[inline]
    pub(super) fn fetch_line(&self, at: u32) {
        fetch_ahead(&self.lines[at as usize]);
    }

    /// Prefetches the dirty-byte masks of a set.
    #[inline]
    pub(super) fn fetch_dirty(&self, set: u32) {
        // Four masks lie in one cache line of the host.
        let masks = self.dirty_bytes[set as usize * self.stride..].chunks_exact(4);
        masks.take(self.ways.div_ceil(4)).for_each(fetch_ahead);
    }

    /// Prefetches what a search of a set looks at.
    #[inline]
    pub(super) fn fetch_set(&self, set: u32) {
        let first = set as usize * self.stride;
        fetch_ahead(&self.marks[first / WORD]);
        // Two lines lie in one cache line of the host.
        let pairs = self.lines[first..].chunks_exact(2);
        pairs.take(self.ways.div_ceil(2)).for_each(fetch_ahead);
    }

    /// True if line `line` is at `at`.
    #[inline]
    pub(super) fn is_at(&self, at: u32, line: u64) -> bool {
        self.lines[at as usize].number == line
    }

    /// Place of a line, if its tag is anywhere in the set.
    #[inline(always)]
    pub(super) fn find(&self, set: u32, line: u64) -> Option<u32> {
        let word = set as usize * self.stride / 8;
        let hits = self.hits(word, line);
        if hits != 0 {
            // The first way with the line's mark usually has the line.
            let at = way_of(word, hits);
            if self.lines[at].number == line {
                return Some(at as u32);
            }
        } else if self.words == 1 {
            return None;
        }
        self.find_elsewhere(word, line)
    }

    /// `find` of an address's line that was probably found before: looks at the remembered place
    /// first.
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

    /// Ways of a word of marks that may have a line, as the highest bit of their bytes. The first
    /// one set has the line's mark; later ones may be set without having it.
    #[inline]
    fn hits(&self, word: usize, line: u64) -> u64 {
        let unlike = self.marks[word] ^ (mark(line) * EACH_BYTE);
        unlike.wrapping_sub(EACH_BYTE) & !unlike & (EACH_BYTE << 7)
    }

    /// True if reads find a sector of the line at `at`.
    #[inline]
    pub(super) fn is_readable(&self, at: u32, sector: u8) -> bool {
        self.lines[at as usize].state.readable >> sector & 1 == 1
    }

    /// True if writes hit a sector of the line at `at`: it is present, though reads may not find
    /// all of it.
    #[inline]
    pub(super) fn is_present(&self, at: u32, sector: u8) -> bool {
        let state = self.lines[at as usize].state;
        (state.readable | state.modified & !state.reserved) >> sector & 1 == 1
    }

    /// Looks a sector up.
    pub(super) fn probe(&self, set: u32, line: u64, sector: u8, is_write: bool) -> Probe {
        self.probe_found(self.find(set, line), set, sector, is_write)
    }

    /// `probe` of a line that `find` has looked for: `found` is its answer.
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

    /// True if no line of the set, or of the part that the next line comes into, can be replaced.
    #[inline]
    fn is_full(&self, set: u32) -> bool {
        if self.divided {
            return self.is_part_full(set);
        }
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

    /// Tells the replacement policy that the line at `at` was hit.
    #[inline]
    pub(super) fn touch(&mut self, at: u32, now: Cycle) {
        let line = &mut self.lines[at as usize];
        let rank = self.policy.on_hit(line.rank(), now);
        line.set_rank(rank);
    }

    /// Place of the line to be replaced: the last absent way, else the replacement policy's choice.
    fn victim(&mut self, set: u32) -> usize {
        if self.divided {
            return self.victim_in_part(set);
        }
        let base = set as usize * self.stride;
        let looked_at = if self.spares_dirty() { !0 } else { !DIRTY };
        let lines = &mut self.lines[base..][..self.words * WORD];
        let ways = lines.chunks_exact(WORD);
        let least = ways.map(|word| least_order(word, looked_at)).min();
        let least = least.unwrap_or(u64::MAX);
        assert!(least & (RESERVED | DIRTY) == 0, "a line to replace");
        let is_absent = least <= LAST_WAY;
        let way = (least & LAST_WAY ^ if is_absent { LAST_WAY } else { 0 }) as usize;
        let way = match is_absent {
            true => way,
            false => self.policy.victim(Ways::new(lines, looked_at), way),
        };
        base + way
    }

    /// Replaces a line of `set` and reserves a sector of the new one. Returns the place, and
    /// whether the replaced line is dirty ([`Self::evicted`] describes it then). Requires
    /// `Probe::Miss`.
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
        self.placed = (at as u32, before.readable, self.lines[at].number);
        self.lines[at].number = line;
        self.filled[set as usize / 64] |= 1 << (set % 64);
        let rank = self.policy.on_fill(set, now);
        self.lines[at].order = Line::order_of(rank, at - set as usize * self.stride);
        self.change(set, at, |state| *state = fresh);
        let shift = at % 8 * 8;
        self.marks[at / 8] = self.marks[at / 8] & !(0xff << shift) | mark(line) << shift;
        (at as u32, dirty)
    }

    /// Takes the news of the line that came in last; `None` if it was taken before.
    pub(super) fn take_placed(&mut self) -> Option<Placed> {
        let (at, readable, before) = std::mem::replace(&mut self.placed, NOT_PLACED);
        let address = before << self.index.line_shift();
        (at != u32::MAX).then_some(Placed {
            at,
            replaced: (before != NO_LINE).then_some(address),
            readable,
        })
    }

    /// Number of lines that the ways in use hold.
    pub(super) fn lines(&self) -> u32 {
        self.index.sets() * self.ways()
    }

    /// Number of places for lines, those of unused ways included.
    pub(super) fn places(&self) -> usize {
        self.index.sets() as usize * self.stride
    }

    /// The dirty line that was replaced last.
    pub(super) fn evicted(&self) -> &Evicted {
        &self.evicted
    }

    /// Makes one dirty line invalid, to be written back. Returns whether there was one
    /// ([`Self::evicted`] describes it then).
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
        let addr = number << self.index.line_shift();
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

    /// Makes every sector of the chosen lines invalid: `chosen` is given whether a line is dirty.
    /// Sectors on their way stay so.
    pub(super) fn clear(&mut self, chosen: impl Fn(bool) -> bool) {
        for word in 0..self.filled.len() {
            each_bit!(self.filled[word], bit => {
                if !self.clear_set((64 * word + bit) as u32, &chosen) {
                    self.filled[word] &= !(1 << bit);
                }
            });
        }
    }

    /// `clear` of a set. Returns whether a line is left.
    fn clear_set(&mut self, set: u32, chosen: impl Fn(bool) -> bool) -> bool {
        let base = set as usize * self.stride;
        let mut left = false;
        for at in base..base + self.ways {
            if self.lines[at].number != NO_LINE && chosen(self.lines[at].state.modified != 0) {
                self.change(set, at, |state| {
                    (state.valid, state.modified) = (0, 0);
                });
            }
            left |= self.lines[at].number != NO_LINE;
        }
        left
    }
}

#[cfg(test)]
mod tests;
