//! Accesses of a launch that is executed without timing: how many lines of global memory its warps
//! access, and which ones last. L2 would hold these afterwards.

use std::collections::BTreeSet;
use warploom_base::lanes_of;
use warploom_config::GpuSpec;
use warploom_exec::{Effect, LaunchContext, Observer, StepOut};
use warploom_gpu::Gpu;
use warploom_ir::MemSpace;

/// Number of accesses that are kept for each line of L2. Most accesses repeat a line.
const KEPT: usize = 4;

/// Accesses of one launch.
pub(crate) struct Accesses {
    /// Number of lines of L2, and bytes of a line.
    l2: (usize, u64),
    /// Number of accesses: a warp's lanes in one line make one, if they follow each other.
    pub count: u64,
    /// Lines of the last accesses. The oldest one is overwritten next once there is no more room.
    last: Vec<u64>,
    next: usize,
}

impl Accesses {
    pub fn new(spec: &GpuSpec) -> Self {
        let l2 = &spec.partition.l2;
        let lines = match l2.enabled {
            true => l2.sets as usize * l2.ways as usize * spec.l2_banks() as usize,
            false => 0,
        };
        Self {
            l2: (lines, u64::from(l2.line_bytes).max(1)),
            count: 0,
            last: Vec::new(),
            next: 0,
        }
    }

    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.last.len() < KEPT * self.l2.0 {
            self.last.push(line);
        } else if let Some(oldest) = self.last.get_mut(self.next) {
            *oldest = line;
            self.next = (self.next + 1) % (KEPT * self.l2.0);
        }
    }

    /// Different lines of the last accesses, as many as L2 holds, in the order of their last
    /// access.
    fn lines(&self) -> Vec<u64> {
        let (newer, older) = self.last.split_at(self.next);
        let mut seen = BTreeSet::new();
        let newest_first = newer.iter().rev().chain(older.iter().rev());
        let first_seen = newest_first.filter(|line| seen.insert(**line));
        let mut lines: Vec<u64> = first_seen.take(self.l2.0).copied().collect();
        lines.reverse();
        lines
    }

    /// Puts the lines that a launch of a process accessed last into L2.
    pub fn warm(&self, gpu: &mut Gpu, asid: u8) {
        let bytes = self.l2.1;
        for line in self.lines() {
            gpu.warm_l2(asid, line * bytes, bytes);
        }
    }
}

impl Observer for Accesses {
    fn begin(&mut self, _: &LaunchContext) {}

    fn stepped(&mut self, _: u64, _: u32, out: &StepOut) {
        let Effect::Memory(effect) = out.effect else {
            return;
        };
        if effect.space != MemSpace::Global {
            return;
        }
        let mut previous = None;
        for lane in lanes_of(out.active) {
            let line = out.addrs[lane] / self.l2.1;
            if previous != Some(line) {
                self.add(line);
                previous = Some(line);
            }
        }
    }

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {}
}

#[cfg(test)]
mod tests {
    use super::{Accesses, KEPT};

    fn of(l2_lines: usize, lines: impl IntoIterator<Item = u64>) -> Accesses {
        let mut accesses = Accesses {
            l2: (l2_lines, 128),
            count: 0,
            last: Vec::new(),
            next: 0,
        };
        lines.into_iter().for_each(|line| accesses.add(line));
        accesses
    }

    #[test]
    fn the_lines_that_were_accessed_last_are_kept_in_order() {
        assert_eq!(of(3, [1, 2, 3, 1]).lines(), [2, 3, 1]);
        assert_eq!(of(2, [1, 2, 3, 1]).lines(), [3, 1]);
        let many = of(2, (0..100).flat_map(|line| [line; KEPT - 1]));
        assert_eq!((many.lines(), many.count), (vec![98, 99], 300));
        assert!(of(0, [1, 2]).lines().is_empty());
    }
}
