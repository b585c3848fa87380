//! Loads, stores and atomics (PTX ISA, "Data Movement", "Parallel Synchronization").

use crate::address::Addr;
use crate::builder::Builder;
use crate::cache;
use crate::cluster;
use crate::error::{Res, invalid};
use crate::form::Form;
use crate::operand::Fit;
use warploom_diag::Span;
use warploom_ir::{AtomOp, AtomTy, Dst, Inst, MemSpace, MemTy, Op, Src, Width};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType, Space};

/// Parts that loads and stores have in common.
struct Access {
    ty: ScalarType,
    count: usize,
    cache: warploom_ir::CacheOp,
    addr: Addr,
}

/// Takes everything except the registers; the address is operand `nth` of `operands`.
fn access(b: &mut Builder, form: &mut Form, nth: usize, operands: usize) -> Res<Access> {
    let hinted = form.has(Modifier::L2CacheHint);
    let cache = cache::operator(form);
    let space = form.space();
    let mut count = form.take(Modifier::vector_len).unwrap_or(1) as usize;
    let mut ty = form.ty()?;
    if ty == ScalarType::B128 {
        (ty, count) = (ScalarType::B64, 2 * count);
    }
    if !matches!(ty.bits(), 8 | 16 | 32 | 64) {
        return form.bad_type(ty);
    }
    form.finish(operands + usize::from(hinted))?;
    let addr = b.address(form.operand(nth)?, space)?;
    Ok(Access {
        ty,
        count,
        cache,
        addr,
    })
}

fn set_address(inst: &mut Inst, addr: &Addr) {
    inst.src[0] = addr.base;
    inst.imm = addr.offset;
    inst.wide_addr = addr.wide;
}

/// Width of the registers of a vector, which must agree because an operation has one width.
#[derive(Default)]
struct Widths {
    wide: Option<bool>,
}

impl Widths {
    fn note(&mut self, bits: u32, span: Span) -> Res<()> {
        let wide = bits == 64;
        if *self.wide.get_or_insert(wide) == wide {
            return Ok(());
        }
        let message = "64-bit registers and narrower ones in one vector".to_owned();
        Err(invalid("operand-size", span, message))
    }
}

fn check_length(found: usize, wanted: usize, operand: &Spanned<Operand>) -> Res<()> {
    if found == wanted {
        return Ok(());
    }
    let message = format!("{found} registers where the instruction moves {wanted} elements");
    Err(invalid("vector-length", operand.span, message))
}

fn mem_ty(access: &Access, widths: &Widths) -> MemTy {
    MemTy {
        bytes: access.ty.bytes() as u8,
        count: access.count as u8,
        signed: access.ty.is_signed(),
        wide_reg: widths.wide.unwrap_or(access.ty.bits() == 64),
    }
}

pub(crate) fn load(b: &mut Builder, form: &mut Form) -> Res<()> {
    let access = access(b, form, 1, 2)?;
    let to = form.operand(0)?;
    let parts = b.elements(to);
    check_length(parts.len(), access.count, to)?;
    let mut widths = Widths::default();
    let mut dsts = Vec::with_capacity(parts.len());
    for part in &parts {
        let found = b.dst_fit(part, access.ty, Fit::Wider)?;
        if let Some((_, bits)) = found {
            widths.note(bits, part.span)?;
        }
        dsts.push(found.map_or(Dst::None, |(reg, _)| Dst::Reg(reg)));
    }
    let op = Op::Ld(access.addr.space, mem_ty(&access, &widths), access.cache);
    let inst = match dsts[..] {
        [dst] => b.emit(op, &[dst], &[]),
        _ => {
            let extra = b.extra(dsts, Vec::new());
            let inst = b.emit(op, &[], &[]);
            inst.extra = extra;
            inst
        }
    };
    set_address(inst, &access.addr);
    Ok(())
}

/// Lowers `st`, and `st.async` to a store that is followed by the completion of transactions.
pub(crate) fn store(b: &mut Builder, form: &mut Form) -> Res<()> {
    let asynchronous = cluster::is_asynchronous(form)?;
    let access = access(b, form, 0, 2 + usize::from(asynchronous))?;
    store_elements(b, form, &access)?;
    match asynchronous {
        true => {
            let bytes = access.ty.bytes() * access.count as u32;
            cluster::complete(b, form, access.addr.space, bytes)
        }
        false => Ok(()),
    }
}

fn store_elements(b: &mut Builder, form: &Form, access: &Access) -> Res<()> {
    let from = form.operand(1)?;
    let parts = b.elements(from);
    check_length(parts.len(), access.count, from)?;
    let mut widths = Widths::default();
    let mut srcs = Vec::with_capacity(parts.len());
    for part in &parts {
        if part.node == Operand::Sink {
            srcs.push(None);
            continue;
        }
        let (src, bits) = b.src_fit(part, access.ty, Fit::Wider)?;
        if matches!(src, Src::Reg(_)) {
            widths.note(bits, part.span)?;
        }
        srcs.push(Some(src));
    }
    for (first, srcs) in pieces(&srcs) {
        store_piece(b, access, &widths, first, srcs);
    }
    Ok(())
}

/// Pieces of a vector that a store writes: all of it, or, if `_` leaves elements unwritten, the
/// largest aligned pieces without one, each with its first element.
fn pieces(srcs: &[Option<Src>]) -> Vec<(usize, Vec<Src>)> {
    let mut found = Vec::new();
    let mut work = vec![(0, srcs)];
    while let Some((first, part)) = work.pop() {
        match part.iter().copied().collect::<Option<Vec<Src>>>() {
            Some(whole) => found.push((first, whole)),
            None if part.len() > 1 => {
                let (low, high) = part.split_at(part.len() / 2);
                work.push((first + low.len(), high));
                work.push((first, low));
            }
            None => {}
        }
    }
    found
}

fn store_piece(b: &mut Builder, access: &Access, widths: &Widths, first: usize, srcs: Vec<Src>) {
    let mut ty = mem_ty(access, widths);
    ty.count = srcs.len() as u8;
    let op = Op::St(access.addr.space, ty, access.cache);
    let inst = match srcs[..] {
        [src] => b.emit(op, &[], &[Src::None, src]),
        _ => {
            let extra = b.extra(Vec::new(), srcs);
            let inst = b.emit(op, &[], &[]);
            inst.extra = extra;
            inst
        }
    };
    set_address(inst, &access.addr);
    let ahead = first as u32 * access.ty.bytes();
    inst.imm = access.addr.offset.wrapping_add(ahead as i32);
}

pub(crate) fn atom_op(modifier: Modifier) -> Option<AtomOp> {
    Some(match modifier {
        Modifier::And => AtomOp::And,
        Modifier::Or => AtomOp::Or,
        Modifier::Xor => AtomOp::Xor,
        Modifier::Cas => AtomOp::Cas,
        Modifier::Exch => AtomOp::Exch,
        Modifier::Add => AtomOp::Add,
        Modifier::Inc => AtomOp::Inc,
        Modifier::Dec => AtomOp::Dec,
        Modifier::Min => AtomOp::Min,
        Modifier::Max => AtomOp::Max,
        _ => return None,
    })
}

pub(crate) fn atom_ty(ty: ScalarType) -> Option<AtomTy> {
    Some(match ty {
        ScalarType::B16 => AtomTy::B16,
        ScalarType::B32 => AtomTy::B32,
        ScalarType::B64 => AtomTy::B64,
        ScalarType::U32 => AtomTy::U32,
        ScalarType::S32 => AtomTy::S32,
        ScalarType::U64 => AtomTy::U64,
        ScalarType::S64 => AtomTy::S64,
        ScalarType::F16 => AtomTy::F16,
        ScalarType::F16x2 => AtomTy::F16x2,
        ScalarType::Bf16 => AtomTy::Bf16,
        ScalarType::Bf16x2 => AtomTy::Bf16x2,
        ScalarType::F32 => AtomTy::F32,
        ScalarType::F64 => AtomTy::F64,
        _ => return None,
    })
}

/// True for the combinations of operation and type that PTX has.
fn atom_allowed(op: AtomOp, ty: AtomTy) -> bool {
    use AtomTy as T;
    let float = matches!(
        ty,
        T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2 | T::F32 | T::F64
    );
    let integer = matches!(ty, T::U32 | T::S32 | T::U64 | T::S64);
    match op {
        AtomOp::And | AtomOp::Or | AtomOp::Xor => matches!(ty, T::B32 | T::B64),
        AtomOp::Exch => matches!(ty, T::B32 | T::B64),
        AtomOp::Cas => matches!(ty, T::B16 | T::B32 | T::B64),
        AtomOp::Add => float || integer,
        AtomOp::Inc | AtomOp::Dec => ty == T::U32,
        AtomOp::Min | AtomOp::Max => {
            integer || matches!(ty, T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2)
        }
    }
}

/// Lowers `atom` (with a result) and `red` (without one).
pub(crate) fn atomic(b: &mut Builder, form: &mut Form, result: bool) -> Res<()> {
    debug_assert_eq!(result, form.inst.opcode == Opcode::Atom);
    let asynchronous = !result && cluster::is_asynchronous(form)?;
    let hinted = form.has(Modifier::L2CacheHint);
    cache::operator(form);
    form.ignore(|m| m == Modifier::Noftz);
    let space = form.space();
    let op = form.need("an operation, such as `.add`", atom_op)?;
    let count = form.take(Modifier::vector_len).unwrap_or(1) as usize;
    let ty = form.ty()?;
    let Some(atom) = atom_ty(ty).filter(|atom| atom_allowed(op, *atom)) else {
        return form.bad_type(ty);
    };
    let first = usize::from(result);
    let values = 1 + usize::from(op == AtomOp::Cas);
    form.finish(first + 1 + values + usize::from(hinted || asynchronous))?;
    if count > 1 {
        return vector_atomic(b, form, (op, atom), ty, (first, count, space));
    }
    let dst = match result {
        true => b.dst(form.operand(0)?, ty)?,
        false => Dst::None,
    };
    let addr = b.address(form.operand(first)?, space)?;
    let mut src = [Src::None; 3];
    for nth in 0..values {
        src[1 + nth] = b.src(form.operand(first + 1 + nth)?, ty)?;
    }
    if !matches!(
        addr.space,
        MemSpace::Generic | MemSpace::Global | MemSpace::Shared
    ) {
        return form.unsupported();
    }
    let inst = b.emit(Op::Atom(addr.space, op, atom), &[dst], &src);
    set_address(inst, &addr);
    match asynchronous {
        true => cluster::complete(b, form, addr.space, ty.bytes()),
        false => Ok(()),
    }
}

/// Lowers an atomic on the elements of a vector. Each element is an operation of its own, because
/// the whole need not be atomic (PTX ISA, "atom"); they follow each other.
fn vector_atomic(
    b: &mut Builder,
    form: &Form,
    (op, atom): (AtomOp, AtomTy),
    ty: ScalarType,
    (first, count, space): (usize, usize, Option<Space>),
) -> Res<()> {
    let values = form.operand(first + 1)?;
    let mut dsts = vec![Dst::None; count];
    if first == 1 && form.operand(0)?.node != Operand::Sink {
        dsts = b.vector_dst(form.operand(0)?, ty)?;
        check_length(dsts.len(), count, form.operand(0)?)?;
    }
    let parts = b.elements(values);
    check_length(parts.len(), count, values)?;
    let mut addr = b.address(form.operand(first)?, space)?;
    if !matches!(addr.space, MemSpace::Generic | MemSpace::Global) {
        return form.unsupported();
    }
    addr.base = apart(b, addr.base, &dsts)?;
    let mut srcs = Vec::with_capacity(count);
    for part in &parts {
        let src = b.src(part, ty)?;
        srcs.push(apart(b, src, &dsts)?);
    }
    for (nth, (src, dst)) in srcs.into_iter().zip(dsts).enumerate() {
        let inst = b.emit(Op::Atom(addr.space, op, atom), &[dst], &[Src::None, src]);
        set_address(inst, &addr);
        inst.imm = addr.offset.wrapping_add((nth as u32 * ty.bytes()) as i32);
    }
    Ok(())
}

/// Copy of a 32-bit register that the result of an earlier element may overwrite.
fn apart(b: &mut Builder, src: Src, dsts: &[Dst]) -> Res<Src> {
    match src {
        Src::Reg(reg) if dsts.contains(&Dst::Reg(reg)) => {
            let copy = b.temp(false)?;
            b.emit(Op::Mov(Width::B32), &[Dst::Reg(copy)], &[src]);
            Ok(Src::Reg(copy))
        }
        _ => Ok(src),
    }
}
