//! Instructions of clusters (PTX ISA, "barrier.cluster", "mapa", "getctarank"), for clusters of one
//! block: the shared memory of the cluster is that of the block.

use crate::builder::Builder;
use crate::error::{Res, unsupported};
use crate::form::Form;
use crate::types;
use warploom_ir::{BarrierKind, Op};
use warploom_ptx::ast::{FunctionDirective, Kept};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Directive that states the blocks of a cluster along each axis.
const BLOCKS: &str = ".reqnctapercluster";

/// Refuses the instruction in a kernel whose clusters have several blocks.
fn only_one_block(b: &Builder, form: &Form) -> Res<()> {
    let directives = &b.kernel.functions[0].function.directives;
    let mut stated = directives.iter().filter_map(|directive| match directive {
        FunctionDirective::Kept(Kept(text)) => text.node.trim().strip_prefix(BLOCKS),
        _ => None,
    });
    let several = |extents: &str| extents.split(',').any(|extent| extent.trim() != "1");
    if stated.any(several) {
        let what = format!("`{}` in clusters of several blocks", form.spelling());
        return Err(unsupported(form.span(), &what));
    }
    Ok(())
}

/// Lowers `barrier.cluster.arrive` and `barrier.cluster.wait`.
pub(crate) fn barrier(b: &mut Builder, form: &mut Form) -> Res<()> {
    only_one_block(b, form)?;
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

/// Takes the space, which is that of clusters or none, and the type of an address.
fn address_type(form: &mut Form) -> Res<ScalarType> {
    match form.space() {
        None | Some(Space::Shared) => form.ty(),
        Some(_) => form.unsupported(),
    }
}

/// Lowers `mapa`: the only block's address is the address itself.
pub(crate) fn map(b: &mut Builder, form: &mut Form) -> Res<()> {
    only_one_block(b, form)?;
    let ty = address_type(form)?;
    form.finish(3)?;
    let Some(width) = types::width(ty) else {
        return form.bad_type(ty);
    };
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = b.src(form.operand(1)?, ty)?;
    b.src(form.operand(2)?, ScalarType::B32)?;
    b.emit(Op::Mov(width), &[dst], &[src]);
    Ok(())
}

/// Lowers `getctarank`: the only block has rank 0.
pub(crate) fn rank(b: &mut Builder, form: &mut Form) -> Res<()> {
    only_one_block(b, form)?;
    let ty = address_type(form)?;
    form.finish(2)?;
    let dst = b.dst(form.operand(0)?, ScalarType::B32)?;
    b.src(form.operand(1)?, ty)?;
    let zero = b.bits(0)?;
    b.emit(Op::Mov(warploom_ir::Width::B32), &[dst], &[zero]);
    Ok(())
}
