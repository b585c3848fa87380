//! Code of a program with one name for each value, and its way back to a program with slots.

use crate::values::Values;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use warploom_base::Pc;
use warploom_ir::cfg::Cfg;
use warploom_ir::contexts::{Contexts, Held};
use warploom_ir::liveness::{Liveness, Universe};
use warploom_ir::{
    Code, ConstValue, Dst, ExtraOperands, Inst, Op, Pred, Program, Reg, Src, Var, Written, facts,
    slots,
};

/// Code whose registers and predicates are values: each has its own number.
pub(crate) struct Body {
    /// Instructions; branches lead to positions among them.
    pub insts: Vec<Inst>,
    /// Position of each instruction in the program.
    pub origin: Vec<usize>,
    /// Long operand lists, one for each instruction that has any.
    pub extras: Vec<ExtraOperands>,
    /// Constant operands, by index.
    pub consts: Vec<ConstValue>,
    /// Size in bytes of the kernel's parameters.
    pub param_bytes: u32,
    /// True for each register of 64 bits.
    pub wide: Vec<bool>,
    /// Number of predicate values.
    pub preds: usize,
    /// Register banks of registers and then predicates, as far as they have one.
    banks: Vec<Option<u16>>,
    /// Registers and then predicates that may be read before they are written.
    pub unwritten: FixedBitSet,
}

impl Body {
    /// Names the values of a program of one function; `None` if there are too many.
    pub fn of(program: &Program) -> Option<Self> {
        let values = Values::of(program)?;
        let mut body = Self {
            origin: (0..program.insts.len()).collect(),
            insts: values.insts,
            extras: values.extras,
            consts: program.consts.clone(),
            param_bytes: program.param_bytes,
            wide: values.wide,
            preds: values.preds,
            banks: Vec::new(),
            unwritten: values.unwritten,
        };
        body.banks = body.banks_of(program);
        Some(body)
    }

    /// The code as analyses see it.
    pub fn code(&self) -> Code<'_> {
        Code {
            insts: &self.insts,
            extras: &self.extras,
            start: Pc(0),
        }
    }

    /// Numbering of the values in sets.
    pub fn universe(&self) -> Universe {
        Universe {
            regs: self.wide.len(),
            preds: self.preds,
        }
    }

    /// Blocks of the code, and the values that are live in them.
    pub fn flow(&self) -> (Cfg, Liveness) {
        let code = self.code();
        let cfg = Cfg::new(&code);
        let live = Liveness::new(&code, &cfg, self.universe());
        (cfg, live)
    }

    /// Banks of the values: those of the program's registers, where an instruction tells them.
    fn banks_of(&self, program: &Program) -> Vec<Option<u16>> {
        let universe = self.universe();
        let mut banks = vec![None; universe.len()];
        let code = self.code();
        for (inst, facts) in self.insts.iter().zip(&program.facts) {
            // Values stand for their banks, so that the lists of both have the same order.
            let (reads, writes) =
                facts::banks(&code, inst, |var| u16::try_from(universe.index(var)).ok());
            for (values, known) in [(reads, &facts.bank_reads), (writes, &facts.bank_writes)] {
                if values.len() == known.len() {
                    for (value, bank) in values.into_iter().zip(known) {
                        banks[usize::from(value)] = Some(*bank);
                    }
                }
            }
        }
        banks
    }

    /// Replaces every value by the one that `of` names; values are numbered as in the universe.
    pub fn rename(&mut self, of: &[u32]) {
        let regs = self.wide.len();
        let reg = |reg: Reg| Reg(of[usize::from(reg.0)] as u16);
        let pred = |pred: Pred| Pred((of[regs + usize::from(pred.0)] as usize - regs) as u16);
        rename_all(&mut self.insts, &mut self.extras, &reg, &pred);
    }

    /// Keeps only the instructions of a set, in their order.
    pub fn keep(&mut self, kept: &FixedBitSet) {
        let order: Vec<usize> = (0..self.insts.len()).collect();
        self.lay_out(&order, kept);
    }

    /// Puts all instructions into an order, by their positions, and keeps only those of a set.
    /// Branches to one that goes lead to the next one that stays.
    pub fn lay_out(&mut self, order: &[usize], kept: &FixedBitSet) {
        let mut place = vec![0; self.insts.len()];
        let mut before = 0;
        for &at in order {
            place[at] = before;
            before += usize::from(kept.contains(at));
        }
        self.lead(|target| place[target]);
        let stay = order.iter().copied().filter(|at| kept.contains(*at));
        self.arrange(&stay.collect::<Vec<_>>());
    }

    /// Leads every branch to where `place` puts its target.
    fn lead(&mut self, place: impl Fn(usize) -> usize) {
        for inst in &mut self.insts {
            if matches!(inst.op, Op::Bra(_)) {
                inst.imm = place(inst.imm as usize) as i32;
            }
        }
        let targets = self.extras.iter_mut().flat_map(|extra| &mut extra.targets);
        targets.for_each(|pc| *pc = Pc::new(place(pc.index())));
    }

    /// Puts instructions into an order, by their positions. Branches keep their targets.
    pub fn arrange(&mut self, order: &[usize]) {
        self.insts = order.iter().map(|at| self.insts[*at]).collect();
        self.origin = order.iter().map(|at| self.origin[*at]).collect();
    }

    /// Begins code that takes the place of this one.
    pub fn grow(&self) -> Grown {
        let consts = self.consts.iter().enumerate();
        Grown {
            insts: Vec::new(),
            origin: Vec::new(),
            extras: self.extras.clone(),
            places: consts.map(|(at, value)| (*value, at as u16)).collect(),
            consts: self.consts.clone(),
            old: self.universe(),
            regs: Vec::new(),
            preds: Vec::new(),
        }
    }

    /// Takes the code that grew out of this one.
    pub fn replace(&mut self, grown: Grown) {
        let (regs, preds) = (self.wide.len(), self.preds);
        let like = |reg: &Option<Reg>| reg.map(|reg| usize::from(reg.0));
        let new_regs: Vec<Option<usize>> = grown.regs.iter().map(like).collect();
        let banks = new_regs
            .iter()
            .map(|old| old.and_then(|old| self.banks[old]));
        let pred_banks = grown.preds.iter().map(|old| {
            let old = old.map(|pred| regs + usize::from(pred.0));
            old.and_then(|old| self.banks[old])
        });
        let (reg_banks, old_banks) = self.banks.split_at(regs);
        let all = reg_banks.iter().copied().chain(banks);
        self.banks = all
            .chain(old_banks.iter().copied())
            .chain(pred_banks)
            .collect();
        let unwritten = self.unwritten.ones();
        let more = new_regs.len();
        let shift = |var: usize| if var < regs { var } else { var + more };
        let unwritten: Vec<usize> = unwritten.map(shift).collect();
        for old in new_regs {
            self.wide.push(old.is_some_and(|old| self.wide[old]));
        }
        self.preds = preds + grown.preds.len();
        self.unwritten = FixedBitSet::with_capacity(self.wide.len() + self.preds);
        self.unwritten.extend(unwritten);
        (self.insts, self.origin) = (grown.insts, grown.origin);
        (self.extras, self.consts) = (grown.extras, grown.consts);
    }

    /// Assigns slots and adds the facts. `None` if there are too many registers.
    pub fn into_program(self, text: &Program) -> Option<Program> {
        let code = self.code();
        let (cfg, live) = self.flow();
        let assignment = slots::assign(&code, &cfg, &live, &self.wide);
        let universe = self.universe();
        debug_assert_eq!(
            slots::verify(&code, &cfg, universe, &assignment, &self.wide),
            Ok(())
        );
        let reg_slots = u16::try_from(assignment.reg_slots).ok()?;
        u16::try_from(assignment.reg_slots + assignment.pred_slots).ok()?;
        let reconverge = cfg.reconvergence(&code, true);
        let contexts = Contexts::new(&code, &cfg, &live, &self.wide, &self.consts);
        let reg = |reg: Reg| assignment.regs[usize::from(reg.0)];
        let pred = |pred: Pred| assignment.preds[usize::from(pred.0)];
        let (mut insts, mut extras) = (self.insts.clone(), self.extras.clone());
        rename_all(&mut insts, &mut extras, &reg, &pred);
        let placed = Code {
            insts: &insts,
            extras: &extras,
            start: Pc(0),
        };
        let bank = |var: Var| self.banks[universe.index(var)];
        let facts = insts.iter().enumerate().map(|(at, inst)| {
            let banks = facts::banks(&code, &self.insts[at], bank);
            let pos = text.facts[self.origin[at]].pos;
            facts::of(&placed, inst, reg_slots, banks, reconverge[at], pos)
        });
        let facts = facts.collect();
        let points = contexts.points.iter();
        let written = self.origin.iter().map(|at| *text.written.lines.get(*at)?);
        let lines = match text.written.lines.is_empty() {
            true => Vec::new(),
            false => written.collect(),
        };
        Some(Program {
            facts,
            consts: self.consts,
            reg_slots,
            wide_slots: assignment.wide_slots as u16,
            preds: assignment.pred_slots as u16,
            switch_points: match text.switch_points.is_empty() {
                true => Vec::new(),
                false => points
                    .map(|point| point.place(0, Held::default()))
                    .collect(),
            },
            written: Written {
                files: text.written.files.clone(),
                lines,
            },
            insts,
            extras,
            ..text.clone()
        })
    }
}

/// Code that grows out of that of a body.
pub(crate) struct Grown {
    pub insts: Vec<Inst>,
    pub origin: Vec<usize>,
    pub extras: Vec<ExtraOperands>,
    consts: Vec<ConstValue>,
    places: FxHashMap<ConstValue, u16>,
    /// Numbers of the registers and predicates of the body.
    old: Universe,
    /// New registers and predicates: the old ones whose width and bank they have.
    regs: Vec<Option<Reg>>,
    preds: Vec<Option<Pred>>,
}

impl Grown {
    /// True if there are numbers for `more` further registers, predicates and constants.
    pub fn has_room(&self, more: usize) -> bool {
        let most = usize::from(u16::MAX);
        let regs = self.old.regs + self.regs.len();
        let preds = self.old.preds + self.preds.len();
        regs.max(preds).max(self.consts.len()) + more <= most
    }

    /// A new register like an old one, or one of 32 bits.
    pub fn new_reg(&mut self, like: Option<Reg>) -> Reg {
        self.regs.push(like);
        Reg((self.old.regs + self.regs.len() - 1) as u16)
    }

    /// A new predicate like an old one, or another one.
    pub fn new_pred(&mut self, like: Option<Pred>) -> Pred {
        self.preds.push(like);
        Pred((self.old.preds + self.preds.len() - 1) as u16)
    }

    /// Operand of a constant.
    pub fn constant(&mut self, value: ConstValue) -> Src {
        let consts = &mut self.consts;
        let place = *self.places.entry(value).or_insert_with(|| {
            consts.push(value);
            consts.len() as u16 - 1
        });
        Src::Const(place)
    }
}

/// Renames the operands of all instructions.
fn rename_all(
    insts: &mut [Inst],
    extras: &mut [ExtraOperands],
    reg: &impl Fn(Reg) -> Reg,
    pred: &impl Fn(Pred) -> Pred,
) {
    for inst in insts {
        rename_inst(inst, reg, pred);
    }
    for extra in extras {
        rename_extra(extra, reg, pred);
    }
}

/// Renames the operands of a long list.
pub(crate) fn rename_extra(
    extra: &mut ExtraOperands,
    reg: &impl Fn(Reg) -> Reg,
    pred: &impl Fn(Pred) -> Pred,
) {
    let (srcs, dsts) = (extra.srcs.iter_mut(), extra.dsts.iter_mut());
    srcs.for_each(|src| rename_src(src, reg, pred));
    dsts.for_each(|dst| rename_dst(dst, reg, pred));
}

/// Renames the operands of an instruction except those of its extra.
pub(crate) fn rename_inst(
    inst: &mut Inst,
    reg: &impl Fn(Reg) -> Reg,
    pred: &impl Fn(Pred) -> Pred,
) {
    inst.src
        .iter_mut()
        .for_each(|src| rename_src(src, reg, pred));
    inst.dst
        .iter_mut()
        .for_each(|dst| rename_dst(dst, reg, pred));
    if let Some(guard) = &mut inst.guard {
        guard.pred = pred(guard.pred);
    }
}

fn rename_src(src: &mut Src, reg: &impl Fn(Reg) -> Reg, pred: &impl Fn(Pred) -> Pred) {
    match src {
        Src::Reg(named) => *named = reg(*named),
        Src::Pred(named, _) => *named = pred(*named),
        Src::None | Src::Const(_) | Src::Special(_) => {}
    }
}

fn rename_dst(dst: &mut Dst, reg: &impl Fn(Reg) -> Reg, pred: &impl Fn(Pred) -> Pred) {
    match dst {
        Dst::Reg(named) => *named = reg(*named),
        Dst::Pred(named) => *named = pred(*named),
        Dst::None => {}
    }
}
