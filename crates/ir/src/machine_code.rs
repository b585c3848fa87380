//! Number of machine instructions that an instruction of PTX is on a GPU.
//!
//! Source: the machine code that the assembler of CUDA 13.0 makes for `sm_90` of kernels with one
//! such instruction, disassembled, without the code for operands that need a slow path (subnormal
//! numbers, infinities, zero).

use crate::inst::{Inst, Src};
use crate::op::{FloatBin, FloatTy, FloatUn, Half, IntBin, IntTy, IntUn, Op, Ty, Width};

/// Machine instructions that a warp issues for an instruction on the usual path.
pub fn machine_instructions(inst: &Inst) -> u8 {
    match inst.op {
        Op::Int(op, ty) => int(op, ty, inst),
        Op::IntUn(op, ty) => int_unary(op, ty),
        Op::Mul(Half::Lo, ty) | Op::Mad(Half::Lo, ty, _) if is_64(ty) => 4,
        Op::Mul(Half::Hi, IntTy::U64) | Op::Mad(Half::Hi, IntTy::U64, _) => 7,
        Op::Mul(Half::Hi, IntTy::S64) | Op::Mad(Half::Hi, IntTy::S64, _) => 17,
        Op::Mul24(..) | Op::Mad24(..) => 3,
        Op::Logic(_, Width::B64) | Op::Not(Width::B64) | Op::Selp(Width::B64) => 2,
        Op::Shl(Width::B64) => 2,
        Op::Shr(ty) if is_64(ty) => 2,
        Op::Setp(_, _, Ty::Int(ty), _) if is_64(ty) => 2,
        Op::Setp(_, _, Ty::Bits(Width::B64), _) => 2,
        Op::Bfe(ty) => bit_field(inst, if is_64(ty) { (3, 9) } else { (2, 5) }),
        Op::Bfi(width) => bit_field(inst, if width == Width::B64 { (4, 13) } else { (3, 6) }),
        Op::Float(op, ty, mods) => division(op, ty, mods.ftz),
        Op::FloatUn(op, ty, mods) => function(op, ty, mods.ftz),
        Op::FloatMinMax(_, FloatTy::F64) => 7,
        _ => 1,
    }
}

/// True if the machine code of an instruction contains a branch, to code for rare operands or to a
/// function. An assembler moves nothing across it.
pub fn contains_branch(op: Op) -> bool {
    match op {
        Op::Int(IntBin::Div | IntBin::Rem, ty) => !matches!(ty, IntTy::U32 | IntTy::S32),
        Op::Float(FloatBin::Div, ..) => true,
        Op::FloatUn(FloatUn::Sqrt | FloatUn::Rcp, ..) => true,
        Op::FloatUn(FloatUn::RsqrtApprox, FloatTy::F64, _) => true,
        _ => false,
    }
}

fn is_64(ty: IntTy) -> bool {
    matches!(ty, IntTy::U64 | IntTy::S64)
}

/// Integer arithmetic. A division of 64 or 16 bits is a call of a function.
fn int(op: IntBin, ty: IntTy, inst: &Inst) -> u8 {
    let by_literal = matches!(inst.src[1], Src::Const(_));
    match op {
        IntBin::Div | IntBin::Rem => integer_division(op == IntBin::Rem, ty, by_literal),
        IntBin::Min | IntBin::Max if is_64(ty) => 4,
        // Most are addresses, which an assembler folds further than the crate `assemble`.
        IntBin::Add | IntBin::Sub => 1,
        _ if is_64(ty) => 2,
        _ => 1,
    }
}

/// Division of integers and its remainder. A literal divisor saves the checks for zero; front ends
/// make a product of such a division before the assembler sees it.
fn integer_division(remainder: bool, ty: IntTy, by_literal: bool) -> u8 {
    match (ty, remainder) {
        (IntTy::U64, false) => 72,
        (IntTy::U64, true) => 68,
        (IntTy::S64, false) => 88,
        (IntTy::S64, true) => 82,
        (IntTy::U16, false) => 21,
        (IntTy::U16, true) => 23,
        (IntTy::S16, false) => 27,
        (IntTy::S16, true) => 30,
        (IntTy::S32, false) if by_literal => 18,
        (IntTy::S32, true) if by_literal => 16,
        (IntTy::S32, false) => 25,
        (IntTy::S32, true) => 22,
        (_, false) if by_literal => 14,
        (_, true) if by_literal => 13,
        (_, false) => 18,
        (_, true) => 17,
    }
}

fn int_unary(op: IntUn, ty: IntTy) -> u8 {
    match (op, is_64(ty)) {
        (IntUn::Clz, false) => 2,
        (IntUn::Neg | IntUn::Brev, true) => 2,
        (IntUn::Popc, true) => 3,
        (IntUn::Abs, true) => 5,
        (IntUn::Clz | IntUn::Bfind | IntUn::BfindShiftAmt, true) => 6,
        _ => 1,
    }
}

/// Count of a bit field: the first of two if place and length are literals.
fn bit_field(inst: &Inst, counts: (u8, u8)) -> u8 {
    let is_last = |src: &&Src| **src != Src::None;
    let last: Vec<&Src> = inst.src.iter().filter(is_last).collect();
    let literal = last
        .iter()
        .rev()
        .take(2)
        .all(|src| matches!(src, Src::Const(_)));
    if literal { counts.0 } else { counts.1 }
}

/// Division. Without `.ftz` the approximations scale subnormal operands.
fn division(op: FloatBin, ty: FloatTy, ftz: bool) -> u8 {
    match (op, ty, ftz) {
        (FloatBin::Div, FloatTy::F64, _) => 16,
        (FloatBin::Div, ..) => 10,
        (FloatBin::DivFull, _, false) => 8,
        (FloatBin::DivFull, _, true) | (FloatBin::DivApprox, _, false) => 5,
        (FloatBin::DivApprox, _, true) => 2,
        _ => 1,
    }
}

/// Roots, reciprocals and special functions.
fn function(op: FloatUn, ty: FloatTy, ftz: bool) -> u8 {
    let double = ty == FloatTy::F64;
    match op {
        FloatUn::Sqrt if double => 18,
        FloatUn::Rcp if double => 11,
        FloatUn::RsqrtApprox if double => 13,
        FloatUn::RcpApproxF64 | FloatUn::RsqrtApproxF64 => 2,
        FloatUn::Sqrt | FloatUn::Rcp => 10,
        FloatUn::SinApprox | FloatUn::CosApprox => 2,
        FloatUn::RcpApprox if !ftz => 8,
        FloatUn::SqrtApprox | FloatUn::RsqrtApprox | FloatUn::Ex2Approx | FloatUn::Lg2Approx
            if !ftz && ty == FloatTy::F32 =>
        {
            4
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inst::{Dst, Extra, Reg};
    use crate::op::{FloatMods, Logic, Round};

    fn count(op: Op, src: [Src; 4]) -> u8 {
        machine_instructions(&Inst {
            op,
            guard: None,
            dst: [Dst::Reg(Reg(0)), Dst::None],
            src,
            imm: 0,
            extra: Extra::NONE,
            wide_addr: false,
        })
    }

    const REG: Src = Src::Reg(Reg(1));
    const LITERAL: Src = Src::Const(0);

    #[test]
    fn arithmetic_of_64_bits_is_several_instructions() {
        let two = [REG, REG, Src::None, Src::None];
        assert_eq!(count(Op::Int(IntBin::Add, IntTy::S32), two), 1);
        assert_eq!(count(Op::Int(IntBin::Add, IntTy::S64), two), 1);
        assert_eq!(count(Op::Logic(Logic::And, Width::B64), two), 2);
        assert_eq!(count(Op::Mul(Half::Wide, IntTy::S32), two), 1);
        assert_eq!(count(Op::Mul(Half::Lo, IntTy::S64), two), 4);
    }

    #[test]
    fn a_literal_shortens_divisions_and_bit_fields() {
        let div = Op::Int(IntBin::Div, IntTy::U32);
        assert_eq!(count(div, [REG, REG, Src::None, Src::None]), 18);
        assert_eq!(count(div, [REG, LITERAL, Src::None, Src::None]), 14);
        let field = Op::Bfe(IntTy::U32);
        assert_eq!(count(field, [REG, LITERAL, LITERAL, Src::None]), 2);
        assert_eq!(count(field, [REG, LITERAL, REG, Src::None]), 5);
    }

    #[test]
    fn subnormal_operands_cost_functions_their_scaling() {
        let of = |op, ftz| {
            let round = Round::Near;
            let mods = FloatMods {
                round,
                ftz,
                sat: false,
                relu: false,
            };
            let op = Op::FloatUn(op, FloatTy::F32, mods);
            count(op, [REG, Src::None, Src::None, Src::None])
        };
        assert_eq!(
            (of(FloatUn::Ex2Approx, true), of(FloatUn::Ex2Approx, false)),
            (1, 4)
        );
        assert_eq!(
            (of(FloatUn::Sqrt, true), of(FloatUn::Sqrt, false)),
            (10, 10)
        );
    }
}
