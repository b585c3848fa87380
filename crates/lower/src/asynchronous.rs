//! Asynchronous copies into shared memory and `mbarrier` (PTX ISA, "Asynchronous Copy", "Parallel
//! Synchronization: mbarrier").
//!
//! Values arrive at once, which is one of the orders of events that the ISA allows. The pipeline
//! knows which copies of a warp are in flight and delays the instructions that wait for them. An
//! arrival on behalf of copies waits for them itself.

use crate::builder::Builder;
use crate::bulk;
use crate::cache;
use crate::error::{Res, invalid, unsupported};
use crate::form::Form;
use warploom_ir::{CopyWait, Dst, IntBin, IntTy, MbarrierOp, MemSpace, Op, Src};
use warploom_ptx::ast::{Constant, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Lowers the copies `cp.async`.
pub(crate) fn copy(b: &mut Builder, form: &mut Form) -> Res<()> {
    let reduces = form.has(Modifier::Reduce);
    if !form.has(Modifier::Async) {
        return form.unsupported();
    }
    if form.has(Modifier::Bulk) {
        return bulk::copy(b, form, reduces);
    }
    let all = form.has(Modifier::WaitAll);
    if all || form.has(Modifier::CommitGroup) {
        form.finish(0)?;
        b.emit(Op::CopyCommit, &[], &[]);
        if all {
            b.emit(Op::CopyWait(CopyWait::But(0)), &[], &[]);
        }
        return Ok(());
    }
    if form.has(Modifier::WaitGroup) {
        form.finish(1)?;
        let groups = number(form, 0)?.min(u8::MAX.into()) as u8;
        b.emit(Op::CopyWait(CopyWait::But(groups)), &[], &[]);
        return Ok(());
    }
    if form.has(Modifier::Mbarrier) {
        form.need("`.arrive`", |m| (m == Modifier::Arrive).then_some(()))?;
        let op = match form.has(Modifier::Noinc) {
            true => MbarrierOp::Arrive,
            // The arrival is expected by one more and has occurred: the count does not change.
            false => MbarrierOp::Nothing,
        };
        b.emit(Op::CopyWait(CopyWait::All), &[], &[]);
        return on_barrier(b, form, op, 0, &[]);
    }
    copy_bytes(b, form)
}

/// Operand that must be a number.
pub(crate) fn number(form: &Form, nth: usize) -> Res<u64> {
    let operand = form.operand(nth)?;
    match &operand.node {
        Operand::Immediate(Constant::Int(value, _)) => Ok(*value),
        _ => {
            let message = "a number is needed here".to_owned();
            Err(invalid("operand-kind", operand.span, message))
        }
    }
}

fn copy_bytes(b: &mut Builder, form: &mut Form) -> Res<()> {
    let hinted = usize::from(form.has(Modifier::L2CacheHint));
    let cache = cache::operator(form);
    let spaces = [form.space(), form.space()];
    if spaces != [Some(Space::Shared), Some(Space::Global)] {
        return form.unsupported();
    }
    form.finish(4 + hinted)?;
    let bytes = number(form, 2)?;
    if ![4, 8, 16].contains(&bytes) {
        let message = "4, 8 or 16 bytes can be copied".to_owned();
        return Err(invalid("copy-size", form.operand(2)?.span, message));
    }
    let (target, wide) = shared_address(b, form.operand(0)?)?;
    let from = b.address(form.operand(1)?, Some(Space::Global))?;
    let given = form.count() - hinted > 3;
    let size = match given {
        true => b.src(form.operand(3)?, ScalarType::B32)?,
        false => Src::None,
    };
    let op = Op::CopyAsync {
        bytes: bytes as u8,
        wide,
        cache,
    };
    let inst = b.emit(op, &[], &[from.base, target, size]);
    inst.imm = from.offset;
    inst.wide_addr = from.wide;
    Ok(())
}

/// Address in shared memory as one operand, and whether it is a 64-bit register.
pub(crate) fn shared_address(b: &mut Builder, operand: &Spanned<Operand>) -> Res<(Src, bool)> {
    let to = b.address(operand, Some(Space::Shared))?;
    let address = match (to.base, to.offset) {
        (Src::None, offset) => b.bits(offset as u64)?,
        (base, 0) => base,
        (base, offset) => {
            let ty = if to.wide { IntTy::U64 } else { IntTy::U32 };
            let (sum, offset) = (b.temp(to.wide)?, b.bits(offset as u64)?);
            b.emit(Op::Int(IntBin::Add, ty), &[Dst::Reg(sum)], &[base, offset]);
            Src::Reg(sum)
        }
    };
    Ok((address, to.wide))
}

/// Lowers the operations of `mbarrier`.
pub(crate) fn mbarrier(b: &mut Builder, form: &mut Form) -> Res<()> {
    let op = form.need("an operation, such as `.arrive`", |m| {
        Some(match m {
            Modifier::Init => MbarrierOp::Init,
            Modifier::Inval => MbarrierOp::Nothing,
            Modifier::ExpectTx => MbarrierOp::ExpectTx,
            Modifier::CompleteTx => MbarrierOp::CompleteTx,
            Modifier::Arrive => MbarrierOp::Arrive,
            Modifier::ArriveDrop => MbarrierOp::ArriveDrop,
            Modifier::TestWait | Modifier::TryWait => MbarrierOp::Test,
            Modifier::PendingCount => MbarrierOp::PendingCount,
            _ => return None,
        })
    })?;
    cache::operator(form);
    form.ignore(|m| m == Modifier::NoComplete);
    let op = match op {
        MbarrierOp::Arrive if form.has(Modifier::ExpectTx) => MbarrierOp::ArriveExpectTx,
        MbarrierOp::ArriveDrop if form.has(Modifier::ExpectTx) => MbarrierOp::ArriveDropExpectTx,
        op => op,
    };
    match op {
        MbarrierOp::ExpectTx | MbarrierOp::CompleteTx => {
            on_barrier(b, form, op, 0, &[ScalarType::U32])
        }
        MbarrierOp::Init => on_barrier(b, form, op, 0, &[ScalarType::U32]),
        MbarrierOp::Arrive
        | MbarrierOp::ArriveDrop
        | MbarrierOp::ArriveExpectTx
        | MbarrierOp::ArriveDropExpectTx => arrive(b, form, op),
        MbarrierOp::Test => test(b, form),
        MbarrierOp::PendingCount => {
            form.ty()?;
            form.finish(2)?;
            let dst = b.dst(form.operand(0)?, ScalarType::U32)?;
            let state = b.src(form.operand(1)?, ScalarType::B64)?;
            b.emit(
                Op::Mbarrier(MemSpace::Shared, op),
                &[dst],
                &[Src::None, state],
            );
            Ok(())
        }
        _ => on_barrier(b, form, op, 0, &[]),
    }
}

fn arrive(b: &mut Builder, form: &mut Form, op: MbarrierOp) -> Res<()> {
    let counts: &[ScalarType] = match form.count() {
        0..=2 => &[],
        _ => &[ScalarType::U32],
    };
    on_barrier(b, form, op, 1, counts)
}

/// Lowers `test_wait` and `try_wait`, which may both return at once.
fn test(b: &mut Builder, form: &mut Form) -> Res<()> {
    let parity = form.has(Modifier::Parity);
    let (op, ty) = match parity {
        true => (MbarrierOp::TestParity, ScalarType::U32),
        false => (MbarrierOp::Test, ScalarType::B64),
    };
    on_barrier(b, form, op, 1, &[ty])
}

/// Emits an operation on the barrier at operand `nth`. The operands after it are values of the
/// given types; the operands before it receive the result.
fn on_barrier(
    b: &mut Builder,
    form: &mut Form,
    op: MbarrierOp,
    nth: usize,
    values: &[ScalarType],
) -> Res<()> {
    let space = form.space();
    form.ty()?;
    // `try_wait` may state the longest time that it waits.
    form.finish(nth + 1 + values.len().max(2))?;
    let dst = match (nth, op) {
        (0, _) => Dst::None,
        (_, MbarrierOp::Test | MbarrierOp::TestParity) => b.dst_pred(form.operand(0)?)?,
        _ => b.dst(form.operand(0)?, ScalarType::B64)?,
    };
    let addr = b.address(form.operand(nth)?, space)?;
    if !matches!(addr.space, MemSpace::Generic | MemSpace::Shared) {
        let what = "barriers outside shared memory";
        return Err(unsupported(form.operand(nth)?.span, what));
    }
    let value = match values {
        [ty] => b.src(form.operand(nth + 1)?, *ty)?,
        _ => Src::None,
    };
    let inst = b.emit(Op::Mbarrier(addr.space, op), &[dst], &[addr.base, value]);
    inst.imm = addr.offset;
    inst.wide_addr = addr.wide;
    Ok(())
}
