//! Bulk copies (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.tensor" and
//! their groups).

use crate::asynchronous::{number, shared_address};
use crate::builder::Builder;
use crate::error::{Res, invalid};
use crate::form::Form;
use crate::memory::{atom_op, atom_ty};
use warploom_ir::{AsyncKind, AtomOp, AtomTy, BulkAct, Extra, MemSpace, Op, Src};
use warploom_ptx::ast::{Address, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Lowers the instructions of the family.
pub(crate) fn copy(b: &mut Builder, form: &mut Form, reduces: bool) -> Res<()> {
    if form.has(Modifier::CommitGroup) {
        form.finish(0)?;
        b.emit(Op::AsyncCommit(AsyncKind::Bulk), &[], &[]);
        return Ok(());
    }
    if form.has(Modifier::WaitGroup) {
        form.has(Modifier::Read);
        form.finish(1)?;
        let groups = number(form, 0)?.min(u8::MAX.into()) as u8;
        b.emit(Op::AsyncWait(AsyncKind::Bulk, groups), &[], &[]);
        return Ok(());
    }
    let tensor = form.has(Modifier::Tensor);
    if form.has(Modifier::Prefetch) {
        return prefetch(b, form, tensor);
    }
    if tensor {
        tensor_copy(b, form, reduces)
    } else {
        plain_copy(b, form, reduces)
    }
}

/// Number of dimensions of a tensor.
fn rank(form: &mut Form) -> Res<usize> {
    form.need("a number of dimensions, such as `.2d`", |m| {
        Some(match m {
            Modifier::Dim1d => 1,
            Modifier::Dim2d => 2,
            Modifier::Dim3d => 3,
            Modifier::Dim4d => 4,
            Modifier::Dim5d => 5,
            _ => return None,
        })
    })
}

/// Lowers prefetches to L2, which have no effect on values and take no time.
fn prefetch(b: &mut Builder, form: &mut Form, tensor: bool) -> Res<()> {
    if tensor {
        rank(form)?;
        form.ignore(|m| matches!(m, Modifier::Tile | Modifier::Im2col));
    }
    form.has(Modifier::L2);
    form.has(Modifier::L2CacheHint);
    form.space();
    form.finish(4)?;
    b.emit(Op::Nop, &[], &[]);
    Ok(())
}

/// Parts of a copy that its modifiers state.
struct Direction {
    act: BulkAct,
    /// Number of operands after those of the copy: masks and cache policies.
    more: usize,
}

/// Takes spaces, the way in which the end becomes known, the operation and hints.
fn direction(form: &mut Form, reduces: bool) -> Res<Direction> {
    let spaces = [form.space(), form.space()];
    let barrier = form.has(Modifier::MbarrierCompleteTxBytes);
    let group = form.has(Modifier::BulkGroup);
    let multicast = form.has(Modifier::MulticastCluster);
    let hinted = form.has(Modifier::L2CacheHint);
    let op = match reduces {
        true => Some(form.need("an operation, such as `.add`", atom_op)?),
        false => None,
    };
    let shared = Some(Space::Shared);
    let global = Some(Space::Global);
    let act = match (spaces, barrier, group, op) {
        ([to, from], true, false, None) if to == shared && from == global => match multicast {
            true => BulkAct::Multicast,
            false => BulkAct::Load,
        },
        ([to, from], true, false, None) if to == shared && from == shared => BulkAct::Within,
        ([to, from], true, false, Some(op)) if to == shared && from == shared => {
            BulkAct::ReduceWithin(op, AtomTy::B32)
        }
        ([to, from], false, true, None) if to == global && from == shared => BulkAct::Store,
        ([to, from], false, true, Some(op)) if to == global && from == shared => {
            BulkAct::Reduce(op, None)
        }
        _ => return form.unsupported(),
    };
    if multicast && act != BulkAct::Multicast {
        return form.unsupported();
    }
    let more = usize::from(multicast) + usize::from(hinted);
    Ok(Direction { act, more })
}

/// Type of the elements of a reduction of contiguous bytes.
fn element_type(form: &mut Form, op: AtomOp) -> Res<AtomTy> {
    use AtomTy as T;
    form.has(Modifier::Noftz);
    let ty = form.ty()?;
    let allowed = |ty: &AtomTy| match op {
        AtomOp::And | AtomOp::Or | AtomOp::Xor => matches!(ty, T::B32 | T::B64),
        AtomOp::Inc | AtomOp::Dec => *ty == T::U32,
        AtomOp::Min | AtomOp::Max => {
            matches!(ty, T::U32 | T::S32 | T::U64 | T::S64 | T::F16 | T::Bf16)
        }
        AtomOp::Add => matches!(
            ty,
            T::U32 | T::S32 | T::U64 | T::F16 | T::Bf16 | T::F32 | T::F64
        ),
        AtomOp::Cas | AtomOp::Exch => false,
    };
    match atom_ty(ty).filter(allowed) {
        Some(ty) => Ok(ty),
        None => form.bad_type(ty),
    }
}

/// Type of the elements of a reduction into shared memory.
fn shared_type(form: &mut Form, op: AtomOp) -> Res<AtomTy> {
    use AtomTy as T;
    let ty = form.ty()?;
    let allowed = |ty: &AtomTy| match op {
        AtomOp::And | AtomOp::Or | AtomOp::Xor => *ty == T::B32,
        AtomOp::Inc | AtomOp::Dec => *ty == T::U32,
        AtomOp::Min | AtomOp::Max => matches!(ty, T::U32 | T::S32),
        AtomOp::Add => matches!(ty, T::U32 | T::S32 | T::U64),
        AtomOp::Cas | AtomOp::Exch => false,
    };
    match atom_ty(ty).filter(allowed) {
        Some(ty) => Ok(ty),
        None => form.bad_type(ty),
    }
}

/// Barrier object of a copy, if it has one.
fn barrier(b: &mut Builder, form: &Form, act: BulkAct, nth: usize) -> Res<(Src, bool)> {
    match act.completes_transactions() {
        true => shared_address(b, form.operand(nth)?),
        false => Ok((Src::None, false)),
    }
}

/// The mask of blocks of a copy to several blocks, which follows the barrier object at `nth`.
fn mask(b: &mut Builder, form: &Form, act: BulkAct, nth: usize) -> Res<Option<Src>> {
    match act {
        BulkAct::Multicast => Ok(Some(b.src(form.operand(nth + 1)?, ScalarType::B16)?)),
        _ => Ok(None),
    }
}

/// Lowers `cp.async.bulk` and `cp.reduce.async.bulk`.
fn plain_copy(b: &mut Builder, form: &mut Form, reduces: bool) -> Res<()> {
    let Direction { mut act, more } = direction(form, reduces)?;
    match act {
        BulkAct::Reduce(op, _) => act = BulkAct::Reduce(op, Some(element_type(form, op)?)),
        BulkAct::ReduceWithin(op, _) => act = BulkAct::ReduceWithin(op, shared_type(form, op)?),
        _ => {}
    }
    let counted = act.completes_transactions();
    form.finish(3 + usize::from(counted) + more)?;
    let (far, near) = if counted { (1, 0) } else { (0, 1) };
    let space = match act {
        BulkAct::Within | BulkAct::ReduceWithin(..) => Space::Shared,
        _ => Space::Global,
    };
    let far = b.address(form.operand(far)?, Some(space))?;
    let (near, wide) = shared_address(b, form.operand(near)?)?;
    let bytes = b.src(form.operand(2)?, ScalarType::B32)?;
    let (object, wide_object) = barrier(b, form, act, 3)?;
    let op = Op::Bulk {
        act,
        wide: [wide, wide_object],
    };
    let mask = mask(b, form, act, 3)?;
    let extra = mask.map_or(Extra::NONE, |mask| b.extra(Vec::new(), vec![mask]));
    let inst = b.emit(op, &[], &[far.base, near, bytes, object]);
    (inst.imm, inst.wide_addr, inst.extra) = (far.offset, far.wide, extra);
    Ok(())
}

/// Lowers `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
fn tensor_copy(b: &mut Builder, form: &mut Form, reduces: bool) -> Res<()> {
    let rank = rank(form)?;
    let Direction { act, more } = direction(form, reduces)?;
    form.has(Modifier::Tile);
    let offsets = form.has(Modifier::Im2col);
    let im2col = offsets || form.has(Modifier::Im2colNoOffs);
    let counted = matches!(act, BulkAct::Load | BulkAct::Multicast);
    form.finish(2 + usize::from(counted) + usize::from(offsets) + more)?;
    if im2col && (rank < 3 || offsets != counted) {
        return form.unsupported();
    }
    if matches!(act, BulkAct::Within | BulkAct::ReduceWithin(..)) {
        return form.unsupported();
    }
    let (tensor, near) = if counted { (1, 0) } else { (0, 1) };
    let tensor = form.operand(tensor)?;
    let (map, coordinates) = tensor_and_coordinates(tensor, rank, b)?;
    let map = b.plain_address(map, None)?;
    if !matches!(
        map.space,
        MemSpace::Generic | MemSpace::Global | MemSpace::Const | MemSpace::Param
    ) {
        return form.unsupported();
    }
    let mut srcs = Vec::with_capacity(rank);
    for coordinate in &coordinates {
        srcs.push(b.src(coordinate, ScalarType::B32)?);
    }
    let (near, wide) = shared_address(b, form.operand(near)?)?;
    let (object, wide_object) = barrier(b, form, act, 2)?;
    if offsets {
        srcs.extend(pixel_offsets(b, form, rank - 2)?);
    }
    srcs.extend(mask(b, form, act, 2 + usize::from(offsets))?);
    let extra = b.extra(Vec::new(), srcs);
    let op = Op::BulkTensor {
        act,
        space: map.space,
        im2col,
        wide: [wide, wide_object],
    };
    let inst = b.emit(op, &[], &[map.base, near, Src::None, object]);
    (inst.imm, inst.wide_addr, inst.extra) = (map.offset, map.wide, extra);
    Ok(())
}

/// Offsets of pixels of a load in mode `.im2col`, which follow the barrier object.
fn pixel_offsets(b: &mut Builder, form: &Form, count: usize) -> Res<Vec<Src>> {
    let operand = form.operand(3)?;
    let parts = b.elements(operand);
    if parts.len() != count {
        let message = format!("{count} offsets are needed here");
        return Err(invalid("vector-length", operand.span, message));
    }
    parts
        .iter()
        .map(|part| b.src(part, ScalarType::B16))
        .collect()
}

/// Parts of `[map, {coordinates}]`.
fn tensor_and_coordinates<'a>(
    operand: &'a Spanned<Operand>,
    rank: usize,
    b: &Builder,
) -> Res<(&'a Address, Vec<Spanned<Operand>>)> {
    let found = match &operand.node {
        Operand::Address(address) => match &address.rest[..] {
            [coordinates] => Some((address, b.elements(coordinates))),
            _ => None,
        },
        _ => None,
    };
    match found {
        Some(found) if found.1.len() == rank => Ok(found),
        Some(_) => {
            let message = format!("{rank} coordinates are needed here");
            Err(invalid("vector-length", operand.span, message))
        }
        None => {
            let message = "`[tensor map, {coordinates}]` is needed here".to_owned();
            Err(invalid("operand-kind", operand.span, message))
        }
    }
}
