//! Logic, shifts, bit fields and permutations (PTX ISA, "Logic and Shift Instructions" and the bit
//! instructions of integer arithmetic).

use crate::builder::Builder;
use crate::error::{Res, invalid};
use crate::form::Form;
use crate::function::two_to_one;
use crate::types;
use warploom_ir::{Combine, Dst, IntTy, IntUn, Logic, Op, PrmtMode, Src, Width};
use warploom_ptx::ast::{Constant, Operand};
use warploom_ptx::tokens::{Modifier, ScalarType};

const B32: ScalarType = ScalarType::B32;

/// Takes the instruction's type as untyped bits.
fn bits_type(form: &mut Form) -> Res<(ScalarType, Width)> {
    let ty = form.ty()?;
    match types::width(ty) {
        Some(width) => Ok((ty, width)),
        None => form.bad_type(ty),
    }
}

fn int_type(form: &mut Form) -> Res<(ScalarType, IntTy)> {
    let ty = form.ty()?;
    match types::int_or_bits(ty) {
        Some(int) => Ok((ty, int)),
        None => form.bad_type(ty),
    }
}

/// Lowers `popc` and `clz`, whose results have 32 bits for any operand.
pub(crate) fn count(b: &mut Builder, form: &mut Form, op: IntUn) -> Res<()> {
    let (ty, int) = int_type(form)?;
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, B32)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(Op::IntUn(op, int), &[dst], &[src]);
    Ok(())
}

pub(crate) fn bfind(b: &mut Builder, form: &mut Form) -> Res<()> {
    let op = match form.has(Modifier::Shiftamt) {
        true => IntUn::BfindShiftAmt,
        false => IntUn::Bfind,
    };
    count(b, form, op)
}

pub(crate) fn brev(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, int) = int_type(form)?;
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(Op::IntUn(IntUn::Brev, int), &[dst], &[src]);
    Ok(())
}

pub(crate) fn bfe(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, int) = int_type(form)?;
    form.finish(4)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, B32)?,
        b.src(form.operand(3)?, B32)?,
    ];
    b.emit(Op::Bfe(int), &[dst], &src);
    Ok(())
}

pub(crate) fn bfi(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = bits_type(form)?;
    form.finish(5)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        b.src(form.operand(3)?, B32)?,
        b.src(form.operand(4)?, B32)?,
    ];
    b.emit(Op::Bfi(width), &[dst], &src);
    Ok(())
}

fn clamps(form: &mut Form) -> Res<bool> {
    form.need("`.clamp` or `.wrap`", |m| match m {
        Modifier::Clamp => Some(true),
        Modifier::Wrap => Some(false),
        _ => None,
    })
}

/// Lowers `bmsk` and `szext`.
pub(crate) fn mask(b: &mut Builder, form: &mut Form, extend: bool) -> Res<()> {
    let clamp = clamps(form)?;
    let (ty, int) = int_type(form)?;
    if ty.bits() != 32 {
        return form.bad_type(ty);
    }
    let (dst, src) = two_to_one(b, form, ty)?;
    let op = match extend {
        true => Op::Szext(clamp, int),
        false => Op::Bmsk(clamp),
    };
    b.emit(op, &[dst], &src);
    Ok(())
}

pub(crate) fn fns(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, _) = bits_type(form)?;
    if ty.bits() != 32 {
        return form.bad_type(ty);
    }
    form.finish(4)?;
    let (dst, src) = three_words(b, form)?;
    b.emit(Op::Fns, &[dst], &src);
    Ok(())
}

/// Operands d, a, b and c, all of 32 bits.
fn three_words(b: &mut Builder, form: &Form) -> Res<(Dst, [Src; 3])> {
    let dst = b.dst(form.operand(0)?, B32)?;
    let x = b.src(form.operand(1)?, B32)?;
    let y = b.src(form.operand(2)?, B32)?;
    let z = b.src(form.operand(3)?, B32)?;
    Ok((dst, [x, y, z]))
}

pub(crate) fn logic(b: &mut Builder, form: &mut Form, op: Logic) -> Res<()> {
    let (ty, width) = bits_type(form)?;
    let (dst, src) = two_to_one(b, form, ty)?;
    b.emit(Op::Logic(op, width), &[dst], &src);
    Ok(())
}

pub(crate) fn logic_pred(b: &mut Builder, form: &mut Form, op: Logic) -> Res<()> {
    form.ty()?;
    form.finish(3)?;
    let dst = b.dst_pred(form.operand(0)?)?;
    let src = [b.src_pred(form.operand(1)?)?, b.src_pred(form.operand(2)?)?];
    b.emit(Op::LogicPred(op), &[dst], &src);
    Ok(())
}

pub(crate) fn not_pred(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ty()?;
    form.finish(2)?;
    let dst = b.dst_pred(form.operand(0)?)?;
    let src = b.src_pred(form.operand(1)?)?;
    b.emit(Op::NotPred, &[dst], &[src]);
    Ok(())
}

pub(crate) fn not(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = bits_type(form)?;
    emit_unary(b, form, ty, Op::Not(width))
}

pub(crate) fn cnot(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = bits_type(form)?;
    emit_unary(b, form, ty, Op::Cnot(width))
}

fn emit_unary(b: &mut Builder, form: &Form, ty: ScalarType, op: Op) -> Res<()> {
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(op, &[dst], &[src]);
    Ok(())
}

pub(crate) fn lop3(b: &mut Builder, form: &mut Form) -> Res<()> {
    let combine = form.take(combine);
    let (ty, _) = bits_type(form)?;
    if ty.bits() != 32 {
        return form.bad_type(ty);
    }
    form.finish(if combine.is_some() { 6 } else { 5 })?;
    let dst = b.dst_and_pred(form.operand(0)?, B32)?;
    let src = [
        b.src(form.operand(1)?, B32)?,
        b.src(form.operand(2)?, B32)?,
        b.src(form.operand(3)?, B32)?,
        match combine {
            Some(_) => b.src_pred(form.operand(5)?)?,
            None => Src::None,
        },
    ];
    let table = form.operand(4)?;
    let Operand::Immediate(Constant::Int(lut @ 0..=255, _)) = table.node else {
        let message = "`lop3` needs a truth table from 0 to 0xFF here".to_owned();
        return Err(invalid("operand-kind", table.span, message));
    };
    b.emit(
        Op::Lop3(lut as u8, combine.unwrap_or(Combine::None)),
        &dst,
        &src,
    );
    Ok(())
}

/// Operation `.and`, `.or` or `.xor` of `setp`, `set` and `lop3`.
pub(crate) fn combine(modifier: Modifier) -> Option<Combine> {
    match modifier {
        Modifier::And => Some(Combine::And),
        Modifier::Or => Some(Combine::Or),
        Modifier::Xor => Some(Combine::Xor),
        _ => None,
    }
}

pub(crate) fn shift(b: &mut Builder, form: &mut Form, left: bool) -> Res<()> {
    let (ty, width) = bits_type(form)?;
    let Some(int) = types::int_or_bits(ty) else {
        return form.bad_type(ty);
    };
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [b.src(form.operand(1)?, ty)?, b.src(form.operand(2)?, B32)?];
    let op = match left {
        true => Op::Shl(width),
        false => Op::Shr(int),
    };
    b.emit(op, &[dst], &src);
    Ok(())
}

pub(crate) fn funnel_shift(b: &mut Builder, form: &mut Form) -> Res<()> {
    let left = form.need("`.l` or `.r`", |m| match m {
        Modifier::L => Some(true),
        Modifier::R => Some(false),
        _ => None,
    })?;
    let clamp = clamps(form)?;
    let ty = form.ty()?;
    if ty != B32 {
        return form.bad_type(ty);
    }
    form.finish(4)?;
    let (dst, src) = three_words(b, form)?;
    b.emit(Op::Shf(left, !clamp), &[dst], &src);
    Ok(())
}

pub(crate) fn permute(b: &mut Builder, form: &mut Form) -> Res<()> {
    let mode = form.take(|m| match m {
        Modifier::F4e => Some(PrmtMode::F4e),
        Modifier::B4e => Some(PrmtMode::B4e),
        Modifier::Rc8 => Some(PrmtMode::Rc8),
        Modifier::Ecl => Some(PrmtMode::Ecl),
        Modifier::Ecr => Some(PrmtMode::Ecr),
        Modifier::Rc16 => Some(PrmtMode::Rc16),
        _ => None,
    });
    let ty = form.ty()?;
    if ty != B32 {
        return form.bad_type(ty);
    }
    form.finish(4)?;
    let (dst, src) = three_words(b, form)?;
    b.emit(Op::Prmt(mode.unwrap_or(PrmtMode::Index)), &[dst], &src);
    Ok(())
}
