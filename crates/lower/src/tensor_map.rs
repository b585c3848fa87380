//! Tensor maps made by a kernel: `tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA).
//!
//! A tensor map is an opaque object whose fields lie as
//! [`tensor_map`](warploom_ir::tensor_map) says, so that the replacement of a field is a store.

use crate::asynchronous::{number, shared_address};
use crate::builder::Builder;
use crate::error::{Res, invalid};
use crate::form::Form;
use warploom_ir::tensor_map::{TENSOR_MAP_BYTES, TensorMapField};
use warploom_ir::{CacheOp, MemSpace, MemTy, Op, Src};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Lowers both instructions on tensor maps.
pub(crate) fn lower(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::CpFenceproxy) {
        return copy(b, form);
    }
    form.need("`.replace` or `.cp_fenceproxy`", |m| {
        (m == Modifier::Replace).then_some(())
    })?;
    form.need("`.tile`", |m| (m == Modifier::Tile).then_some(()))?;
    replace(b, form)
}

/// Field that the instruction names, for dimension 0 where there are several, and whether there
/// are.
fn field(modifier: Modifier) -> Option<(TensorMapField, bool)> {
    use TensorMapField as F;
    Some(match modifier {
        Modifier::GlobalAddress => (F::GlobalAddress, false),
        Modifier::Rank => (F::Rank, false),
        Modifier::BoxDim => (F::BoxDim(0), true),
        Modifier::GlobalDim => (F::GlobalDim(0), true),
        Modifier::GlobalStride => (F::GlobalStride(0), true),
        Modifier::ElementStride => (F::ElementStride(0), true),
        Modifier::Elemtype => (F::ElementType, false),
        Modifier::InterleaveLayout => (F::Interleave, false),
        Modifier::SwizzleMode => (F::Swizzle, false),
        Modifier::FillMode => (F::Fill, false),
        _ => return None,
    })
}

/// A field of one dimension, for dimension `nth`.
fn for_dimension(field: TensorMapField, nth: u8) -> TensorMapField {
    use TensorMapField as F;
    match field {
        F::BoxDim(_) => F::BoxDim(nth),
        F::GlobalDim(_) => F::GlobalDim(nth),
        F::GlobalStride(_) => F::GlobalStride(nth),
        F::ElementStride(_) => F::ElementStride(nth),
        other => other,
    }
}

/// Lowers `tensormap.replace.tile.field{.space}.b1024.type [map], {ord,} value`.
fn replace(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (named, by_dimension) = form.need("a field, such as `.rank`", field)?;
    let space = form.space();
    let whole = form.ty()?;
    let ty = form.ty()?;
    let last = 1 + usize::from(by_dimension);
    form.finish(last + 1)?;
    let nth = match by_dimension {
        true => number(form, 1)?.min(u8::MAX.into()) as u8,
        false => 0,
    };
    let Some((at, bytes)) = for_dimension(named, nth).place() else {
        let message = format!("a tensor map has no such field for dimension {nth}");
        return Err(invalid("tensor-map-field", form.operand(1)?.span, message));
    };
    let fits = ty.bits() as usize == 8 * bytes;
    if whole != ScalarType::B1024 || !fits {
        return form.unsupported();
    }
    let addr = b.address(form.operand(0)?, space)?;
    if !matches!(
        addr.space,
        MemSpace::Generic | MemSpace::Global | MemSpace::Shared
    ) {
        return form.unsupported();
    }
    let value = b.src(form.operand(last)?, ty)?;
    let stored = MemTy {
        bytes: bytes as u8,
        count: 1,
        signed: false,
        wide_reg: bytes == 8,
    };
    let op = Op::St(addr.space, stored, CacheOp::Default);
    let inst = b.emit(op, &[], &[addr.base, value]);
    inst.imm = addr.offset.wrapping_add(at as i32);
    inst.wide_addr = addr.wide;
    Ok(())
}

/// Lowers `tensormap.cp_fenceproxy`, which copies a tensor map from shared to global memory.
fn copy(b: &mut Builder, form: &mut Form) -> Res<()> {
    let spaces = [form.space(), form.space()];
    form.ignore(|m| {
        matches!(
            m,
            Modifier::TensormapGeneric
                | Modifier::Release
                | Modifier::Cta
                | Modifier::Cluster
                | Modifier::Gpu
                | Modifier::Sys
                | Modifier::Sync
                | Modifier::Aligned
        )
    });
    form.finish(3)?;
    if spaces != [Some(Space::Global), Some(Space::Shared)] {
        return form.unsupported();
    }
    if number(form, 2)? != TENSOR_MAP_BYTES as u64 {
        let message = format!("a tensor map has {TENSOR_MAP_BYTES} bytes");
        return Err(invalid("copy-size", form.operand(2)?.span, message));
    }
    let to = b.address(form.operand(0)?, Some(Space::Global))?;
    let (from, wide): (Src, bool) = shared_address(b, form.operand(1)?)?;
    let inst = b.emit(Op::TensorMapCopy(wide), &[], &[to.base, from]);
    (inst.imm, inst.wide_addr) = (to.offset, to.wide);
    Ok(())
}
