//! A line of a cache: number, state of its sectors, and place in the order of replacement.

use crate::cache::replacement::{LAST_RANK, RANK_BITS, Rank};
use warploom_state::Value;

/// Line number that no address has.
pub(super) const NO_LINE: u64 = u64::MAX;

/// Bits of a line's `order` for its way.
const WAY_BITS: u32 = 16;

/// Largest way number. Ways of a cache are fewer.
pub(super) const LAST_WAY: u64 = (1 << WAY_BITS) - 1;

/// Bits of a line's `order` that say which of its sectors are reserved.
pub(super) const RESERVED: u64 = 0xf << 60;

/// Bits of a line's `order` that say which of its sectors are modified.
pub(super) const DIRTY: u64 = 0xf << (RANK_BITS + WAY_BITS);

const _: () = assert!(
    RANK_BITS + WAY_BITS + 8 == 64,
    "the fields of `order` fill it"
);

/// State of a line: one bit per sector (bit 0 alone where lines have no sectors). A sector is in
/// at most one of `reserved`, `valid` and `modified`; a sector in none of them is invalid.
#[derive(Clone, Copy, Default, Debug, Value)]
pub(super) struct State {
    /// Sectors on their way.
    pub(super) reserved: u8,
    pub(super) valid: u8,
    pub(super) modified: u8,
    /// Modified sectors of which not every byte is present: reads must fetch them.
    pub(super) unreadable: u8,
    /// Sectors that become modified when their fill comes.
    pub(super) modified_on_fill: u8,
    /// Sectors that become readable when their fill comes.
    pub(super) readable_on_fill: u8,
    /// Flags [`BYTES`] and [`BYTES_ON_FILL`], and from [`COPIED`] on one of each sector.
    pub(super) flags: u8,
    /// Sectors that a read finds; follows from the other fields.
    pub(super) readable: u8,
}

/// Flag of a line whose dirty-byte mask may be other than zero. Most lines are never written, and
/// their masks are not touched.
pub(super) const BYTES: u8 = 1;
/// Flag of a line that counts written bytes as dirty when its fill comes.
pub(super) const BYTES_ON_FILL: u8 = 2;
/// Flag of sector 0 that a copy brought it and that no access has found it since; those of the
/// other sectors follow.
pub(super) const COPIED: u8 = 1 << 4;

impl State {
    /// State of a line that is invalid.
    const INVALID: Self = Self {
        reserved: 0,
        valid: 0,
        modified: 0,
        unreadable: 0,
        modified_on_fill: 0,
        readable_on_fill: 0,
        flags: 0,
        readable: 0,
    };

    /// Sectors that are not invalid.
    #[inline]
    pub(super) const fn present(self) -> u8 {
        self.reserved | self.valid | self.modified
    }

    /// Recomputes `readable` from the other fields.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.readable = (self.valid | self.modified & !self.unreadable) & !self.reserved;
    }
}

/// A line with its tag.
#[derive(Clone, Copy, Debug, Value)]
pub(super) struct Line {
    /// Line number; [`NO_LINE`] where no sector is present.
    pub(super) number: u64,
    /// Place in the order of replacement: the line of the least `order` goes first. From the low
    /// bits up: way, rank that the replacement policy gives, modified sectors, reserved sectors.
    /// An absent line has rank 0 and the way counted from the last, so that absent ways are taken
    /// from the last one on.
    pub(super) order: u64,
    pub(super) state: State,
}

impl Line {
    /// An absent line in a way that is in use.
    #[inline]
    pub(super) const fn absent(way: usize) -> Self {
        Self {
            number: NO_LINE,
            order: way as u64 ^ LAST_WAY,
            state: State::INVALID,
        }
    }

    /// A way that is not in use: no line is there, and none comes.
    pub(super) const UNUSED: Self = Self {
        order: u64::MAX,
        ..Self::absent(0)
    };

    /// An absent line where `way` is one of the `ways` in use, else an unused way.
    #[inline]
    pub(super) const fn empty(way: usize, ways: usize) -> Self {
        match way < ways {
            true => Self::absent(way),
            false => Self::UNUSED,
        }
    }

    /// Brings the bits of `order` that follow from the state up to date.
    #[inline]
    pub(super) fn sort(&mut self) {
        let State {
            reserved, modified, ..
        } = self.state;
        let stays = u64::from(reserved << 4 | modified);
        self.order = self.order & !(RESERVED | DIRTY) | stays << DIRTY.trailing_zeros();
    }

    /// Rank that the replacement policy gave.
    #[inline]
    pub(super) fn rank(&self) -> Rank {
        self.order >> WAY_BITS & LAST_RANK
    }

    /// Changes the rank of the line.
    #[inline]
    pub(super) fn set_rank(&mut self, rank: Rank) {
        debug_assert!((1..=LAST_RANK).contains(&rank), "rank {rank}");
        self.order = rank << WAY_BITS | self.order & (LAST_WAY | RESERVED | DIRTY);
    }

    /// Place of a line of `rank` in `way`, none of whose sectors is reserved or modified.
    #[inline]
    pub(super) fn order_of(rank: Rank, way: usize) -> u64 {
        debug_assert!((1..=LAST_RANK).contains(&rank), "rank {rank}");
        rank << WAY_BITS | way as u64
    }
}

/// Lines of one set, as a replacement policy sees them.
pub(in crate::cache) struct Ways<'a> {
    lines: &'a mut [Line],
    /// Bits of `order` that count: all, or all but those of modified sectors.
    looked_at: u64,
}

impl<'a> Ways<'a> {
    pub(super) fn new(lines: &'a mut [Line], looked_at: u64) -> Self {
        Self { lines, looked_at }
    }

    /// Way and rank of each line that may be replaced, in order of ways.
    pub(in crate::cache) fn replaceable(&self) -> impl Iterator<Item = (usize, Rank)> {
        let lines = self.lines.iter().enumerate();
        let may_go = |line: &Line| line.order & self.looked_at & (RESERVED | DIRTY) == 0;
        lines
            .filter(move |(_, line)| may_go(line))
            .map(|(way, line)| (way, line.rank()))
    }

    /// Way of the line of the least rank among those that may be replaced, of several the first.
    pub(in crate::cache) fn least(&self) -> usize {
        let least = self.replaceable().min_by_key(|(_, rank)| *rank);
        least.expect("a line that may be replaced").0
    }

    /// Changes the rank of every line of the set, also of those that stay.
    pub(in crate::cache) fn change_ranks(&mut self, change: impl Fn(Rank) -> Rank) {
        for line in self.lines.iter_mut().filter(|line| line.number != NO_LINE) {
            line.set_rank(change(line.rank()));
        }
    }
}
