//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision").

use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use crate::function::two_to_one;
use crate::types;
use warploom_ir::{Half, IntBin, IntTy, IntUn, Op};
use warploom_ptx::tokens::{Modifier, ScalarType};

/// Takes the instruction's type, which must be an integer.
fn int_type(form: &mut Form) -> Res<(ScalarType, IntTy)> {
    let ty = form.ty()?;
    match types::int(ty) {
        Some(int) => Ok((ty, int)),
        None => form.bad_type(ty),
    }
}

fn half(modifier: Modifier) -> Option<Half> {
    match modifier {
        Modifier::Lo => Some(Half::Lo),
        Modifier::Hi => Some(Half::Hi),
        Modifier::Wide => Some(Half::Wide),
        _ => None,
    }
}

const HALF: &str = "`.lo`, `.hi` or `.wide`";

/// Type of a product: twice as wide for `.wide`.
fn product_type(ty: ScalarType, half: Half) -> ScalarType {
    match (half, ty) {
        (Half::Wide, ScalarType::U16) => ScalarType::U32,
        (Half::Wide, ScalarType::S16) => ScalarType::S32,
        (Half::Wide, ScalarType::U32) => ScalarType::U64,
        (Half::Wide, ScalarType::S32) => ScalarType::S64,
        _ => ty,
    }
}

fn wide_ok(ty: ScalarType, half: Half) -> bool {
    half != Half::Wide || matches!(ty.bits(), 16 | 32)
}

pub(crate) fn binary(b: &mut Builder, form: &mut Form, op: IntBin) -> Res<()> {
    let (ty, int) = int_type(form)?;
    let (dst, src) = two_to_one(b, form, ty)?;
    b.emit(Op::Int(op, int), &[dst], &src);
    Ok(())
}

pub(crate) fn add_sub(b: &mut Builder, form: &mut Form, sub: bool, cin: bool) -> Res<()> {
    let cout = form.has(Modifier::Cc);
    let sat = form.has(Modifier::Sat);
    let (ty, int) = int_type(form)?;
    let (dst, src) = two_to_one(b, form, ty)?;
    let op = match (cin || cout, sub) {
        (true, _) if sat => return form.unsupported(),
        (true, false) => Op::AddC { cin, cout, ty: int },
        (true, true) => Op::SubC { cin, cout, ty: int },
        (false, false) if sat => Op::Int(IntBin::AddSat, int),
        (false, false) => Op::Int(IntBin::Add, int),
        (false, true) if sat => Op::Int(IntBin::SubSat, int),
        (false, true) => Op::Int(IntBin::Sub, int),
    };
    b.emit(op, &[dst], &src);
    Ok(())
}

pub(crate) fn mul(b: &mut Builder, form: &mut Form) -> Res<()> {
    let half = form.need(HALF, half)?;
    let (ty, int) = int_type(form)?;
    if !wide_ok(ty, half) {
        return form.bad_type(ty);
    }
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, product_type(ty, half))?;
    let src = [b.src(form.operand(1)?, ty)?, b.src(form.operand(2)?, ty)?];
    b.emit(Op::Mul(half, int), &[dst], &src);
    Ok(())
}

pub(crate) fn mad(b: &mut Builder, form: &mut Form, cin: bool) -> Res<()> {
    let cout = form.has(Modifier::Cc);
    let sat = form.has(Modifier::Sat);
    let half = form.need(HALF, half)?;
    let (ty, int) = int_type(form)?;
    if !wide_ok(ty, half) {
        return form.bad_type(ty);
    }
    form.finish(4)?;
    let wide = product_type(ty, half);
    let dst = b.dst(form.operand(0)?, wide)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        b.src(form.operand(3)?, wide)?,
    ];
    let op = match cin || cout {
        true if sat => return form.unsupported(),
        true => Op::MadC {
            half,
            cin,
            cout,
            ty: int,
        },
        false => Op::Mad(half, int, sat),
    };
    b.emit(op, &[dst], &src);
    Ok(())
}

pub(crate) fn mul24(b: &mut Builder, form: &mut Form, add: bool) -> Res<()> {
    let sat = form.has(Modifier::Sat);
    let half = form.need("`.lo` or `.hi`", half)?;
    let hi = match half {
        Half::Lo => false,
        Half::Hi => true,
        Half::Wide => return form.unsupported(),
    };
    let (ty, int) = int_type(form)?;
    if ty.bits() != 32 {
        return form.bad_type(ty);
    }
    if !add {
        let (dst, src) = two_to_one(b, form, ty)?;
        b.emit(Op::Mul24(hi, int), &[dst], &src);
        return Ok(());
    }
    form.finish(4)?;
    let (dst, src) = three_to_one(b, form, ty)?;
    b.emit(Op::Mad24(hi, sat, int), &[dst], &src);
    Ok(())
}

fn three_to_one(
    b: &mut Builder,
    form: &Form,
    ty: ScalarType,
) -> Res<(warploom_ir::Dst, [warploom_ir::Src; 3])> {
    let dst = b.dst(form.operand(0)?, ty)?;
    let a = b.src(form.operand(1)?, ty)?;
    let second = b.src(form.operand(2)?, ty)?;
    let c = b.src(form.operand(3)?, ty)?;
    Ok((dst, [a, second, c]))
}

pub(crate) fn min_max(b: &mut Builder, form: &mut Form, max: bool) -> Res<()> {
    let relu = form.has(Modifier::Relu);
    let op = match (max, relu) {
        (false, false) => IntBin::Min,
        (true, false) => IntBin::Max,
        (false, true) => IntBin::MinRelu,
        (true, true) => IntBin::MaxRelu,
    };
    binary(b, form, op)
}

pub(crate) fn unary(b: &mut Builder, form: &mut Form, op: IntUn) -> Res<()> {
    let (ty, int) = int_type(form)?;
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(Op::IntUn(op, int), &[dst], &[src]);
    Ok(())
}

pub(crate) fn sad(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, int) = int_type(form)?;
    form.finish(4)?;
    let (dst, src) = three_to_one(b, form, ty)?;
    b.emit(Op::Sad(int), &[dst], &src);
    Ok(())
}

/// Lowers `dp4a` and `dp2a`.
pub(crate) fn dot_product(b: &mut Builder, form: &mut Form, four: bool) -> Res<()> {
    let halves = |m: Modifier| half(m).filter(|h| *h != Half::Wide);
    let half = match four {
        true => Half::Lo,
        false => form.need("`.lo` or `.hi`", halves)?,
    };
    let (a, second) = (form.ty()?, form.ty()?);
    for ty in [a, second] {
        if !matches!(ty, ScalarType::U32 | ScalarType::S32) {
            return form.bad_type(ty);
        }
    }
    form.finish(4)?;
    let (dst, src) = three_to_one(b, form, ScalarType::B32)?;
    let (a, second) = (a.is_signed(), second.is_signed());
    let op = match four {
        true => Op::Dp4a(a, second),
        false => Op::Dp2a(half == Half::Hi, a, second),
    };
    b.emit(op, &[dst], &src);
    Ok(())
}
