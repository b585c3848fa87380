//! Loops that warps run through, with what their loads bring into the data cache: the predictor of
//! footprints of `daws`.

use super::{WarpMask, holds, only};
use warploom_base::{KernelSlot, LaneMask, Pc, WarpSlot};
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
    /// Part of a load's misses, in percent, that find lines which their warp has lost, from which
    /// on the data cache does not hold what the load reuses.
    pub(super) lost_percent: u64,
    /// True if a divergent load needs as many lines a lane as it has read; false for one a lane.
    pub(super) measured: bool,
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
    /// Number of its executions.
    executions: u64,
    /// Lanes that were active in them, in sum.
    lanes: u64,
    /// Warps of which it has counted the execution whose accesses come next.
    counted: WarpMask,
    /// Lines that it has read.
    accesses: u64,
    /// Accesses to lines that were in the data cache, or that the same warp had lost.
    reuses: u64,
    /// Accesses to lines that were absent, and those of them that the same warp had lost.
    misses: u64,
    lost: u64,
    /// True once the share of the misses that were on lost lines says that the load needs room.
    needs_room: bool,
}

/// Outcome of an access of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// The line was in the data cache.
    Present,
    /// The line was absent, and the same warp had lost it.
    Lost,
    /// The line was absent.
    Absent,
    /// Anything else: the line was on its way.
    Coming,
}

impl Load {
    fn new(pc: Pc) -> Self {
        Self {
            pc,
            executions: 0,
            lanes: 0,
            counted: 0,
            accesses: 0,
            reuses: 0,
            misses: 0,
            lost: 0,
            needs_room: false,
        }
    }

    fn execute(&mut self, warp: WarpSlot, lanes: LaneMask) {
        self.executions += 1;
        self.lanes += u64::from(lanes.count_ones());
        self.counted |= only(warp);
    }

    fn access(&mut self, found: Found, limits: &Limits) {
        self.accesses += 1;
        self.reuses += u64::from(matches!(found, Found::Present | Found::Lost));
        self.misses += u64::from(matches!(found, Found::Absent | Found::Lost));
        self.lost += u64::from(found == Found::Lost);
        let loses = self.lost * 100 >= self.misses * limits.lost_percent;
        self.needs_room |= self.misses > 0 && loses;
    }

    /// Lines that a warp with these lanes needs for the load.
    fn lines(&self, lanes: LaneMask, limits: &Limits) -> u32 {
        let reuses = self.reuses * 100 >= self.accesses * limits.reuse_percent;
        let active = u64::from(lanes.count_ones());
        if !reuses || !self.needs_room {
            0
        } else if self.accesses <= limits.coalesced * self.executions {
            1
        } else if limits.measured {
            (self.accesses * active).div_ceil(self.lanes).min(active) as u32
        } else {
            active as u32
        }
    }
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
        let mut smallest = None;
        for (nth, known) in self.loops.iter().enumerate() {
            let is_smaller = |(_, length)| known.length() < length;
            if known.has(place) && smallest.is_none_or(is_smaller) {
                smallest = Some((nth, known.length()));
            }
        }
        smallest.map(|(nth, _)| nth)
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

    /// Notes that a warp has executed an instruction with these lanes, if it is a load of a loop.
    pub(super) fn executed(&mut self, place: Place, warp: WarpSlot, lanes: LaneMask) {
        if let Some(load) = self.load(place) {
            load.execute(warp, lanes);
        }
    }

    /// Notes an access of a load. An execution from before the load was known counts with its first
    /// access, with the lanes that the warp has now.
    pub(super) fn accessed(
        &mut self,
        place: Place,
        (warp, lanes): (WarpSlot, LaneMask),
        found: Found,
    ) {
        let Some(nth) = self.around(place) else {
            return;
        };
        if self.load(place).is_none() {
            let loads: usize = self.loops.iter().map(|known| known.loads.len()).sum();
            if loads >= self.limits.loads {
                return;
            }
            self.loops[nth].loads.push(Load::new(place.1));
        }
        let limits = self.limits;
        if let Some(load) = self.load(place) {
            if !holds(load.counted, warp) {
                load.execute(warp, lanes);
            }
            load.access(found, &limits);
        }
    }

    fn load(&mut self, place: Place) -> Option<&mut Load> {
        let nth = self.around(place)?;
        let mut loads = self.loops[nth].loads.iter_mut();
        loads.find(|load| load.pc == place.1)
    }

    /// Lines that a warp with these lanes needs in a loop, for the loads that reuse lines and lose
    /// them: one if a load is coalesced, and otherwise as many a lane as it has read, or one a
    /// lane.
    pub(super) fn footprint(&self, nth: usize, lanes: LaneMask) -> u32 {
        let lines = |load: &Load| load.lines(lanes, &self.limits);
        self.loops[nth].loads.iter().map(lines).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelSlot = KernelSlot(0);

    fn table(measured: bool) -> LoopTable {
        LoopTable::new(Limits {
            loops: 2,
            loads: 3,
            coalesced: 2,
            reuse_percent: 25,
            lost_percent: 25,
            measured,
        })
    }

    /// A warp executes a load with all lanes, whose accesses have these outcomes.
    fn execute(table: &mut LoopTable, warp: u16, pc: u32, found: &[Found]) {
        let place = (KERNEL, Pc(pc));
        table.executed(place, WarpSlot(warp), !0);
        for found in found {
            table.accessed(place, (WarpSlot(warp), !0), *found);
        }
    }

    /// Two executions of each load. That at 3 reads 32 lines each time, and the second time finds
    /// that it has lost those of the first; that at 4 reads one line twice; that at 5 finds nothing
    /// again. A fourth load has no room.
    #[test]
    fn footprints_are_lines_that_are_used_again() {
        for measured in [false, true] {
            let mut table = table(measured);
            assert!(table.goes_back(KERNEL, Pc(2), Pc(7)));
            for again in [Found::Absent, Found::Lost] {
                for (pc, accesses) in [(3, 32), (4, 1), (5, 32), (6, 32)] {
                    let found = if pc == 5 { Found::Absent } else { again };
                    execute(&mut table, 0, pc, &vec![found; accesses]);
                }
            }
            assert_eq!(table.footprint(0, !0), 32 + 1);
            assert_eq!(table.footprint(0, 0b111), 3 + 1);
        }
    }

    /// A load that reads four lines for 32 lanes is divergent. It needs four lines, or two for the
    /// lanes of half a warp; counted by lanes, it needs 32 and 16.
    #[test]
    fn divergent_loads_need_the_lines_that_they_read() {
        for (measured, whole, half) in [(true, 4, 2), (false, 32, 16)] {
            let mut table = table(measured);
            table.goes_back(KERNEL, Pc(2), Pc(7));
            execute(&mut table, 0, 3, &[Found::Absent; 4]);
            execute(&mut table, 0, 3, &[Found::Lost; 4]);
            assert_eq!(table.footprint(0, !0), whole);
            assert_eq!(table.footprint(0, 0xffff), half);
        }
    }

    /// While the data cache holds what a load reuses, the load needs no room. Once a quarter of its
    /// misses were on lines that their warp had lost it does, also when it then finds all lines.
    #[test]
    fn loads_need_room_once_lines_are_lost() {
        let mut table = table(true);
        table.goes_back(KERNEL, Pc(2), Pc(7));
        execute(&mut table, 0, 3, &[Found::Absent, Found::Present]);
        execute(&mut table, 0, 3, &[Found::Present, Found::Coming]);
        assert_eq!(table.footprint(0, !0), 0);
        execute(&mut table, 0, 3, &[Found::Absent, Found::Absent]);
        assert_eq!(table.footprint(0, !0), 0);
        execute(&mut table, 0, 3, &[Found::Lost, Found::Present]);
        assert_eq!(table.footprint(0, !0), 1);
        execute(&mut table, 0, 3, &[Found::Absent, Found::Present]);
        assert_eq!(table.footprint(0, !0), 1);
    }

    /// Four warps have executed a load before it is known, with two lines each. Their executions
    /// count with their accesses, so that the load is coalesced.
    #[test]
    fn executions_before_a_load_is_known_count() {
        let mut table = table(true);
        table.goes_back(KERNEL, Pc(2), Pc(7));
        let lost = |table: &mut LoopTable, warp| {
            table.accessed((KERNEL, Pc(3)), (WarpSlot(warp), !0), Found::Lost);
        };
        for warp in [0, 1, 0, 2, 1, 3, 2, 3] {
            lost(&mut table, warp);
        }
        assert_eq!(table.footprint(0, !0), 1);
        execute(&mut table, 1, 3, &[Found::Lost; 3]);
        assert_eq!(table.footprint(0, !0), 3, "11 lines of 5 executions");
    }

    /// The smallest of two loops around an instruction counts. A loop is known by its head, and
    /// grows with branches back from further on. There is no room for a third loop.
    #[test]
    fn loops_lie_in_each_other() {
        let mut table = table(true);
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
