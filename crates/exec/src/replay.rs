//! Loads from global memory, and texture fetches, that an SM executes before other SMs have run the
//! cycles before. Once the stores of those cycles are visible, a load that read one of their lines
//! is executed again ([`LoadRecord::repeat`]).

use crate::context::LaunchContext;
use crate::inst::InstExec;
use crate::memory::device::DeviceMemory;
use crate::memory::effect::MemKind;
use crate::memory::span::HalfWarp;
use crate::memory::state_space::is_global;
use crate::memory::stored_lines::{Pages, StoredLines};
use crate::memory::write_log::{MemPort, WriteLog};
use crate::outcome::{Effect, Env, StepOut};
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use crate::texture_reads::TextureReads;
use warploom_base::{LaneMask, Pc, WARP_SIZE, bits, lanes_of};

/// Bytes of the words of half a warp that lie in a row.
const HALF_ROW: u64 = WARP_SIZE as u64 / 2 * 4;

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
    /// True for a texture fetch, whose texels `texture` tells.
    fetches: bool,
    texture: TextureReads,
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
        fetches: false,
        texture: TextureReads::NOTHING,
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
        let Effect::Memory(effect) = out.effect else {
            return;
        };
        if effect.mixed {
            self.keep_global();
        }
        self.fetches = effect.kind == MemKind::Texture;
        if self.fetches {
            self.texture.copy(&out.texture);
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
        if self.fetches {
            return stored.pages().meet(&self.texture.pages);
        }
        self.any_address(|address| stored.may_hold(address))
    }

    /// Adds the pages that it read.
    pub fn mark_pages(&self, pages: &mut Pages) {
        if self.fetches {
            return pages.add(&self.texture.pages);
        }
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
        let result = if self.fetches {
            machine.fetch_again(&self.texture)
        } else {
            machine.load_again()
        };
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
        let mut all = Pages::default();
        (0..1 << 16).for_each(|page| all.insert(page << 12));
        assert!(!stored.pages().meet(&all));
    }
}
