//! Branches, calls and ends (PTX ISA, "Control Flow Instructions").
//!
//! Parameters of calls live at static offsets of the thread's frame. A caller's `.param` variables
//! are copied by the call itself; registers and constants are stored before it, and results in
//! registers loaded after it. A function whose own parameters are registers loads them when it
//! starts and stores its results before it returns.

use super::builder::{Builder, Place};
use super::calls::callee;
use super::error::{Res, invalid, unsupported};
use super::form::Form;
use super::function::{is_assurance, scalar_param};
use super::kernel::Formal;
use super::scope::Symbol;
use super::system;
use crate::inst::{Dst, Src};
use crate::op::{CacheOp, MemSpace, MemTy, Op};
use crate::program::ExtraOperands;
use warploom_ptx::ast::{FunctionKind, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

pub(super) fn bra(b: &mut Builder, form: &mut Form) -> Res<()> {
    let uniform = form.has(Modifier::Uni);
    form.finish(1)?;
    let target = form.operand(0)?;
    let label = match &target.node {
        Operand::Name(name) => match b.find(name) {
            Some(Symbol::Label(label)) => label,
            Some(Symbol::Reg(_)) => return Err(unsupported(target.span, "branches to a register")),
            _ => {
                let message = format!("`{name}` is no label in this function");
                return Err(invalid("undefined-label", target.span, message));
            }
        },
        _ => return Err(unsupported(target.span, "branches to anything but a label")),
    };
    b.branch(uniform, label);
    Ok(())
}

pub(super) fn brx(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::Uni);
    form.need("`.idx`", |m| (m == Modifier::Idx).then_some(()))?;
    form.finish(2)?;
    let index = b.src(form.operand(0)?, ScalarType::B32)?;
    let list = form.operand(1)?;
    let table = match &list.node {
        Operand::Name(name) => b.find(name),
        _ => None,
    };
    let Some(Symbol::Targets(table)) = table else {
        let message = "a `.branchtargets` list is needed here".to_owned();
        return Err(invalid("operand-kind", list.span, message));
    };
    b.switch(index, table);
    Ok(())
}

/// Ends the thread, or the function.
pub(super) fn emit_return(b: &mut Builder) -> Res<()> {
    let reached = &b.kernel.functions[b.function];
    if reached.function.kind == FunctionKind::Entry {
        b.emit(Op::Exit, &[], &[]);
        return Ok(());
    }
    for formal in &reached.returns {
        if let Some((src, ty)) = register_param(b, formal)? {
            store_param(b, formal.offset, src, ty);
        }
    }
    b.emit(Op::Ret, &[], &[]);
    Ok(())
}

/// What a function with register parameters does first.
pub(super) fn load_register_params(b: &mut Builder) -> Res<()> {
    let reached = &b.kernel.functions[b.function];
    for formal in &reached.params {
        if let Some((Src::Reg(reg), ty)) = register_param(b, formal)? {
            load_param(b, formal.offset, Dst::Reg(reg), ty);
        }
    }
    Ok(())
}

/// The register of a `.reg` parameter.
fn register_param(b: &mut Builder, formal: &Formal) -> Res<Option<(Src, ScalarType)>> {
    let name = &formal.variable.name;
    if formal.variable.space != Space::Reg || name.node == "_" {
        return Ok(None);
    }
    let Some(Symbol::Reg(decl)) = b.find(&name.node) else {
        return Ok(None);
    };
    match b.place(decl, 0, &name.node)? {
        Place::Reg(reg, ty) => Ok(Some((Src::Reg(reg), ty))),
        Place::Pred(_) => Err(unsupported(name.span, "predicates as parameters")),
    }
}

fn param_ty(ty: ScalarType) -> MemTy {
    MemTy {
        bytes: ty.bytes() as u8,
        count: 1,
        signed: false,
        wide_reg: ty.bits() == 64,
    }
}

pub(super) fn store_param(b: &mut Builder, offset: u32, src: Src, ty: ScalarType) {
    let op = Op::St(MemSpace::FrameParam, param_ty(ty), CacheOp::Default);
    let inst = b.emit(op, &[], &[Src::None, src]);
    inst.imm = offset as i32;
    inst.wide_addr = true;
}

pub(super) fn load_param(b: &mut Builder, offset: u32, dst: Dst, ty: ScalarType) {
    let op = Op::Ld(MemSpace::FrameParam, param_ty(ty), CacheOp::Default);
    let inst = b.emit(op, &[dst], &[]);
    inst.imm = offset as i32;
    inst.wide_addr = true;
}

pub(super) fn ret(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::Uni);
    form.finish(0)?;
    emit_return(b)
}

pub(super) fn exit(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(0)?;
    b.emit(Op::Exit, &[], &[]);
    Ok(())
}

pub(super) fn trap(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(0)?;
    b.emit(Op::Trap, &[], &[]);
    Ok(())
}

pub(super) fn brkpt(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(0)?;
    b.emit(Op::Brkpt, &[], &[]);
    Ok(())
}

pub(super) fn nanosleep(b: &mut Builder, form: &mut Form) -> Res<()> {
    let ty = form.ty()?;
    form.finish(1)?;
    let src = b.src(form.operand(0)?, ty)?;
    b.emit(Op::Nanosleep, &[], &[src]);
    Ok(())
}

/// Instructions that change nothing a program can see.
pub(super) fn no_effect(
    b: &mut Builder,
    form: &mut Form,
    modes: &[Modifier],
    operands: usize,
) -> Res<()> {
    form.ignore(|m| modes.contains(&m));
    form.finish(operands)?;
    b.emit(Op::Nop, &[], &[]);
    Ok(())
}

pub(super) fn call(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::Uni || is_assurance(m));
    form.finish_modifiers()?;
    let target = callee(form.inst);
    let Some(Operand::Name(name)) = target.map(|t| &t.node) else {
        return Err(unsupported(form.span(), "calls without a function's name"));
    };
    let span = target.map_or(form.span(), |t| t.span);
    let Some(function) = b.kernel.defined(name) else {
        return match system::find(name) {
            Some(function) => system::call(b, form, function),
            None => Err(not_callable(b, name, span)),
        };
    };
    let (results, arguments) = lists(form);
    let kernel = b.kernel;
    let reached = &kernel.functions[function];
    check_count(form, "arguments", arguments.len(), reached.params.len())?;
    check_count(form, "results", results.len(), reached.returns.len())?;
    let mut operands = ExtraOperands::default();
    for (operand, formal) in arguments.iter().zip(&reached.params) {
        match frame_place(b, operand) {
            Some(from) => operands.copies_in.push((from, formal.offset, formal.bytes)),
            None => pass_value(b, operand, formal)?,
        }
    }
    let mut loads = Vec::new();
    for (operand, formal) in results.iter().zip(&reached.returns) {
        match frame_place(b, operand) {
            Some(to) => operands.copies_out.push((formal.offset, to, formal.bytes)),
            None => loads.push(result(b, operand, formal)?),
        }
    }
    let extra = b.pools.extra(operands);
    b.code.calls.push((b.code.insts.len(), function));
    b.emit(Op::Call, &[], &[]).extra = extra;
    for (offset, dst, ty) in loads {
        load_param(b, offset, dst, ty);
    }
    Ok(())
}

fn not_callable(
    b: &Builder,
    name: &str,
    span: warploom_diag::Span,
) -> Box<warploom_diag::Diagnostic> {
    if matches!(b.find(name), Some(Symbol::Reg(_))) {
        return unsupported(span, "indirect calls");
    }
    if b.kernel.is_function(name) {
        return unsupported(
            span,
            &format!("calls of `{name}`, which has no body in this file"),
        );
    }
    b.undefined(name, span)
}

/// Results and arguments: the lists before and after the function's name.
pub(super) fn lists<'o>(form: &Form<'o>) -> (&'o [Spanned<Operand>], &'o [Spanned<Operand>]) {
    let (mut results, mut arguments): (&[_], &[_]) = (&[], &[]);
    let mut named = false;
    for operand in &form.inst.operands {
        match &operand.node {
            Operand::List(list) if named => arguments = list,
            Operand::List(list) => results = list,
            _ => named = true,
        }
    }
    (results, arguments)
}

pub(super) fn check_count(form: &Form, what: &str, found: usize, wanted: usize) -> Res<()> {
    if found == wanted {
        return Ok(());
    }
    let message = format!("the call has {found} {what}, the function {wanted}");
    Err(invalid("call-mismatch", form.span(), message))
}

/// The frame offset of a `.param` variable.
pub(super) fn frame_place(b: &Builder, operand: &Spanned<Operand>) -> Option<u32> {
    match &operand.node {
        Operand::Name(name) => match b.find(name) {
            Some(Symbol::Frame(offset)) => Some(offset),
            _ => None,
        },
        _ => None,
    }
}

fn pass_value(b: &mut Builder, operand: &Spanned<Operand>, formal: &Formal) -> Res<()> {
    let ty = scalar_param(formal).ok_or_else(|| aggregate(operand))?;
    let src = b.src(operand, ty)?;
    store_param(b, formal.offset, src, ty);
    Ok(())
}

fn result(
    b: &mut Builder,
    operand: &Spanned<Operand>,
    formal: &Formal,
) -> Res<(u32, Dst, ScalarType)> {
    let ty = scalar_param(formal).ok_or_else(|| aggregate(operand))?;
    Ok((formal.offset, b.dst(operand, ty)?, ty))
}

fn aggregate(operand: &Spanned<Operand>) -> Box<warploom_diag::Diagnostic> {
    let message = "the function's parameter is an array: a `.param` variable is needed here";
    invalid("call-mismatch", operand.span, message.to_owned())
}
