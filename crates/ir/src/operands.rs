//! Variables that an instruction reads and writes, in operand order.
//!
//! Source: the operand layout fixed in [`Inst`]; vectors and call lists are in [`ExtraOperands`].

use crate::inst::{Dst, Extra, Inst, Pred, Reg, Src};
use crate::program::ExtraOperands;
use warploom_base::Pc;

/// Register or predicate, as analyses see it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Var {
    /// Register, named by its first slot.
    Reg(Reg),
    /// Predicate register, named by its number.
    Pred(Pred),
}

/// Part of a program under analysis: one function with virtual or final registers.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    /// Instructions in order. All branch targets are inside.
    pub insts: &'a [Inst],
    /// Long operand lists to which the instructions refer.
    pub extras: &'a [ExtraOperands],
    /// Address of `insts[0]`; branch targets are absolute.
    pub start: Pc,
}

impl<'a> Code<'a> {
    /// Long operands of an instruction, if it has any.
    pub fn extra(&self, inst: &Inst) -> Option<&'a ExtraOperands> {
        (inst.extra != Extra::NONE).then(|| &self.extras[inst.extra.0 as usize])
    }

    /// Variables that the instruction reads: the guard, then the operands in order, with repeats.
    pub fn reads(&self, inst: &'a Inst) -> impl Iterator<Item = Var> + use<'a> {
        let guard = inst.guard.map(|g| Var::Pred(g.pred));
        guard
            .into_iter()
            .chain(self.sources(inst).filter_map(var_of_src))
    }

    /// Source operands in order: those in the instruction, then those of the extra.
    pub fn sources(&self, inst: &'a Inst) -> impl Iterator<Item = Src> + use<'a> {
        let more = self.extra(inst).map_or(&[][..], |e| &e.srcs);
        inst.src.iter().chain(more).copied()
    }

    /// Variables that the instruction writes, in operand order.
    pub fn writes(&self, inst: &'a Inst) -> impl Iterator<Item = Var> + use<'a> {
        let more = self.extra(inst).map_or(&[][..], |e| &e.dsts);
        inst.dst.iter().chain(more).filter_map(|d| var_of_dst(*d))
    }
}

/// Variable that a source operand reads, if there is one.
pub fn var_of_src(src: Src) -> Option<Var> {
    match src {
        Src::Reg(reg) => Some(Var::Reg(reg)),
        Src::Pred(pred, _) => Some(Var::Pred(pred)),
        Src::None | Src::Const(_) | Src::Special(_) => None,
    }
}

/// Variable that a destination operand writes, if there is one.
pub fn var_of_dst(dst: Dst) -> Option<Var> {
    match dst {
        Dst::Reg(reg) => Some(Var::Reg(reg)),
        Dst::Pred(pred) => Some(Var::Pred(pred)),
        Dst::None => None,
    }
}
