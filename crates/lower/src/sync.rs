//! Barriers and fences (PTX ISA, "Parallel Synchronization and Communication").

use crate::builder::Builder;
use crate::cluster;
use crate::error::Res;
use crate::form::Form;
use crate::function::is_assurance;
use warploom_ir::{BarrierKind, Dst, Op, Scope, Src};
use warploom_ptx::tokens::{Modifier, ScalarType};

const B32: ScalarType = ScalarType::B32;

pub(crate) fn barrier(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::Cta || is_assurance(m));
    if form.has(Modifier::Warp) {
        return warp_barrier(b, form);
    }
    if form.has(Modifier::Cluster) {
        return cluster::barrier(b, form);
    }
    let action = form.need("`.sync`, `.arrive` or `.red`", |m| match m {
        Modifier::Sync => Some(BarrierKind::Sync),
        Modifier::Arrive => Some(BarrierKind::Arrive),
        Modifier::Red => Some(BarrierKind::RedPopc),
        _ => None,
    })?;
    if action == BarrierKind::RedPopc {
        return reduce(b, form);
    }
    form.finish(2)?;
    let number = b.src(form.operand(0)?, B32)?;
    let count = match form.count() {
        1 if action == BarrierKind::Sync => Src::None,
        _ => b.src(form.operand(1)?, B32)?,
    };
    b.emit(Op::Barrier(action), &[], &[number, count]);
    Ok(())
}

fn warp_barrier(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.need("`.sync`", |m| (m == Modifier::Sync).then_some(()))?;
    form.finish(1)?;
    let mask = b.src(form.operand(0)?, B32)?;
    b.emit(Op::BarWarp, &[], &[mask]);
    Ok(())
}

/// Lowers `bar.red.op d, a{, b}, c`.
fn reduce(b: &mut Builder, form: &mut Form) -> Res<()> {
    let kind = form.need("`.popc`, `.and` or `.or`", |m| match m {
        Modifier::Popc => Some(BarrierKind::RedPopc),
        Modifier::And => Some(BarrierKind::RedAnd),
        Modifier::Or => Some(BarrierKind::RedOr),
        _ => None,
    })?;
    form.ty()?;
    form.finish(4)?;
    let dst: Dst = match kind {
        BarrierKind::RedPopc => b.dst(form.operand(0)?, B32)?,
        _ => b.dst_pred(form.operand(0)?)?,
    };
    let number = b.src(form.operand(1)?, B32)?;
    let (count, last) = match form.count() {
        4 => (b.src(form.operand(2)?, B32)?, 3),
        _ => (Src::None, 2),
    };
    let value = b.src_pred(form.operand(last)?)?;
    b.emit(Op::Barrier(kind), &[dst], &[number, count, value]);
    Ok(())
}

fn scope(modifier: Modifier) -> Option<Scope> {
    Some(match modifier {
        Modifier::Cta => Scope::Block,
        Modifier::Cluster => Scope::Cluster,
        Modifier::Gl | Modifier::Gpu => Scope::Gpu,
        Modifier::Sys => Scope::System,
        _ => return None,
    })
}

const SCOPE: &str = "a scope, such as `.gpu`";

pub(crate) fn membar(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::Proxy) {
        return proxy_fence(b, form);
    }
    let scope = form.need(SCOPE, scope)?;
    form.finish(0)?;
    b.emit(Op::Membar(scope), &[], &[]);
    Ok(())
}

/// Lowers `fence`. Execution orders all accesses of a thread and has one proxy, so that the weaker
/// orders are equal to the strong one, and a fence between proxies is a fence of its scope.
pub(crate) fn fence(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| {
        matches!(
            m,
            Modifier::Sc | Modifier::AcqRel | Modifier::Acquire | Modifier::Release
        )
    });
    form.ignore(|m| {
        matches!(
            m,
            Modifier::MbarrierInit
                | Modifier::SyncRestrictSharedCta
                | Modifier::SyncRestrictSharedCluster
        )
    });
    if form.has(Modifier::Proxy) {
        return proxy_fence(b, form);
    }
    let scope = form.need(SCOPE, scope)?;
    form.finish(0)?;
    b.emit(Op::Membar(scope), &[], &[]);
    Ok(())
}

/// Lowers `fence.proxy`. One without a scope orders accesses of the block. The address and size of
/// `.tensormap::generic.acquire` name a tensor map, which every fence covers.
fn proxy_fence(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.need("a proxy, such as `.async`", |m| {
        let known = matches!(
            m,
            Modifier::Alias
                | Modifier::Async
                | Modifier::AsyncGlobal
                | Modifier::AsyncSharedCta
                | Modifier::AsyncSharedCluster
                | Modifier::AsyncGeneric
                | Modifier::TensormapGeneric
        );
        known.then_some(())
    })?;
    form.space();
    let scope = form.take(scope).unwrap_or(Scope::Block);
    form.finish(2)?;
    b.emit(Op::Membar(scope), &[], &[]);
    Ok(())
}
