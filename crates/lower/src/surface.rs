//! Surfaces: loads, stores and reductions (PTX ISA, "Surface Instructions").

use crate::builder::Builder;
use crate::cache;
use crate::error::{Res, invalid};
use crate::form::Form;
use crate::memory::{atom_op, atom_ty};
use crate::texture::{address_handle, coordinates, geometry};
use warploom_ir::{AtomOp, AtomTy, Dst, MemTy, Op, Src, SurfAct, SurfEdge, TexGeom};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType};

const WANTED: &str = "`[surface, {coordinates}]` is needed here";
const GEOMETRY: &str = "a geometry: `.1d`, `.2d`, `.3d`, `.a1d` or `.a2d`";

/// Place of an access, and the treatment of coordinates outside the surface.
#[derive(Clone, Copy)]
struct Place {
    geom: TexGeom,
    edge: SurfEdge,
}

/// Takes `.p` (the first coordinate counts samples) or `.b` (bytes).
fn by_sample(form: &mut Form) -> Res<bool> {
    form.need("`.b` or `.p`", |m| match m {
        Modifier::B => Some(false),
        Modifier::P => Some(true),
        _ => None,
    })
}

fn surface_geometry(modifier: Modifier) -> Option<TexGeom> {
    geometry(modifier).filter(|geom| !matches!(geom, TexGeom::Cube | TexGeom::ACube))
}

fn edge(form: &mut Form) -> Res<SurfEdge> {
    form.need("`.trap`, `.clamp` or `.zero`", |m| {
        Some(match m {
            Modifier::Trap => SurfEdge::Trap,
            Modifier::Clamp => SurfEdge::Clamp,
            Modifier::Zero => SurfEdge::Zero,
            _ => return None,
        })
    })
}

/// Takes geometry, cache operator, number and type of elements, and the treatment outside.
fn elements(form: &mut Form) -> Res<(Place, usize, ScalarType)> {
    let geom = form.need(GEOMETRY, surface_geometry)?;
    cache::operator(form);
    let count = form.take(Modifier::vector_len).unwrap_or(1) as usize;
    let ty = form.ty()?;
    let edge = edge(form)?;
    form.finish(2)?;
    Ok((Place { geom, edge }, count, ty))
}

/// Handle and coordinates of an access.
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

fn memory_type(form: &Form, ty: ScalarType, count: usize) -> Res<MemTy> {
    if !matches!(ty.bits(), 8 | 16 | 32 | 64) {
        return form.bad_type(ty);
    }
    Ok(MemTy {
        bytes: ty.bytes() as u8,
        count: count as u8,
        signed: false,
        wide_reg: ty.bits() == 64,
    })
}

fn check_length(parts: &[Spanned<Operand>], wanted: usize, span: &Spanned<Operand>) -> Res<()> {
    if parts.len() == wanted {
        return Ok(());
    }
    let found = parts.len();
    let message = format!("{found} registers where the instruction moves {wanted} elements");
    Err(invalid("vector-length", span.span, message))
}

/// Lowers the load `suld`.
pub(crate) fn load(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.need("`.b`", |m| (m == Modifier::B).then_some(()))?;
    let (Place { geom, edge }, count, ty) = elements(form)?;
    let act = SurfAct::Load(memory_type(form, ty, count)?);
    let to = form.operand(0)?;
    let parts = b.elements(to);
    check_length(&parts, count, to)?;
    let ty = register_type(ty);
    let dsts: Res<Vec<Dst>> = parts.iter().map(|part| b.dst(part, ty)).collect();
    let (handle, coords) = place(b, form.operand(1)?, geom)?;
    let extra = b.extra(dsts?, coords);
    b.emit(Op::Surf { act, geom, edge }, &[], &[handle]).extra = extra;
    Ok(())
}

/// Lowers the store `sust`.
pub(crate) fn store(b: &mut Builder, form: &mut Form) -> Res<()> {
    let by_sample = by_sample(form)?;
    let (place, count, ty) = elements(form)?;
    let act = match by_sample {
        false => SurfAct::Store(memory_type(form, ty, count)?),
        true if ty == ScalarType::B32 => SurfAct::StoreSample(count as u8),
        true => return form.bad_type(ty),
    };
    put(b, form, place, act, ty)
}

/// Lowers the reduction `sured`.
pub(crate) fn reduce(b: &mut Builder, form: &mut Form) -> Res<()> {
    let by_sample = by_sample(form)?;
    let op = form.need("an operation, such as `.add`", atom_op)?;
    let geom = form.need("a geometry: `.1d`, `.2d` or `.3d`", |m| {
        surface_geometry(m).filter(|geom| !matches!(geom, TexGeom::A1 | TexGeom::A2))
    })?;
    let ty = form.ty()?;
    let edge = edge(form)?;
    form.finish(2)?;
    let allowed = |atom: &AtomTy| reduces(by_sample, op, *atom);
    let Some(atom) = atom_ty(ty).filter(allowed) else {
        return form.bad_type(ty);
    };
    let act = match by_sample {
        true => SurfAct::ReduceSample(op, atom),
        false => SurfAct::Reduce(op, atom),
    };
    put(b, form, Place { geom, edge }, act, ty)
}

/// True for the combinations of operation and type that PTX has.
fn reduces(by_sample: bool, op: AtomOp, ty: AtomTy) -> bool {
    use AtomTy as T;
    match (op, by_sample) {
        (AtomOp::Add, false) => matches!(ty, T::U32 | T::S32 | T::U64),
        (AtomOp::Min | AtomOp::Max, false) => matches!(ty, T::U32 | T::S32 | T::U64 | T::S64),
        (AtomOp::Min | AtomOp::Max, true) => matches!(ty, T::B32 | T::B64),
        (AtomOp::And | AtomOp::Or, _) | (AtomOp::Add, true) => ty == T::B32,
        _ => false,
    }
}

/// Emits an access that takes values of registers.
fn put(b: &mut Builder, form: &Form, place: Place, act: SurfAct, ty: ScalarType) -> Res<()> {
    let Place { geom, edge } = place;
    let (handle, mut srcs) = self::place(b, form.operand(0)?, geom)?;
    let from = form.operand(1)?;
    let parts = b.elements(from);
    check_length(&parts, act.values().into(), from)?;
    for part in &parts {
        srcs.push(b.src(part, register_type(ty))?);
    }
    let extra = b.extra(Vec::new(), srcs);
    b.emit(Op::Surf { act, geom, edge }, &[], &[handle]).extra = extra;
    Ok(())
}
