//! Branches, calls and ends (PTX ISA, "Control Flow Instructions").
//!
//! Parameters of calls have static offsets in the thread's frame. The call itself copies a caller's
//! `.param` variables. Registers and constants are stored before the call, and results in registers
//! are loaded after it. A function whose own parameters are registers loads them when it starts and
//! stores its results before it returns.

use crate::builder::{Builder, Place};
use crate::calls::callee;
use crate::error::{Res, invalid, unsupported};
use crate::form::Form;
use crate::function::{is_assurance, scalar_param};
use crate::kernel::Formal;
use crate::scope::Symbol;
use crate::system;
use warploom_ir::{CacheOp, Callee, Dst, ExtraOperands, MemSpace, MemTy, Op, Src, Width};
use warploom_ptx::ast::{Constant, FunctionKind, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

pub(crate) fn bra(b: &mut Builder, form: &mut Form) -> Res<()> {
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

pub(crate) fn brx(b: &mut Builder, form: &mut Form) -> Res<()> {
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

/// Ends the thread or the function.
pub(crate) fn emit_return(b: &mut Builder) -> Res<()> {
    let reached = &b.kernel.functions[b.function];
    if reached.function.kind == FunctionKind::Entry {
        b.emit(Op::Exit, &[], &[]);
        return Ok(());
    }
    for formal in &reached.returns {
        if let Some((src, ty)) = register_param(b, formal)? {
            let base = b.frame_base();
            store_param(b, base, formal.offset, src, ty);
        }
    }
    b.emit(Op::Ret, &[], &[]);
    Ok(())
}

/// Loads the parameters of a function that are registers, at its start.
pub(crate) fn load_register_params(b: &mut Builder) -> Res<()> {
    let reached = &b.kernel.functions[b.function];
    for formal in &reached.params {
        if let Some((Src::Reg(reg), ty)) = register_param(b, formal)? {
            let base = b.frame_base();
            load_param(b, base, formal.offset, Dst::Reg(reg), ty);
        }
    }
    Ok(())
}

/// Register of a `.reg` parameter.
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

pub(crate) fn store_param(b: &mut Builder, base: Src, offset: u32, src: Src, ty: ScalarType) {
    let op = Op::St(MemSpace::FrameParam, param_ty(ty), CacheOp::Default);
    let inst = b.emit(op, &[], &[base, src]);
    inst.imm = offset as i32;
    inst.wide_addr = true;
}

pub(crate) fn load_param(b: &mut Builder, base: Src, offset: u32, dst: Dst, ty: ScalarType) {
    let op = Op::Ld(MemSpace::FrameParam, param_ty(ty), CacheOp::Default);
    let inst = b.emit(op, &[dst], &[base]);
    inst.imm = offset as i32;
    inst.wide_addr = true;
}

pub(crate) fn ret(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::Uni);
    form.finish(0)?;
    emit_return(b)
}

pub(crate) fn exit(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(0)?;
    b.emit(Op::Exit, &[], &[]);
    Ok(())
}

pub(crate) fn trap(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(0)?;
    b.emit(Op::Trap, &[], &[]);
    Ok(())
}

pub(crate) fn brkpt(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.finish(0)?;
    b.emit(Op::Brkpt, &[], &[]);
    Ok(())
}

pub(crate) fn nanosleep(b: &mut Builder, form: &mut Form) -> Res<()> {
    let ty = form.ty()?;
    form.finish(1)?;
    let src = b.src(form.operand(0)?, ty)?;
    b.emit(Op::Nanosleep, &[], &[src]);
    Ok(())
}

fn stack_width(form: &mut Form) -> Res<(ScalarType, Width)> {
    match form.ty()? {
        ScalarType::U32 => Ok((ScalarType::U32, Width::B32)),
        ScalarType::U64 => Ok((ScalarType::U64, Width::B64)),
        ty => form.bad_type(ty),
    }
}

/// Alignment in bytes of an `alloca` that states none (PTX ISA, "alloca").
const ALLOCA_ALIGN: u64 = 8;

pub(crate) fn alloca(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = stack_width(form)?;
    form.finish(3)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    let bytes = b.src(form.operand(1)?, ty)?;
    let align = match form.inst.operands.get(2) {
        None => b.bits(ALLOCA_ALIGN)?,
        Some(align) => b.src(align, ty)?,
    };
    b.emit(Op::Alloca(width), &[dst], &[bytes, align]);
    Ok(())
}

pub(crate) fn stack_save(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = stack_width(form)?;
    form.finish(1)?;
    let dst = b.dst(form.operand(0)?, ty)?;
    b.emit(Op::StackSave(width), &[dst], &[]);
    Ok(())
}

pub(crate) fn stack_restore(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (ty, width) = stack_width(form)?;
    form.finish(1)?;
    let src = b.src(form.operand(0)?, ty)?;
    b.emit(Op::StackRestore(width), &[], &[src]);
    Ok(())
}

/// Lowers instructions without an effect that a program can observe.
pub(crate) fn no_effect(
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

/// Lowers `setmaxnreg`. Registers of a warp are virtual, and their number does not change what it
/// computes.
pub(crate) fn set_max_registers(b: &mut Builder, form: &mut Form) -> Res<()> {
    let count = form.operand(0)?;
    let allowed = |count: u64| (24..=256).contains(&count) && count.is_multiple_of(8);
    match &count.node {
        Operand::Immediate(Constant::Int(number, _)) if allowed(*number) => {}
        _ => {
            let message = "a multiple of 8 from 24 to 256 is needed here".to_owned();
            return Err(invalid("register-count", count.span, message));
        }
    }
    form.ty()?;
    let modes = [
        Modifier::Inc,
        Modifier::Dec,
        Modifier::Sync,
        Modifier::Aligned,
    ];
    no_effect(b, form, &modes, 1)
}

pub(crate) fn call(b: &mut Builder, form: &mut Form) -> Res<()> {
    form.ignore(|m| m == Modifier::Uni || is_assurance(m));
    form.finish_modifiers()?;
    let target = callee(form.inst);
    let Some(Operand::Name(name)) = target.map(|t| &t.node) else {
        return Err(unsupported(form.span(), "calls without a function's name"));
    };
    let span = target.map_or(form.span(), |t| t.span);
    if let Some(Symbol::Reg(_)) = b.find(name) {
        return call_indirect(b, form);
    }
    let Some(function) = b.kernel.defined(name) else {
        return match system::find(name) {
            Some(function) => system::call(b, form, function),
            None => Err(not_callable(b, name, span)),
        };
    };
    let (results, arguments) = lists(form);
    let mut entered = entry(b, form, function)?;
    let reached = &b.kernel.functions[function];
    for (operand, formal) in arguments.iter().zip(&reached.params) {
        match frame_place(b, operand) {
            Some(from) => (entered.copies_in).push((from, formal.offset, formal.bytes)),
            None => pass_value(b, operand, formal, reached.moves)?,
        }
    }
    let mut loads = Vec::new();
    for (operand, formal) in results.iter().zip(&reached.returns) {
        match frame_place(b, operand) {
            Some(to) => (entered.copies_out).push((formal.offset, to, formal.bytes)),
            None => loads.push(result(b, operand, formal, reached.moves)?),
        }
    }
    emit_call(b, Op::Call, &[], vec![function], vec![entered]);
    for (offset, dst, ty) in loads {
        load_param(b, Src::None, offset, dst, ty);
    }
    Ok(())
}

/// Describes how a function is entered, without the copies; checks the numbers of operands.
fn entry(b: &Builder, form: &Form, function: usize) -> Res<Callee> {
    let (results, arguments) = lists(form);
    let reached = &b.kernel.functions[function];
    check_count(form, "arguments", arguments.len(), reached.params.len())?;
    check_count(form, "results", results.len(), reached.returns.len())?;
    Ok(Callee {
        address: reached.address,
        from_moving: b.frame_base() != Src::None,
        ..Callee::default()
    })
}

fn emit_call(b: &mut Builder, op: Op, src: &[Src], functions: Vec<usize>, callees: Vec<Callee>) {
    let extra = b.pools.extra(ExtraOperands {
        callees,
        ..ExtraOperands::default()
    });
    b.code.calls.push((b.code.insts.len(), functions));
    b.emit(op, &[], src).extra = extra;
}

/// Lowers `call (results), register, (arguments), prototype;`.
fn call_indirect(b: &mut Builder, form: &Form) -> Res<()> {
    let span = form.span();
    let mut names = form
        .inst
        .operands
        .iter()
        .filter(|o| matches!(o.node, Operand::Name(_)));
    let (Some(register), Some(info)) = (names.next(), names.next()) else {
        let message = "a call through a register needs a `.callprototype` or `.calltargets`";
        return Err(invalid("operand-count", span, message.to_owned()));
    };
    let info = match &info.node {
        Operand::Name(name) => b.find(name),
        _ => None,
    };
    let Some(Symbol::CallInfo(info)) = info else {
        let message = "a `.callprototype` or a `.calltargets` list is needed here".to_owned();
        return Err(invalid("operand-kind", span, message));
    };
    let address = b.src(register, ScalarType::B64)?;
    let functions = b.call_infos[info as usize].clone();
    let (results, arguments) = lists(form);
    let mut callees = Vec::with_capacity(functions.len());
    for &function in &functions {
        let mut entered = entry(b, form, function)?;
        let reached = &b.kernel.functions[function];
        for (operand, formal) in arguments.iter().zip(&reached.params) {
            let from = frame_place(b, operand).ok_or_else(|| in_registers(operand))?;
            entered.copies_in.push((from, formal.offset, formal.bytes));
        }
        for (operand, formal) in results.iter().zip(&reached.returns) {
            let to = frame_place(b, operand).ok_or_else(|| in_registers(operand))?;
            entered.copies_out.push((formal.offset, to, formal.bytes));
        }
        callees.push(entered);
    }
    emit_call(b, Op::CallIndirect, &[address], functions, callees);
    Ok(())
}

fn in_registers(operand: &Spanned<Operand>) -> Box<warploom_diag::Diagnostic> {
    let what = "operands in registers for recursive functions and for calls through a register";
    unsupported(operand.span, what)
}

fn not_callable(
    b: &Builder,
    name: &str,
    span: warploom_diag::Span,
) -> Box<warploom_diag::Diagnostic> {
    if is_of_device_runtime(name) {
        let what = format!(
            "dynamic parallelism: `{name}` is of CUDA's runtime for kernels that launch kernels; \
             launch them from the host"
        );
        return unsupported(span, &what);
    }
    if b.kernel.is_function(name) {
        return unsupported(
            span,
            &format!("calls of `{name}`, which has no body in this file"),
        );
    }
    b.undefined(name, span)
}

/// True for the names that compilers write for calls of the runtime in kernels: the program's names
/// until CUDA 11, and names with a prefix from 12 on.
fn is_of_device_runtime(name: &str) -> bool {
    name.starts_with("__cudaCDP2")
        || (name.starts_with("cuda") && name.contains("Device"))
        || name.starts_with("cudaGetParameterBuffer")
}

/// Results and arguments: the lists before and after the function's name.
pub(crate) fn lists<'o>(form: &Form<'o>) -> (&'o [Spanned<Operand>], &'o [Spanned<Operand>]) {
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

pub(crate) fn check_count(form: &Form, what: &str, found: usize, wanted: usize) -> Res<()> {
    if found == wanted {
        return Ok(());
    }
    let message = format!("the call has {found} {what}, the function {wanted}");
    Err(invalid("call-mismatch", form.span(), message))
}

/// Frame offset of a `.param` variable.
pub(crate) fn frame_place(b: &Builder, operand: &Spanned<Operand>) -> Option<u32> {
    match &operand.node {
        Operand::Name(name) => match b.find(name) {
            Some(Symbol::Frame(offset)) => Some(offset),
            _ => None,
        },
        _ => None,
    }
}

fn pass_value(
    b: &mut Builder,
    operand: &Spanned<Operand>,
    formal: &Formal,
    moves: bool,
) -> Res<()> {
    let ty = scalar_formal(operand, formal)?;
    if moves {
        return Err(in_registers(operand));
    }
    let src = b.src(operand, ty)?;
    store_param(b, Src::None, formal.offset, src, ty);
    Ok(())
}

fn result(
    b: &mut Builder,
    operand: &Spanned<Operand>,
    formal: &Formal,
    moves: bool,
) -> Res<(u32, Dst, ScalarType)> {
    let ty = scalar_formal(operand, formal)?;
    if moves {
        return Err(in_registers(operand));
    }
    Ok((formal.offset, b.dst(operand, ty)?, ty))
}

/// Type of the parameter for an argument in a register.
fn scalar_formal(operand: &Spanned<Operand>, formal: &Formal) -> Res<ScalarType> {
    match scalar_param(formal) {
        Some(ScalarType::Pred) => Err(unsupported(operand.span, "predicates as parameters")),
        Some(ty) => Ok(ty),
        None if formal.variable.space == Space::Reg => {
            Err(unsupported(operand.span, "vector registers as parameters"))
        }
        None => {
            let message =
                "the function's parameter is an array: a `.param` variable is needed here";
            Err(invalid("call-mismatch", operand.span, message.to_owned()))
        }
    }
}
