//! Products of warp groups: the forms of `wgmma` (PTX ISA, "Asynchronous Warpgroup Level Matrix
//! Instructions").

use crate::asynchronous::number;
use crate::builder::Builder;
use crate::error::{Res, invalid};
use crate::form::Form;
use crate::matrix;
use warploom_ir::matrix::{AccTy, MatRule, MatTy};
use warploom_ir::warp_group::{MOST_COLUMNS, WarpGroupMma};
use warploom_ir::{AsyncKind, Dst, ExtraOperands, Op, Src};
use warploom_ptx::ast::{Constant, Operand};
use warploom_ptx::tokens::{MatrixShape, Modifier, ScalarType};

/// Lowers all forms of `wgmma`.
pub(crate) fn lower(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::MmaAsync) {
        return product(b, form);
    }
    let op = form.need("`.mma_async`, `.fence` or a group", |m| match m {
        // Registers are read and written when the product issues.
        Modifier::Fence => Some(Op::Nop),
        Modifier::CommitGroup => Some(Op::AsyncCommit(AsyncKind::Product)),
        Modifier::WaitGroup => Some(Op::AsyncWait(AsyncKind::Product, 0)),
        _ => None,
    })?;
    matrix::synchronous(form)?;
    let op = match op {
        Op::AsyncWait(kind, _) => {
            form.finish(1)?;
            Op::AsyncWait(kind, number(form, 0)?.min(u8::MAX.into()) as u8)
        }
        op => {
            form.finish(0)?;
            op
        }
    };
    b.emit(op, &[], &[]);
    Ok(())
}

/// True if the ISA has a product of this shape and of these types.
fn exists(shape: MatrixShape, mma: &WarpGroupMma) -> bool {
    use MatTy as T;
    let float8 = |ty: T| matches!(ty, T::E4m3 | T::E5m2);
    let int8 = |ty: T| matches!(ty, T::S8 | T::U8);
    let acc = |allowed: &[AccTy]| allowed.contains(&mma.acc);
    let (depth, types) = match mma.from {
        [T::F16, T::F16] => (16, acc(&[AccTy::F16, AccTy::F32])),
        [T::Bf16, T::Bf16] => (16, acc(&[AccTy::F32])),
        [T::Tf32, T::Tf32] => (8, acc(&[AccTy::F32])),
        [a, b] if float8(a) && float8(b) => (32, acc(&[AccTy::F16, AccTy::F32])),
        [a, b] if int8(a) && int8(b) => (32, acc(&[AccTy::S32])),
        [T::B1, T::B1] => (256, acc(&[AccTy::S32])),
        _ => return false,
    };
    let integers = mma.acc == AccTy::S32;
    let columns = mma.n.is_multiple_of(8) && (8..=MOST_COLUMNS).contains(&mma.n);
    // Integers have 24 and the multiples of 16 beyond 16.
    let columns = columns && (!integers || mma.n <= 24 || mma.n.is_multiple_of(16));
    let rule = (mma.rule == MatRule::And) == (mma.from[0] == T::B1);
    (shape.m, shape.k) == (64, depth)
        && types
        && columns
        && rule
        && (!mma.satfinite || integers && mma.rule == MatRule::Multiply)
}

/// Immediate operand that is one of two numbers. Returns true for the second.
fn choice(form: &Form, nth: usize, of: [i64; 2]) -> Res<bool> {
    let operand = form.operand(nth)?;
    let given = match &operand.node {
        Operand::Immediate(Constant::Int(value, _)) => Some(*value as i64),
        _ => None,
    };
    if given == Some(of[0]) || given == Some(of[1]) {
        return Ok(given == Some(of[1]));
    }
    let message = format!("{} or {} is needed here", of[0], of[1]);
    Err(invalid("operand-kind", operand.span, message))
}

/// Lowers `wgmma.mma_async d, a, b, scale-d{, scale-a, scale-b{, trans-a, trans-b}}`.
fn product(b: &mut Builder, form: &mut Form) -> Res<()> {
    matrix::synchronous(form)?;
    let shape = matrix::shape(form)?;
    let satfinite = form.has(Modifier::Satfinite);
    let rule = match form.has(Modifier::And) {
        true => {
            form.need("`.popc`", |m| (m == Modifier::Popc).then_some(()))?;
            MatRule::And
        }
        false => MatRule::Multiply,
    };
    let (acc, from) = types(form)?;
    let a_in_registers = b.elements(form.operand(1)?).len() > 1;
    let floats = acc != AccTy::S32;
    let halves = matches!(from[0], MatTy::F16 | MatTy::Bf16);
    let turns = match (halves, a_in_registers) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    let operands = 4 + if floats { 2 } else { 0 } + turns;
    form.finish(operands)?;
    let mut mma = WarpGroupMma {
        n: shape.n.into(),
        from,
        acc,
        a_in_registers,
        transposed: [false; 2],
        negated: [false; 2],
        rule,
        satfinite,
    };
    if !exists(shape, &mma) {
        return form.unsupported();
    }
    if floats {
        mma.negated = [choice(form, 4, [1, -1])?, choice(form, 5, [1, -1])?];
    }
    match turns {
        1 => mma.transposed[1] = choice(form, 6, [0, 1])?,
        2 => mma.transposed = [choice(form, 6, [0, 1])?, choice(form, 7, [0, 1])?],
        _ => {}
    }
    emit(b, form, mma)
}

/// Takes the types of d, a and b.
fn types(form: &mut Form) -> Res<(AccTy, [MatTy; 2])> {
    let (d, a, b) = (form.ty()?, form.ty()?, form.ty()?);
    let types = (
        matrix::accumulator(d),
        matrix::multiplicand(a),
        matrix::multiplicand(b),
    );
    match types {
        (Some(d), Some(a), Some(b)) => Ok((d, [a, b])),
        _ => form.unsupported(),
    }
}

fn emit(b: &mut Builder, form: &Form, mma: WarpGroupMma) -> Res<()> {
    let accumulators = matrix::registers(b, form.operand(0)?, mma.d_registers())?;
    let mut dsts: Vec<Dst> = Vec::with_capacity(accumulators.len());
    let mut srcs: Vec<Src> = Vec::new();
    let mut descriptor = Src::None;
    let a = form.operand(1)?;
    if mma.a_in_registers {
        for part in matrix::registers(b, a, mma.a_registers())? {
            srcs.push(b.src(&part, ScalarType::B32)?);
        }
    } else {
        descriptor = b.src(a, ScalarType::B64)?;
    }
    for register in &accumulators {
        srcs.push(b.src(register, ScalarType::B32)?);
        dsts.push(b.dst(register, ScalarType::B32)?);
    }
    let src = [
        descriptor,
        b.src(form.operand(2)?, ScalarType::B64)?,
        b.src_pred(form.operand(3)?)?,
    ];
    let extra = b.pools.extra(ExtraOperands {
        dsts,
        srcs,
        warp_group: Some(mma),
        ..ExtraOperands::default()
    });
    b.emit(Op::WarpGroupMma(mma.work()), &[], &src).extra = extra;
    Ok(())
}
