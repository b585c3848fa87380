//! Detection of races on shared memory by the happens-before order of barriers, at warp
//! granularity. The method uses vector clocks, as FastTrack does (Flanagan and Freund, PLDI 2009).
//! Accesses that warps order by other means, such as flags with fences, are reported too. The check
//! is therefore made only on request.

use crate::memory::effect::MemKind;
use std::ops::Range;
use warploom_base::Pc;

const NOBODY: u32 = u32::MAX;

/// Last access to a byte: the warp, its instruction and the value of its own clock.
#[derive(Clone, Copy, Debug)]
struct Touch {
    warp: u32,
    time: u32,
    pc: Pc,
    atomic: bool,
}

const UNTOUCHED: Touch = Touch {
    warp: NOBODY,
    time: 0,
    pc: Pc(0),
    atomic: false,
};

/// Last write and last reads of a byte. Of the reads, the last two by different warps are kept.
/// They suffice to find a write that races with a reader other than one already reported.
#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Touch,
    reads: [Touch; 2],
}

/// Vector clocks of a block's warps, and the last accesses to every byte of shared memory.
#[derive(Clone, Debug)]
pub(crate) struct RaceTable {
    warps: usize,
    cells: Vec<Cell>,
    /// Latest time of warp `v` that warp `w` knows to have passed, at index `w * warps + v`.
    seen: Vec<u32>,
    /// Vector clock of each barrier: the maximum of the clocks of the arrived warps.
    gathered: Vec<u32>,
}

impl RaceTable {
    /// A table for a block with these bytes of shared memory, warps, and named barriers.
    pub fn new(bytes: usize, warps: u32, barriers: usize) -> Self {
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
            gathered: vec![0; barriers * warps],
        };
        // The clock of every warp starts at 1, so that all warps know time 0.
        (0..warps).for_each(|w| table.seen[w * warps + w] = 1);
        table
    }

    /// Records an access of the instruction at `pc`. Returns another warp whose access races with
    /// it and the instruction of that access, if there is one.
    pub fn access(
        &mut self,
        (warp, pc): (u32, Pc),
        bytes: Range<usize>,
        kind: MemKind,
    ) -> Option<(u32, Pc)> {
        let row = &self.seen[warp as usize * self.warps..][..self.warps];
        let time = row[warp as usize];
        let atomic = kind == MemKind::Atomic;
        let touch = Touch {
            warp,
            time,
            pc,
            atomic,
        };
        let ordered = |t: &Touch| {
            let foreign = t.warp != NOBODY && t.warp != warp;
            !foreign || row[t.warp as usize] >= t.time || (atomic && t.atomic)
        };
        let mut race = None;
        for cell in &mut self.cells[bytes] {
            let who = |t: &Touch| (t.warp, t.pc);
            let late = (!ordered(&cell.write)).then_some(who(&cell.write));
            if kind == MemKind::Load {
                race = race.or(late);
                if cell.reads[0].warp != warp {
                    cell.reads[1] = cell.reads[0];
                }
                cell.reads[0] = touch;
            } else {
                let reader = cell.reads.iter().find(|t| !ordered(t)).map(who);
                race = race.or(late).or(reader);
                *cell = Cell {
                    write: touch,
                    reads: [UNTOUCHED; 2],
                };
            }
        }
        race
    }

    /// Records that a warp arrived at a barrier, which orders the warp's earlier accesses.
    pub fn arrive(&mut self, warp: u32, id: u8) {
        let (w, n) = (warp as usize, self.warps);
        for v in 0..n {
            let gathered = &mut self.gathered[id as usize * n + v];
            *gathered = (*gathered).max(self.seen[w * n + v]);
        }
        self.seen[w * n + w] += 1;
    }

    /// Records that barrier `id` completed: the warps that it releases, one bit for each, know
    /// everything that was done before it.
    pub fn release(&mut self, id: u8, released: u64) {
        let n = self.warps;
        let start = usize::from(id) * n;
        for w in (0..n).filter(|w| released >> w & 1 == 1) {
            for v in 0..n {
                let seen = &mut self.seen[w * n + v];
                *seen = (*seen).max(self.gathered[start + v]);
            }
        }
        self.gathered[start..start + n].fill(0);
    }
}
