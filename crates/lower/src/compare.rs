//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

use crate::bits::combine;
use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use crate::types;
use warploom_ir::{Cmp, Combine, Op, SetDst, Src, Ty, Width};
use warploom_ptx::tokens::{Modifier, ScalarType};

pub(crate) fn cmp(modifier: Modifier) -> Option<Cmp> {
    Some(match modifier {
        Modifier::Eq => Cmp::Eq,
        Modifier::Ne => Cmp::Ne,
        Modifier::Lt => Cmp::Lt,
        Modifier::Le => Cmp::Le,
        Modifier::Gt => Cmp::Gt,
        Modifier::Ge => Cmp::Ge,
        Modifier::Lo => Cmp::Lo,
        Modifier::Ls => Cmp::Ls,
        Modifier::Hi => Cmp::Hi,
        Modifier::Hs => Cmp::Hs,
        Modifier::Equ => Cmp::Equ,
        Modifier::Neu => Cmp::Neu,
        Modifier::Ltu => Cmp::Ltu,
        Modifier::Leu => Cmp::Leu,
        Modifier::Gtu => Cmp::Gtu,
        Modifier::Geu => Cmp::Geu,
        Modifier::Num => Cmp::Num,
        Modifier::Nan => Cmp::Nan,
        _ => return None,
    })
}

/// Parts that `setp` and `set` have in common.
struct Comparison {
    cmp: Cmp,
    combine: Combine,
    ftz: bool,
}

fn comparison(form: &mut Form) -> Res<Comparison> {
    let cmp = form.need("a comparison, such as `.lt`", cmp)?;
    Ok(Comparison {
        cmp,
        combine: form.take(combine).unwrap_or(Combine::None),
        ftz: form.has(Modifier::Ftz),
    })
}

fn any_type(form: &mut Form) -> Res<(ScalarType, Ty)> {
    let ty = form.ty()?;
    match types::any(ty) {
        Some(found) => Ok((ty, found)),
        None => form.bad_type(ty),
    }
}

/// Operands a, b and, if the comparison combines, c.
fn compared(
    b: &mut Builder,
    form: &Form,
    ty: ScalarType,
    comparison: &Comparison,
) -> Res<[Src; 3]> {
    let combines = comparison.combine != Combine::None;
    form.finish(if combines { 4 } else { 3 })?;
    Ok([
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        match combines {
            true => b.src_pred(form.operand(3)?)?,
            false => Src::None,
        },
    ])
}

pub(crate) fn setp(b: &mut Builder, form: &mut Form) -> Res<()> {
    let how = comparison(form)?;
    let (ty, found) = any_type(form)?;
    let src = compared(b, form, ty, &how)?;
    let dst = b.dst_pred_pair(form.operand(0)?)?;
    b.emit(Op::Setp(how.cmp, how.combine, found, how.ftz), &dst, &src);
    Ok(())
}

fn set_dst(ty: ScalarType) -> Option<SetDst> {
    Some(match ty {
        ScalarType::U32 | ScalarType::B32 => SetDst::U32,
        ScalarType::S32 => SetDst::S32,
        ScalarType::F32 => SetDst::F32,
        ScalarType::U16 | ScalarType::S16 | ScalarType::B16 => SetDst::U16,
        ScalarType::F16 => SetDst::F16,
        ScalarType::F16x2 => SetDst::F16x2,
        ScalarType::Bf16 => SetDst::Bf16,
        ScalarType::Bf16x2 => SetDst::Bf16x2,
        _ => return None,
    })
}

pub(crate) fn set(b: &mut Builder, form: &mut Form) -> Res<()> {
    let how = comparison(form)?;
    let to = form.ty()?;
    let Some(to_found) = set_dst(to) else {
        return form.bad_type(to);
    };
    let (ty, found) = any_type(form)?;
    let src = compared(b, form, ty, &how)?;
    let dst = b.dst(form.operand(0)?, to)?;
    let op = Op::Set(how.cmp, how.combine, found, how.ftz, to_found);
    b.emit(op, &[dst], &src);
    Ok(())
}

fn width_type(form: &mut Form) -> Res<(ScalarType, Width)> {
    let ty = form.ty()?;
    match types::width(ty) {
        Some(width) => Ok((ty, width)),
        None => form.bad_type(ty),
    }
}

pub(crate) fn selp(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = width_type(form)?;
    form.finish(4)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        b.src_pred(form.operand(3)?)?,
    ];
    b.emit(Op::Selp(width), &[dst], &src);
    Ok(())
}

pub(crate) fn slct(b: &mut Builder, form: &mut Form) -> Res<()> {
    let ftz = form.has(Modifier::Ftz);
    let (ty, width) = width_type(form)?;
    let chooser = form.ty()?;
    let float = match chooser {
        ScalarType::S32 => false,
        ScalarType::F32 => true,
        _ => return form.bad_type(chooser),
    };
    form.finish(4)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, ty)?,
        b.src(form.operand(3)?, chooser)?,
    ];
    b.emit(Op::Slct { width, float, ftz }, &[dst], &src);
    Ok(())
}
