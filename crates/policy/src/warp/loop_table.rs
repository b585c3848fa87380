//! Loops that warps run through, with what their loads bring into the data cache: the predictor of
//! footprints of `daws`.

use warploom_base::{KernelSlot, LaneMask, Pc};
use warploom_state::Value;

/// Limits of a table.
#[derive(Clone, Copy, Debug, Value)]
pub(super) struct Limits {
    /// Most loops that are kept.
    pub(super) loops: usize,
    /// Most loads of all loops together.
    pub(super) loads: usize,
    /// Accesses of an execution up to which a load is coalesced.
    pub(super) coalesced: u64,
    /// Part of a load's accesses, in percent, from which on they reuse lines.
    pub(super) reuse_percent: u64,
}

/// Loops of the kernels that run, in the order in which they were found.
#[derive(Clone, Debug, Value)]
pub(super) struct LoopTable {
    loops: Vec<Loop>,
    limits: Limits,
}

/// Place of an instruction.
pub(super) type Place = (KernelSlot, Pc);

/// A loop: its instructions, and the loads that have been seen among them.
#[derive(Clone, Debug, Value)]
struct Loop {
    kernel: KernelSlot,
    head: Pc,
    tail: Pc,
    loads: Vec<Load>,
}

/// History of a load of a loop.
#[derive(Clone, Copy, Debug, Value)]
struct Load {
    pc: Pc,
    /// Warps that have executed it.
    executions: u64,
    /// Lines that it has read.
    accesses: u64,
    /// Accesses to lines that were in the data cache, or that the same warp had lost.
    reuses: u64,
}

impl Loop {
    fn has(&self, (kernel, pc): Place) -> bool {
        self.kernel == kernel && (self.head..=self.tail).contains(&pc)
    }

    fn length(&self) -> u32 {
        self.tail.0 - self.head.0
    }
}

impl LoopTable {
    /// A table without loops.
    pub(super) fn new(limits: Limits) -> Self {
        let loops = Vec::with_capacity(limits.loops);
        Self { loops, limits }
    }

    /// Forgets all loops that are known.
    pub(super) fn clear(&mut self) {
        self.loops.clear();
    }

    /// The smallest loop around an instruction.
    pub(super) fn around(&self, place: Place) -> Option<usize> {
        let around = (0..self.loops.len()).filter(|nth| self.loops[*nth].has(place));
        around.min_by_key(|nth| self.loops[*nth].length())
    }

    /// Notes that a warp went back to `head` from `tail`. Returns true if the loop is a new one.
    pub(super) fn goes_back(&mut self, kernel: KernelSlot, head: Pc, tail: Pc) -> bool {
        let same = |known: &&mut Loop| known.kernel == kernel && known.head == head;
        if let Some(known) = self.loops.iter_mut().find(same) {
            known.tail = known.tail.max(tail);
            return false;
        }
        let has_room = self.loops.len() < self.limits.loops;
        if has_room {
            self.loops.push(Loop {
                kernel,
                head,
                tail,
                loads: Vec::new(),
            });
        }
        has_room
    }

    /// Notes that a warp has executed an instruction, if it is a load of a loop.
    pub(super) fn executed(&mut self, place: Place) {
        if let Some(load) = self.load(place) {
            load.executions += 1;
        }
    }

    /// Notes an access of a load, and whether it reused a line. The first access of a load is part
    /// of its first execution that counts.
    pub(super) fn accessed(&mut self, place: Place, reuses: bool) {
        let Some(nth) = self.around(place) else {
            return;
        };
        if self.load(place).is_none() {
            let loads: usize = self.loops.iter().map(|known| known.loads.len()).sum();
            if loads >= self.limits.loads {
                return;
            }
            self.loops[nth].loads.push(Load {
                pc: place.1,
                executions: 1,
                accesses: 0,
                reuses: 0,
            });
        }
        if let Some(load) = self.load(place) {
            load.accesses += 1;
            load.reuses += u64::from(reuses);
        }
    }

    fn load(&mut self, place: Place) -> Option<&mut Load> {
        let nth = self.around(place)?;
        let mut loads = self.loops[nth].loads.iter_mut();
        loads.find(|load| load.pc == place.1)
    }

    /// Lines that a warp with these lanes needs in a loop: for each load that reuses lines, one, or
    /// one a lane if it is divergent.
    pub(super) fn footprint(&self, nth: usize, lanes: LaneMask) -> u32 {
        let lines = |load: &Load| {
            let reuses = load.reuses * 100 >= load.accesses * self.limits.reuse_percent;
            let coalesced = load.accesses <= self.limits.coalesced * load.executions;
            match (reuses, coalesced) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => lanes.count_ones(),
            }
        };
        self.loops[nth].loads.iter().map(lines).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelSlot = KernelSlot(0);

    fn table() -> LoopTable {
        LoopTable::new(Limits {
            loops: 2,
            loads: 3,
            coalesced: 2,
            reuse_percent: 25,
        })
    }

    /// Two executions of each load. That at 3 reads 32 lines each time, and finds those of the
    /// first time again; that at 4 reads one line twice; that at 5 finds nothing again. A fourth
    /// load has no room.
    #[test]
    fn footprints_are_lines_that_are_used_again() {
        let mut table = table();
        assert!(table.goes_back(KERNEL, Pc(2), Pc(7)));
        let place = |pc| (KERNEL, Pc(pc));
        for again in [false, true] {
            for (pc, accesses) in [(3, 32), (4, 1), (5, 32), (6, 32)] {
                if again {
                    table.executed(place(pc));
                }
                (0..accesses).for_each(|_| table.accessed(place(pc), again && pc != 5));
            }
        }
        assert_eq!(table.footprint(0, !0), 32 + 1);
        assert_eq!(table.footprint(0, 0b111), 3 + 1);
    }

    /// The smallest of two loops around an instruction counts. A loop is known by its head, and
    /// grows with branches back from further on. There is no room for a third loop.
    #[test]
    fn loops_lie_in_each_other() {
        let mut table = table();
        assert!(table.goes_back(KERNEL, Pc(10), Pc(30)));
        assert!(table.goes_back(KERNEL, Pc(15), Pc(20)));
        assert!(!table.goes_back(KERNEL, Pc(40), Pc(50)));
        let around = |table: &LoopTable, pc| table.around((KERNEL, Pc(pc)));
        let all = [9, 10, 15, 20, 21, 30, 31, 45].map(|pc| around(&table, pc));
        let (outer, inner) = (Some(0), Some(1));
        assert_eq!(all, [None, outer, inner, inner, outer, outer, None, None]);
        assert!(!table.goes_back(KERNEL, Pc(15), Pc(25)));
        assert_eq!(around(&table, 21), inner);
        assert_eq!(table.around((KernelSlot(1), Pc(15))), None);
    }
}
