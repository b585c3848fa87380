//! Calls of system functions that CUDA provides: a file only declares them.
//!
//! The calls have the parameters and results of a device function and therefore its cost: arguments
//! are read from the caller's `.param` variables, and the result is written to one.

use crate::builder::Builder;
use crate::control::{check_count, frame_place, lists, load_param, store_param};
use crate::error::{Res, unsupported};
use crate::form::Form;
use warploom_ir::{Dst, Op, Src, SystemCall};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::ScalarType;

/// System function with its parameters.
pub(crate) struct Function {
    name: &'static str,
    op: Op,
    params: &'static [ScalarType],
    result: Option<ScalarType>,
}

const B32: ScalarType = ScalarType::B32;
const B64: ScalarType = ScalarType::B64;

/// All system functions, for addresses of 64 bits.
const FUNCTIONS: [Function; 5] = [
    Function {
        name: "vprintf",
        op: Op::System(SystemCall::Print),
        params: &[B64, B64],
        result: Some(B32),
    },
    Function {
        name: "__assertfail",
        op: Op::System(SystemCall::AssertFail),
        params: &[B64, B64, B32, B64, B64],
        result: None,
    },
    Function {
        name: "__assert_fail",
        op: Op::System(SystemCall::AssertFail),
        params: &[B64, B64, B32, B64],
        result: None,
    },
    Function {
        name: "malloc",
        op: Op::System(SystemCall::Malloc),
        params: &[B64],
        result: Some(B64),
    },
    Function {
        name: "free",
        op: Op::System(SystemCall::Free),
        params: &[B64],
        result: None,
    },
];

/// System function with the given name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Lowers a call of a system function.
pub(crate) fn call(b: &mut Builder, form: &Form, function: &Function) -> Res<()> {
    if b.kernel.symbols.address_bits != 64 {
        let what = format!("`{}` with addresses of 32 bits", function.name);
        return Err(unsupported(form.span(), &what));
    }
    let (results, arguments) = lists(form);
    let wanted = usize::from(function.result.is_some());
    check_count(form, "arguments", arguments.len(), function.params.len())?;
    check_count(form, "results", results.len(), wanted)?;
    let mut srcs = Vec::with_capacity(arguments.len());
    for (operand, ty) in arguments.iter().zip(function.params) {
        srcs.push(argument(b, operand, *ty)?);
    }
    // The last argument of `__assertfail`, the size of a character, is always 1.
    srcs.truncate(4);
    let Some((operand, ty)) = results.first().zip(function.result) else {
        b.emit(function.op, &[], &srcs);
        return Ok(());
    };
    let Some(to) = frame_place(b, operand) else {
        let dst = b.dst(operand, ty)?;
        b.emit(function.op, &[dst], &srcs);
        return Ok(());
    };
    let given = b.temp(ty.bits() == 64)?;
    b.emit(function.op, &[Dst::Reg(given)], &srcs);
    let base = b.frame_base();
    store_param(b, base, to, Src::Reg(given), ty);
    Ok(())
}

fn argument(b: &mut Builder, operand: &Spanned<Operand>, ty: ScalarType) -> Res<Src> {
    let Some(from) = frame_place(b, operand) else {
        return b.src(operand, ty);
    };
    let taken = b.temp(ty.bits() == 64)?;
    let base = b.frame_base();
    load_param(b, base, from, Dst::Reg(taken), ty);
    Ok(Src::Reg(taken))
}
