//! Issue slots of lines by the kind of work, for the step against too many instructions.

use super::{LineCounter, line};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use warploom_analyze::{IssuedLine, Work};
use warploom_base::Pc;
use warploom_ir::{Inst, InstClass, MemClass, Op, Program, Unit, machine_instructions};

impl LineCounter<'_> {
    /// The lines of all kernels with the issue slots that their instructions take on the machine.
    pub fn issued(&self) -> Vec<IssuedLine> {
        let mut lines: BTreeMap<(&str, String), IssuedLine> = BTreeMap::new();
        for (program, counts) in &self.programs {
            let loops = loops(program);
            let counted = counts.iter().enumerate();
            for (at, (_, count)) in counted.filter(|(_, (_, count))| count.issued > 0) {
                let place = line(program, Pc::new(at));
                let key = (program.name.as_str(), place.clone());
                let line = lines.entry(key).or_insert_with(|| IssuedLine {
                    kernel: program.name.clone(),
                    line: place,
                    in_loop: false,
                    slots: BTreeMap::new(),
                });
                line.in_loop |= loops.iter().any(|of| of.contains(&at));
                *line.slots.entry(work(program, at)).or_default() +=
                    count.issued * self.slots(program, at);
            }
        }
        lines.into_values().collect()
    }

    /// Issue slots that an instruction takes.
    fn slots(&self, program: &Program, at: usize) -> u64 {
        match self.gpu.sm.machine_instructions {
            true => machine_instructions(&program.insts[at]).into(),
            false => 1,
        }
    }
}

/// The instructions of each loop: from the target of a branch back to the branch.
fn loops(program: &Program) -> Vec<RangeInclusive<usize>> {
    let insts = program.insts.iter().enumerate();
    let branches = insts.filter(|(_, inst)| matches!(inst.op, Op::Bra(_)));
    let loops = branches.map(|(at, inst)| inst.imm as usize..=at);
    loops.filter(|of| !of.is_empty()).collect()
}

/// Kind of an instruction's work.
fn work(program: &Program, at: usize) -> Work {
    use InstClass as C;
    let (inst, facts) = (&program.insts[at], &program.facts[at]);
    match facts.class {
        C::IntDiv => Work::IntegerDivision,
        C::F32Div | C::F32DivFast | C::F64Div => Work::Division,
        C::Sfu | C::SfuScaled | C::SfuRounded | C::SfuF64 => Work::SpecialFunction,
        C::IntAdd | C::IntMinMax | C::IntMul | C::IntMad | C::IntMul24 | C::IntMad24 => {
            Work::Integer
        }
        C::F32Add | C::F32MinMax | C::F32Mul | C::F32Mad => Work::Float,
        C::F64Add | C::F64MinMax | C::F64Mul | C::F64Mad => Work::Float,
        C::Tensor(_) | C::WarpGroup(_) => Work::Float,
        C::Branch | C::Call | C::Return | C::Exit => Work::Control,
        C::Load(MemClass::Shared) | C::Store(MemClass::Shared) | C::Atomic(MemClass::Shared) => {
            Work::Shared
        }
        C::Load(MemClass::Param) => Work::Move,
        C::Load(_) | C::Store(_) | C::Atomic(_) | C::CopyAsync | C::Bulk => Work::Access,
        C::Shuffle => Work::Exchange,
        C::Barrier => Work::Barrier,
        C::Membar | C::CopyCommit | C::CopyWait(_) | C::AsyncCommit(_) | C::AsyncWait(..) => {
            Work::Wait
        }
        C::Simple => simple(inst, facts.unit),
    }
}

/// Kind of the work of moves, conversions, logic, shifts and comparisons.
fn simple(inst: &Inst, unit: Option<Unit>) -> Work {
    match inst.op {
        Op::Setp(..) | Op::Set(..) | Op::Selp(_) | Op::Slct { .. } => Work::Control,
        Op::LogicPred(_) | Op::NotPred | Op::MovPred => Work::Control,
        Op::Mov(_) | Op::Pack { .. } | Op::Unpack { .. } | Op::Cvt { .. } | Op::Cvta(..) => {
            Work::Move
        }
        _ if unit.is_some_and(Unit::is_float) => Work::Float,
        _ => Work::Integer,
    }
}
