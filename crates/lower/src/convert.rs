//! Conversions between types and between address spaces.

use crate::builder::Builder;
use crate::cluster;
use crate::error::Res;
use crate::float;
use crate::form::Form;
use crate::operand::Fit;
use crate::types;
use warploom_ir::{
    CvtRound, Dst, Float8, FloatMinMax, FloatTy, IntTy, IntTyNarrow, MemSpace, Op, Reg, Round, Src,
    Ty, Width,
};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

fn round_any(modifier: Modifier) -> Option<CvtRound> {
    Some(match modifier {
        Modifier::Rni => CvtRound::Integral(Round::Near),
        Modifier::Rzi => CvtRound::Integral(Round::Zero),
        Modifier::Rmi => CvtRound::Integral(Round::Down),
        Modifier::Rpi => CvtRound::Integral(Round::Up),
        Modifier::Rna => CvtRound::Float(Round::NearAway),
        _ => CvtRound::Float(float::round(modifier)?),
    })
}

pub(crate) fn cvt(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::Pack) {
        return pack_integers(b, form);
    }
    let to = form.ty()?;
    if let Some(to) = float8(to) {
        return to_float8(b, form, to);
    }
    match to {
        ScalarType::F16x2 => pack_floats(b, form, to, FloatTy::F16x2),
        ScalarType::Bf16x2 => pack_floats(b, form, to, FloatTy::Bf16x2),
        ScalarType::Tf32 => to_tf32(b, form),
        _ => scalar(b, form, to),
    }
}

fn float8(ty: ScalarType) -> Option<Float8> {
    Some(match ty {
        ScalarType::E4m3x2 => Float8::E4m3,
        ScalarType::E5m2x2 => Float8::E5m2,
        _ => return None,
    })
}

/// Parts of a `cvt` of one value.
struct Conversion {
    to: ScalarType,
    from: ScalarType,
    round: CvtRound,
    ftz: bool,
    sat: bool,
}

fn scalar(b: &mut Builder, form: &mut Form, to: ScalarType) -> Res<()> {
    let from = form.ty()?;
    let ftz = form.has(Modifier::Ftz);
    let sat = form.has(Modifier::Sat);
    let relu = form.has(Modifier::Relu);
    let finite = form.has(Modifier::Satfinite);
    let round = rounding(form, to, from)?;
    for ty in [to, from] {
        if types::any(ty).is_none() {
            return form.bad_type(ty);
        }
    }
    form.finish(2)?;
    let conversion = Conversion {
        to,
        from,
        round,
        ftz,
        sat,
    };
    let fit = match from.is_float() {
        true => Fit::Exact,
        false => Fit::Wider,
    };
    let (src, bits) = b.src_fit(form.operand(1)?, from, fit)?;
    let src = match bits > 32 && from.bits() <= 32 {
        true => lower_word(b, src)?,
        false => src,
    };
    let fit = match to.is_float() {
        true => Fit::Exact,
        false => Fit::Wider,
    };
    let Some((dst, bits)) = b.dst_fit(form.operand(0)?, to, fit)? else {
        return Ok(());
    };
    if bits > to.bits() {
        return widened(b, &conversion, dst, bits, src);
    }
    emit(b, &conversion, dst, src);
    if relu {
        clamp_negative(b, form, to, dst)?;
    }
    match (finite, types::float(to)) {
        (false, _) => Ok(()),
        (true, Some(float)) => clamp_finite(b, form, float, dst),
        (true, None) => form.unsupported(),
    }
}

/// Rounding of a conversion. Conversions to fewer bits must state one; between formats of one width
/// the rounding is to nearest.
fn rounding(form: &mut Form, to: ScalarType, from: ScalarType) -> Res<CvtRound> {
    let loses = match (from.is_float(), to.is_float()) {
        (true, true) => to.bits() < from.bits(),
        (a, b) => a != b,
    };
    let same_width = from.is_float() && to.is_float() && from.bits() == to.bits();
    match form.take(round_any) {
        Some(round) => Ok(round),
        None if loses => form.need("a rounding, such as `.rn` or `.rzi`", |_| None),
        None if same_width && from != to => Ok(CvtRound::Float(Round::Near)),
        None => Ok(CvtRound::None),
    }
}

fn op(conversion: &Conversion) -> Option<Op> {
    Some(Op::Cvt {
        to: types::any(conversion.to)?,
        from: types::any(conversion.from)?,
        round: conversion.round,
        ftz: conversion.ftz,
        sat: conversion.sat,
    })
}

fn emit(b: &mut Builder, conversion: &Conversion, dst: Reg, src: Src) {
    let op = op(conversion).expect("both types were checked");
    b.emit(op, &[Dst::Reg(dst)], &[src]);
}

/// Source of a type narrower than its 64-bit register: the lower word in a register of its own.
fn lower_word(b: &mut Builder, src: Src) -> Res<Src> {
    let word = b.temp(false)?;
    emit_extension(b, ScalarType::B64, Ty::Bits(Width::B32), word, src);
    Ok(Src::Reg(word))
}

/// Destination of a register wider than the type: the result is extended to its width.
fn widened(b: &mut Builder, how: &Conversion, dst: Reg, bits: u32, src: Src) -> Res<()> {
    let extended = match how.to.is_signed() {
        true => Ty::Int(types::signed_of_bits(bits)),
        false => Ty::Int(types::unsigned_of_bits(bits)),
    };
    let plain = how.round == CvtRound::None && !how.sat;
    // A 64-bit register cannot be read as a narrower type.
    if plain && (how.to.bits()..=32).contains(&how.from.bits()) {
        emit_extension(b, how.to, extended, dst, src);
        return Ok(());
    }
    let narrow = b.temp(how.to.bits() == 64)?;
    emit(b, how, narrow, src);
    emit_extension(b, how.to, extended, dst, Src::Reg(narrow));
    Ok(())
}

fn emit_extension(b: &mut Builder, from: ScalarType, to: Ty, dst: Reg, src: Src) {
    let op = Op::Cvt {
        to,
        from: types::any(from).expect("the type was checked"),
        round: CvtRound::None,
        ftz: false,
        sat: false,
    };
    b.emit(op, &[Dst::Reg(dst)], &[src]);
}

/// Emits `.relu`: the maximum with +0, and the canonical NaN for NaN.
fn clamp_negative(b: &mut Builder, form: &Form, to: ScalarType, dst: Reg) -> Res<()> {
    let Some(float) = types::float(to) else {
        return form.unsupported();
    };
    let max = FloatMinMax {
        max: true,
        nan: true,
        xorsign_abs: false,
        ftz: false,
    };
    let zero = b.bits(0)?;
    let op = Op::FloatMinMax(max, float);
    b.emit(op, &[Dst::Reg(dst)], &[Src::Reg(dst), zero]);
    Ok(())
}

/// Emits `.satfinite`: infinities become the largest finite number of their sign, NaN the canonical
/// one.
fn clamp_finite(b: &mut Builder, form: &Form, ty: FloatTy, dst: Reg) -> Res<()> {
    let (largest, sign) = match ty {
        FloatTy::F16 => (0x7BFF, 0x8000),
        FloatTy::F16x2 => (0x7BFF_7BFF, 0x8000_8000),
        FloatTy::Bf16 => (0x7F7F, 0x8000),
        FloatTy::Bf16x2 => (0x7F7F_7F7F, 0x8000_8000),
        FloatTy::F32 | FloatTy::F64 => return form.unsupported(),
    };
    for (max, bound) in [(false, largest), (true, largest | sign)] {
        let clamp = FloatMinMax {
            max,
            nan: true,
            xorsign_abs: false,
            ftz: false,
        };
        let bound = b.bits(bound)?;
        let op = Op::FloatMinMax(clamp, ty);
        b.emit(op, &[Dst::Reg(dst)], &[Src::Reg(dst), bound]);
    }
    Ok(())
}

/// Lowers `cvt.rn.f16x2.f32 d, a, b`.
fn pack_floats(b: &mut Builder, form: &mut Form, ty: ScalarType, to: FloatTy) -> Res<()> {
    let from = form.ty()?;
    if let (FloatTy::F16x2, Some(narrow)) = (to, float8(from)) {
        return from_float8(b, form, narrow);
    }
    if from != ScalarType::F32 {
        return form.bad_type(from);
    }
    let round = form.need("a rounding", float::round)?;
    let relu = form.has(Modifier::Relu);
    let finite = form.has(Modifier::Satfinite);
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, from)?,
        b.src(form.operand(2)?, from)?,
    ];
    b.emit(Op::CvtPack2 { to, round, relu }, &[dst], &src);
    match dst {
        Dst::Reg(reg) if finite => clamp_finite(b, form, to, reg),
        _ => Ok(()),
    }
}

fn to_tf32(b: &mut Builder, form: &mut Form) -> Res<()> {
    let from = form.ty()?;
    if from != ScalarType::F32 {
        return form.bad_type(from);
    }
    let round = form.need("a rounding", |m| match m {
        Modifier::Rna => Some(Round::NearAway),
        _ => float::round(m),
    })?;
    let relu = form.has(Modifier::Relu);
    let finite = form.has(Modifier::Satfinite);
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ScalarType::B32)?;
    let src = b.src(form.operand(1)?, from)?;
    let op = Op::CvtTf32 {
        round,
        relu,
        finite,
    };
    b.emit(op, &[dst], &[src]);
    Ok(())
}

/// Lowers `cvt.rn.satfinite.e4m3x2.f32 d, a, b` and `cvt.rn.satfinite.e4m3x2.f16x2 d, a`.
fn to_float8(b: &mut Builder, form: &mut Form, to: Float8) -> Res<()> {
    let ty = form.ty()?;
    let (from, sources) = match ty {
        ScalarType::F32 => (FloatTy::F32, 2),
        ScalarType::F16x2 => (FloatTy::F16x2, 1),
        _ => return form.bad_type(ty),
    };
    form.need("`.rn`", |m| (m == Modifier::Rn).then_some(()))?;
    form.need("`.satfinite`", |m| (m == Modifier::Satfinite).then_some(()))?;
    let relu = form.has(Modifier::Relu);
    form.finish(1 + sources)?;
    let dst = b.dst(form.operand(0)?, ScalarType::B16)?;
    let mut src = [Src::None; 2];
    for (index, src) in src[..sources].iter_mut().enumerate() {
        *src = b.src(form.operand(1 + index)?, ty)?;
    }
    b.emit(Op::CvtToFloat8 { to, from, relu }, &[dst], &src[..sources]);
    Ok(())
}

/// Lowers `cvt.rn.f16x2.e4m3x2 d, a`.
fn from_float8(b: &mut Builder, form: &mut Form, from: Float8) -> Res<()> {
    form.need("`.rn`", |m| (m == Modifier::Rn).then_some(()))?;
    let relu = form.has(Modifier::Relu);
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ScalarType::F16x2)?;
    let src = b.src(form.operand(1)?, ScalarType::B16)?;
    b.emit(Op::CvtFromFloat8(from, relu), &[dst], &[src]);
    Ok(())
}

/// Lowers `cvt.pack.sat.u8.s32.b32 d, a, b, c`.
fn pack_integers(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.need("`.sat`", |m| (m == Modifier::Sat).then_some(()))?;
    let narrow = form.ty()?;
    let from = form.ty()?;
    let to = match narrow {
        ScalarType::U2 => IntTyNarrow::U2,
        ScalarType::S2 => IntTyNarrow::S2,
        ScalarType::U4 => IntTyNarrow::U4,
        ScalarType::S4 => IntTyNarrow::S4,
        ScalarType::U8 => IntTyNarrow::U8,
        ScalarType::S8 => IntTyNarrow::S8,
        ScalarType::U16 => IntTyNarrow::U16,
        ScalarType::S16 => IntTyNarrow::S16,
        _ => return form.bad_type(narrow),
    };
    if from != ScalarType::S32 {
        return form.bad_type(from);
    }
    let chained = form.take(Modifier::scalar_type).is_some();
    form.finish(if chained { 4 } else { 3 })?;
    let word = ScalarType::B32;
    let dst = b.dst(form.operand(0)?, word)?;
    let src = [
        b.src(form.operand(1)?, word)?,
        b.src(form.operand(2)?, word)?,
        match chained {
            true => b.src(form.operand(3)?, word)?,
            false => Src::None,
        },
    ];
    let from = IntTy::S32;
    b.emit(Op::CvtPackInt { to, from }, &[dst], &src);
    Ok(())
}

fn space(modifier: Modifier) -> Option<MemSpace> {
    Some(match modifier.space()? {
        Space::Global => MemSpace::Global,
        Space::Shared => MemSpace::Shared,
        Space::Local => MemSpace::Local,
        Space::Const => MemSpace::Const,
        Space::Param => MemSpace::Param,
        _ => return None,
    })
}

const SPACE: &str = "a state space, such as `.global`";

pub(crate) fn cvta(b: &mut Builder, form: &mut Form) -> Res<()> {
    let to = form.has(Modifier::To);
    let space = form.need(SPACE, space)?;
    let ty = form.ty()?;
    let width = match ty.bits() {
        32 => Width::B32,
        64 => Width::B64,
        _ => return form.bad_type(ty),
    };
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.emit(Op::Cvta(space, to, width), &[dst], &[src]);
    Ok(())
}

pub(crate) fn isspacep(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::SharedCluster) {
        return cluster::is_shared(b, form);
    }
    let space = form.need(SPACE, space)?;
    form.finish(2)?;
    let dst = b.dst_pred(form.operand(0)?)?;
    let (src, bits) = b.src_fit(form.operand(1)?, ScalarType::U32, Fit::Wider)?;
    b.emit(Op::Isspacep(space), &[dst], &[src]).wide_addr = bits == 64;
    Ok(())
}
