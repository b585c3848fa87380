//! Repeated bodies of loops.

use super::counted::{Loop, Test};
use super::rotate::Rotation;
use super::{GROUP, Way};
use crate::body::{Body, Grown, rename_extra, rename_inst};
use rustc_hash::FxHashMap;
use std::ops::Range;
use warploom_base::Pc;
use warploom_ir::cfg::Cfg;
use warploom_ir::liveness::Liveness;
use warploom_ir::{
    Cmp, Combine, ConstValue, Dst, Extra, Guard, Inst, IntBin, IntTy, Op, Pred, Reg, Src, Ty, Var,
    Width,
};

/// Most instructions of a program whose loops are unrolled.
const MOST_INSTS: usize = 1 << 16;

/// Target of a branch of the new code.
#[derive(Clone, Copy)]
enum Target {
    /// An instruction, by its position in the old code.
    Old(usize),
    /// An instruction, by its position in the new code.
    New(usize),
}

/// Code with repeated bodies, under construction.
pub(super) struct Unrolled<'a> {
    body: &'a Body,
    live: &'a Liveness,
    grown: Grown,
    /// New position of each old instruction that may be the target of a branch.
    place: Vec<usize>,
    /// Branches by their new position.
    branches: Vec<(usize, Target)>,
}

/// Registers and predicates for the test of a loop.
struct Tested {
    /// Distance of the counter from its bound.
    rest: Reg,
    /// True if a whole group of iterations follows.
    again: Pred,
}

impl<'a> Unrolled<'a> {
    pub fn new(body: &'a Body, live: &'a Liveness) -> Self {
        Self {
            body,
            live,
            grown: body.grow(),
            place: vec![0; body.insts.len()],
            branches: Vec::new(),
        }
    }

    /// Takes over instructions as they are.
    pub fn keep(&mut self, range: Range<usize>) {
        for at in range {
            self.place[at] = self.grown.insts.len();
            let inst = self.body.insts[at];
            match inst.op {
                Op::Bra(_) => self.branch(at, inst.guard, Target::Old(inst.imm as usize)),
                _ => self.push(at, inst),
            }
        }
    }

    /// Unrolls a loop, unless there are too many instructions, values or constants then.
    pub fn repeat(&mut self, found: &Loop, way: Way) {
        let copies = match way {
            Way::Whole(trips) => trips,
            Way::Groups { group, rest, .. } => group + rest,
            Way::Test => GROUP as u64,
        };
        let added = copies as usize * found.range.len();
        if self.grown.insts.len() + added > MOST_INSTS || !self.grown.has_room(added) {
            return self.keep(found.range.clone());
        }
        let start = self.grown.insts.len();
        match way {
            Way::Whole(trips) => self.whole(found, trips),
            Way::Groups { group, times, rest } => {
                self.copies(found, group);
                self.end_group(found, group * times, start);
                self.copies(found, rest);
            }
            Way::Test => self.tested(found),
        }
        self.place[found.range.start] = start;
    }

    /// All iterations, each with the values of the counter as constants.
    fn whole(&mut self, found: &Loop, trips: u64) {
        for copy in 0..trips {
            let names = &mut FxHashMap::default();
            self.count(found, copy, names);
            self.iteration(found, [copy, trips], names);
        }
        let set = self.set(found, found.counter, trips);
        self.push(found.compare, set);
    }

    /// A rotated loop: the part before the test is copied behind the entry, in place of its jump,
    /// and the test leads back to the loop's start. `goes_on` is the comparison for which it does,
    /// by the position of the text's.
    pub fn rotated(&mut self, cfg: &Cfg, rotation: &Rotation, goes_on: (usize, Op)) {
        let [entry, work, test, jump] =
            [rotation.entry, rotation.work, rotation.test, rotation.jump]
                .map(|nth| &cfg.blocks[nth]);
        self.keep(entry.start..entry.end - 1);
        self.place[entry.end - 1] = self.grown.insts.len();
        let (branch, mut names) = (test.end - 1, FxHashMap::default());
        for at in test.start..branch {
            let inst = self.renamed(rotation.test, self.body.insts[at], &mut names);
            self.push(at, inst);
        }
        let leaves = self.body.insts[branch].guard;
        let renamed = leaves.map(|guard| Guard {
            pred: match names.get(&Var::Pred(guard.pred)) {
                Some(Var::Pred(name)) => *name,
                _ => guard.pred,
            },
            ..guard
        });
        let exit = Target::Old(self.body.insts[branch].imm as usize);
        self.branch(branch, renamed, exit);
        let start = self.grown.insts.len();
        self.keep(work.start..work.end);
        self.keep(test.start..branch);
        let (compare, op) = goes_on;
        self.grown.insts[self.place[compare]].op = op;
        self.branch(branch, leaves, Target::New(start));
        if self.body.insts[branch].imm as usize != jump.end {
            self.branch(jump.start, None, exit);
        }
    }

    /// Gives the counter the value after `done` iterations, under a name of its own.
    fn count(&mut self, found: &Loop, done: u64, names: &mut FxHashMap<Var, Var>) {
        let name = self.grown.new_reg(None);
        names.insert(Var::Reg(found.counter), Var::Reg(name));
        let set = self.set(found, name, done);
        self.push(found.compare, set);
    }

    /// Sets a register to the counter's value after `done` iterations.
    fn set(&mut self, found: &Loop, reg: Reg, done: u64) -> Inst {
        let value = self.value(found, done);
        Inst {
            op: Op::Mov(Width::B32),
            dst: [Dst::Reg(reg), Dst::None],
            src: [value, Src::None, Src::None, Src::None],
            ..self.body.insts[found.compare]
        }
    }

    /// Value of the counter after `done` iterations.
    fn value(&mut self, found: &Loop, done: u64) -> Src {
        let first = i64::from(found.first.unwrap_or(0));
        let value = first + done as i64 * i64::from(found.step);
        self.grown.constant(ConstValue::Bits((value as u32).into()))
    }

    /// Ends a group of which `trips` iterations are made in all.
    fn end_group(&mut self, found: &Loop, trips: u64, start: usize) {
        let last = self.value(found, trips);
        let compare = Inst {
            op: Op::Setp(Cmp::Ne, Combine::None, Ty::Int(IntTy::U32), false),
            src: [Src::Reg(found.counter), last, Src::None, Src::None],
            ..self.body.insts[found.compare]
        };
        self.push(found.compare, compare);
        let goes_on = self.body.insts[found.branch].guard;
        self.branch(found.branch, goes_on, Target::New(start));
    }

    /// A loop of groups that tests how many iterations are left, and the loop of the text behind.
    fn tested(&mut self, found: &Loop) {
        let tested = Tested {
            rest: self.grown.new_reg(None),
            again: self.grown.new_pred(None),
        };
        let again = Guard {
            pred: tested.again,
            negated: false,
            overwrites: false,
        };
        let not = |guard: Guard| Guard {
            negated: !guard.negated,
            ..guard
        };
        self.test(found, &tested);
        let skip = self.grown.insts.len();
        self.branch(found.branch, Some(not(again)), Target::New(0));
        let start = self.grown.insts.len();
        self.copies(found, GROUP as u64);
        self.test(found, &tested);
        self.branch(found.branch, Some(again), Target::New(start));
        let ends = self.body.insts[found.branch].guard.map(not);
        self.branch(found.branch, ends, Target::Old(found.range.end));
        let rest = self.grown.insts.len();
        for branch in &mut self.branches {
            if branch.0 == skip {
                branch.1 = Target::New(rest);
            }
        }
        self.keep(found.range.start..found.branch);
        let goes_on = self.body.insts[found.branch].guard;
        self.branch(found.branch, goes_on, Target::New(rest));
    }

    /// Tests whether a further iteration follows, and whether a whole group does.
    fn test(&mut self, found: &Loop, tested: &Tested) {
        let compare = self.body.insts[found.compare];
        let counter = Src::Reg(found.counter);
        let (from, what) = match found.step > 0 {
            true => (found.bound, counter),
            false => (counter, found.bound),
        };
        let rest = Inst {
            op: Op::Int(IntBin::Sub, IntTy::U32),
            dst: [Dst::Reg(tested.rest), Dst::None],
            src: [from, what, Src::None, Src::None],
            ..compare
        };
        let (cmp, combine, also) = match found.test {
            Test::Differs => (Cmp::Gt, Combine::None, Src::None),
            Test::Before { or_equal, .. } => {
                let cmp = if or_equal { Cmp::Ge } else { Cmp::Gt };
                (cmp, Combine::And, Src::Pred(found.pred, false))
            }
        };
        let least = (GROUP as u64 - 1) * u64::from(found.step.unsigned_abs());
        let least = self.grown.constant(ConstValue::Bits(least));
        let again = Inst {
            op: Op::Setp(cmp, combine, Ty::Int(IntTy::U32), false),
            dst: [Dst::Pred(tested.again), Dst::None],
            src: [Src::Reg(tested.rest), least, also, Src::None],
            ..compare
        };
        for inst in [rest, compare, again] {
            self.push(found.compare, inst);
        }
    }

    /// Repeats the body `count` times.
    fn copies(&mut self, found: &Loop, count: u64) {
        for copy in 0..count {
            self.iteration(found, [copy, count], &mut FxHashMap::default());
        }
    }

    /// Copies the body, as copy number `copy` of `count`. Sums are made once, in the last copy.
    /// Values of one iteration get names of their own, beside those that `names` has.
    fn iteration(
        &mut self,
        found: &Loop,
        [copy, count]: [u64; 2],
        names: &mut FxHashMap<Var, Var>,
    ) {
        for at in found.range.start..found.branch {
            if at == found.compare {
                continue;
            }
            if at == found.update && names.contains_key(&Var::Reg(found.counter)) {
                self.count(found, copy + 1, names);
                continue;
            }
            let sum = found.sums.iter().find(|sum| sum.at == at);
            let inst = match sum {
                Some(_) if copy + 1 < count => continue,
                Some(sum) => self.sum(at, sum.step * count as i64),
                None => self.copy(found, at, [copy, count]),
            };
            let inst = self.renamed(found.block, inst, names);
            self.push(at, inst);
        }
    }

    /// The addition at `at` with another constant.
    fn sum(&mut self, at: usize, by: i64) -> Inst {
        let mut inst = self.body.insts[at];
        let Op::Int(_, ty) = inst.op else {
            unreachable!("a sum is an addition");
        };
        let bits = match ty {
            IntTy::S64 | IntTy::U64 => by as u64,
            _ => u64::from(by as u32),
        };
        inst.op = Op::Int(IntBin::Add, ty);
        inst.src[1] = self.grown.constant(ConstValue::Bits(bits));
        inst
    }

    /// The instruction at `at` in a copy of several, with the sums so far in its address.
    fn copy(&self, found: &Loop, at: usize, [copy, count]: [u64; 2]) -> Inst {
        let mut inst = self.body.insts[at];
        let summed = found
            .sums
            .iter()
            .find(|sum| inst.src[0] == Src::Reg(sum.reg));
        if let (Some(sum), true) = (summed, matches!(inst.op, Op::Ld(..) | Op::St(..))) {
            let before = match (at > sum.at, copy + 1 == count) {
                (false, _) => copy,
                (true, false) => copy + 1,
                (true, true) => 0,
            };
            inst.imm += (sum.step * before as i64) as i32;
        }
        inst
    }

    /// An instruction of a block, whose values that nothing needs after it have names of their own.
    fn renamed(&mut self, block: usize, mut inst: Inst, names: &mut FxHashMap<Var, Var>) -> Inst {
        let (universe, after) = (self.body.universe(), self.live.live_out(block));
        let code = self.body.code();
        for var in code.writes(&inst) {
            if !after.contains(universe.index(var)) && !names.contains_key(&var) {
                let name = match var {
                    Var::Reg(reg) => Var::Reg(self.grown.new_reg(Some(reg))),
                    Var::Pred(pred) => Var::Pred(self.grown.new_pred(Some(pred))),
                };
                names.insert(var, name);
            }
        }
        let reg = |reg: Reg| match names.get(&Var::Reg(reg)) {
            Some(Var::Reg(name)) => *name,
            _ => reg,
        };
        let pred = |pred: Pred| match names.get(&Var::Pred(pred)) {
            Some(Var::Pred(name)) => *name,
            _ => pred,
        };
        rename_inst(&mut inst, &reg, &pred);
        if inst.extra != Extra::NONE {
            let mut extra = self.grown.extras[inst.extra.0 as usize].clone();
            rename_extra(&mut extra, &reg, &pred);
            inst.extra = Extra(self.grown.extras.len() as u32);
            self.grown.extras.push(extra);
        }
        inst
    }

    fn push(&mut self, at: usize, inst: Inst) {
        self.grown.insts.push(inst);
        self.grown.origin.push(self.body.origin[at]);
    }

    /// Adds the branch at `at` with another guard and target.
    fn branch(&mut self, at: usize, guard: Option<Guard>, target: Target) {
        self.branches.push((self.grown.insts.len(), target));
        let inst = Inst {
            guard,
            ..self.body.insts[at]
        };
        self.push(at, inst);
    }

    /// The code with the targets of its branches.
    pub fn finish(mut self) -> Grown {
        for (at, target) in self.branches {
            let target = match target {
                Target::Old(old) => self.place[old],
                Target::New(new) => new,
            };
            self.grown.insts[at].imm = target as i32;
        }
        let targets = self
            .grown
            .extras
            .iter_mut()
            .flat_map(|extra| &mut extra.targets);
        targets.for_each(|pc| *pc = Pc::new(self.place[pc.index()]));
        self.grown
    }
}
