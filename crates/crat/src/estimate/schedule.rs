//! Warps that execute a stream of instructions greedily and then oldest first.

use super::memory::Memory;
use super::stream::{Step, Stream, Work};

/// A warp in execution.
struct Warp {
    block: usize,
    /// The number of its next instruction.
    next: usize,
    /// The first cycle in which that instruction has its operands.
    ready: u64,
    /// The cycle in which the value of each register arrives.
    results: Vec<u64>,
    is_at_barrier: bool,
}

/// The end of an execution: the first block has finished.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Outcome {
    cycles: u64,
    /// The instructions that were issued from each block.
    issued: Vec<u64>,
    /// The block that finished.
    first: usize,
}

impl Outcome {
    /// Returns the instructions of all blocks per cycle.
    pub(super) fn rate(&self) -> f64 {
        self.issued.iter().sum::<u64>() as f64 / self.cycles.max(1) as f64
    }

    /// Returns the number of blocks of which each issues as many instructions as the first one that
    /// finished, rounded up.
    pub(super) fn blocks_needed(&self) -> u32 {
        let all: u64 = self.issued.iter().sum();
        let of_first = self.issued[self.first].max(1);
        u32::try_from(all.div_ceil(of_first)).unwrap_or(u32::MAX)
    }
}

/// Executes `blocks` of `warps` warps each until the first block has finished.
pub(super) fn run(
    stream: &Stream,
    [warps, blocks]: [u32; 2],
    schedulers: u32,
    memory: Memory<'_>,
) -> Outcome {
    let mut sm = Sm::new(stream, [warps.max(1), blocks.max(1)], schedulers, memory);
    while sm.first.is_none() && sm.cycle() {}
    Outcome {
        cycles: sm.now,
        issued: sm.issued,
        first: sm.first.unwrap_or(0),
    }
}

/// The state of an SM.
struct Sm<'a> {
    stream: &'a Stream,
    now: u64,
    memory: Memory<'a>,
    /// The warps, oldest first. The schedulers take them in turn.
    warps: Vec<Warp>,
    warps_per_block: usize,
    /// The warp from which each scheduler issued last.
    greedy: Vec<Option<usize>>,
    /// The cycle in which each unit takes a further instruction: for arithmetic, and special ones.
    units: [Vec<u64>; 2],
    issued: Vec<u64>,
    first: Option<usize>,
}

impl<'a> Sm<'a> {
    fn new(stream: &'a Stream, size: [u32; 2], schedulers: u32, memory: Memory<'a>) -> Self {
        let [warps_per_block, blocks] = size.map(|n| n as usize);
        let warp = |number: usize| Warp {
            block: number / warps_per_block,
            next: 0,
            ready: 0,
            results: vec![0; stream.registers],
            is_at_barrier: false,
        };
        Self {
            stream,
            now: 0,
            memory,
            warps: (0..warps_per_block * blocks).map(warp).collect(),
            warps_per_block,
            greedy: vec![None; schedulers.max(1) as usize],
            units: stream.units.map(|count| vec![0; count]),
            issued: vec![0; blocks],
            first: stream.steps.is_empty().then_some(0),
        }
    }

    /// Executes a cycle, or skips cycles in which nothing can issue. Returns whether time passes.
    fn cycle(&mut self) -> bool {
        let mut soonest = u64::MAX;
        let mut has_issued = false;
        for scheduler in 0..self.greedy.len() {
            match self.select(scheduler) {
                Ok(warp) => {
                    self.greedy[scheduler] = Some(warp);
                    self.issue(warp);
                    has_issued = true;
                }
                Err(at) => soonest = soonest.min(at),
            }
        }
        self.now = match has_issued {
            true => self.now + 1,
            false => soonest,
        };
        self.now < u64::MAX
    }

    /// Returns the warp from which a scheduler issues: the one of its last issue if that can issue,
    /// and the oldest one otherwise. The error is the first cycle in which one of them might.
    fn select(&self, scheduler: usize) -> Result<usize, u64> {
        let own = (scheduler..self.warps.len()).step_by(self.greedy.len());
        let mut soonest = u64::MAX;
        for warp in self.greedy[scheduler].into_iter().chain(own) {
            match self.ready_at(&self.warps[warp]) {
                at if at <= self.now => return Ok(warp),
                at => soonest = soonest.min(at),
            }
        }
        Err(soonest)
    }

    /// Returns the first cycle in which a warp might issue, as far as is known.
    fn ready_at(&self, warp: &Warp) -> u64 {
        let Some(step) = self.stream.steps.get(warp.next) else {
            return u64::MAX;
        };
        let unit = match step.work {
            _ if warp.is_at_barrier => u64::MAX,
            Work::Arithmetic(_) => free(&self.units[0]).1,
            Work::Special(_) => free(&self.units[1]).1,
            Work::Near(_) | Work::Load | Work::Store => self.memory.free_at(),
            Work::Barrier => 0,
        };
        warp.ready.max(unit)
    }

    fn issue(&mut self, number: usize) {
        let step = &self.stream.steps[self.warps[number].next];
        let result = self.execute(step);
        let warp = &mut self.warps[number];
        for register in &step.writes {
            warp.results[*register] = result;
        }
        warp.next += 1;
        warp.is_at_barrier = step.work == Work::Barrier;
        warp.ready = self.now + 1;
        if let Some(next) = self.stream.steps.get(warp.next) {
            let results = next.needs.iter().map(|register| warp.results[*register]);
            warp.ready = results.fold(warp.ready, u64::max);
        }
        let block = warp.block;
        self.issued[block] += 1;
        self.synchronise(block);
    }

    /// Executes an instruction, and returns the cycle in which its result arrives.
    fn execute(&mut self, step: &Step) -> u64 {
        let now = self.now;
        match step.work {
            Work::Arithmetic(timing) | Work::Special(timing) => {
                let units = &mut self.units[usize::from(matches!(step.work, Work::Special(_)))];
                let (unit, _) = free(units);
                units[unit] = now + u64::from(timing.interval_cycles);
                now + u64::from(timing.latency_cycles)
            }
            Work::Near(cycles) => {
                self.memory.near(now);
                now + u64::from(cycles)
            }
            Work::Load => self.memory.load(now),
            Work::Store => {
                self.memory.store(now);
                now
            }
            Work::Barrier => now,
        }
    }

    /// Releases the warps of a block when all that are left wait at its barrier, and notes the end
    /// of the block.
    fn synchronise(&mut self, block: usize) {
        let first = block * self.warps_per_block;
        let warps = &mut self.warps[first..first + self.warps_per_block];
        let end = self.stream.steps.len();
        if warps.iter().all(|warp| warp.next == end) {
            self.first.get_or_insert(block);
        }
        if warps
            .iter()
            .all(|warp| warp.is_at_barrier || warp.next == end)
        {
            warps.iter_mut().for_each(|warp| warp.is_at_barrier = false);
        }
    }
}

/// Returns the unit that is free first, and the cycle.
fn free(units: &[u64]) -> (usize, u64) {
    let all = units.iter().copied().enumerate();
    all.min_by_key(|(_, at)| *at).unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::super::memory::Costs;
    use super::*;
    use warploom_config::OpTiming;

    const NO_MISSES: Costs = Costs {
        hit_cycles: 20.0,
        miss_cycles: 0.0,
        dram_line_cycles: 0.0,
        network_line_cycles: 0.0,
        store_transfers: 1.0,
        lines_per_load: 1.0,
        lines_per_store: 1.0,
        misses_at_once: 1,
        stores_at_once: 1,
    };

    /// Returns a chain of steps, each of which needs the result of the one before it.
    fn chain(works: &[Work]) -> Stream {
        let step = |work: &Work| Step {
            work: *work,
            needs: vec![0],
            writes: vec![0],
        };
        Stream {
            steps: works.iter().map(step).collect(),
            registers: 1,
            units: [2, 1],
        }
    }

    fn add(latency_cycles: u32) -> Work {
        Work::Arithmetic(OpTiming {
            latency_cycles,
            interval_cycles: 1,
        })
    }

    fn outcome(stream: &Stream, warps: u32, blocks: u32, schedulers: u32) -> Outcome {
        let memory = Memory::new(&NO_MISSES, 1.0);
        run(stream, [warps, blocks], schedulers, memory)
    }

    #[test]
    fn other_blocks_issue_while_a_result_is_on_its_way() {
        let stream = chain(&[add(4); 100]);
        // A result every fourth cycle: four warps fill a scheduler, and the fifth never issues.
        let five = outcome(&stream, 1, 5, 1);
        assert_eq!(five.issued[4], 0);
        assert_eq!((five.first, five.blocks_needed()), (0, 4));
        let alone = outcome(&stream, 1, 1, 1);
        assert_eq!((alone.cycles, alone.blocks_needed()), (397, 1));
        assert!((five.rate() / alone.rate() - 4.0).abs() < 0.05);
        // Two schedulers need twice the warps.
        assert_eq!(outcome(&stream, 1, 9, 2).blocks_needed(), 8);
        assert_eq!(outcome(&stream, 2, 9, 2).blocks_needed(), 4);
    }

    #[test]
    fn a_block_that_always_issues_needs_no_other() {
        let stream = chain(&[add(1); 100]);
        let eight = outcome(&stream, 1, 8, 1);
        assert_eq!((eight.cycles, eight.blocks_needed()), (100, 1));
        assert!((eight.rate() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_unit_takes_its_interval() {
        let slow = Work::Special(OpTiming {
            latency_cycles: 8,
            interval_cycles: 8,
        });
        let four = outcome(&chain(&[slow; 10]), 1, 4, 1);
        // The only unit starts an operation every eighth cycle, and the oldest warp has it always.
        assert_eq!((four.cycles, four.blocks_needed()), (73, 1));
    }

    #[test]
    fn warps_of_a_block_wait_for_each_other() {
        let stream = chain(&[add(1), Work::Barrier, add(1)]);
        // Five warps issue two instructions each before any of them passes the barrier.
        let five = outcome(&stream, 5, 1, 1);
        assert_eq!((five.cycles, five.issued.clone()), (15, vec![15]));
        let many = outcome(&chain(&[Work::Barrier; 3]), 3, 2, 2);
        assert_eq!(many.issued[many.first], 9);
    }

    #[test]
    fn a_load_is_waited_for() {
        let stream = chain(&[Work::Load, add(4), Work::Store]);
        let one = outcome(&stream, 1, 1, 1);
        // The value arrives after 20 cycles, the sum after 4 more.
        assert_eq!(one.cycles, 25);
    }
}
