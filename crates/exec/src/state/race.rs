//! Races on shared memory, found by happens-before over barriers (vector clocks, as in FastTrack,
//! Flanagan and Freund, PLDI 2009), at warp granularity. Accesses that warps order by other means
//! (flags with fences) are reported too, which is why the check is made on request only.

use crate::memory::effect::MemKind;
use crate::state::barrier::{BARRIERS, BarrierRelease};
use std::ops::Range;

const NOBODY: u32 = u32::MAX;

/// Who touched a byte last, and at which of its own times.
#[derive(Clone, Copy, Debug)]
struct Touch {
    warp: u32,
    time: u32,
    atomic: bool,
}

const UNTOUCHED: Touch = Touch {
    warp: NOBODY,
    time: 0,
    atomic: false,
};

/// The last write and the last reads of a byte. Of the reads the last two by different warps are
/// kept: enough to find a write that races with any reader but one already found.
#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Touch,
    reads: [Touch; 2],
}

/// Clocks of a block's warps and the last accesses of every shared byte.
#[derive(Clone, Debug)]
pub(crate) struct RaceTable {
    warps: usize,
    cells: Vec<Cell>,
    /// `seen[w][v]`: the latest time of warp `v` that warp `w` knows to be over.
    seen: Vec<u32>,
    /// What the warps that arrived at each barrier know, all together.
    gathered: Vec<u32>,
}

impl RaceTable {
    pub fn new(bytes: usize, warps: u32) -> Self {
        let warps = warps as usize;
        let mut table = Self {
            warps,
            cells: vec![
                Cell {
                    write: UNTOUCHED,
                    reads: [UNTOUCHED; 2]
                };
                bytes
            ],
            seen: vec![0; warps * warps],
            gathered: vec![0; BARRIERS * warps],
        };
        // Every warp's own clock starts at 1: time 0 is known to all.
        (0..warps).for_each(|w| table.seen[w * warps + w] = 1);
        table
    }

    /// Records an access; returns another warp that it races with.
    pub fn access(&mut self, warp: u32, bytes: Range<usize>, kind: MemKind) -> Option<u32> {
        let row = &self.seen[warp as usize * self.warps..][..self.warps];
        let time = row[warp as usize];
        let atomic = kind == MemKind::Atomic;
        let touch = Touch { warp, time, atomic };
        let ordered = |t: &Touch| {
            let foreign = t.warp != NOBODY && t.warp != warp;
            !foreign || row[t.warp as usize] >= t.time || (atomic && t.atomic)
        };
        let mut race = None;
        for cell in &mut self.cells[bytes] {
            let late = (!ordered(&cell.write)).then_some(cell.write.warp);
            if kind == MemKind::Load {
                race = race.or(late);
                if cell.reads[0].warp != warp {
                    cell.reads[1] = cell.reads[0];
                }
                cell.reads[0] = touch;
            } else {
                let reader = cell.reads.iter().find(|t| !ordered(t)).map(|t| t.warp);
                race = race.or(late).or(reader);
                *cell = Cell {
                    write: touch,
                    reads: [UNTOUCHED; 2],
                };
            }
        }
        race
    }

    /// A warp arrives at a barrier: what it did so far is part of what the barrier orders.
    pub fn arrive(&mut self, warp: u32, id: u8) {
        let (w, n) = (warp as usize, self.warps);
        for v in 0..n {
            let gathered = &mut self.gathered[id as usize * n + v];
            *gathered = (*gathered).max(self.seen[w * n + v]);
        }
        self.seen[w * n + w] += 1;
    }

    /// A barrier completes: the warps that waited know all that was done before it.
    pub fn release(&mut self, release: &BarrierRelease) {
        let n = self.warps;
        let start = release.id as usize * n;
        for w in (0..n).filter(|w| release.warps >> w & 1 == 1) {
            for v in 0..n {
                let seen = &mut self.seen[w * n + v];
                *seen = (*seen).max(self.gathered[start + v]);
            }
        }
        self.gathered[start..start + n].fill(0);
    }
}
