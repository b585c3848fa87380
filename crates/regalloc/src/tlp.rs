//! A static estimate of the number of blocks that an SM needs at once (the optimal TLP of CRAT,
//! section 4.1, Fig. 10).
//!
//! The execution of a thread is divided into segments of computation that end with a memory access.
//! The warps of all blocks that fit are scheduled greedy-then-oldest (GTO) until the first block
//! finishes. Blocks that were never scheduled until then are not needed. The latency of an access
//! follows from a hit ratio, which may depend on the number of blocks that compete for the cache,
//! and from the memory bandwidth. The estimate uses no addresses and no values.

use warploom_ptx::ast::{Body, Function, Instruction, Operand, Statement};
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// A sequence of computation that may end with a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// The issue cycles of the computation.
    pub compute: u64,
    /// Whether the segment ends with a memory access.
    pub access: bool,
}

/// The parameters of the SM that executes the segments.
#[derive(Clone, Copy)]
pub struct SmParameters<'a> {
    /// The number of warp schedulers. Warps are distributed to them in turn.
    pub schedulers: u32,
    /// The latency of an access that hits in the cache, in cycles.
    pub hit_cycles: u64,
    /// The latency of an access that misses in the cache, in cycles, without contention.
    pub miss_cycles: u64,
    /// The time for which a miss occupies the SM's share of the memory bandwidth, in cycles.
    pub transfer_cycles: u64,
    /// The hit ratio, from 0 to 1, for a number of blocks on the SM.
    pub hit_ratio: &'a dyn Fn(u32) -> f64,
}

/// The maximum number of segments per thread. Later code is ignored.
const MAX_SEGMENTS: usize = 1 << 14;

/// Divides the code of a function into segments, in program order. `cycles` returns the issue
/// cycles of an instruction. A loop, which is a branch back to an earlier label, executes `trips`
/// times.
pub fn segments(
    function: &Function,
    trips: u32,
    cycles: &dyn Fn(&Instruction) -> u64,
) -> Vec<Segment> {
    let mut code = Vec::new();
    if let Some(body) = &function.body {
        flatten(body, &mut code);
    }
    let mut segmenter = Segmenter {
        trips,
        cycles,
        done: Vec::new(),
        open: Segment::default(),
    };
    segmenter.run(&code, code.len());
    if segmenter.open.compute > 0 {
        segmenter.done.push(segmenter.open);
    }
    segmenter.done
}

/// Lists the labels and the instructions of a body, with nested blocks in place.
fn flatten<'a>(body: &'a Body, code: &mut Vec<&'a Statement>) {
    for statement in &body.statements {
        match statement {
            Statement::Block(inner) => flatten(inner, code),
            Statement::Label(_) | Statement::Instruction(_) => code.push(statement),
            _ => {}
        }
    }
}

/// Division of code into segments.
struct Segmenter<'a> {
    trips: u32,
    cycles: &'a dyn Fn(&Instruction) -> u64,
    done: Vec<Segment>,
    open: Segment,
}

impl Segmenter<'_> {
    /// Processes the first `end` statements, repeating loop bodies for each further iteration.
    fn run(&mut self, code: &[&Statement], end: usize) {
        for at in 0..end {
            let Statement::Instruction(inst) = code[at] else {
                continue;
            };
            self.add(inst);
            if let Some(start) = back_target(&code[..at], inst) {
                for _ in 1..self.trips {
                    if self.done.len() >= MAX_SEGMENTS {
                        return;
                    }
                    let before = self.done.len();
                    self.run(&code[start..=at], at - start);
                    self.add(inst);
                    if self.done.len() == before && self.open.compute == 0 {
                        break;
                    }
                }
            }
        }
    }

    fn add(&mut self, inst: &Instruction) {
        self.open.compute = self.open.compute.saturating_add((self.cycles)(inst));
        if waits_for_memory(inst) && self.done.len() < MAX_SEGMENTS {
            self.open.access = true;
            self.done.push(std::mem::take(&mut self.open));
        }
    }
}

/// Returns the index of the statement that a backward branch leads to, among the statements before
/// the branch.
fn back_target(before: &[&Statement], inst: &Instruction) -> Option<usize> {
    if inst.opcode != Opcode::Bra {
        return None;
    }
    let Some(Operand::Name(target)) = inst.operands.first().map(|operand| &operand.node) else {
        return None;
    };
    let is_target = |s: &&Statement| matches!(s, Statement::Label(name) if name.node == *target);
    before.iter().position(is_target)
}

/// Returns whether an instruction waits for memory outside the SM, or may do so through a generic
/// address.
fn waits_for_memory(inst: &Instruction) -> bool {
    let near = |m: &Modifier| {
        matches!(
            m,
            Modifier::Space(Space::Shared | Space::Param | Space::Const)
        )
    };
    let far = !inst.modifiers.iter().any(|modifier| near(&modifier.node));
    matches!(
        inst.opcode.node,
        Opcode::Ld | Opcode::Ldu | Opcode::Tex | Opcode::Atom
    ) && far
}

/// A warp in execution.
struct Warp {
    block: u32,
    next: usize,
    ready: u64,
}

/// The state of a warp scheduler.
struct Scheduler {
    now: u64,
    /// The warps of the scheduler by number, oldest first.
    warps: Vec<usize>,
    greedy: Option<usize>,
}

/// Estimates the number of blocks that an SM needs: the number of blocks, out of `max_tlp`, that
/// were scheduled until the first block finishes. The result is at least 1.
pub fn opt_tlp(segments: &[Segment], warps_per_block: u32, max_tlp: u32, sm: &SmParameters) -> u32 {
    let mut schedule = Schedule::new(warps_per_block.max(1), max_tlp.max(1), sm);
    let mut started = 1;
    while let Some((scheduler, warp)) = schedule.next(segments.len()) {
        started = started.max(schedule.warps[warp].block + 1);
        if schedule.execute_segment(scheduler, warp, segments, started) {
            return started;
        }
    }
    started
}

/// The state of the estimate.
struct Schedule<'a> {
    sm: &'a SmParameters<'a>,
    warps: Vec<Warp>,
    schedulers: Vec<Scheduler>,
    /// The time at which the memory becomes free.
    memory: u64,
    warps_per_block: u32,
}

impl<'a> Schedule<'a> {
    fn new(warps_per_block: u32, blocks: u32, sm: &'a SmParameters) -> Self {
        let count = (warps_per_block * blocks) as usize;
        let warp = |number: usize| Warp {
            block: number as u32 / warps_per_block,
            next: 0,
            ready: 0,
        };
        let schedulers = sm.schedulers.max(1) as usize;
        let scheduler = |nth: usize| Scheduler {
            now: 0,
            warps: (nth..count).step_by(schedulers).collect(),
            greedy: None,
        };
        Self {
            sm,
            warps: (0..count).map(warp).collect(),
            schedulers: (0..schedulers).map(scheduler).collect(),
            memory: 0,
            warps_per_block,
        }
    }

    /// Returns the scheduler that issues next in time, and the warp it selects. That warp is the
    /// one selected last if it is ready, and the oldest ready warp otherwise.
    fn next(&mut self, length: usize) -> Option<(usize, usize)> {
        let mut best: Option<(u64, usize, usize)> = None;
        for (nth, scheduler) in self.schedulers.iter().enumerate() {
            let going = |warp: &&usize| self.warps[**warp].next < length;
            let open: Vec<usize> = scheduler.warps.iter().filter(going).copied().collect();
            let Some(soonest) = open.iter().map(|warp| self.warps[*warp].ready).min() else {
                continue;
            };
            let now = scheduler.now.max(soonest);
            let ready = |warp: &usize| self.warps[*warp].ready <= now;
            let greedy = scheduler
                .greedy
                .filter(|warp| open.contains(warp) && ready(warp));
            let oldest = || open.iter().copied().find(|warp| ready(warp));
            if let Some(warp) = greedy.or_else(oldest)
                && best.is_none_or(|(time, ..)| now < time)
            {
                best = Some((now, nth, warp));
            }
        }
        let (now, scheduler, warp) = best?;
        self.schedulers[scheduler].now = now;
        Some((scheduler, warp))
    }

    /// Executes the next segment of a warp. Returns whether the warp's block has finished.
    fn execute_segment(
        &mut self,
        scheduler: usize,
        warp: usize,
        segments: &[Segment],
        started: u32,
    ) -> bool {
        let segment = segments[self.warps[warp].next];
        let end = self.schedulers[scheduler].now + segment.compute;
        self.schedulers[scheduler].now = end;
        self.schedulers[scheduler].greedy = Some(warp);
        self.warps[warp].next += 1;
        self.warps[warp].ready = end;
        if segment.access {
            self.warps[warp].ready = self.access_end(end, started);
        }
        let block = self.warps[warp].block;
        let first = (block * self.warps_per_block) as usize;
        let of_block = &self.warps[first..first + self.warps_per_block as usize];
        of_block.iter().all(|warp| warp.next == segments.len())
    }

    /// Returns the completion time of an access that starts at `now`. The latency is the mean of
    /// hit and miss latency, weighted by the hit ratio, plus the wait for the memory bandwidth.
    fn access_end(&mut self, now: u64, blocks: u32) -> u64 {
        let hits = (self.sm.hit_ratio)(blocks).clamp(0.0, 1.0);
        let mean =
            |hit: u64, miss: u64| (hits * hit as f64 + (1.0 - hits) * miss as f64).round() as u64;
        let start = now.max(self.memory);
        self.memory = start + mean(0, self.sm.transfer_cycles);
        start + mean(self.sm.hit_cycles, self.sm.miss_cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_diag::Source;
    use warploom_ptx::ast::Item;

    fn sm(hits: &dyn Fn(u32) -> f64, transfer_cycles: u64) -> SmParameters<'_> {
        SmParameters {
            schedulers: 1,
            hit_cycles: 0,
            miss_cycles: 20,
            transfer_cycles,
            hit_ratio: hits,
        }
    }

    const TEN_AND_A_LOAD: [Segment; 2] = [
        Segment {
            compute: 10,
            access: true,
        },
        Segment {
            compute: 10,
            access: false,
        },
    ];

    #[test]
    fn blocks_are_needed_to_fill_the_first_one_s_wait() {
        // Block 0 computes until cycle 10 and waits until cycle 30. Blocks 1 and 2 fill that time,
        // and the oldest block finishes next.
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 4, &sm(&|_| 0.0, 0)), 3);
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 2, &sm(&|_| 0.0, 0)), 2);
        // Without a wait, a single block suffices.
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 4, &sm(&|_| 1.0, 0)), 1);
    }

    #[test]
    fn two_schedulers_need_twice_the_warps() {
        let mut both = sm(&|_| 0.0, 0);
        both.schedulers = 2;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 2, 8, &both), 3);
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &both), 6);
    }

    #[test]
    fn a_busy_memory_makes_the_wait_longer() {
        // With two warps per block, the load of the second warp waits for the transfer of the
        // first, until cycle 10 + 30 + 20.
        let few = opt_tlp(&TEN_AND_A_LOAD, 2, 8, &sm(&|_| 0.0, 0));
        let more = opt_tlp(&TEN_AND_A_LOAD, 2, 8, &sm(&|_| 0.0, 30));
        assert_eq!((few, more), (2, 3));
    }

    #[test]
    fn code_is_cut_at_loads_and_loops_run_their_trips() {
        let text =
            ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {
            .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %q;
            ld.param.u64 %rd1, [p];
            again: ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r2, %r1; setp.lt.u32 %q, %r2, 9;
            @%q bra again; st.global.u32 [%rd1], %r2; ret; }";
        let (module, _) = warploom_ptx::load(&Source::new("k", text)).unwrap();
        let Item::Function(function) = &module.items[0] else {
            panic!("a kernel");
        };
        let cut = segments(function, 3, &|_| 1);
        let shown: Vec<_> = cut.iter().map(|s| (s.compute, s.access)).collect();
        // The segments are: ld.param and the load; three instructions and the load, twice; the rest
        // of the code.
        assert_eq!(shown, [(2, true), (4, true), (4, true), (5, false)]);
    }
}
