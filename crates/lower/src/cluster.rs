//! Instructions of clusters (PTX ISA, "barrier.cluster", "mapa", "getctarank", "isspacep",
//! "st.async", "red.async").

use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use crate::operand::Fit;
use warploom_ir::{BarrierKind, ClusterOp, MbarrierOp, MemSpace, Op};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Lowers `barrier.cluster.arrive` and `barrier.cluster.wait`.
pub(crate) fn barrier(b: &mut Builder, form: &mut Form) -> Res<()> {
    let kind = form.need("`.arrive` or `.wait`", |m| match m {
        Modifier::Arrive => Some(BarrierKind::ClusterArrive),
        Modifier::Wait => Some(BarrierKind::ClusterWait),
        _ => None,
    })?;
    form.ignore(|m| matches!(m, Modifier::Release | Modifier::Relaxed | Modifier::Acquire));
    form.finish(0)?;
    b.emit(Op::Barrier(kind), &[], &[]);
    Ok(())
}

/// Takes the space, which is that of clusters or none, and the type of an address. Returns the type
/// and whether the address is generic.
fn address(form: &mut Form) -> Res<(ScalarType, bool)> {
    let generic = match form.space() {
        None => true,
        Some(Space::Shared) => false,
        Some(_) => return form.unsupported(),
    };
    Ok((form.ty()?, generic))
}

/// Lowers the instruction `mapa`.
pub(crate) fn map(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, generic) = address(form)?;
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    let rank = b.src(form.operand(2)?, ScalarType::B32)?;
    let op = Op::Cluster {
        op: ClusterOp::Map,
        generic,
        wide: ty.bits() == 64,
    };
    b.emit(op, &[dst], &[src, rank]);
    Ok(())
}

/// Lowers the instruction `getctarank`.
pub(crate) fn rank(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, generic) = address(form)?;
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ScalarType::B32)?;
    let src = b.src(form.operand(1)?, ty)?;
    let op = Op::Cluster {
        op: ClusterOp::Rank,
        generic,
        wide: ty.bits() == 64,
    };
    b.emit(op, &[dst], &[src]);
    Ok(())
}

/// Lowers `isspacep` with the space `.shared::cluster`.
pub(crate) fn is_shared(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(2)?;
    let dst = b.dst_pred(form.operand(0)?)?;
    let (src, bits) = b.src_fit(form.operand(1)?, ScalarType::U32, Fit::Wider)?;
    let op = Op::Cluster {
        op: ClusterOp::IsShared,
        generic: true,
        wide: bits == 64,
    };
    b.emit(op, &[dst], &[src]);
    Ok(())
}

/// Takes the modifiers of `st.async` and `red.async` to shared memory, whose end a barrier object
/// hears of. Returns false for other stores and reductions.
pub(crate) fn is_asynchronous(form: &mut Form) -> Res<bool> {
    if !form.has(Modifier::Async) {
        return Ok(false);
    }
    match form.has(Modifier::MbarrierCompleteTxBytes) {
        true => Ok(true),
        false => form.unsupported(),
    }
}

/// Completes as many transactions as `st.async` or `red.async` has written bytes, of the barrier
/// object that its last operand names.
pub(crate) fn complete(b: &mut Builder, form: &Form, space: MemSpace, bytes: u32) -> Res<()> {
    let explicit = match space {
        MemSpace::Generic => None,
        MemSpace::Shared => Some(Space::Shared),
        _ => return form.unsupported(),
    };
    let addr = b.address(form.operand(2)?, explicit)?;
    let count = b.bits(bytes.into())?;
    let op = Op::Mbarrier(addr.space, MbarrierOp::CompleteTx);
    let inst = b.emit(op, &[], &[addr.base, count]);
    (inst.imm, inst.wide_addr) = (addr.offset, addr.wide);
    Ok(())
}
