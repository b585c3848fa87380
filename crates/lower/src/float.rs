//! Floating-point arithmetic (PTX ISA, "Floating Point Instructions", half precision included).

use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use crate::function::two_to_one;
use crate::types;
use warploom_ir::{
    FloatBin, FloatMinMax, FloatMods, FloatPair, FloatTy, FloatUn, Op, Round, Src, TestKind,
};
use warploom_ptx::tokens::{Modifier, ScalarType};

/// Rounding of a floating-point result.
pub(crate) fn round(modifier: Modifier) -> Option<Round> {
    match modifier {
        Modifier::Rn => Some(Round::Near),
        Modifier::Rz => Some(Round::Zero),
        Modifier::Rm => Some(Round::Down),
        Modifier::Rp => Some(Round::Up),
        _ => None,
    }
}

const ROUND: &str = "a rounding: `.rn`, `.rz`, `.rm` or `.rp`";

fn float_type(form: &mut Form) -> Res<(ScalarType, FloatTy)> {
    let ty = form.ty()?;
    match types::float(ty) {
        Some(float) => Ok((ty, float)),
        None => form.bad_type(ty),
    }
}

fn mods(form: &mut Form, round: Round) -> FloatMods {
    form.ignore(|m| m == Modifier::Noftz);
    FloatMods {
        round,
        ftz: form.has(Modifier::Ftz),
        sat: form.has(Modifier::Sat),
        relu: form.has(Modifier::Relu),
    }
}

/// Lowers `add`, `sub` and `mul`, which round to nearest unless stated otherwise.
pub(crate) fn binary(b: &mut Builder, form: &mut Form, op: FloatBin) -> Res<()> {
    let round = form.take(round).unwrap_or(Round::Near);
    let mods = mods(form, round);
    emit_binary(b, form, op, mods)
}

fn emit_binary(b: &mut Builder, form: &mut Form, op: FloatBin, mods: FloatMods) -> Res<()> {
    if form.has(Modifier::Type(ScalarType::F32x2)) {
        return binary_pair(b, form, op, mods);
    }
    let (ty, float) = float_type(form)?;
    let (dst, src) = two_to_one(b, form, ty)?;
    b.emit(Op::Float(op, float, mods), &[dst], &src);
    Ok(())
}

/// Lowers `add`, `sub` and `mul` of pairs of f32.
fn binary_pair(b: &mut Builder, form: &mut Form, op: FloatBin, mods: FloatMods) -> Res<()> {
    let pair = match op {
        FloatBin::Add => FloatPair::Add,
        FloatBin::Sub => FloatPair::Sub,
        FloatBin::Mul => FloatPair::Mul,
        _ => return form.bad_type(ScalarType::F32x2),
    };
    let (dst, src) = two_to_one(b, form, ScalarType::F32x2)?;
    b.emit(Op::FloatPair(pair, mods), &[dst], &src);
    Ok(())
}

pub(crate) fn divide(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (op, rounding) = if form.has(Modifier::Approx) {
        (FloatBin::DivApprox, Round::Near)
    } else if form.has(Modifier::Full) {
        (FloatBin::DivFull, Round::Near)
    } else {
        (FloatBin::Div, form.need(ROUND, round)?)
    };
    let mods = mods(form, rounding);
    emit_binary(b, form, op, mods)
}

/// Lowers `fma`, and `mad`, which is the same since sm_20.
pub(crate) fn fma(b: &mut Builder, form: &mut Form, strict: bool) -> Res<()> {
    let rounding = match strict {
        true => form.need(ROUND, round)?,
        false => form.take(round).unwrap_or(Round::Near),
    };
    let mods = mods(form, rounding);
    let is_pair = form.has(Modifier::Type(ScalarType::F32x2));
    let (ty, op) = match is_pair {
        true => (ScalarType::F32x2, Op::FloatPair(FloatPair::Fma, mods)),
        false => {
            let (ty, float) = float_type(form)?;
            (ty, Op::Fma(float, mods))
        }
    };
    form.finish(4)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        b.src(form.operand(3)?, ty)?,
    ];
    b.emit(op, &[dst], &src);
    Ok(())
}

/// Emits an operation with one operand and one result.
fn emit_unary(b: &mut Builder, form: &mut Form, op: FloatUn, mods: FloatMods) -> Res<()> {
    let (ty, float) = float_type(form)?;
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(Op::FloatUn(op, float, mods), &[dst], &[src]);
    Ok(())
}

/// Lowers `abs` and `neg`.
pub(crate) fn sign(b: &mut Builder, form: &mut Form, op: FloatUn) -> Res<()> {
    let mods = mods(form, Round::Near);
    emit_unary(b, form, op, mods)
}

/// Lowers functions that exist only as `.approx`.
pub(crate) fn approximate(b: &mut Builder, form: &mut Form, op: FloatUn) -> Res<()> {
    need_approx(form)?;
    let mods = mods(form, Round::Near);
    emit_unary(b, form, op, mods)
}

fn need_approx(form: &mut Form) -> Res<()> {
    form.need("`.approx`", |m| (m == Modifier::Approx).then_some(()))
}

fn is_f64(form: &Form) -> bool {
    let f64 = Modifier::Type(ScalarType::F64);
    form.inst.modifiers.iter().any(|m| m.node == f64)
}

pub(crate) fn reciprocal(b: &mut Builder, form: &mut Form) -> Res<()> {
    let approximate = match is_f64(form) {
        true => FloatUn::RcpApproxF64,
        false => FloatUn::RcpApprox,
    };
    approximate_or_rounded(b, form, approximate, FloatUn::Rcp)
}

pub(crate) fn square_root(b: &mut Builder, form: &mut Form) -> Res<()> {
    approximate_or_rounded(b, form, FloatUn::SqrtApprox, FloatUn::Sqrt)
}

fn approximate_or_rounded(
    b: &mut Builder,
    form: &mut Form,
    approximate: FloatUn,
    rounded: FloatUn,
) -> Res<()> {
    if form.has(Modifier::Approx) {
        let mods = mods(form, Round::Near);
        return emit_unary(b, form, approximate, mods);
    }
    let rounding = form.need("`.approx` or a rounding", round)?;
    let mods = mods(form, rounding);
    emit_unary(b, form, rounded, mods)
}

pub(crate) fn rsqrt(b: &mut Builder, form: &mut Form) -> Res<()> {
    let op = match is_f64(form) {
        true => FloatUn::RsqrtApproxF64,
        false => FloatUn::RsqrtApprox,
    };
    approximate(b, form, op)
}

pub(crate) fn min_max(b: &mut Builder, form: &mut Form, max: bool) -> Res<()> {
    let op = FloatMinMax {
        max,
        nan: form.has(Modifier::NanPropagate),
        xorsign_abs: form.has(Modifier::Xorsign) && form.has(Modifier::Abs),
        ftz: form.has(Modifier::Ftz),
    };
    let (ty, float) = float_type(form)?;
    form.finish(4)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let third = match form.count() {
        4 => b.src(form.operand(3)?, ty)?,
        _ => Src::None,
    };
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        third,
    ];
    b.emit(Op::FloatMinMax(op, float), &[dst], &src);
    Ok(())
}

pub(crate) fn testp(b: &mut Builder, form: &mut Form) -> Res<()> {
    let kind = form.need("a property, such as `.finite`", |m| {
        Some(match m {
            Modifier::Finite => TestKind::Finite,
            Modifier::Infinite => TestKind::Infinite,
            Modifier::Number => TestKind::Number,
            Modifier::Notanumber => TestKind::NotANumber,
            Modifier::Normal => TestKind::Normal,
            Modifier::Subnormal => TestKind::Subnormal,
            _ => return None,
        })
    })?;
    let (ty, float) = float_type(form)?;
    form.finish(2)?;
    let dst = b.dst_pred(form.operand(0)?)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(Op::Testp(kind, float), &[dst], &[src]);
    Ok(())
}

pub(crate) fn copysign(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, float) = float_type(form)?;
    let (dst, src) = two_to_one(b, form, ty)?;
    b.emit(Op::Copysign(float), &[dst], &src);
    Ok(())
}
