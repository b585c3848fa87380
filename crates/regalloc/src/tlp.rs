//! A static estimate of the number of blocks that an SM needs at once (the optimal TLP of CRAT,
//! section 4.1, Fig. 10).
//!
//! The execution of a thread is divided into segments of computation. A segment ends where the
//! thread waits for memory: at the first use of a value that is being loaded. The warps of all
//! blocks that fit are scheduled greedy-then-oldest (GTO) until the first block finishes. Blocks
//! that were never scheduled until then are not needed.
//!
//! Contention acts in three ways. The hit ratio falls with the number of blocks that share the
//! cache ([`SmParameters::hit_ratio`]). A wait takes longer while the memory transfers lines for
//! other warps. A further block starts only while fewer warps wait for memory than can be served at
//! a time, which is the memory warp parallelism of Hong and Kim (ISCA 2009): the latency of an
//! access over the time for which the lines of a warp occupy the bandwidth (their equation for
//! `MWP_peak_BW`), or the misses that L1D can track over the misses of a warp. If that is less than
//! one block, no further block starts. The estimate uses no addresses and no values.

use std::collections::BTreeSet;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{Body, Function, Instruction, Operand, Statement};
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// A sequence of computation that may end with a wait for memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// The issue cycles of the computation.
    pub compute: u64,
    /// The number of loads for which the thread waits at the end; 0 if it does not wait.
    pub loads: u32,
    /// The number of stores, for which nothing waits.
    pub stores: u32,
}

/// The parameters of the SM that executes the segments.
#[derive(Clone, Copy)]
pub struct SmParameters<'a> {
    /// The number of warp schedulers. Warps are distributed to them in turn.
    pub schedulers: u32,
    /// The latency of an access that hits in the cache, in cycles.
    pub hit_cycles: f64,
    /// The latency of an access that misses in the cache, in cycles, without contention.
    pub miss_cycles: f64,
    /// The time for which a line occupies the SM's share of the memory bandwidth, in cycles.
    pub line_cycles: f64,
    /// The number of lines that a warp touches with one load, on average.
    pub lines_per_load: f64,
    /// The number of lines that a warp touches with one store, on average.
    pub lines_per_store: f64,
    /// The number of misses that L1D can track at a time.
    pub misses_at_once: f64,
    /// The hit ratio, from 0 to 1, for a number of blocks on the SM.
    pub hit_ratio: &'a dyn Fn(u32) -> f64,
}

impl SmParameters<'_> {
    fn hits(&self, blocks: u32) -> f64 {
        (self.hit_ratio)(blocks).clamp(0.0, 1.0)
    }

    /// Returns the mean latency of an access.
    fn latency(&self, blocks: u32) -> f64 {
        let hits = self.hits(blocks);
        hits * self.hit_cycles + (1.0 - hits) * self.miss_cycles
    }

    /// Returns the number of lines that miss in the cache for a number of loads of a warp.
    fn misses(&self, loads: f64, blocks: u32) -> f64 {
        loads * self.lines_per_load * (1.0 - self.hits(blocks))
    }

    /// Returns the time for which loads and stores of a warp occupy the bandwidth.
    fn traffic(&self, loads: f64, stores: f64, blocks: u32) -> f64 {
        let lines = self.misses(loads, blocks) + stores * self.lines_per_store;
        lines * self.line_cycles
    }

    /// Returns the number of warps whose waits for memory can be served at a time (memory warp
    /// parallelism).
    fn parallelism(&self, segments: &[Segment], blocks: u32) -> f64 {
        let of = |count: fn(&Segment) -> u32| segments.iter().map(|s| f64::from(count(s))).sum();
        let (loads, stores): (f64, f64) = (of(|s| s.loads), of(|s| s.stores));
        let waits = segments.iter().filter(|s| s.loads > 0).count().max(1) as f64;
        let (loads, stores) = (loads / waits, stores / waits);
        let traffic = self.traffic(loads, stores, blocks);
        let by_bandwidth = (self.latency(blocks) + traffic) / traffic.max(f64::MIN_POSITIVE);
        let by_cache = self.misses_at_once / self.misses(loads, blocks).max(f64::MIN_POSITIVE);
        by_bandwidth.min(by_cache).max(1.0)
    }
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
        accesses: Accesses::new(),
        done: Vec::new(),
        open: Segment::default(),
        loading: BTreeSet::new(),
    };
    segmenter.run(&code, code.len());
    segmenter.finish()
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
    accesses: Accesses,
    done: Vec<Segment>,
    open: Segment,
    /// The registers that loads will write.
    loading: BTreeSet<String>,
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
        let names = self.names(inst);
        let waits = names.iter().any(|(name, _)| self.loading.contains(name));
        if waits && self.done.len() < MAX_SEGMENTS {
            self.loading.clear();
            self.done.push(std::mem::take(&mut self.open));
        }
        self.open.compute = self.open.compute.saturating_add((self.cycles)(inst));
        match access(inst) {
            Some(Access::Read) => {
                self.open.loads += 1;
                let written = names.into_iter().filter(|(_, use_)| *use_ == Access::Write);
                self.loading.extend(written.map(|(name, _)| name));
            }
            Some(Access::Write) => self.open.stores += 1,
            None => {}
        }
    }

    /// Returns the registers that an instruction mentions.
    fn names(&self, inst: &Instruction) -> Vec<(String, Access)> {
        let mut names = Vec::new();
        let mut visit = |name: &mut String, access| names.push((name.clone(), access));
        // The operands of an unknown instruction are left out.
        let _ = self.accesses.visit(&mut inst.clone(), &mut visit);
        names
    }

    /// Returns the segments. Nothing waits for the last loads.
    fn finish(mut self) -> Vec<Segment> {
        if self.open.compute > 0 {
            self.open.stores += std::mem::take(&mut self.open.loads);
            self.done.push(self.open);
        }
        self.done
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

/// Returns whether an instruction reads or writes memory outside the SM, or may do so through a
/// generic address.
fn access(inst: &Instruction) -> Option<Access> {
    let near = |m: &Modifier| {
        matches!(
            m,
            Modifier::Space(Space::Shared | Space::Param | Space::Const)
        )
    };
    let far = !inst.modifiers.iter().any(|modifier| near(&modifier.node));
    match inst.opcode.node {
        Opcode::Ld | Opcode::Ldu | Opcode::Tex | Opcode::Atom if far => Some(Access::Read),
        Opcode::St | Opcode::Red if far => Some(Access::Write),
        _ => None,
    }
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
    let mut schedule = Schedule::new(segments, warps_per_block.max(1), max_tlp.max(1), sm);
    while let Some((scheduler, warp)) = schedule.next() {
        schedule.start(schedule.warps[warp].block);
        if schedule.execute_segment(scheduler, warp) {
            break;
        }
    }
    schedule.started
}

/// The state of the estimate.
struct Schedule<'a> {
    segments: &'a [Segment],
    sm: &'a SmParameters<'a>,
    warps: Vec<Warp>,
    schedulers: Vec<Scheduler>,
    /// The time at which the memory becomes free.
    memory: f64,
    warps_per_block: u32,
    /// The number of blocks that were scheduled.
    started: u32,
    /// The number of waiting warps that the memory can serve with one more block.
    served: f64,
}

impl<'a> Schedule<'a> {
    fn new(
        segments: &'a [Segment],
        warps_per_block: u32,
        blocks: u32,
        sm: &'a SmParameters<'a>,
    ) -> Self {
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
            segments,
            sm,
            warps: (0..count).map(warp).collect(),
            schedulers: (0..schedulers).map(scheduler).collect(),
            memory: 0.0,
            warps_per_block,
            started: 1,
            served: sm.parallelism(segments, 2),
        }
    }

    /// Counts a block as scheduled.
    fn start(&mut self, block: u32) {
        if block >= self.started {
            self.started = block + 1;
            self.served = self.sm.parallelism(self.segments, self.started + 1);
        }
    }

    /// Returns the scheduler that issues next in time, and the warp it selects.
    fn next(&mut self) -> Option<(usize, usize)> {
        let offers = (0..self.schedulers.len()).filter_map(|nth| {
            let (now, warp) = self.selected(&self.schedulers[nth])?;
            Some((now, nth, warp))
        });
        let (now, scheduler, warp) = offers.min_by_key(|(now, nth, _)| (*now, *nth))?;
        self.schedulers[scheduler].now = now;
        Some((scheduler, warp))
    }

    /// Returns the warp that a scheduler selects, and the time at which it does. The warp is the
    /// one selected last if it is ready, and the oldest ready warp otherwise. The warps of a
    /// further block are ready while the memory can serve more waiting warps.
    fn selected(&self, scheduler: &Scheduler) -> Option<(u64, usize)> {
        let open = || {
            let all = scheduler.warps.iter().copied();
            all.filter(|warp| self.warps[*warp].next < self.segments.len())
        };
        let is_started = |warp: &usize| self.warps[*warp].block < self.started;
        let soonest = open()
            .filter(is_started)
            .map(|warp| self.warps[warp].ready)
            .min();
        let at = |now: u64| {
            let further = self.admits_block(now);
            let ready = |warp: &usize| match is_started(warp) {
                true => self.warps[*warp].ready <= now,
                false => further,
            };
            let greedy = scheduler
                .greedy
                .filter(|warp| open().any(|other| other == *warp));
            let warp = greedy.filter(ready).or_else(|| open().find(ready))?;
            Some((now, warp))
        };
        at(scheduler.now).or_else(|| at(scheduler.now.max(soonest?)))
    }

    /// Returns whether the memory can serve the warps of a further block besides those that wait.
    /// If it cannot even serve those of one block at a time, the time grows with the number of
    /// warps (Hong and Kim's case of `CWP >= MWP`), and no further block helps.
    fn admits_block(&self, now: u64) -> bool {
        let waiting = self.warps.iter().filter(|warp| warp.ready > now).count();
        f64::from(self.warps_per_block) <= self.served && (waiting as f64) < self.served
    }

    /// Executes the next segment of a warp. Returns whether the warp's block has finished.
    fn execute_segment(&mut self, scheduler: usize, warp: usize) -> bool {
        let segment = self.segments[self.warps[warp].next];
        let end = self.schedulers[scheduler].now + segment.compute;
        self.schedulers[scheduler].now = end;
        self.schedulers[scheduler].greedy = Some(warp);
        self.warps[warp].next += 1;
        self.warps[warp].ready = end.max(self.access_end(end, &segment));
        let block = self.warps[warp].block;
        let first = (block * self.warps_per_block) as usize;
        let of_block = &self.warps[first..first + self.warps_per_block as usize];
        of_block.iter().all(|warp| warp.next == self.segments.len())
    }

    /// Returns the completion time of the accesses of a segment that start at `now`: the wait for
    /// the bandwidth, the transfer of the lines that miss, and the mean latency. Nothing waits for
    /// stores.
    fn access_end(&mut self, now: u64, segment: &Segment) -> u64 {
        let (loads, stores) = (f64::from(segment.loads), f64::from(segment.stores));
        let traffic = self.sm.traffic(loads, stores, self.started);
        let start = self.memory.max(now as f64);
        self.memory = start + traffic;
        match segment.loads {
            0 => now,
            _ => (self.memory + self.sm.latency(self.started)).round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_diag::Source;
    use warploom_ptx::ast::Item;

    fn sm(hits: &dyn Fn(u32) -> f64, line_cycles: f64) -> SmParameters<'_> {
        SmParameters {
            schedulers: 1,
            hit_cycles: 0.0,
            miss_cycles: 20.0,
            line_cycles,
            lines_per_load: 1.0,
            lines_per_store: 1.0,
            misses_at_once: f64::INFINITY,
            hit_ratio: hits,
        }
    }

    const TEN_AND_A_LOAD: [Segment; 2] = [
        Segment {
            compute: 10,
            loads: 1,
            stores: 0,
        },
        Segment {
            compute: 10,
            loads: 0,
            stores: 0,
        },
    ];

    #[test]
    fn blocks_are_needed_to_fill_the_first_one_s_wait() {
        // Block 0 computes until cycle 10 and waits until cycle 30. Blocks 1 and 2 fill that time,
        // and the oldest block finishes next.
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 4, &sm(&|_| 0.0, 0.0)), 3);
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 2, &sm(&|_| 0.0, 0.0)), 2);
        // Without a wait, a single block suffices.
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 4, &sm(&|_| 1.0, 0.0)), 1);
    }

    #[test]
    fn two_schedulers_need_twice_the_warps() {
        let mut both = sm(&|_| 0.0, 0.0);
        both.schedulers = 2;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 2, 8, &both), 3);
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &both), 6);
    }

    /// Hong and Kim's MWP_peak_BW: a latency of 20 and 20 cycles of transfer serve two warps at a
    /// time, so that a third block would only wait.
    #[test]
    fn the_bandwidth_bounds_the_blocks() {
        let blocks = |line_cycles| opt_tlp(&TEN_AND_A_LOAD, 1, 8, &sm(&|_| 0.0, line_cycles));
        assert_eq!(sm(&|_| 0.0, 20.0).parallelism(&TEN_AND_A_LOAD, 1), 2.0);
        assert_eq!(blocks(0.0), 3);
        assert!(blocks(20.0) <= 3, "{}", blocks(20.0));
        // With 200 cycles a line, the second warp already waits for the first one's transfer.
        assert_eq!(blocks(200.0), 2);
    }

    #[test]
    fn misses_in_flight_bound_the_blocks() {
        let mut few = sm(&|_| 0.0, 0.0);
        few.misses_at_once = 1.0;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &few), 1);
        few.misses_at_once = 2.0;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &few), 2);
        // A warp that touches 32 lines with a load takes all 32 entries by itself.
        few.misses_at_once = 32.0;
        few.lines_per_load = 32.0;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &few), 1);
        few.lines_per_load = 1.0;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 1, 8, &few), 3);
    }

    #[test]
    fn a_block_that_saturates_the_memory_runs_alone() {
        let mut narrow = sm(&|_| 0.0, 0.0);
        narrow.misses_at_once = 3.0;
        assert_eq!(opt_tlp(&TEN_AND_A_LOAD, 4, 8, &narrow), 1);
        narrow.misses_at_once = 4.0;
        assert!(opt_tlp(&TEN_AND_A_LOAD, 4, 8, &narrow) > 1);
    }

    fn cut(text: &str) -> Vec<(u64, u32, u32)> {
        let (module, _) = warploom_ptx::load(&Source::new("k", text)).unwrap();
        let Item::Function(function) = &module.items[0] else {
            panic!("a kernel");
        };
        let cut = segments(function, 3, &|_| 1);
        cut.iter().map(|s| (s.compute, s.loads, s.stores)).collect()
    }

    #[test]
    fn code_is_cut_where_it_waits_and_loops_run_their_trips() {
        let text =
            ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {
            .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %q;
            ld.param.u64 %rd1, [p];
            again: ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r2, %r1; setp.lt.u32 %q, %r2, 9;
            @%q bra again; st.global.u32 [%rd1], %r2; ret; }";
        // The segments are: ld.param and the load; three instructions and the load, twice; the rest
        // of the code.
        let expected = [(2, 1, 0), (4, 1, 0), (4, 1, 0), (5, 0, 1)];
        assert_eq!(cut(text), expected);
    }

    #[test]
    fn loads_before_the_first_use_are_waited_for_together() {
        let text =
            ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {
            .reg .b32 %r<4>; .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];
            add.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; ret; }";
        assert_eq!(cut(text), [(3, 2, 0), (3, 0, 1)]);
    }
}
