//! Random kernels: generation of operations and of control flow.
//!
//! First, a plan of operations is generated, which all lanes of a scope must execute in this order.
//! Different lanes of the scope then execute parts of it in different ways: in the arms of
//! branches, in loops, in functions. Jumps that are never taken lead to any label.

use crate::diverged::code::{Bin, Cmp, Form, INPUTS, Ins, Kernel, Label, Op, Opd, Pred, Reg, reg};
use crate::diverged::items::Item;
use std::collections::BTreeSet;
use warploom_base::Rng;

/// Predicates for branches, for guards, and for conditions that are never true.
pub const BRANCH: Pred = 0;
pub const GUARD: Pred = 1;
pub const NEVER: Pred = 2;
/// Predicates for the operands and the results of votes.
pub const VOTE: Pred = 4;
pub const RESULT: Pred = 5;

pub const HASH: Opd = Opd::R(reg::HASH);
pub const TID: Opd = Opd::R(reg::TID);
pub const LANE: Opd = Opd::R(reg::LANE);
pub const WARP: Opd = Opd::R(reg::WARP);

/// Bound of inputs. Conditions that must not hold compare with larger values.
const LARGEST_INPUT: u32 = 1000;

/// The lanes that reach a place in the code.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The lanes of a warp, except for those that have exited.
    pub mask: Opd,
    /// The lane mask, if it is known.
    pub fixed: Option<u32>,
    /// True if all threads of the block reach the place.
    pub is_block: bool,
    /// Number of registers for masks and for counters that are in use.
    pub masks: usize,
    pub counters: usize,
    pub depth: u32,
}

/// A function that can be called.
#[derive(Clone, Debug)]
pub struct Function {
    pub body: u8,
    pub forms: BTreeSet<Form>,
    pub has_barriers: bool,
}

/// State of the generator of a kernel.
pub struct Draw {
    pub rng: Rng,
    pub warps: u32,
    pub threads: u32,
    pub code: Vec<Ins>,
    /// Code after the end of the body.
    pub cold: Vec<Ins>,
    pub labels: Label,
    /// Targets of jumps that are never taken. They are placed at the end.
    wild: BTreeSet<Label>,
    /// Label at the end of the body.
    pub end: Label,
    /// True if the body is a function.
    pub is_function: bool,
    pub functions: Vec<Function>,
    /// Operations at which other lanes may wait with another mask.
    pub reserved: Vec<Form>,
    pub used: BTreeSet<Form>,
    pub regions: u8,
    /// Number of statements that may still be generated.
    pub fuel: i32,
    pub exits: bool,
    pub traps: bool,
    /// True if lanes wait at one operation with masks of which one contains the other.
    pub nests: bool,
}

/// Generates a kernel with a defined result.
pub fn draw(rng: &mut Rng) -> Kernel {
    const SPELLINGS: [(&str, &str); 6] = [
        ("bar.", ""),
        ("bar.cta.", ""),
        ("barrier.", ""),
        ("barrier.", ""),
        ("barrier.cta.", ""),
        ("barrier.", ".aligned"),
    ];
    let warps = [1, 1, 1, 2, 2, 3, 4][rng.below(7) as usize];
    let missing = if rng.below(4) == 0 { rng.below(31) } else { 0 };
    let mut draw = Draw::new(Rng::new(rng.next_u64()), warps, 32 * warps - missing);
    let bodies = draw.bodies();
    let mut kernel = Kernel {
        bodies,
        blocks: 1 + rng.below(5) / 4,
        threads: draw.threads,
        input: (0..INPUTS).map(|_| rng.below(LARGEST_INPUT)).collect(),
        spelling: [("bar.", ""); 16],
    };
    for spelling in &mut kernel.spelling {
        *spelling = SPELLINGS[rng.below(6) as usize];
    }
    if rng.below(8) == 0 {
        spoil(&mut kernel, rng);
    }
    kernel
}

/// Removes an operation that other lanes may wait for, or adds a guard to it.
fn spoil(kernel: &mut Kernel, rng: &mut Rng) {
    let body = rng.below(kernel.bodies.len() as u32) as usize;
    let body = &mut kernel.bodies[body];
    let meets = |ins: &Ins| matches!(ins.op, Op::Warp(_) | Op::Bar(_) | Op::Call(..));
    let places: Vec<usize> = (0..body.len()).filter(|&at| meets(&body[at])).collect();
    if places.is_empty() {
        return;
    }
    let at = places[rng.below(places.len() as u32) as usize];
    match (&mut body[at].op, rng.below(3)) {
        (Op::Warp(op), 0) => op.mask = Opd::I(u32::MAX),
        (_, 0) => drop(body.remove(at)),
        _ => {
            body[at].guard = Some((GUARD, rng.below(2) == 0));
            body.insert(
                at,
                Op::Compare(Cmp::Lt, GUARD, LANE, Opd::I(rng.below(32))).into(),
            );
        }
    }
}

impl Draw {
    pub fn new(mut rng: Rng, warps: u32, threads: u32) -> Self {
        Self {
            warps,
            threads,
            code: Vec::new(),
            cold: Vec::new(),
            labels: 0,
            wild: BTreeSet::new(),
            end: 0,
            is_function: false,
            functions: Vec::new(),
            reserved: Vec::new(),
            used: BTreeSet::new(),
            regions: 0,
            fuel: 0,
            exits: rng.below(2) == 0,
            traps: rng.below(16) == 0,
            nests: rng.below(3) == 0,
            rng,
        }
    }

    fn bodies(&mut self) -> Vec<Vec<Ins>> {
        let functions = [0, 0, 1, 1, 2][self.below(5) as usize];
        let mut bodies = Vec::new();
        for body in (1..=functions).rev() {
            let has_barriers = self.chance(3);
            self.is_function = true;
            self.fuel = 2 + self.below(12) as i32;
            bodies.push(self.body(has_barriers));
            let forms = std::mem::take(&mut self.used);
            self.functions.push(Function {
                body,
                forms,
                has_barriers,
            });
        }
        self.is_function = false;
        self.fuel = 6 + self.below(40) as i32;
        bodies.push(self.body(true));
        bodies.reverse();
        bodies
    }

    fn body(&mut self, is_block: bool) -> Vec<Ins> {
        let scope = Scope {
            mask: if self.is_function {
                Opd::R(reg::MASKS[0])
            } else {
                Opd::I(u32::MAX)
            },
            fixed: (!self.is_function).then_some(u32::MAX),
            is_block,
            masks: usize::from(self.is_function),
            counters: 0,
            depth: 0,
        };
        self.end = self.label();
        self.begin();
        let plan = self.plan(&scope);
        self.block(&scope, &plan);
        if self.is_function && self.chance(2) {
            self.often(BRANCH);
            self.put_if(BRANCH, true, Op::Ret);
            self.filler();
        }
        self.place(self.end);
        if !self.is_function {
            self.put(Op::Output);
        }
        let last = [Op::Ret, Op::Exit][usize::from(!self.is_function && self.chance(2))].clone();
        self.put(last);
        let cold = std::mem::take(&mut self.cold);
        self.code.extend(cold);
        self.aim();
        std::mem::take(&mut self.code)
    }

    /// Initialises data with values that differ between threads.
    pub fn begin(&mut self) {
        for (number, d) in reg::DATA.into_iter().enumerate() {
            if self.is_function && number < 2 {
                continue;
            }
            match self.below(3) {
                0 => self.put(Op::Input(d, TID)),
                1 => {
                    let factor = 2 * self.below(1 << 20) + 1;
                    self.bin(Bin::Mul, d, TID, Opd::I(factor));
                    self.bin(Bin::Shr, d, Opd::R(d), Opd::I(3));
                }
                _ => {
                    let value = self.below(32);
                    self.bin(Bin::Xor, d, LANE, Opd::I(value));
                }
            }
        }
    }

    /// Lets jumps that are never taken lead to random labels of the body.
    fn aim(&mut self) {
        let label = |ins: &Ins| match ins.op {
            Op::Label(label) => Some(label),
            _ => None,
        };
        let labels: Vec<Label> = self.code.iter().filter_map(label).collect();
        let wild = std::mem::take(&mut self.wild);
        for ins in &mut self.code {
            if let Op::Bra(to) = &mut ins.op
                && wild.contains(to)
            {
                *to = labels[self.rng.below(labels.len() as u32) as usize];
            }
        }
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.rng.below(bound)
    }

    /// True with a probability of one in `of`.
    pub fn chance(&mut self, of: u32) -> bool {
        self.below(of) == 0
    }

    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    pub fn data(&mut self) -> Reg {
        self.one_of(&reg::DATA)
    }

    pub fn label(&mut self) -> Label {
        self.labels += 1;
        self.labels
    }

    pub fn place(&mut self, label: Label) {
        self.put(Op::Label(label));
    }

    pub fn put(&mut self, op: Op) {
        self.code.push(op.into());
    }

    pub fn put_if(&mut self, p: Pred, value: bool, op: Op) {
        let guard = Some((p, value));
        self.code.push(Ins { guard, op });
    }

    pub fn bin(&mut self, op: Bin, d: Reg, a: Opd, b: Opd) {
        self.put(Op::Bin(op, d, a, b));
    }

    pub fn compare(&mut self, cmp: Cmp, p: Pred, a: Opd, b: Opd) {
        self.put(Op::Compare(cmp, p, a, b));
    }

    /// Adds a word to the hash.
    pub fn fold(&mut self, word: Opd) {
        let factor = 2 * self.below(50) + 3;
        self.bin(Bin::Mul, reg::HASH, HASH, Opd::I(factor));
        self.bin(Bin::Add, reg::HASH, HASH, word);
    }

    /// Sets a predicate that is never true, which no compiler can infer.
    pub fn never(&mut self, p: Pred) {
        match self.below(4) {
            0 => self.compare(Cmp::Ge, p, TID, Opd::I(4096)),
            1 => {
                let temp = reg::TEMP[0];
                let index = self.below(INPUTS);
                self.put(Op::Input(temp, Opd::I(index)));
                self.compare(Cmp::Eq, p, Opd::R(temp), Opd::I(LARGEST_INPUT + 7));
            }
            2 => {
                let (temp, data) = (reg::TEMP[0], self.data());
                self.bin(Bin::And, temp, Opd::R(data), Opd::I(7));
                self.compare(Cmp::Eq, p, Opd::R(temp), Opd::I(8));
            }
            _ => self.compare(Cmp::Lt, p, TID, Opd::I(0)),
        }
    }

    /// Sets a predicate that is true in few threads, or in none.
    pub fn rare(&mut self, p: Pred) {
        let temp = reg::TEMP[0];
        match self.below(4) {
            0 => {
                let thread = self.below(self.threads);
                self.compare(Cmp::Eq, p, TID, Opd::I(thread));
            }
            1 => {
                let lane = self.below(32);
                self.compare(Cmp::Eq, p, LANE, Opd::I(lane));
            }
            2 => {
                let (data, value) = (self.data(), self.below(16));
                self.bin(Bin::And, temp, Opd::R(data), Opd::I(15));
                self.compare(Cmp::Eq, p, Opd::R(temp), Opd::I(value));
            }
            _ => {
                let counter = self.one_of(&reg::COUNTERS[..2]);
                let value = self.below(40);
                self.bin(Bin::Mul, temp, Opd::R(counter), Opd::I(13));
                self.bin(Bin::Add, temp, Opd::R(temp), LANE);
                self.compare(Cmp::Eq, p, Opd::R(temp), Opd::I(value));
            }
        }
    }

    /// Sets a predicate that is true in about half of the threads.
    pub fn often(&mut self, p: Pred) {
        let (temp, data) = (reg::TEMP[0], self.data());
        let shift = self.below(6);
        self.bin(Bin::Shr, temp, Opd::R(data), Opd::I(shift));
        self.bin(Bin::And, temp, Opd::R(temp), Opd::I(3));
        let (cmp, value) = (self.one_of(&[Cmp::Lt, Cmp::Ge, Cmp::Ne]), 1 + self.below(2));
        self.compare(cmp, p, Opd::R(temp), Opd::I(value));
    }

    /// Writes a jump that is never taken, or another exit that is never reached.
    pub fn wild(&mut self) {
        self.never(NEVER);
        match self.below(8) {
            0 => self.put_if(NEVER, true, Op::Ret),
            1 => self.put_if(NEVER, true, Op::Exit),
            2 => self.put_if(NEVER, true, Op::Trap),
            3 => {
                let end = self.end;
                self.put_if(NEVER, true, Op::Bra(end));
            }
            _ => {
                let label = self.label();
                self.wild.insert(label);
                self.put_if(NEVER, true, Op::Bra(label));
            }
        }
    }

    /// Writes code in which few threads exit.
    pub fn leave(&mut self) {
        if self.traps && self.chance(3) {
            self.rare(GUARD);
            return self.put_if(GUARD, true, Op::Trap);
        }
        if !self.exits {
            return self.wild();
        }
        self.rare(GUARD);
        self.put(Op::Output);
        match self.below(3) {
            0 if !self.is_function => {
                let end = self.end;
                self.put_if(GUARD, true, Op::Bra(end));
            }
            1 if !self.is_function => self.put_if(GUARD, true, Op::Ret),
            _ => self.put_if(GUARD, true, Op::Exit),
        }
    }

    /// Plans operations for all lanes of a scope.
    pub fn plan(&mut self, scope: &Scope) -> Vec<Item> {
        let mut plan = Vec::new();
        for _ in 0..1 + self.below(4) {
            let Some(item) = self.item(scope) else {
                continue;
            };
            let times = if self.chance(4) { 2 + self.below(3) } else { 1 };
            (0..times).for_each(|_| plan.push(item.clone()));
        }
        plan
    }
}
