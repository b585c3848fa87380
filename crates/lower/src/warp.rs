//! Operations across the lanes of a warp, including old forms without a member mask.

use crate::builder::Builder;
use crate::error::Res;
use crate::form::Form;
use crate::types;
use warploom_ir::{FloatRedux, Op, ReduxOp, ShflMode, Src, VoteMode};
use warploom_ptx::tokens::{Modifier, ScalarType};

const B32: ScalarType = ScalarType::B32;
const F32: ScalarType = ScalarType::F32;

/// Member mask after the other operands, if the instruction has one.
fn member_mask(b: &mut Builder, form: &Form, sync: bool, nth: usize) -> Res<Src> {
    match sync {
        true => b.src(form.operand(nth)?, B32),
        false => Ok(Src::None),
    }
}

pub(crate) fn vote(b: &mut Builder, form: &mut Form) -> Res<()> {
    let sync = form.has(Modifier::Sync);
    let mode = form.need("`.all`, `.any`, `.uni` or `.ballot`", |m| match m {
        Modifier::All => Some(VoteMode::All),
        Modifier::Any => Some(VoteMode::Any),
        Modifier::Uni => Some(VoteMode::Uni),
        Modifier::Ballot => Some(VoteMode::Ballot),
        _ => None,
    })?;
    let ty = form.ty()?;
    form.finish(2 + usize::from(sync))?;
    let dst = match (mode, ty) {
        (VoteMode::Ballot, ScalarType::B32) => b.dst(form.operand(0)?, B32)?,
        (VoteMode::All | VoteMode::Any | VoteMode::Uni, ScalarType::Pred) => {
            b.dst_pred(form.operand(0)?)?
        }
        _ => return form.bad_type(ty),
    };
    let src = [
        b.src_pred(form.operand(1)?)?,
        member_mask(b, form, sync, 2)?,
    ];
    b.emit(Op::Vote(mode), &[dst], &src);
    Ok(())
}

pub(crate) fn match_sync(b: &mut Builder, form: &mut Form) -> Res<()> {
    let any = form.need("`.any` or `.all`", |m| match m {
        Modifier::Any => Some(true),
        Modifier::All => Some(false),
        _ => None,
    })?;
    form.need("`.sync`", |m| (m == Modifier::Sync).then_some(()))?;
    let ty = form.ty()?;
    let Some(width) = types::width(ty).filter(|_| ty.bits() >= 32) else {
        return form.bad_type(ty);
    };
    form.finish(3)?;
    let dst = b.dst_and_pred(form.operand(0)?, B32)?;
    let src = [b.src(form.operand(1)?, ty)?, b.src(form.operand(2)?, B32)?];
    b.emit(Op::Match(any, width), &dst, &src);
    Ok(())
}

pub(crate) fn shfl(b: &mut Builder, form: &mut Form) -> Res<()> {
    let sync = form.has(Modifier::Sync);
    let mode = form.need("`.up`, `.down`, `.bfly` or `.idx`", |m| match m {
        Modifier::Up => Some(ShflMode::Up),
        Modifier::Down => Some(ShflMode::Down),
        Modifier::Bfly => Some(ShflMode::Bfly),
        Modifier::Idx => Some(ShflMode::Idx),
        _ => None,
    })?;
    let ty = form.ty()?;
    if ty.bits() != 32 {
        return form.bad_type(ty);
    }
    form.finish(4 + usize::from(sync))?;
    let dst = b.dst_and_pred(form.operand(0)?, ty)?;
    let src = [
        b.src(form.operand(1)?, ty)?,
        b.src(form.operand(2)?, B32)?,
        b.src(form.operand(3)?, B32)?,
        member_mask(b, form, sync, 4)?,
    ];
    b.emit(Op::Shfl(mode), &dst, &src);
    Ok(())
}

pub(crate) fn activemask(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ty()?;
    form.finish(1)?;
    let dst = b.dst(form.operand(0)?, B32)?;
    b.emit(Op::Activemask, &[dst], &[]);
    Ok(())
}

pub(crate) fn redux(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.need("`.sync`", |m| (m == Modifier::Sync).then_some(()))?;
    let op = form.need("an operation, such as `.add`", |m| match m {
        Modifier::Add => Some(ReduxOp::Add),
        Modifier::Min => Some(ReduxOp::Min),
        Modifier::Max => Some(ReduxOp::Max),
        Modifier::And => Some(ReduxOp::And),
        Modifier::Or => Some(ReduxOp::Or),
        Modifier::Xor => Some(ReduxOp::Xor),
        _ => None,
    })?;
    let ty = form.ty()?;
    if ty == ScalarType::F32 {
        return redux_float(b, form, op);
    }
    let Some(int) = types::int_or_bits(ty).filter(|_| ty.bits() == 32) else {
        return form.bad_type(ty);
    };
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let src = [b.src(form.operand(1)?, ty)?, b.src(form.operand(2)?, B32)?];
    b.emit(Op::Redux(op, int), &[dst], &src);
    Ok(())
}

/// Lowers `redux.sync.min{.abs}{.NaN}.f32` and `.max`.
fn redux_float(b: &mut Builder, form: &mut Form, op: ReduxOp) -> Res<()> {
    let max = match op {
        ReduxOp::Min => false,
        ReduxOp::Max => true,
        _ => return form.bad_type(F32),
    };
    let how = FloatRedux {
        max,
        abs: form.has(Modifier::Abs),
        nan: form.has(Modifier::NanPropagate),
    };
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, F32)?;
    let src = [b.src(form.operand(1)?, F32)?, b.src(form.operand(2)?, B32)?];
    b.emit(Op::ReduxFloat(how), &[dst], &src);
    Ok(())
}

pub(crate) fn elect(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.need("`.sync`", |m| (m == Modifier::Sync).then_some(()))?;
    form.finish(2)?;
    let dst = b.dst_and_pred(form.operand(0)?, B32)?;
    let src = b.src(form.operand(1)?, B32)?;
    b.emit(Op::Elect, &dst, &[src]);
    Ok(())
}
