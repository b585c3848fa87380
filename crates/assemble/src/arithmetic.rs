//! Results of integer arithmetic on literals.

use warploom_ir::{
    Cmp, CvtRound, FloatTy, Half, IntBin, IntTy, IntUn, Logic, Op, Round, Ty, Width,
};

/// Result of an operation on literals, if it is one of integer arithmetic. Bits above the type of
/// the result are zero.
pub(crate) fn value(op: Op, [a, b, c, _]: [Option<u64>; 4]) -> Option<u64> {
    let a = a?;
    match op {
        Op::Int(op, ty) => {
            let (x, y) = (number(ty, a)?, number(ty, b?)?);
            bits(ty, integer(op, x, y)?)
        }
        Op::IntUn(IntUn::Neg, ty) => bits(ty, -number(ty, a)?),
        Op::Mul(half, ty) => product(half, ty, [a, b?], 0),
        Op::Mad(half, ty, false) => product(half, ty, [a, b?], c?),
        Op::Logic(Logic::And, _) => Some(a & b?),
        Op::Logic(Logic::Or, _) => Some(a | b?),
        Op::Logic(Logic::Xor, _) => Some(a ^ b?),
        Op::Shl(width) => {
            let ty = unsigned(width);
            let by = (b? as u32).min(64);
            bits(ty, number(ty, a)? << by)
        }
        Op::Shr(ty) => {
            let by = (b? as u32).min(64);
            bits(ty, number(ty, a)? >> by)
        }
        Op::Cvt {
            to: Ty::Int(to),
            from: Ty::Int(from),
            sat: false,
            ..
        } => bits(to, number(from, a)?),
        Op::Cvt {
            to: Ty::Int(IntTy::S32),
            from: Ty::Float(FloatTy::F32),
            round: CvtRound::Integral(round),
            ..
        } => rounded(f32::from_bits(a as u32), round),
        _ => None,
    }
}

/// Result of a comparison of two literals, if they are integers.
pub(crate) fn compare(cmp: Cmp, ty: Ty, a: u64, b: u64) -> Option<bool> {
    let ty = match ty {
        Ty::Int(ty) => ty,
        Ty::Bits(width) => unsigned(width),
        Ty::Float(_) => return None,
    };
    let [signed, plain] = [ty, unsigned_of(ty)?].map(|ty| Some([number(ty, a)?, number(ty, b)?]));
    let ([x, y], [u, v]) = (signed?, plain?);
    Some(match cmp {
        Cmp::Eq => x == y,
        Cmp::Ne => x != y,
        Cmp::Lt => x < y,
        Cmp::Le => x <= y,
        Cmp::Gt => x > y,
        Cmp::Ge => x >= y,
        Cmp::Lo => u < v,
        Cmp::Ls => u <= v,
        Cmp::Hi => u > v,
        Cmp::Hs => u >= v,
        _ => return None,
    })
}

const fn unsigned_of(ty: IntTy) -> Option<IntTy> {
    Some(match ty {
        IntTy::U8 | IntTy::S8 => IntTy::U8,
        IntTy::U16 | IntTy::S16 => IntTy::U16,
        IntTy::U32 | IntTy::S32 => IntTy::U32,
        IntTy::U64 | IntTy::S64 => IntTy::U64,
        IntTy::U16x2 | IntTy::S16x2 => return None,
    })
}

/// Integer that the low bits stand for; `None` for a pair.
fn number(ty: IntTy, bits: u64) -> Option<i128> {
    Some(match ty {
        IntTy::U8 => i128::from(bits as u8),
        IntTy::S8 => i128::from(bits as i8),
        IntTy::U16 => i128::from(bits as u16),
        IntTy::S16 => i128::from(bits as i16),
        IntTy::U32 => i128::from(bits as u32),
        IntTy::S32 => i128::from(bits as i32),
        IntTy::U64 => i128::from(bits),
        IntTy::S64 => i128::from(bits as i64),
        IntTy::U16x2 | IntTy::S16x2 => return None,
    })
}

/// The low bits of an integer; `None` for a pair.
fn bits(ty: IntTy, number: i128) -> Option<u64> {
    Some(match ty {
        IntTy::U8 | IntTy::S8 => u64::from(number as u8),
        IntTy::U16 | IntTy::S16 => u64::from(number as u16),
        IntTy::U32 | IntTy::S32 => u64::from(number as u32),
        IntTy::U64 | IntTy::S64 => number as u64,
        IntTy::U16x2 | IntTy::S16x2 => return None,
    })
}

const fn unsigned(width: Width) -> IntTy {
    match width {
        Width::B8 => IntTy::U8,
        Width::B16 => IntTy::U16,
        Width::B32 => IntTy::U32,
        Width::B64 => IntTy::U64,
    }
}

const fn integer(op: IntBin, x: i128, y: i128) -> Option<i128> {
    Some(match op {
        IntBin::Add => x + y,
        IntBin::Sub => x - y,
        IntBin::Min => {
            if x < y {
                x
            } else {
                y
            }
        }
        IntBin::Max => {
            if x > y {
                x
            } else {
                y
            }
        }
        _ => return None,
    })
}

/// Low or whole product of two literals, with a sum.
fn product(half: Half, ty: IntTy, [a, b]: [u64; 2], sum: u64) -> Option<u64> {
    let to = match (half, ty) {
        (Half::Lo, ty) => ty,
        (Half::Wide, IntTy::U16) => IntTy::U32,
        (Half::Wide, IntTy::S16) => IntTy::S32,
        (Half::Wide, IntTy::U32) => IntTy::U64,
        (Half::Wide, IntTy::S32) => IntTy::S64,
        _ => return None,
    };
    let product = number(ty, a)?.wrapping_mul(number(ty, b)?);
    bits(to, product.wrapping_add(number(to, sum)?))
}

/// A float rounded to an integer of 32 bits, if it is in their range.
fn rounded(value: f32, round: Round) -> Option<u64> {
    let value = match round {
        Round::Near => value.round_ties_even(),
        Round::Zero => value.trunc(),
        _ => return None,
    };
    let inside = value.abs() < 2_147_483_648.0;
    inside.then_some(u64::from(value as i32 as u32))
}
