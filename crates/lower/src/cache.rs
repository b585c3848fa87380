//! Cache operators, memory semantics and hints, which affect only timing.

use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use warploom_ir::{CacheOp, Op, Src, Width};
use warploom_ptx::tokens::{Modifier, ScalarType};

/// Takes all modifiers that state the use of caches and the order of an access.
pub(crate) fn operator(form: &mut Form) -> CacheOp {
    let ordered = form.take(|m| {
        Some(match m {
            Modifier::Volatile | Modifier::Mmio => CacheOp::Volatile,
            Modifier::Acquire => CacheOp::Acquire,
            Modifier::Release | Modifier::AcqRel => CacheOp::Release,
            _ => return None,
        })
    });
    let relaxed = form.has(Modifier::Relaxed).then_some(CacheOp::Relaxed);
    let cached = form.take(|m| {
        Some(match m {
            Modifier::Ca => CacheOp::Ca,
            Modifier::Cg => CacheOp::Cg,
            Modifier::Cs => CacheOp::Cs,
            Modifier::Lu => CacheOp::Lu,
            Modifier::Cv => CacheOp::Cv,
            Modifier::Wb => CacheOp::Wb,
            Modifier::Wt => CacheOp::Wt,
            _ => return None,
        })
    });
    let read_only = form.has(Modifier::Nc).then_some(CacheOp::NonCoherent);
    form.ignore(is_hint);
    let found = ordered.or(relaxed).or(read_only).or(cached);
    found.unwrap_or(CacheOp::Default)
}

/// Takes scopes, eviction priorities and prefetch sizes, which have no effect on values.
fn is_hint(modifier: Modifier) -> bool {
    matches!(
        modifier,
        Modifier::Weak
            | Modifier::Cta
            | Modifier::Cluster
            | Modifier::Gpu
            | Modifier::Gl
            | Modifier::Sys
            | Modifier::Unified
            | Modifier::L1EvictNormal
            | Modifier::L1EvictUnchanged
            | Modifier::L1EvictFirst
            | Modifier::L1EvictLast
            | Modifier::L1NoAllocate
            | Modifier::L2EvictNormal
            | Modifier::L2EvictUnchanged
            | Modifier::L2EvictFirst
            | Modifier::L2EvictLast
            | Modifier::L264B
            | Modifier::L2128B
            | Modifier::L2256B
    )
}

/// Lowers prefetches. That of a tensor map does nothing, because nothing models the cache of maps.
pub(crate) fn prefetch(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::Tensormap) {
        form.space();
        form.finish(1)?;
        b.emit(Op::Nop, &[], &[]);
        return Ok(());
    }
    form.ignore(|m| matches!(m, Modifier::L1 | Modifier::L2) || is_hint(m));
    let space = form.space();
    form.finish(1)?;
    let addr = b.address(form.operand(0)?, space)?;
    let inst = b.emit(Op::Prefetch(addr.space), &[], &[addr.base]);
    inst.imm = addr.offset;
    inst.wide_addr = addr.wide;
    Ok(())
}

/// Lowers `discard` and `applypriority`, hints about lines of the L2 cache.
pub(crate) fn hint(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::L2 || is_hint(m));
    form.space();
    form.finish(2)?;
    b.emit(Op::Nop, &[], &[]);
    Ok(())
}

/// Lowers `createpolicy`. Policies are opaque and have no effect on values.
pub(crate) fn create_policy(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| matches!(m, Modifier::Fractional | Modifier::Range) || is_hint(m));
    form.space();
    let ty = form.ty()?;
    if ty != ScalarType::B64 {
        return form.unsupported();
    }
    form.finish(4)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let zero: Src = b.bits(0)?;
    b.emit(Op::Mov(Width::B64), &[dst], &[zero]);
    Ok(())
}
