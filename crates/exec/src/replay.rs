//! Loads from global memory that an SM executes before other SMs have run the cycles before. Once
//! the stores of those cycles are visible, a load that read one of their lines is executed again
//! ([`LoadRecord::repeat`]).

use crate::block::BlockState;
use crate::fault::Checks;
use crate::launch::LaunchContext;
use crate::log::{LINE_SHIFT, MemPort, WriteLog};
use crate::machine::Machine;
use crate::memory::DeviceMemory;
use crate::space::is_global;
use crate::span::HalfWarp;
use crate::step::{Effect, Env, MemEffect, StepOut};
use crate::warp::WarpState;
use warploom_base::{LaneMask, Pc, WARP_SIZE, bits, lanes_of};
use warploom_ir::{MemSpace, Op};

/// Bytes of the words of half a warp that lie in a row.
const HALF_ROW: u64 = WARP_SIZE as u64 / 2 * 4;

/// How far SMs may run ahead of each other at an instruction, or in a whole kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lookahead {
    /// Not at all: SMs and the memory system advance cycle by cycle.
    Never,
    /// Up to the cycle in which the instruction issues: it needs memory with all stores and atomics
    /// of earlier cycles, because what it reads cannot be read again later.
    Settled,
    /// Past the instruction. A load from global memory can be repeated, and the result of an atomic
    /// arrives later.
    Repeated,
}

impl Lookahead {
    /// The rule for an instruction of a launch with these checks.
    pub(crate) fn of(op: Op, checks: Checks) -> Self {
        let shared = |space| space == MemSpace::Shared;
        match op {
            // Texture requests skip the delay before L2 that lets the memory system run ahead.
            Op::Tex { .. } | Op::Tld4 { .. } => Self::Never,
            Op::Surf { .. } | Op::CopyAsync { .. } | Op::System(_) => Self::Settled,
            Op::LdMatrix(space, _) | Op::StMatrix(space, _) if !shared(space) => Self::Settled,
            Op::Mbarrier(space, _) if !shared(space) => Self::Settled,
            // Whether bytes were written is checked when the load issues.
            Op::Ld(space, ..) | Op::Atom(space, ..) if checks.uninitialised && !shared(space) => {
                Self::Settled
            }
            _ => Self::Repeated,
        }
    }
}

/// A word among `WORDS`, and a bit of it, for a number. Lines at the usual distances between arrays
/// get different ones (Fibonacci hashing: D. Knuth, The Art of Computer Programming 3, 6.4).
#[inline]
fn place<const WORDS: usize>(number: u64) -> (usize, u64) {
    let bits = u64::BITS - (WORDS * 64).ilog2();
    let bit = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> bits) as usize;
    (bit / 64 % WORDS, 1 << (bit % 64))
}

/// A filter of accessed pages, of all address spaces together. It holds every page that was
/// inserted, and maybe others. Its size is a line of the host's cache.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pages([u64; Self::WORDS]);

impl Pages {
    const WORDS: usize = 8;
    /// Logarithm of their bytes.
    const SHIFT: u32 = 12;

    #[inline]
    fn insert(&mut self, address: u64) {
        let (word, bit) = place::<{ Self::WORDS }>(address >> Self::SHIFT);
        self.0[word] |= bit;
    }

    /// True if a page may be in both.
    pub fn meet(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |common, (one, other)| common | one & other) != 0
    }
}

/// A filter of stored lines, of all address spaces together. It holds every line that was inserted,
/// and maybe others.
#[derive(Clone, Debug)]
pub struct StoredLines {
    /// A bit for each of some lines.
    words: Box<[u64; Self::WORDS]>,
    pages: Pages,
}

impl Default for StoredLines {
    fn default() -> Self {
        Self {
            words: Box::new([0; Self::WORDS]),
            pages: Pages::default(),
        }
    }
}

impl StoredLines {
    const WORDS: usize = 256;

    /// Empties the filter.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.pages = Pages::default();
    }

    #[inline]
    pub(crate) fn insert(&mut self, line: u64) {
        let (word, bit) = place::<{ Self::WORDS }>(line);
        self.words[word] |= bit;
        self.pages.insert(line << LINE_SHIFT);
    }

    #[inline]
    fn may_hold(&self, address: u64) -> bool {
        let (word, bit) = place::<{ Self::WORDS }>(address >> LINE_SHIFT);
        self.words[word] & bit != 0
    }

    /// The pages of these lines.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// A load from global memory that may have to be repeated.
#[derive(Clone, Debug)]
pub struct LoadRecord {
    /// The cycle in which it was executed.
    at: u64,
    pc: Pc,
    lanes: LaneMask,
    /// Bytes that the SM's log of stores held before.
    logged: u32,
    /// The layout of its words, if that is known.
    halves: Option<[HalfWarp; 2]>,
    addrs: [u64; WARP_SIZE],
}

impl LoadRecord {
    /// A record without a load.
    pub const NOTHING: Self = Self {
        at: 0,
        pc: Pc(0),
        lanes: 0,
        logged: 0,
        halves: None,
        addrs: [0; WARP_SIZE],
    };

    /// The load that was executed last, in cycle `at`, by an SM with this log.
    #[cfg(test)]
    fn of(at: u64, out: &StepOut, log: &WriteLog) -> Self {
        let mut load = Self::NOTHING;
        load.fill(at, out, log);
        load
    }

    /// Records the load that was executed last, in cycle `at`, by an SM with this log.
    #[inline]
    pub fn fill(&mut self, at: u64, out: &StepOut, log: &WriteLog) {
        self.at = at;
        (self.pc, self.lanes, self.logged) = (out.pc, out.active, log.position());
        (self.halves, self.addrs) = (out.halves, out.addrs);
        if let Effect::Memory(MemEffect { mixed: true, .. }) = out.effect {
            self.keep_global();
        }
    }

    /// Drops lanes whose addresses are not in global memory.
    #[cold]
    fn keep_global(&mut self) {
        self.lanes &= bits(self.addrs.map(is_global).into_iter()) as LaneMask;
    }

    /// The cycle in which it was executed.
    #[inline]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Program counter of the load.
    pub fn pc(&self) -> Pc {
        self.pc
    }

    /// Calls `f` with addresses, at least one in each line that was read, until it returns true.
    /// Returns whether it did.
    #[inline]
    fn any_address(&self, mut f: impl FnMut(u64) -> bool) -> bool {
        match self.halves {
            Some(halves) => halves.iter().any(|half| {
                let last = half.first + if half.row { HALF_ROW - 1 } else { 0 };
                f(half.first) || f(last)
            }),
            // Nothing that is loaded reaches over the end of a line: it is aligned.
            None => lanes_of(self.lanes).any(|lane| f(self.addrs[lane])),
        }
    }

    /// True if it may have read one of these lines.
    pub fn may_touch(&self, stored: &StoredLines) -> bool {
        self.any_address(|address| stored.may_hold(address))
    }

    /// Adds the pages that it read.
    pub fn mark_pages(&self, pages: &mut Pages) {
        self.any_address(|address| {
            pages.insert(address);
            false
        });
    }

    /// Executes the load again, with memory as it is now and the stores that the SM itself made in
    /// the same cycle before it, as far as its `log` holds them. Requires that nothing has read the
    /// destination registers since.
    pub fn repeat(
        &self,
        (ctx, block, warp): (&LaunchContext, &mut BlockState, &mut WarpState),
        image: &DeviceMemory,
        log: &WriteLog,
        out: &mut StepOut,
    ) {
        let Some(decoded) = ctx.code.get(self.pc.index()) else {
            unreachable!("it was executed");
        };
        let mut before = log.waiting_before(self.at, self.logged);
        let mut port = MemPort {
            image,
            log: &mut before,
            now: 0,
        };
        out.addrs = self.addrs;
        let mut machine = Machine {
            ctx,
            block,
            warp,
            port: &mut port,
            env: &Env::default(),
            out,
            inst: &decoded.inst,
            pc: self.pc,
            mask: self.lanes,
        };
        let result = machine.load_again();
        assert!(result.is_ok(), "a load that was allowed is not any more");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load of a stored line is found, by its line and by its page, whatever the layout of its
    /// words; most others are not.
    #[test]
    fn loads_of_stored_lines_are_found() {
        let mut log = WriteLog::new();
        log.store(0, 7, 0x1_00fc, &[1; 8]);
        let mut stored = StoredLines::default();
        log.mark_lines(&mut stored);
        let lanes = |first: u64, row: bool| {
            let mut out = StepOut {
                active: LaneMask::MAX,
                ..StepOut::default()
            };
            for (lane, addr) in out.addrs.iter_mut().enumerate() {
                *addr = first + if row { 4 * lane as u64 } else { 0 };
            }
            let half = |at: usize| HalfWarp {
                first: out.addrs[at],
                row,
            };
            [None, Some([half(0), half(WARP_SIZE / 2)])].map(|halves| {
                out.halves = halves;
                let load = LoadRecord::of(7, &out, &WriteLog::new());
                let mut pages = Pages::default();
                load.mark_pages(&mut pages);
                (load.may_touch(&stored), pages.meet(stored.pages()))
            })
        };
        // The store reaches over the end of a line.
        for (first, row) in [(0x1_0080, false), (0x1_0100, false), (0x1_0084, true)] {
            assert_eq!(lanes(first, row), [(true, true); 2], "{first:#x}");
        }
        let others = (0..1000).map(|line| lanes(0x20_0000 + 4096 * line, true)[0]);
        let (by_line, by_page): (Vec<_>, Vec<_>) = others.unzip();
        for (found, most) in [(by_line, 10), (by_page, 20)] {
            let found = found.into_iter().filter(|found| *found).count();
            assert!(found < most, "{found} found of a thousand");
        }
        stored.clear();
        assert!(!LoadRecord::of(7, &StepOut::default(), &log).may_touch(&stored));
        assert!(!stored.pages().meet(&Pages([u64::MAX; Pages::WORDS])));
    }
}
