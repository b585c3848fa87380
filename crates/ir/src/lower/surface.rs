//! Surfaces: loads and stores without a format (PTX ISA, "Surface Instructions").

use super::builder::Builder;
use super::cache;
use super::error::{Res, invalid};
use super::form::Form;
use super::texture::{GEOMETRY, address_handle, coordinates, geometry};
use crate::inst::{Dst, Src};
use crate::op::{MemTy, Op, SurfEdge, TexGeom};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType};

const WANTED: &str = "`[surface, {coordinates}]` is needed here";

struct Access {
    geom: TexGeom,
    edge: SurfEdge,
    ty: ScalarType,
    count: usize,
}

fn access(form: &mut Form) -> Res<Access> {
    form.need("`.b`", |m| (m == Modifier::B).then_some(()))?;
    let geom = form.need(GEOMETRY, geometry)?;
    cache::operator(form);
    let count = form.take(Modifier::vector_len).unwrap_or(1) as usize;
    let ty = form.ty()?;
    let edge = form.need("`.trap`, `.clamp` or `.zero`", |m| {
        Some(match m {
            Modifier::Trap => SurfEdge::Trap,
            Modifier::Clamp => SurfEdge::Clamp,
            Modifier::Zero => SurfEdge::Zero,
            _ => return None,
        })
    })?;
    if !matches!(ty.bits(), 8 | 16 | 32 | 64) {
        return form.bad_type(ty);
    }
    form.finish(2)?;
    Ok(Access {
        geom,
        edge,
        ty,
        count,
    })
}

/// Handle and coordinates.
fn place(b: &mut Builder, operand: &Spanned<Operand>, geom: TexGeom) -> Res<(Src, Vec<Src>)> {
    let wanted = || invalid("operand-kind", operand.span, WANTED.to_owned());
    let Operand::Address(address) = &operand.node else {
        return Err(wanted());
    };
    let [coords] = &address.rest[..] else {
        return Err(wanted());
    };
    let handle = address_handle(b, address)?;
    let parts = b.elements(coords);
    let count = coordinates(geom);
    if parts.len() < count {
        let message = format!("{count} coordinates are needed here");
        return Err(invalid("vector-length", coords.span, message));
    }
    let parts = parts[..count].iter();
    let found: Res<Vec<Src>> = parts.map(|part| b.src(part, ScalarType::B32)).collect();
    Ok((handle, found?))
}

/// Registers of 8-bit elements have 16 bits.
fn register_type(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::B8 => ScalarType::B16,
        ty => ty,
    }
}

fn check_length(parts: &[Spanned<Operand>], access: &Access, span: &Spanned<Operand>) -> Res<()> {
    if parts.len() == access.count {
        return Ok(());
    }
    let (found, wanted) = (parts.len(), access.count);
    let message = format!("{found} registers where the instruction moves {wanted} elements");
    Err(invalid("vector-length", span.span, message))
}

fn operation(access: &Access, store: bool) -> Op {
    Op::Surf {
        store,
        geom: access.geom,
        edge: access.edge,
        ty: MemTy {
            bytes: access.ty.bytes() as u8,
            count: access.count as u8,
            signed: false,
            wide_reg: access.ty.bits() == 64,
        },
    }
}

/// `suld`
pub(super) fn load(b: &mut Builder, form: &mut Form) -> Res<()> {
    let access = access(form)?;
    let to = form.operand(0)?;
    let parts = b.elements(to);
    check_length(&parts, &access, to)?;
    let ty = register_type(access.ty);
    let dsts: Res<Vec<Dst>> = parts.iter().map(|part| b.dst(part, ty)).collect();
    let (handle, coords) = place(b, form.operand(1)?, access.geom)?;
    let extra = b.extra(dsts?, coords);
    b.emit(operation(&access, false), &[], &[handle]).extra = extra;
    Ok(())
}

/// `sust`
pub(super) fn store(b: &mut Builder, form: &mut Form) -> Res<()> {
    let access = access(form)?;
    let (handle, mut srcs) = place(b, form.operand(0)?, access.geom)?;
    let from = form.operand(1)?;
    let parts = b.elements(from);
    check_length(&parts, &access, from)?;
    let ty = register_type(access.ty);
    for part in &parts {
        srcs.push(b.src(part, ty)?);
    }
    let extra = b.extra(Vec::new(), srcs);
    b.emit(operation(&access, true), &[], &[handle]).extra = extra;
    Ok(())
}
