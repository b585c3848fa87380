//! Random programs: the assignment passes the checker, and a thread that walks a random path reads
//! from slots what it would read from registers of its own, and finds no result of a register in
//! them that its instruction does not name.

use super::{Assignment, SlotError, assign, verify};
use crate::cfg::Cfg;
use crate::inst::{Dst, Extra, Guard, Inst, Pred, Reg, Src};
use crate::liveness::{Liveness, Universe};
use crate::op::{Cmp, Combine, IntBin, IntTy, Op, Ty, Width};
use crate::operands::{Code, Var};
use crate::program::ExtraOperands;
use proptest::prelude::*;
use warploom_base::{Pc, Rng};

const REGS: u16 = 9;
const PREDS: u16 = 3;

/// A function with virtual registers.
#[derive(Clone, Debug)]
struct Sample {
    insts: Vec<Inst>,
    extras: Vec<ExtraOperands>,
    wide: Vec<bool>,
}

impl Sample {
    fn code(&self) -> Code<'_> {
        Code {
            insts: &self.insts,
            extras: &self.extras,
            start: Pc(0),
        }
    }

    fn universe(&self) -> Universe {
        Universe {
            regs: usize::from(REGS),
            preds: usize::from(PREDS),
        }
    }
}

fn inst(op: Op) -> Inst {
    Inst {
        op,
        guard: None,
        dst: [Dst::None; 2],
        src: [Src::None; 4],
        imm: 0,
        extra: Extra::NONE,
        wide_addr: false,
    }
}

/// Makes an instruction from random numbers; `len` is the program's length.
fn make(choice: u8, a: u16, b: u16, c: u16, guard: u8, len: usize, sample: &mut Sample) -> Inst {
    let reg = |n: u16| Reg(n % REGS);
    let pred = |n: u16| Pred(n % PREDS);
    let mut made = match choice % 8 {
        0..=2 => Inst {
            dst: [Dst::Reg(reg(a)), Dst::None],
            src: [Src::Reg(reg(b)), Src::Reg(reg(c)), Src::None, Src::None],
            ..inst(Op::Int(IntBin::Add, IntTy::U32))
        },
        3 => Inst {
            dst: [Dst::Pred(pred(a)), Dst::Pred(pred(a + 1))],
            src: [
                Src::Reg(reg(b)),
                Src::Pred(pred(c), true),
                Src::None,
                Src::None,
            ],
            ..inst(Op::Setp(Cmp::Lt, Combine::None, Ty::Int(IntTy::U32), false))
        },
        4 => {
            sample.extras.push(ExtraOperands {
                dsts: vec![Dst::Reg(reg(a)), Dst::Reg(reg(a + 1)), Dst::None],
                srcs: vec![Src::Reg(reg(b)), Src::Reg(reg(c))],
                ..ExtraOperands::default()
            });
            Inst {
                extra: Extra(sample.extras.len() as u32 - 1),
                ..inst(Op::Unpack {
                    part: Width::B32,
                    whole: Width::B64,
                })
            }
        }
        5 => Inst {
            src: [Src::Reg(reg(a)), Src::None, Src::None, Src::None],
            ..inst(Op::Nanosleep)
        },
        6 => Inst {
            imm: i32::from(b) % len as i32,
            ..inst(Op::Bra(false))
        },
        _ => inst(Op::Exit),
    };
    let exits = matches!(made.op, Op::Exit);
    if guard.is_multiple_of(3) || exits && !guard.is_multiple_of(4) {
        made.guard = Some(Guard {
            pred: pred(u16::from(guard)),
            negated: false,
            overwrites: false,
        });
    }
    made
}

fn samples() -> impl Strategy<Value = Sample> {
    let numbers = (any::<u8>(), 0..100_u16, 0..100_u16, 0..100_u16, any::<u8>());
    let wide = prop::collection::vec(any::<bool>(), usize::from(REGS));
    (prop::collection::vec(numbers, 1..40), wide).prop_map(|(list, wide)| {
        let mut sample = Sample {
            insts: Vec::new(),
            extras: Vec::new(),
            wide,
        };
        for &(choice, a, b, c, guard) in &list {
            let made = make(choice, a, b, c, guard, list.len(), &mut sample);
            sample.insts.push(made);
        }
        sample
    })
}

fn assigned(sample: &Sample) -> Assignment {
    let code = sample.code();
    let cfg = Cfg::new(&code);
    let live = Liveness::new(&code, &cfg, sample.universe());
    assign(&code, &cfg, &live, &sample.wide)
}

fn check(sample: &Sample, assignment: &Assignment) -> Result<(), SlotError> {
    let code = sample.code();
    let cfg = Cfg::new(&code);
    verify(&code, &cfg, sample.universe(), assignment, &sample.wide)
}

/// Thread on a random path, with registers of its own and with slots.
struct Walk<'a> {
    sample: &'a Sample,
    assignment: &'a Assignment,
    own: Vec<u64>,
    slots: Vec<u64>,
    next_value: u64,
    /// Registers and predicates that nothing has named since they were written.
    pending: Vec<Var>,
}

impl Walk<'_> {
    fn places(&self, var: Var) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        match var {
            Var::Reg(reg) => {
                let width = 1 + usize::from(self.sample.wide[usize::from(reg.0)]);
                let own = usize::from(reg.0) * 2;
                let slot = usize::from(self.assignment.regs[usize::from(reg.0)].0);
                (own..own + width, slot..slot + width)
            }
            Var::Pred(pred) => {
                let own = usize::from(REGS) * 2 + usize::from(pred.0);
                let place = usize::from(self.assignment.preds[usize::from(pred.0)].0);
                let slot = self.assignment.reg_slots + place;
                (own..own + 1, slot..slot + 1)
            }
        }
    }

    /// An instruction waits for what it names, and for nothing else.
    fn wait(&mut self, inst: &Inst) {
        let code = self.sample.code();
        let named: Vec<Var> = code.reads(inst).chain(code.writes(inst)).collect();
        self.pending.retain(|var| !named.contains(var));
        for (var, other) in named
            .iter()
            .flat_map(|v| self.pending.iter().map(move |o| (v, o)))
        {
            let (slots, others) = (self.places(*var).1, self.places(*other).1);
            let apart = slots.end <= others.start || others.end <= slots.start;
            assert!(apart, "{var:?} waits for {other:?}");
        }
        self.pending.extend(code.writes(inst));
    }

    fn step(&mut self, at: usize, rng: &mut Rng) -> usize {
        let sample = self.sample;
        let inst = &sample.insts[at];
        self.wait(inst);
        for var in sample.code().reads(inst) {
            let (own, slots) = self.places(var);
            assert_eq!(self.own[own], self.slots[slots], "{var:?} at {at}");
        }
        let taken = inst.guard.is_none() || rng.below(2) == 0;
        for var in sample.code().writes(inst).filter(|_| taken) {
            let (own, slots) = self.places(var);
            for (own, slot) in own.zip(slots) {
                self.next_value += 1;
                self.own[own] = self.next_value;
                self.slots[slot] = self.next_value;
            }
        }
        match inst.op {
            Op::Bra(_) if taken => inst.imm as usize,
            Op::Exit if taken => sample.insts.len(),
            _ => at + 1,
        }
    }
}

fn walk(sample: &Sample, assignment: &Assignment, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut walk = Walk {
        sample,
        assignment,
        own: vec![0; usize::from(REGS) * 2 + usize::from(PREDS)],
        slots: vec![0; assignment.reg_slots + assignment.pred_slots],
        next_value: 0,
        pending: Vec::new(),
    };
    let mut at = 0;
    for _ in 0..200 {
        if at >= sample.insts.len() {
            return;
        }
        at = walk.step(at, &mut rng);
    }
}

proptest! {
    #[test]
    fn random_programs_keep_their_values(sample in samples(), seed in any::<u64>()) {
        let assignment = assigned(&sample);
        prop_assert_eq!(check(&sample, &assignment), Ok(()));
        for nth in 0..4 {
            walk(&sample, &assignment, seed.wrapping_add(nth));
        }
        for (reg, wide) in assignment.regs.iter().zip(&sample.wide) {
            prop_assert!(!wide || reg.0 % 2 == 0, "64-bit registers are aligned");
        }
    }
}

/// r0 = ..; r1 = ..; use r0, r1.
fn two_live() -> Sample {
    let def = |reg| Inst {
        dst: [Dst::Reg(Reg(reg)), Dst::None],
        ..inst(Op::Mov(Width::B32))
    };
    let read = Inst {
        src: [Src::Reg(Reg(0)), Src::Reg(Reg(1)), Src::None, Src::None],
        ..inst(Op::Nanosleep)
    };
    Sample {
        insts: vec![def(0), def(1), read, inst(Op::Exit)],
        extras: Vec::new(),
        wide: vec![false; usize::from(REGS)],
    }
}

#[test]
fn the_checker_notices_shared_slots() {
    let sample = two_live();
    let good = assigned(&sample);
    assert_eq!((good.reg_slots, good.pred_slots), (2, 0));
    let mut bad = good.clone();
    bad.regs[1] = bad.regs[0];
    let error = check(&sample, &bad).expect_err("r1 overwrote r0");
    assert_eq!((error.at, error.var), (2, Var::Reg(Reg(0))));
}

#[test]
fn a_dying_source_gives_its_slots_to_the_destination() {
    let mut sample = two_live();
    sample.insts[2] = Inst {
        dst: [Dst::Reg(Reg(2)), Dst::None],
        ..sample.insts[2]
    };
    assert_eq!(assigned(&sample).reg_slots, 2);
    sample.wide[2] = true;
    let wider = assigned(&sample);
    let places = [wider.regs[2], wider.regs[0], wider.regs[1]];
    assert_eq!(
        places,
        [Reg(0), Reg(2), Reg(3)],
        "another width takes slots of its own"
    );
}

/// r0 is never read, so what r1 takes would have to wait for it.
#[test]
fn a_result_that_nobody_reads_keeps_its_slot() {
    let mut sample = two_live();
    sample.insts[2].src = [Src::Reg(Reg(1)), Src::None, Src::None, Src::None];
    let assignment = assigned(&sample);
    assert_eq!(assignment.reg_slots, 2);
    assert_ne!(assignment.regs[0], assignment.regs[1]);
}

#[test]
fn widths_never_share_a_slot() {
    // r0 is dead when r2 is written, but lanes that wait elsewhere may still need theirs.
    let mut sample = two_live();
    let def = Inst {
        dst: [Dst::Reg(Reg(2)), Dst::None],
        src: [Src::None; 4],
        ..sample.insts[0]
    };
    sample.insts.insert(3, def);
    sample.wide[2] = true;
    let good = assigned(&sample);
    assert_eq!(check(&sample, &good), Ok(()));
    let mut bad = good;
    bad.regs[2] = Reg(2);
    let error = check(&sample, &bad).expect_err("r2 lies in the lanes of r0 and r1");
    assert_eq!((error.at, error.var), (3, Var::Reg(Reg(2))));
}
