//! Texture reads and queries (PTX ISA, "Texture Instructions"), by reference or by object.

use crate::builder::Builder;
use crate::error::{Res, invalid, unsupported};
use crate::form::Form;
use crate::scope::Symbol;
use warploom_diag::Span;
use warploom_ir::{ConstValue, Op, Src, TexGeom, TexLod, TexQuery, TexTy};
use warploom_ptx::ast::{Address, AddressBase, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType};

pub(crate) fn geometry(modifier: Modifier) -> Option<TexGeom> {
    Some(match modifier {
        Modifier::Dim1d => TexGeom::D1,
        Modifier::Dim2d => TexGeom::D2,
        Modifier::Dim3d => TexGeom::D3,
        Modifier::ArrayDim1d => TexGeom::A1,
        Modifier::ArrayDim2d => TexGeom::A2,
        Modifier::Cube => TexGeom::Cube,
        Modifier::ArrayCube => TexGeom::ACube,
        _ => return None,
    })
}

const GEOMETRY: &str = "a geometry: `.1d`, `.2d`, `.3d`, `.a1d`, `.a2d`, `.cube` or `.acube`";

/// Number of coordinates that a geometry needs, without padding.
pub(crate) fn coordinates(geom: TexGeom) -> usize {
    match geom {
        TexGeom::D1 => 1,
        TexGeom::D2 | TexGeom::A1 => 2,
        TexGeom::D3 | TexGeom::A2 | TexGeom::Cube => 3,
        TexGeom::ACube => 4,
    }
}

fn is_array(geom: TexGeom) -> bool {
    matches!(geom, TexGeom::A1 | TexGeom::A2 | TexGeom::ACube)
}

fn tex_type(ty: ScalarType) -> Option<TexTy> {
    Some(match ty {
        ScalarType::U32 => TexTy::U32,
        ScalarType::S32 => TexTy::S32,
        ScalarType::F32 => TexTy::F32,
        ScalarType::F16 => TexTy::F16,
        ScalarType::F16x2 => TexTy::F16x2,
        _ => return None,
    })
}

/// Takes `.v4` (`.v2` for `.f16x2`), the texel's type and the coordinates' type.
fn texel_types(form: &mut Form) -> Res<(ScalarType, TexTy, ScalarType, TexTy)> {
    let length = form.take(Modifier::vector_len);
    let texel = form.ty()?;
    let coord = form.ty()?;
    let wanted = if texel == ScalarType::F16x2 { 2 } else { 4 };
    if length != Some(wanted) {
        return form.unsupported();
    }
    let Some(texel_found) = tex_type(texel) else {
        return form.bad_type(texel);
    };
    match tex_type(coord) {
        Some(found @ (TexTy::S32 | TexTy::F32)) => Ok((texel, texel_found, coord, found)),
        _ => form.bad_type(coord),
    }
}

/// Texture, sampler (or none) and coordinates.
struct Place {
    handle: Src,
    sampler: Src,
    coords: Vec<Src>,
}

fn place(b: &mut Builder, form: &Form, geom: TexGeom, coord: ScalarType) -> Res<Place> {
    let operand = form.operand(1)?;
    let Operand::Address(address) = &operand.node else {
        return Err(invalid("operand-kind", operand.span, WANTED.to_owned()));
    };
    let (sampler, coords) = match &address.rest[..] {
        [coords] => (Src::None, coords),
        [sampler, coords] => (named_handle(b, sampler)?, coords),
        _ => return Err(invalid("operand-kind", operand.span, WANTED.to_owned())),
    };
    let handle = address_handle(b, address)?;
    let parts = b.elements(coords);
    if parts.len() < coordinates(geom) {
        let message = format!("{} coordinates are needed here", coordinates(geom));
        return Err(invalid("vector-length", coords.span, message));
    }
    let mut found = Vec::with_capacity(parts.len());
    for (nth, part) in parts.iter().enumerate() {
        let index = nth == 0 && is_array(geom);
        found.push(b.src(part, if index { ScalarType::U32 } else { coord })?);
    }
    Ok(Place {
        handle,
        sampler,
        coords: found,
    })
}

const WANTED: &str = "`[texture, {coordinates}]` is needed here";

pub(crate) fn address_handle(b: &mut Builder, address: &Address) -> Res<Src> {
    match &address.base.node {
        AddressBase::Name(name) => handle(b, name, address.base.span),
        AddressBase::Absolute(_) => Err(invalid(
            "operand-kind",
            address.base.span,
            WANTED.to_owned(),
        )),
    }
}

fn named_handle(b: &mut Builder, operand: &Spanned<Operand>) -> Res<Src> {
    match &operand.node {
        Operand::Name(name) => handle(b, name, operand.span),
        _ => Err(invalid("operand-kind", operand.span, WANTED.to_owned())),
    }
}

/// Texture or sampler: a reference of the file, or a 64-bit object in a register.
fn handle(b: &mut Builder, name: &str, span: Span) -> Res<Src> {
    if let Some(Symbol::Texture(index)) = b.find(name) {
        if b.kernel.sets_properties(name) {
            let what = format!("properties of `{name}` set in the file");
            return Err(unsupported(span, &what));
        }
        return b.pools.constant(ConstValue::Texture(index), span);
    }
    let node = Operand::Name(name.to_owned());
    b.src(&Spanned { node, span }, ScalarType::B64)
}

pub(crate) fn tex(b: &mut Builder, form: &mut Form) -> Res<()> {
    let lod = form.take(|m| match m {
        Modifier::Level => Some(TexLod::Level),
        Modifier::Grad => Some(TexLod::Grad),
        Modifier::Base => Some(TexLod::Base),
        _ => None,
    });
    let lod = lod.unwrap_or(TexLod::Base);
    let geom = form.need(GEOMETRY, geometry)?;
    let (texel_ty, texel, coord_ty, coord) = texel_types(form)?;
    let more = match lod {
        TexLod::Base => 0,
        TexLod::Level => 1,
        TexLod::Grad => 2,
    };
    form.finish(2 + more)?;
    let dsts = b.vector_dst(form.operand(0)?, texel_ty)?;
    let place = place(b, form, geom, coord_ty)?;
    let mut srcs = place.coords;
    for nth in 0..more {
        for part in b.elements(form.operand(2 + nth)?) {
            srcs.push(b.src(&part, coord_ty)?);
        }
    }
    let op = Op::Tex {
        geom,
        lod,
        texel,
        coord,
    };
    let extra = b.extra(dsts, srcs);
    b.emit(op, &[], &[place.handle, place.sampler]).extra = extra;
    Ok(())
}

pub(crate) fn tld4(b: &mut Builder, form: &mut Form) -> Res<()> {
    let channel = form.need("a component: `.r`, `.g`, `.b` or `.a`", |m| match m {
        Modifier::R => Some(0),
        Modifier::G => Some(1),
        Modifier::B => Some(2),
        Modifier::A => Some(3),
        _ => None,
    })?;
    let geom = form.need(GEOMETRY, geometry)?;
    let (texel_ty, texel, coord_ty, _) = texel_types(form)?;
    if coord_ty != ScalarType::F32 || !matches!(geom, TexGeom::D2 | TexGeom::A2) {
        return form.unsupported();
    }
    form.finish(2)?;
    let dsts = b.vector_dst(form.operand(0)?, texel_ty)?;
    let place = place(b, form, geom, coord_ty)?;
    let op = Op::Tld4 {
        channel,
        geom,
        texel,
    };
    let extra = b.extra(dsts, place.coords);
    b.emit(op, &[], &[place.handle, place.sampler]).extra = extra;
    Ok(())
}

pub(crate) fn txq(b: &mut Builder, form: &mut Form) -> Res<()> {
    let query = form.need("a query, such as `.width`", |m| {
        Some(match m {
            Modifier::Width => TexQuery::Width,
            Modifier::Height => TexQuery::Height,
            Modifier::Depth => TexQuery::Depth,
            Modifier::ChannelDataType => TexQuery::ChannelDataType,
            Modifier::ChannelOrder => TexQuery::ChannelOrder,
            Modifier::NormalizedCoords => TexQuery::NormalizedCoords,
            Modifier::ArraySize => TexQuery::ArraySize,
            Modifier::NumMipmapLevels => TexQuery::NumMipmapLevels,
            Modifier::FilterMode => TexQuery::FilterMode,
            Modifier::AddrMode0 => TexQuery::AddrMode0,
            Modifier::AddrMode1 => TexQuery::AddrMode1,
            Modifier::AddrMode2 => TexQuery::AddrMode2,
            Modifier::ForceUnnormalizedCoords => TexQuery::ForceUnnormalizedCoords,
            _ => return None,
        })
    })?;
    let ty = form.ty()?;
    if ty != ScalarType::B32 {
        return form.bad_type(ty);
    }
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let operand = form.operand(1)?;
    let Operand::Address(address) = &operand.node else {
        let message = "`[texture]` is needed here".to_owned();
        return Err(invalid("operand-kind", operand.span, message));
    };
    let handle = address_handle(b, address)?;
    b.emit(Op::Txq(query), &[dst], &[handle]);
    Ok(())
}
