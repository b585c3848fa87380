//! What an SM that runs ahead of others must know about global memory.
//!
//! A store is visible to other SMs from the next cycle on. SMs that run ahead of each other keep
//! their stores in their logs until they meet, which nobody can tell as long as no SM loads what
//! another one has stored meanwhile. So every load and store notes in what allocation it was:
//! where both were, SMs have to meet again in every cycle, and the loads of the last one are
//! repeated once the stores before it are visible ([`Loaded::repeat`]).
//!
//! Invariants: who comes second to an allocation sees the first one's note, on whatever thread
//! either runs, so that of a load and a store one always tells; notes are only ever forgotten when
//! every store is visible.

use crate::context::LaunchContext;
use crate::inst::InstExec;
use crate::memory::device::{Allocation, DeviceMemory};
use crate::memory::effect::{MemEffect, MemKind};
use crate::memory::span::HalfWarp;
use crate::memory::state_space::is_global;
use crate::memory::write_log::{LINE_SHIFT, MemPort, WriteLog};
use crate::outcome::{Effect, Env, StepOut};
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use std::sync::atomic::{AtomicU8, Ordering};
use warploom_base::{LaneMask, Pc, WARP_SIZE, bits, lanes_of};
use warploom_ir::{MemSpace, Op};

/// Bytes of the words of half a warp that lie in a row.
const HALF_ROW: u64 = WARP_SIZE as u64 / 2 * 4;

const LOADED: u8 = 1;
const STORED: u8 = 2;

/// Loads and stores since notes were last forgotten.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// By address space and allocation.
    spaces: Vec<Vec<AtomicU8>>,
}

/// A copy of memory begins without notes: they are of those who run in it.
impl Clone for Notes {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Notes {
    /// Room for so many allocations of a space; notes of those that had room stay.
    fn make_room(&mut self, space: usize, allocations: usize) {
        if self.spaces.len() <= space {
            self.spaces.resize_with(space + 1, Vec::new);
        }
        let notes = &mut self.spaces[space];
        if notes.len() < allocations {
            notes.resize_with(allocations, AtomicU8::default);
        }
    }

    fn forget(&mut self) {
        self.spaces.clear();
    }

    /// Notes an access. Returns whether there were both loads and stores.
    #[inline]
    fn note(&self, space: u8, allocation: usize, bit: u8) -> bool {
        let notes = self.spaces.get(usize::from(space));
        let Some(notes) = notes.and_then(|notes| notes.get(allocation)) else {
            // Allocated since there was room: whoever was there before is not known.
            return true;
        };
        let mut seen = notes.load(Ordering::Relaxed);
        if seen & bit == 0 {
            seen = notes.fetch_or(bit, Ordering::Relaxed) | bit;
        }
        seen == LOADED | STORED
    }
}

impl DeviceMemory {
    /// From now on accesses may be noted.
    pub fn take_notes(&mut self) {
        for space in 0..self.spaces() {
            let allocations = self.allocations(space as u8).len();
            self.notes.make_room(space, allocations);
        }
    }

    /// Forgets which accesses there were. Every store is visible.
    pub fn forget_notes(&mut self) {
        self.notes.forget();
    }

    /// Notes a warp's access to global memory. Returns whether an allocation that it touches has
    /// been both loaded from and stored to.
    pub fn note_access(
        &self,
        asid: u8,
        access: &MemEffect,
        lanes: LaneMask,
        out: &StepOut,
    ) -> bool {
        let bit = match access.kind {
            MemKind::Load => LOADED,
            _ => STORED,
        };
        let (bytes, addrs) = (u64::from(access.bytes), &out.addrs);
        let first = addrs[lanes.trailing_zeros() as usize % WARP_SIZE];
        if let Some((at, allocation)) = self.holding(asid, first)
            && hold_all(allocation, addrs, lanes, bytes)
        {
            return self.notes.note(asid, at, bit);
        }
        let noted = |lane: usize| match self.holding(asid, addrs[lane]) {
            Some((at, _)) => self.notes.note(asid, at, bit),
            // What shares a page of protection with an allocation.
            None => true,
        };
        // Each lane is noted, whatever the others have told.
        lanes_of(lanes).filter(|lane| noted(*lane)).count() > 0
    }
}

/// Every lane's bytes lie in an allocation.
fn hold_all(
    allocation: &Allocation,
    addrs: &[u64; WARP_SIZE],
    lanes: LaneMask,
    bytes: u64,
) -> bool {
    let mut furthest = 0;
    for (lane, address) in addrs.iter().enumerate() {
        let offset = address.wrapping_sub(allocation.base);
        furthest = furthest.max(if lanes >> lane & 1 == 1 { offset } else { 0 });
    }
    furthest
        .checked_add(bytes)
        .is_some_and(|end| end <= allocation.bytes)
}

/// How SMs may execute an instruction, or all of a kernel, ahead of others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ahead {
    /// Not at all.
    Never,
    /// While what they load is kept, to be loaded again, and what atomics bring back is not read
    /// before these have acted.
    Kept,
    /// Also while no more is known than in what allocations they load and store: what it does to
    /// global memory is a plain load or store.
    Noted,
}

impl Ahead {
    pub(crate) fn of(op: Op) -> Self {
        match op {
            Op::Ld(space, ..) | Op::St(space, ..) if space == MemSpace::Generic => Self::Kept,
            Op::Atom(space, ..) if space != MemSpace::Shared => Self::Kept,
            Op::LdMatrix(space, _) | Op::StMatrix(space, _) if space != MemSpace::Shared => {
                Self::Never
            }
            Op::CopyAsync { .. } | Op::Mbarrier(..) | Op::System(_) => Self::Never,
            Op::Tex { .. } | Op::Tld4 { .. } | Op::Surf { .. } => Self::Never,
            _ => Self::Noted,
        }
    }
}

/// A word and a bit of it, of so many words, for a number. Lines as far apart as arrays mostly are
/// have different ones (Fibonacci hashing: D. Knuth, The Art of Computer Programming 3, 6.4).
#[inline]
fn place<const WORDS: usize>(number: u64) -> (usize, u64) {
    let bits = u64::BITS - (WORDS * 64).ilog2();
    let bit = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> bits) as usize;
    (bit / 64 % WORDS, 1 << (bit % 64))
}

/// Pages of memory that may have been touched, of whatever address space: those that were are among
/// them. As much as fits into a line of the host's cache.
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

    /// Some page is among both.
    pub fn meet(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |common, (one, other)| common | one & other) != 0
    }
}

/// Lines of memory that may have been stored to, of whatever address space. Those that were are
/// among them.
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

    /// None.
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
pub struct Loaded {
    /// When.
    at: u64,
    pc: Pc,
    lanes: LaneMask,
    /// What of its own stores the SM had logged before.
    logged: u32,
    /// How its words lie, if that is known.
    halves: Option<[HalfWarp; 2]>,
    addrs: [u64; WARP_SIZE],
}

impl Loaded {
    /// None yet.
    pub const NOTHING: Self = Self {
        at: 0,
        pc: Pc(0),
        lanes: 0,
        logged: 0,
        halves: None,
        addrs: [0; WARP_SIZE],
    };

    /// The load that was executed last, in cycle `at`, by an SM with this log.
    pub fn of(at: u64, out: &StepOut, log: &WriteLog) -> Self {
        let mut load = Self::NOTHING;
        load.be(at, out, log);
        load
    }

    /// The same, in its place.
    #[inline]
    pub fn be(&mut self, at: u64, out: &StepOut, log: &WriteLog) {
        self.at = at;
        (self.pc, self.lanes, self.logged) = (out.pc, out.active, log.position());
        (self.halves, self.addrs) = (out.halves, out.addrs);
        if let Effect::Memory(MemEffect { mixed: true, .. }) = out.effect {
            self.keep_global();
        }
    }

    /// Of lanes with addresses in several spaces, those in global memory.
    #[cold]
    fn keep_global(&mut self) {
        self.lanes &= bits(self.addrs.map(is_global).into_iter()) as LaneMask;
    }

    /// The cycle.
    #[inline]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The instruction.
    pub fn pc(&self) -> Pc {
        self.pc
    }

    /// Calls `f` with addresses, at least one in each line that was loaded from, until it says yes.
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

    /// What was loaded may lie in one of these lines.
    pub fn may_touch(&self, stored: &StoredLines) -> bool {
        self.any_address(|address| stored.may_hold(address))
    }

    /// Adds the pages that were loaded from.
    pub fn mark_pages(&self, pages: &mut Pages) {
        self.any_address(|address| {
            pages.insert(address);
            false
        });
    }

    /// Loads the same again, from memory as it is now and the SM's own stores of the same cycle:
    /// those of its `log` that are not visible yet and came before. Registers that hold what was
    /// loaded have not been read since.
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
        let mut machine = InstExec {
            ctx,
            block,
            warp,
            port: &mut port,
            env: &Env::default(),
            out,
            inst: &decoded.inst,
            polls: decoded.polls,
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
    use warploom_ir::{AtomOp, AtomTy, CacheOp, MemTy};

    const BASE_BYTES: u64 = 512;

    /// Memory of two allocations, one behind the other, ready for notes.
    fn memory() -> (DeviceMemory, u64) {
        let mut memory = DeviceMemory::new(1 << 16);
        let base = memory.alloc(0, BASE_BYTES).expect("room");
        assert_eq!(memory.alloc(0, BASE_BYTES), Ok(base + BASE_BYTES));
        memory.take_notes();
        (memory, base)
    }

    /// Notes an access of the lowest lanes to these words.
    fn note(memory: &DeviceMemory, kind: MemKind, words: &[u64]) -> bool {
        let mut out = StepOut::default();
        // Lanes that do not take part may point anywhere.
        out.addrs.fill(u64::MAX);
        out.addrs[..words.len()].copy_from_slice(words);
        let access = MemEffect {
            space: MemSpace::Global,
            kind,
            bytes: 4,
            cache_op: CacheOp::Default,
            returns: false,
            mixed: false,
        };
        memory.note_access(0, &access, (1 << words.len()) - 1, &out)
    }

    /// Whoever comes second tells, also where a warp touches both allocations or the last word.
    #[test]
    fn of_a_load_and_a_store_one_tells() {
        for (first, second) in [
            (MemKind::Load, MemKind::Store),
            (MemKind::Store, MemKind::Load),
        ] {
            let (mut memory, base) = memory();
            let last = base + BASE_BYTES - 4;
            assert!(!note(&memory, first, &[base, base + 8]));
            assert!(!note(&memory, first, &[last]));
            assert!(!note(&memory, second, &[last + 4]), "another allocation");
            assert!(note(&memory, second, &[last]));
            assert!(note(&memory, first, &[last + 4, base]), "from then on");
            memory.forget_notes();
            memory.take_notes();
            assert!(!note(&memory, second, &[base, last + 4]));
            assert!(note(&memory, first, &[last + 4]), "both were noted");
        }
    }

    /// What was allocated since there was room for notes tells: nobody knows better.
    #[test]
    fn without_room_for_notes_all_tell() {
        let (mut memory, _) = memory();
        let late = memory.alloc(0, 64).expect("room");
        assert!(note(&memory, MemKind::Load, &[late]));
    }

    /// A load where something was stored is found, by its line and by its page, however its words
    /// lie; most others are not.
    #[test]
    fn what_was_stored_to_is_found() {
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
                let load = Loaded::of(7, &out, &WriteLog::new());
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
        assert!(!Loaded::of(7, &StepOut::default(), &log).may_touch(&stored));
        assert!(!stored.pages().meet(&Pages([u64::MAX; Pages::WORDS])));
    }

    #[test]
    fn plain_loads_and_stores_run_ahead_of_most() {
        let word = MemTy {
            bytes: 4,
            count: 1,
            signed: false,
            wide_reg: false,
        };
        let load = |space| Op::Ld(space, word, CacheOp::Default);
        let add = |space| Op::Atom(space, AtomOp::Add, AtomTy::U32);
        for (op, ahead) in [
            (Op::Nop, Ahead::Noted),
            (load(MemSpace::Global), Ahead::Noted),
            (load(MemSpace::Generic), Ahead::Kept),
            (add(MemSpace::Shared), Ahead::Noted),
            (add(MemSpace::Global), Ahead::Kept),
            (add(MemSpace::Generic), Ahead::Kept),
            (Op::LdMatrix(MemSpace::Generic, false), Ahead::Never),
        ] {
            assert_eq!(Ahead::of(op), ahead, "{op:?}");
        }
    }
}
