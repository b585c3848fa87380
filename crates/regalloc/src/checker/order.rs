//! The order of the original's instructions in the new program: the check that a changed order
//! computes the same.
//!
//! Instructions may change places within a region only. A region ends at every label and at every
//! instruction that is not arithmetic or a plain load or store. Two instructions may change places
//! if neither writes a register that the other reads or writes, and if they do not access the same
//! memory, unless both read it.

use super::flat::{Flat, FlatInst, Reg};
use super::{Refusal, refuse};
use crate::emit::Step;
use std::collections::BTreeSet;
use warploom_ptx::access::Access;
use warploom_ptx::ast::Operand;
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// Returns the original with its instructions in the order of `steps`.
pub(super) fn reorder(old: Flat, steps: &[Step]) -> Result<Flat, Refusal> {
    let originals = steps.iter().filter_map(|step| match step {
        Step::Kept(number) | Step::Deleted(number) => Some(*number as usize),
        Step::Inserted => None,
    });
    let order: Vec<usize> = originals.collect();
    if order.len() != old.insts.len() {
        return refuse("the programs' lengths do not fit");
    }
    for region in regions(&old) {
        if region.clone().all(|at| order[at] == at) {
            continue;
        }
        let found: BTreeSet<usize> = order[region.clone()].iter().copied().collect();
        if found.len() != region.len() || found.iter().any(|at| !region.contains(at)) {
            return refuse("instructions of the original are out of order");
        }
        check_region(&old, &order[region])?;
    }
    let mut insts: Vec<Option<FlatInst>> = old.insts.into_iter().map(Some).collect();
    let reordered = order.iter().filter_map(|at| insts[*at].take()).collect();
    Ok(Flat {
        insts: reordered,
        ..old
    })
}

/// Returns the ranges of instructions that may change places, and every other instruction as a
/// range of its own.
fn regions(old: &Flat) -> Vec<std::ops::Range<usize>> {
    let labels: BTreeSet<usize> = old.labels.iter().map(|(_, at)| *at).collect();
    let mut found = Vec::new();
    let mut start = 0;
    for (at, inst) in old.insts.iter().enumerate() {
        if labels.contains(&at) || !moves(inst) {
            found.push(start..at);
            start = at;
        }
        if !moves(inst) {
            found.push(at..at + 1);
            start = at + 1;
        }
    }
    found.push(start..old.insts.len());
    found
}

/// Checks that all instructions of a region that change places are independent.
fn check_region(old: &Flat, order: &[usize]) -> Result<(), Refusal> {
    for (place, &later) in order.iter().enumerate() {
        let overtaken = order[place + 1..].iter().filter(|other| **other < later);
        for &earlier in overtaken {
            let (a, b) = (&old.insts[earlier], &old.insts[later]);
            if !are_independent(a, b) {
                return Err(Refusal {
                    message: format!("`{}` has moved before it", b.blank),
                    instruction: a.blank.to_string(),
                });
            }
        }
    }
    Ok(())
}

fn are_independent(a: &FlatInst, b: &FlatInst) -> bool {
    let touches = |inst: &FlatInst, reg: Reg| inst.regs.iter().any(|(other, _)| *other == reg);
    let overwrites = |from: &FlatInst, of: &FlatInst| {
        let mut writes = from
            .regs
            .iter()
            .filter(|(_, access)| *access == Access::Write);
        writes.any(|(reg, _)| touches(of, *reg))
    };
    let apart = match (memory(a), memory(b)) {
        (Some(one), Some(other)) => {
            let reads = a.blank.opcode != Opcode::St && b.blank.opcode != Opcode::St;
            reads || (one.is_some() && other.is_some() && one != other)
        }
        _ => true,
    };
    apart && !overwrites(a, b) && !overwrites(b, a)
}

/// Returns the state space that an instruction accesses: `Some(None)` for a generic address, and
/// `None` if it accesses no memory. Textures are in global memory.
fn memory(inst: &FlatInst) -> Option<Option<Space>> {
    let spaces = inst.blank.modifiers.iter().map(|m| match m.node {
        Modifier::Space(space) => Some(space),
        _ => None,
    });
    match inst.blank.opcode.node {
        Opcode::Ld | Opcode::St => Some(spaces.flatten().next()),
        Opcode::Tex | Opcode::Tld4 => Some(Some(Space::Global)),
        _ => None,
    }
}

/// Operations without effects beyond the registers that they write.
const COMPUTES: &str = "abs add and bfe bfi bfind bmsk brev clz cnot copysign cos cvt cvta div dp2a \
    dp4a ex2 fma lg2 lop3 mad mad24 max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad \
    selp set setp shf shl shr sin slct sqrt sub szext tanh testp tex tld4 xor";
/// Special registers that do not change during the lifetime of a thread.
const CONSTANT: [&str; 5] = ["%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid"];

/// Returns whether an instruction may change places with others.
fn moves(inst: &FlatInst) -> bool {
    let blank = &inst.blank;
    let weak = |m: &Modifier| {
        let cached = matches!(m, Modifier::Nc | Modifier::Ca | Modifier::Cg | Modifier::Cs);
        let shape = matches!(m, Modifier::V2 | Modifier::V4 | Modifier::Type(_));
        cached || shape || matches!(m, Modifier::Space(_))
    };
    match blank.opcode.node {
        Opcode::Ld | Opcode::St => blank.modifiers.iter().all(|m| weak(&m.node)),
        opcode => {
            let carries = blank.modifiers.iter().any(|m| m.node == Modifier::Cc);
            let computes = COMPUTES
                .split_whitespace()
                .any(|word| word == opcode.text());
            computes && !carries && blank.operands.iter().all(|o| is_constant(&o.node))
        }
    }
}

/// Returns whether an operand is no special register that changes with time.
fn is_constant(operand: &Operand) -> bool {
    match operand {
        Operand::Name(name) if name.starts_with('%') => {
            CONSTANT.iter().any(|constant| name.starts_with(constant))
        }
        _ => true,
    }
}
