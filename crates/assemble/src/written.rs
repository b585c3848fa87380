//! Last writes of registers in the course of a basic block.

use crate::body::Body;
use rustc_hash::FxHashMap;
use warploom_ir::{Inst, Reg, Src, Var};

/// Position of the last write of each register so far.
#[derive(Default)]
pub(crate) struct Written {
    last: FxHashMap<u16, usize>,
}

impl Written {
    /// Passes the instruction at a position.
    pub fn pass(&mut self, body: &Body, at: usize) {
        let code = body.code();
        for var in code.writes(&body.insts[at]) {
            if let Var::Reg(reg) = var {
                self.last.insert(reg.0, at);
            }
        }
    }

    /// The instruction that wrote an operand's register, with its position, if it has no guard and
    /// the registers that it reads are still what they were.
    pub fn source<'a>(&self, body: &'a Body, src: Src) -> Option<(usize, Reg, &'a Inst)> {
        let Src::Reg(reg) = src else { return None };
        let at = *self.last.get(&reg.0)?;
        let inst = &body.insts[at];
        let code = body.code();
        let same = code.reads(inst).all(|var| match var {
            Var::Reg(read) => self.last.get(&read.0).is_none_or(|last| *last < at),
            Var::Pred(_) => false,
        });
        (same && inst.guard.is_none()).then_some((at, reg, inst))
    }
}
