//! How many blocks an SM needs at once, guessed from the code (CRAT, section 4.1, Fig. 10): the
//! best TLP by static analysis.
//!
//! A thread's life is cut into computation that ends with an access to memory. Warps of as many
//! blocks as fit are played against each other, greedily and then the oldest first, until the first
//! block is done: blocks that had no turn by then were not needed. What an access takes follows
//! from a hit ratio, which may fall as more blocks compete for the cache, and from the bandwidth
//! behind it. Nothing is simulated: there are no addresses and no values.

use warploom_ptx::ast::{Body, Function, Instruction, Operand, Statement};
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// Computation, and the accesses to memory that end it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Cycles of issue.
    pub compute: u64,
    /// Ends with an access to memory.
    pub access: bool,
}

/// What the segments are played on.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Warp schedulers of an SM; warps are dealt to them in turn.
    pub schedulers: u32,
    /// Cycles of an access that hits.
    pub hit_cycles: u64,
    /// Cycles of one that does not, on an idle machine.
    pub miss_cycles: u64,
    /// Cycles for which a miss keeps the SM's share of the memory busy.
    pub transfer_cycles: u64,
    /// Fraction of hits, 0 to 1, while so many blocks are on the SM.
    pub hit_ratio: &'a dyn Fn(u32) -> f64,
}

/// Most segments of a thread that are played; code beyond is left out.
const MOST_SEGMENTS: usize = 1 << 14;

/// Cuts a function's code, in the order of the text, into segments. `cycles` is what an instruction
/// takes to issue; a loop, a branch back to a label, runs `trips` times.
pub fn segments(
    function: &Function,
    trips: u32,
    cycles: &dyn Fn(&Instruction) -> u64,
) -> Vec<Segment> {
    let mut code = Vec::new();
    if let Some(body) = &function.body {
        flatten(body, &mut code);
    }
    let mut cutter = Cutter {
        trips,
        cycles,
        done: Vec::new(),
        open: Segment::default(),
    };
    cutter.run(&code, code.len());
    if cutter.open.compute > 0 {
        cutter.done.push(cutter.open);
    }
    cutter.done
}

fn flatten<'a>(body: &'a Body, code: &mut Vec<&'a Statement>) {
    for statement in &body.statements {
        match statement {
            Statement::Block(inner) => flatten(inner, code),
            Statement::Label(_) | Statement::Instruction(_) => code.push(statement),
            _ => {}
        }
    }
}

struct Cutter<'a> {
    trips: u32,
    cycles: &'a dyn Fn(&Instruction) -> u64,
    done: Vec<Segment>,
    open: Segment,
}

impl Cutter<'_> {
    /// Walks the first `end` statements; a loop's body is walked again for every further trip.
    fn run(&mut self, code: &[&Statement], end: usize) {
        for at in 0..end {
            let Statement::Instruction(inst) = code[at] else {
                continue;
            };
            self.add(inst);
            if let Some(start) = back_target(&code[..at], inst) {
                for _ in 1..self.trips {
                    if self.done.len() >= MOST_SEGMENTS {
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
        if waits_for_memory(inst) && self.done.len() < MOST_SEGMENTS {
            self.open.access = true;
            self.done.push(std::mem::take(&mut self.open));
        }
    }
}

/// Where a branch back goes, among the statements before it.
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

/// A load from memory outside the SM, or one that may be.
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

/// A warp under way.
struct Warp {
    block: u32,
    next: usize,
    ready: u64,
}

/// One warp scheduler.
struct Scheduler {
    now: u64,
    /// Warps that it looks after, oldest first, by number.
    warps: Vec<usize>,
    greedy: Option<usize>,
}

/// How many of `max_tlp` blocks had a turn when the first of them is done: at least one.
pub fn opt_tlp(segments: &[Segment], warps_per_block: u32, max_tlp: u32, machine: &Machine) -> u32 {
    let mut play = Play::new(warps_per_block.max(1), max_tlp.max(1), machine);
    let mut started = 1;
    while let Some((scheduler, warp)) = play.next(segments.len()) {
        started = started.max(play.warps[warp].block + 1);
        if play.turn(scheduler, warp, segments, started) {
            return started;
        }
    }
    started
}

struct Play<'a> {
    machine: &'a Machine<'a>,
    warps: Vec<Warp>,
    schedulers: Vec<Scheduler>,
    /// When the memory is free again.
    memory: u64,
    warps_per_block: u32,
}

impl<'a> Play<'a> {
    fn new(warps_per_block: u32, blocks: u32, machine: &'a Machine) -> Self {
        let count = (warps_per_block * blocks) as usize;
        let warp = |number: usize| Warp {
            block: number as u32 / warps_per_block,
            next: 0,
            ready: 0,
        };
        let schedulers = machine.schedulers.max(1) as usize;
        let scheduler = |nth: usize| Scheduler {
            now: 0,
            warps: (nth..count).step_by(schedulers).collect(),
            greedy: None,
        };
        Self {
            machine,
            warps: (0..count).map(warp).collect(),
            schedulers: (0..schedulers).map(scheduler).collect(),
            memory: 0,
            warps_per_block,
        }
    }

    /// The scheduler that goes next, in time, and its warp: the one it last chose, if that is
    /// ready, else the oldest that is.
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

    /// Runs a warp's next segment; true if its block is done with it.
    fn turn(&mut self, scheduler: usize, warp: usize, segments: &[Segment], started: u32) -> bool {
        let segment = segments[self.warps[warp].next];
        let end = self.schedulers[scheduler].now + segment.compute;
        self.schedulers[scheduler].now = end;
        self.schedulers[scheduler].greedy = Some(warp);
        self.warps[warp].next += 1;
        self.warps[warp].ready = end;
        if segment.access {
            self.warps[warp].ready = self.access(end, started);
        }
        let block = self.warps[warp].block;
        let first = (block * self.warps_per_block) as usize;
        let of_block = &self.warps[first..first + self.warps_per_block as usize];
        of_block.iter().all(|warp| warp.next == segments.len())
    }

    /// When an access that starts at `now` is done: the mean of hit and miss, and the wait for the
    /// memory, which is busy for the misses' share of the time.
    fn access(&mut self, now: u64, blocks: u32) -> u64 {
        let hits = (self.machine.hit_ratio)(blocks).clamp(0.0, 1.0);
        let mean =
            |hit: u64, miss: u64| (hits * hit as f64 + (1.0 - hits) * miss as f64).round() as u64;
        let start = now.max(self.memory);
        self.memory = start + mean(0, self.machine.transfer_cycles);
        start + mean(self.machine.hit_cycles, self.machine.miss_cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_diag::Source;
    use warploom_ptx::ast::Item;

    fn machine(hits: &dyn Fn(u32) -> f64, transfer_cycles: u64) -> Machine<'_> {
        Machine {
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
        // Block 0 computes to 10 and waits to 30; blocks 1 and 2 fill that; then the oldest ends.
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 4, &machine(&|_| 0.0, 0)), 3);
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 2, &machine(&|_| 0.0, 0)), 2);
        // Without a wait one is enough.
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 4, &machine(&|_| 1.0, 0)), 1);
    }

    #[test]
    fn two_schedulers_need_twice_the_warps() {
        let mut both = machine(&|_| 0.0, 0);
        both.schedulers = 2;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 2, 8, &both), 3);
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &both), 6);
    }

    #[test]
    fn a_busy_memory_makes_the_wait_longer() {
        // Two warps a block: the second's load waits for the first's transfer, to 10 + 30 + 20.
        let few = opt_tlp(&TEN_AND_A_LOAD, 2, 8, &machine(&|_| 0.0, 0));
        let more = opt_tlp(&TEN_AND_A_LOAD, 2, 8, &machine(&|_| 0.0, 30));
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
        // ld.param and the load; three instructions and the load, twice; the rest.
        assert_eq!(shown, [(2, true), (4, true), (4, true), (5, false)]);
    }
}
