//! The instruction `mov`: registers, constants, addresses, predicates, packing and unpacking.

use crate::builder::Builder;
use crate::error::{Res, invalid, unsupported};
use crate::form::Form;
use crate::scope::Symbol;
use crate::types;
use warploom_ir::{Dst, Op, Src};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType};

pub(crate) fn mov(b: &mut Builder, form: &mut Form) -> Res<()> {
    let count = form.take(Modifier::vector_len);
    let ty = form.ty()?;
    form.finish(2)?;
    if ty == ScalarType::B128 && count.is_none() {
        return elementwise(b, form, 2, ScalarType::B64);
    }
    if let Some(count) = count {
        return elementwise(b, form, count as usize, ty);
    }
    let (to, from) = (&whole(b, form.operand(0)?), &whole(b, form.operand(1)?));
    if ty == ScalarType::Pred {
        let dst = b.dst_pred(to)?;
        let src = predicate_value(b, from)?;
        b.emit(Op::MovPred, &[dst], &[src]);
        return Ok(());
    }
    let Some(width) = types::width(ty) else {
        return form.bad_type(ty);
    };
    match (&to.node, &from.node) {
        (Operand::Vector(parts), _) => unpack(b, form, ty, parts, from),
        (_, Operand::Vector(parts)) => pack(b, form, ty, to, parts),
        _ => {
            let dst = b.dst(to, ty)?;
            let src = b.src(from, ty)?;
            b.emit(Op::Mov(width), &[dst], &[src]);
            Ok(())
        }
    }
}

/// Operand with a vector register replaced by its elements.
fn whole(b: &Builder, operand: &Spanned<Operand>) -> Spanned<Operand> {
    let parts = b.elements(operand);
    match parts.len() {
        1 => operand.clone(),
        _ => Spanned {
            node: Operand::Vector(parts),
            span: operand.span,
        },
    }
}

/// Lowers `mov.v2` and `mov.v4` element by element. An element that is read after an overwritten
/// one is copied to a register of its own first.
fn elementwise(b: &mut Builder, form: &Form, count: usize, ty: ScalarType) -> Res<()> {
    let Some(width) = types::width(ty) else {
        return form.bad_type(ty);
    };
    let (to, from) = (form.operand(0)?, form.operand(1)?);
    let dsts = b.vector_dst(to, ty)?;
    let parts = b.elements(from);
    if dsts.len() != count || parts.len() != count {
        let message = format!("`{}` moves {count} elements", form.spelling());
        return Err(invalid("vector-length", form.span(), message));
    }
    let mut srcs = Vec::with_capacity(count);
    for (nth, part) in parts.iter().enumerate() {
        let src = b.src(part, ty)?;
        let overwritten = dsts[..nth].iter().any(|dst| is_register(*dst, src));
        srcs.push(match overwritten {
            true => {
                let copy = b.temp(ty.bits() == 64)?;
                b.emit(Op::Mov(width), &[Dst::Reg(copy)], &[src]);
                Src::Reg(copy)
            }
            false => src,
        });
    }
    for (dst, src) in dsts.into_iter().zip(srcs) {
        b.emit(Op::Mov(width), &[dst], &[src]);
    }
    Ok(())
}

fn is_register(dst: Dst, src: Src) -> bool {
    matches!((dst, src), (Dst::Reg(dst), Src::Reg(src)) if dst == src)
}

/// Predicate, or the special register that is one.
fn predicate_value(b: &mut Builder, from: &Spanned<Operand>) -> Res<Src> {
    match &from.node {
        Operand::Name(name) if b.find(name).is_none() => match crate::special::find(name) {
            Some(special) => Ok(Src::Special(special)),
            None => b.src_pred(from),
        },
        _ => b.src_pred(from),
    }
}

/// Type of the parts of a whole.
fn part_type(form: &Form, whole: ScalarType, parts: usize) -> Res<ScalarType> {
    let bits = whole.bits() / (parts as u32).max(1);
    if matches!(parts, 2 | 4) && bits >= 8 {
        return Ok(types::bits(bits));
    }
    let message = format!("`{}` cannot take {parts} parts", form.spelling());
    Err(invalid("vector-length", form.span(), message))
}

fn pack(
    b: &mut Builder,
    form: &Form,
    ty: ScalarType,
    to: &Spanned<Operand>,
    parts: &[Spanned<Operand>],
) -> Res<()> {
    let part = part_type(form, ty, parts.len())?;
    let dst = b.dst(to, ty)?;
    let mut srcs = Vec::with_capacity(parts.len());
    for operand in parts {
        srcs.push(b.src(operand, part)?);
    }
    let extra = b.extra(Vec::new(), srcs);
    let op = Op::Pack {
        part: widths(part)?,
        whole: widths(ty)?,
    };
    b.emit(op, &[dst], &[]).extra = extra;
    Ok(())
}

fn unpack(
    b: &mut Builder,
    form: &Form,
    ty: ScalarType,
    parts: &[Spanned<Operand>],
    from: &Spanned<Operand>,
) -> Res<()> {
    let part = part_type(form, ty, parts.len())?;
    let src = b.src(from, ty)?;
    let mut dsts = Vec::with_capacity(parts.len());
    for operand in parts {
        dsts.push(b.dst(operand, part)?);
    }
    let extra = b.extra(dsts, Vec::new());
    let op = Op::Unpack {
        part: widths(part)?,
        whole: widths(ty)?,
    };
    b.emit(op, &[], &[src]).extra = extra;
    Ok(())
}

fn widths(ty: ScalarType) -> Res<warploom_ir::Width> {
    let span = warploom_diag::Span::default();
    types::width(ty).ok_or_else(|| unsupported(span, &format!("parts of type `.{ty}`")))
}

impl Builder<'_, '_> {
    /// Parts of a vector operand: the operands in braces, the elements of a vector register, or the
    /// operand itself.
    pub(crate) fn elements(&self, operand: &Spanned<Operand>) -> Vec<Spanned<Operand>> {
        match &operand.node {
            Operand::Vector(parts) => parts.clone(),
            Operand::Name(name) => match self.find(name) {
                Some(Symbol::Reg(decl)) if decl.vector > 1 => (0..decl.vector)
                    .map(|element| Spanned {
                        node: Operand::Element(name.clone(), element),
                        span: operand.span,
                    })
                    .collect(),
                _ => vec![operand.clone()],
            },
            _ => vec![operand.clone()],
        }
    }

    /// Destinations of a vector operand.
    pub(crate) fn vector_dst(
        &mut self,
        operand: &Spanned<Operand>,
        ty: ScalarType,
    ) -> Res<Vec<Dst>> {
        let elements = self.elements(operand);
        elements.iter().map(|part| self.dst(part, ty)).collect()
    }
}
