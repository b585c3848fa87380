//! Values that machine code holds in fewer registers than PTX suggests.

use crate::inst::{Inst, SpecialReg, Src};
use crate::op::{IntBin, MemSpace, Op};
use crate::operands::{Code, Var};
use fixedbitset::FixedBitSet;

/// Registers whose value can be obtained again at any time: literals, kernel parameters and launch
/// sizes (the machine reads these from its constant bank), and copies of them.
pub(super) fn rematerialised(code: &Code, count: usize) -> FixedBitSet {
    let mut written = FixedBitSet::with_capacity(count);
    let mut again = FixedBitSet::with_capacity(count);
    for reg in code
        .insts
        .iter()
        .flat_map(|inst| code.writes(inst))
        .filter_map(reg_of)
    {
        again.set(reg, written.put(reg) || again.contains(reg));
    }
    let mut free = FixedBitSet::with_capacity(count);
    for inst in code.insts {
        if inst.guard.is_none() && is_cheap(inst, &free) {
            let writes = code.writes(inst).filter_map(reg_of);
            writes
                .filter(|reg| !again.contains(*reg))
                .for_each(|reg| free.insert(reg));
        }
    }
    free
}

fn reg_of(var: Var) -> Option<usize> {
    match var {
        Var::Reg(reg) => Some(usize::from(reg.0)),
        Var::Pred(_) => None,
    }
}

fn is_cheap(inst: &Inst, free: &FixedBitSet) -> bool {
    match inst.op {
        Op::Ld(MemSpace::Param, ..) => inst.src[0] == Src::None,
        Op::Mov(_) | Op::Cvta(..) => match inst.src[0] {
            Src::Const(_) => true,
            Src::Reg(reg) => free.contains(usize::from(reg.0)),
            Src::Special(special) => is_launch_size(special),
            Src::None | Src::Pred(..) => false,
        },
        _ => false,
    }
}

fn is_launch_size(special: SpecialReg) -> bool {
    use SpecialReg as S;
    matches!(
        special,
        S::NtidX | S::NtidY | S::NtidZ | S::NctaidX | S::NctaidY | S::NctaidZ
    )
}

/// 64-bit registers that hold only addresses in shared or local memory: every use is such an
/// address, or leads to one by additions and copies. The result is the greatest set with that
/// property.
pub(super) fn short_addresses(code: &Code, wide: &[bool]) -> FixedBitSet {
    let mut short = FixedBitSet::with_capacity(wide.len());
    for (reg, _) in wide.iter().enumerate().filter(|(_, wide)| **wide) {
        short.insert(reg);
    }
    loop {
        let mut smaller = short.clone();
        let mut used = FixedBitSet::with_capacity(wide.len());
        for inst in code.insts {
            let carries = carries_addresses(inst)
                && code
                    .writes(inst)
                    .filter_map(reg_of)
                    .all(|reg| short.contains(reg));
            for (nth, src) in code.sources(inst).enumerate() {
                let Src::Reg(reg) = src else { continue };
                used.insert(usize::from(reg.0));
                let address = nth == 0 && is_short_access(inst.op);
                if !carries && !address {
                    smaller.set(usize::from(reg.0), false);
                }
            }
        }
        smaller.intersect_with(&used);
        if smaller == short {
            return short;
        }
        short = smaller;
    }
}

fn carries_addresses(inst: &Inst) -> bool {
    matches!(inst.op, Op::Int(IntBin::Add | IntBin::Sub, _) | Op::Mov(_))
}

fn is_short_access(op: Op) -> bool {
    let (Op::Ld(space, ..) | Op::St(space, ..) | Op::Atom(space, ..)) = op else {
        return false;
    };
    matches!(
        space,
        MemSpace::Shared | MemSpace::Local | MemSpace::FrameParam
    )
}
