//! A block of the reference: its lanes, its shared memory, and where lanes wait for each other.

use crate::diverged::barriers::Barrier;
use crate::diverged::clocks::{Access, Clock, History};
use crate::diverged::code::{
    Form, INPUTS, Ins, Kernel, Label, Op, Opd, TOTALS, WarpOp, reg, total_op,
};
use crate::diverged::lane::{Frame, Lane, State, compare, compute};
use crate::diverged::lanes::{BUDGET, Global, Order, Place, Trap, Turn, Unclear};
use crate::diverged::meet::{self, Given};
use std::collections::BTreeMap;
use warploom_base::Rng;

/// Number of instructions that a lane runs before others have their turn.
const STRETCH: u64 = 64;
/// Largest depth of nested calls.
const DEPTH: usize = 8;

/// A word of shared memory.
#[derive(Clone, Debug, Default)]
struct Word {
    value: u32,
    history: History,
}

/// A block of the reference.
pub struct Block<'a> {
    kernel: &'a Kernel,
    index: u32,
    poison: u32,
    pub lanes: Vec<Lane>,
    slots: Vec<Word>,
    sums: Vec<Word>,
    pub barriers: Vec<Barrier>,
    /// Index of each label of each body.
    labels: Vec<BTreeMap<Label, usize>>,
    steps: u64,
}

impl<'a> Block<'a> {
    pub fn new(kernel: &'a Kernel, index: u32, poison: u32) -> Self {
        let threads = kernel.threads;
        let lanes = (0..threads).map(|thread| Lane::new(thread, threads));
        Self {
            kernel,
            index,
            poison,
            lanes: lanes.collect(),
            slots: vec![Word::default(); (kernel.regions() * threads) as usize],
            sums: vec![Word::default(); TOTALS],
            barriers: vec![Barrier::default(); 16],
            labels: kernel.bodies.iter().map(|body| labels(body)).collect(),
            steps: 0,
        }
    }

    /// Runs until no lane can continue.
    pub fn run(&mut self, global: &mut Global, order: Order, rng: &mut Rng) -> Result<(), Unclear> {
        // Lanes that have had their turn while others have not.
        let mut tired = vec![false; self.lanes.len()];
        loop {
            let ready = |lane: &&Lane| matches!(lane.state, State::Ready);
            let ready: Vec<usize> = self.lanes.iter().filter(ready).map(thread).collect();
            if ready.is_empty() {
                let mut goes_on = false;
                for warp in self.warps() {
                    goes_on = goes_on || self.go_on(warp)?;
                }
                if !goes_on {
                    return Ok(());
                }
                continue;
            }
            let mut fresh: Vec<usize> = ready.iter().copied().filter(|&l| !tired[l]).collect();
            if fresh.is_empty() {
                tired.fill(false);
                fresh = ready;
            }
            let lane = match order.turn {
                Turn::Lowest => fresh[0],
                Turn::Highest => fresh[fresh.len() - 1],
                Turn::Drawn(_) => fresh[rng.below(fresh.len() as u32) as usize],
            };
            self.turn(lane, global)?;
            tired[lane] = true;
            let is_ready = matches!(self.lanes[lane].state, State::Ready);
            if !order.is_late && !is_ready {
                while self.go_on(lane / 32)? {}
            }
        }
    }

    pub fn traps(&self) -> impl Iterator<Item = Trap> {
        let trapped = |lane: &&Lane| matches!(lane.state, State::Trapped);
        self.lanes.iter().filter(trapped).map(|lane| Trap {
            at: lane.place(),
            block: self.index,
            thread: lane.thread,
        })
    }

    /// Places at which lanes wait.
    pub fn waits(&self) -> impl Iterator<Item = Place> {
        let waits = |lane: &&Lane| !matches!(lane.state, State::Exited | State::Trapped);
        self.lanes.iter().filter(waits).map(Lane::place)
    }

    pub fn warps(&self) -> std::ops::Range<usize> {
        0..self.lanes.len().div_ceil(32)
    }

    pub fn of_warp(&self, warp: usize) -> std::ops::Range<usize> {
        32 * warp..self.lanes.len().min(32 * warp + 32)
    }

    /// Lets lanes of a warp continue whose wait is over. Returns whether there were any.
    fn go_on(&mut self, warp: usize) -> Result<bool, Unclear> {
        Ok(self.meet(warp)?
            || self.arrive(warp)
            || (0..self.barriers.len()).any(|barrier| self.open(barrier)))
    }

    /// Executes an operation of a warp for the smallest complete set of lanes.
    fn meet(&mut self, warp: usize) -> Result<bool, Unclear> {
        let alive = self.lanes_that(warp, |lane| !lane.is_exited());
        let sets = self
            .of_warp(warp)
            .filter_map(|lane| self.closed(warp, lane, alive));
        let Some(set) = sets.min_by_key(|set| set.count_ones()) else {
            return Ok(false);
        };
        let lanes: Vec<usize> = self
            .of_warp(warp)
            .filter(|l| set >> (l % 32) & 1 == 1)
            .collect();
        let all: Vec<Given> = lanes.iter().filter_map(|&lane| self.given(lane)).collect();
        if all.iter().any(|one| {
            all.iter()
                .any(|other| one.names(other) && !other.names(one))
        }) {
            return Err(Unclear::OneSided);
        }
        let known = self.known(warp, &lanes, &all);
        for (&lane, given) in lanes.iter().zip(&all) {
            if let Op::Warp(op) = self.op(lane) {
                self.take(lane, op, meet::result(op.form, given, &all, self.poison));
            }
            if let Some(known) = &known {
                self.lanes[lane].clock = known.clone();
            }
            self.pass(lane);
        }
        Ok(true)
    }

    fn take(&mut self, lane: usize, op: &WarpOp, taken: meet::Taken) {
        let frame = self.lanes[lane].frame();
        if let Some(word) = taken.word {
            frame.set(op.d, word);
        }
        if let Some(pred) = taken.pred {
            frame.set_pred(op.p, pred);
        }
    }

    /// Knowledge of lanes that met at `bar.warp.sync`, and of those that they named and that exited
    /// before. Other operations do not order accesses.
    fn known(&self, warp: usize, lanes: &[usize], all: &[Given]) -> Option<Clock> {
        if !matches!(self.lanes[lanes[0]].state, State::Meets(Form::WarpSync, _)) {
            return None;
        }
        let named = all.iter().fold(0, |mask, given| mask | given.mask);
        let gone = |&lane: &usize| self.lanes[lane].is_exited() && named >> (lane % 32) & 1 == 1;
        let mut known = self.lanes[lanes[0]].clock.clone();
        let others = lanes.iter().copied().chain(self.of_warp(warp).filter(gone));
        others.for_each(|lane| known.join(&self.lanes[lane].clock));
        Some(known)
    }

    fn given(&self, lane: usize) -> Option<Given> {
        match self.lanes[lane].state {
            State::Meets(_, given) => Some(given),
            _ => None,
        }
    }

    fn lanes_that(&self, warp: usize, does: impl Fn(&Lane) -> bool) -> u32 {
        let lanes = self.of_warp(warp).filter(|&lane| does(&self.lanes[lane]));
        lanes.fold(0, |mask, lane| mask | 1 << (lane % 32))
    }

    /// The lanes that a lane waits for, directly or indirectly, if all of them have arrived.
    /// `alive` are the lanes that have not exited.
    fn closed(&self, warp: usize, lane: usize, alive: u32) -> Option<u32> {
        let State::Meets(form, given) = self.lanes[lane].state else {
            return None;
        };
        let is_there = |lane: &Lane| matches!(lane.state, State::Meets(other, _) if other == form);
        let there = self.lanes_that(warp, is_there);
        let (mut set, mut seen) = (given.mask & alive | 1 << (lane % 32), 1u32 << (lane % 32));
        while set & !there == 0 && set != seen {
            let next = (set & !seen).trailing_zeros();
            let named = self.given(32 * warp + next as usize)?.mask;
            set |= named & alive;
            seen |= 1 << next;
        }
        (set & !there == 0).then_some(set)
    }

    /// Moves a lane past the instruction at which it waited.
    pub fn pass(&mut self, lane: usize) {
        let own = &mut self.lanes[lane];
        own.state = State::Ready;
        own.frame().at.1 += 1;
        own.clock.tick(lane);
    }

    pub fn op(&self, lane: usize) -> &'a Op {
        let (body, at) = self.lanes[lane].place();
        &self.kernel.bodies[body][at].op
    }

    /// Runs a lane until it waits, or for a number of instructions.
    fn turn(&mut self, lane: usize, global: &mut Global) -> Result<(), Unclear> {
        for _ in 0..STRETCH {
            self.step(lane, global)?;
            self.steps += 1;
            if !matches!(self.lanes[lane].state, State::Ready) {
                break;
            }
        }
        if self.steps > BUDGET {
            Err(Unclear::Long)
        } else {
            Ok(())
        }
    }

    fn step(&mut self, lane: usize, global: &mut Global) -> Result<(), Unclear> {
        let (body, at) = self.lanes[lane].place();
        let Some(ins) = self.kernel.bodies[body].get(at) else {
            self.leave(lane);
            return Ok(());
        };
        let frame = self.lanes[lane].frame();
        if !frame.does(ins) {
            frame.at.1 += 1;
            return Ok(());
        }
        match &ins.op {
            Op::Bra(to) => self.jump(lane, *to),
            Op::Switch(index, to) => {
                let index = frame.words[usize::from(*index)] as usize;
                self.jump(lane, *to.get(index).ok_or(Unclear::Broken)?)
            }
            Op::Call(function, mask) => self.call(lane, usize::from(*function), *mask),
            Op::Ret => {
                self.leave(lane);
                Ok(())
            }
            Op::Exit => self.stay(lane, State::Exited),
            Op::Trap => self.stay(lane, State::Trapped),
            Op::Warp(op) => {
                let given = self.gives(lane, op);
                if !given.names(&given) {
                    return Err(Unclear::OneSided);
                }
                self.stay(lane, State::Meets(op.form, given))
            }
            Op::Bar(bar) => self.stay(lane, State::Gathers(*bar)),
            op => {
                self.plain(lane, op, global)?;
                self.lanes[lane].frame().at.1 += 1;
                Ok(())
            }
        }
    }

    fn stay(&mut self, lane: usize, state: State) -> Result<(), Unclear> {
        self.lanes[lane].state = state;
        Ok(())
    }

    fn gives(&mut self, lane: usize, op: &WarpOp) -> Given {
        let frame = self.lanes[lane].frame();
        Given {
            lane: lane as u32 % 32,
            mask: frame.value(op.mask),
            a: frame.value(op.a),
            q: frame.pred(op.q),
            b: frame.value(op.b),
            c: op.c,
        }
    }

    fn jump(&mut self, lane: usize, to: Label) -> Result<(), Unclear> {
        let frame = self.lanes[lane].frame();
        frame.at.1 = *self.labels[frame.at.0].get(&to).ok_or(Unclear::Broken)?;
        Ok(())
    }

    fn call(&mut self, lane: usize, function: usize, mask: Opd) -> Result<(), Unclear> {
        let own = &mut self.lanes[lane];
        let caller = own.frame();
        let mut frame = Frame::new(lane as u32, function);
        for r in [reg::HASH, reg::DATA[0], reg::DATA[1]] {
            frame.set(r, caller.words[usize::from(r)]);
        }
        frame.set(reg::MASKS[0], caller.value(mask));
        own.frames.push(frame);
        if own.frames.len() > DEPTH {
            Err(Unclear::Broken)
        } else {
            Ok(())
        }
    }

    /// Returns from a function, or exits the thread in the kernel.
    fn leave(&mut self, lane: usize) {
        let own = &mut self.lanes[lane];
        if own.frames.len() == 1 {
            own.state = State::Exited;
            return;
        }
        let hash = own.frame().words[usize::from(reg::HASH)];
        own.frames.pop();
        own.frame().set(reg::HASH, hash);
        own.frame().at.1 += 1;
    }

    /// Executes an instruction on registers of the lane or on memory.
    fn plain(&mut self, lane: usize, op: &Op, global: &mut Global) -> Result<(), Unclear> {
        let threads = self.kernel.threads;
        let frame = self.lanes[lane].frame();
        let at = |region: u8, thread: u32| {
            (u32::from(region) * threads + thread.min(threads - 1)) as usize
        };
        match *op {
            Op::Bin(op, d, a, b) => {
                let value = compute(op, frame.value(a), frame.value(b));
                frame.set(d, value);
            }
            Op::Select(d, a, b, p) => {
                let value = if frame.pred((p, false)) { a } else { b };
                frame.set(d, frame.value(value));
            }
            Op::Compare(cmp, p, a, b) => {
                let value = compare(cmp, frame.value(a), frame.value(b));
                frame.set_pred(p, value);
            }
            Op::Input(d, index) => {
                let index = frame.value(index) % INPUTS;
                frame.set(d, self.kernel.input[index as usize]);
            }
            Op::Output => {
                let thread = self.index * threads + lane as u32;
                global.output[thread as usize] = frame.words[usize::from(reg::HASH)];
            }
            Op::Store(region, a) => {
                let value = frame.value(a);
                self.write(lane, at(region, lane as u32), value)?;
            }
            Op::Fetch(d, region, thread) => {
                let thread = frame.value(thread);
                let value = self.read(lane, at(region, thread))?;
                self.lanes[lane].frame().set(d, value);
            }
            Op::GlobalTotal(word, a) => {
                let value = frame.value(a);
                let total = &mut global.totals[usize::from(word)];
                *total = compute(total_op(word), *total, value);
            }
            Op::SharedTotal(word, a) => {
                let value = frame.value(a);
                self.add(lane, word, value)?;
            }
            Op::FetchTotal(d, word) => {
                let sum = &mut self.sums[usize::from(word)];
                access(&mut sum.history, Access::Read, &self.lanes[lane])?;
                let value = sum.value;
                self.lanes[lane].frame().set(d, value);
            }
            Op::Acquire(d) => {
                frame.set(d, global.lock);
                global.lock = 1;
            }
            Op::Release => global.lock = 0,
            Op::Guarded(a) => global.guarded = global.guarded.wrapping_add(frame.value(a)),
            _ => {}
        }
        Ok(())
    }

    fn write(&mut self, lane: usize, at: usize, value: u32) -> Result<(), Unclear> {
        self.slots[at].value = value;
        access(
            &mut self.slots[at].history,
            Access::Write,
            &self.lanes[lane],
        )
    }

    fn read(&mut self, lane: usize, at: usize) -> Result<u32, Unclear> {
        access(&mut self.slots[at].history, Access::Read, &self.lanes[lane])?;
        Ok(self.slots[at].value)
    }

    fn add(&mut self, lane: usize, word: u8, value: u32) -> Result<(), Unclear> {
        let sum = &mut self.sums[usize::from(word)];
        sum.value = compute(total_op(word), sum.value, value);
        access(&mut sum.history, Access::Atomic, &self.lanes[lane])
    }
}

fn labels(body: &[Ins]) -> BTreeMap<Label, usize> {
    let all = body
        .iter()
        .enumerate()
        .filter_map(|(at, ins)| match ins.op {
            Op::Label(label) => Some((label, at)),
            _ => None,
        });
    all.collect()
}

fn thread(lane: &Lane) -> usize {
    lane.thread as usize
}

fn access(history: &mut History, access: Access, lane: &Lane) -> Result<(), Unclear> {
    if history.note(access, lane.thread as usize, &lane.clock) {
        Ok(())
    } else {
        Err(Unclear::Race)
    }
}
