//! Products of matrices that a warp holds: `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix` (PTX
//! ISA, "Warp-Level Matrix Multiply-Accumulate Instructions").

mod tile;

use crate::asynchronous::number;
use crate::builder::Builder;
use crate::error::{Res, invalid};
use crate::form::Form;
use warploom_ir::matrix::{AccTy, Fragment, MatRule, MatTy, Mma, Sparsity};
use warploom_ir::{Dst, ExtraOperands, MemSpace, Op, Src};
use warploom_ptx::ast::{Operand, Spanned};
use warploom_ptx::tokens::{MatrixShape, Modifier, ScalarType, Space};

const SHAPE: &str = "a shape, such as `.m16n8k16`";

pub(crate) fn shape(form: &mut Form) -> Res<MatrixShape> {
    form.need(SHAPE, |m| match m {
        Modifier::Shape(shape) => Some(shape),
        _ => None,
    })
}

pub(crate) fn synchronous(form: &mut Form) -> Res<()> {
    form.need("`.sync`", |m| (m == Modifier::Sync).then_some(()))?;
    form.need("`.aligned`", |m| (m == Modifier::Aligned).then_some(()))
}

/// Takes `.row` or `.col`. Returns true for storage by columns.
fn columns(form: &mut Form) -> Res<bool> {
    form.need("`.row` or `.col`", |m| match m {
        Modifier::Row => Some(false),
        Modifier::Col => Some(true),
        _ => None,
    })
}

pub(crate) fn multiplicand(ty: ScalarType) -> Option<MatTy> {
    Some(match ty {
        ScalarType::F16 => MatTy::F16,
        ScalarType::Bf16 => MatTy::Bf16,
        ScalarType::Tf32 => MatTy::Tf32,
        ScalarType::F64 => MatTy::F64,
        ScalarType::E4m3 => MatTy::E4m3,
        ScalarType::E5m2 => MatTy::E5m2,
        ScalarType::S8 => MatTy::S8,
        ScalarType::U8 => MatTy::U8,
        ScalarType::S4 => MatTy::S4,
        ScalarType::U4 => MatTy::U4,
        ScalarType::B1 => MatTy::B1,
        _ => return None,
    })
}

pub(crate) fn accumulator(ty: ScalarType) -> Option<AccTy> {
    Some(match ty {
        ScalarType::F16 => AccTy::F16,
        ScalarType::F32 => AccTy::F32,
        ScalarType::F64 => AccTy::F64,
        ScalarType::S32 => AccTy::S32,
        _ => return None,
    })
}

/// Rows, columns and depth of a product.
type Shape = (usize, usize, usize);

/// Shapes of sparse products of a type (PTX ISA, table of `mma.sp`).
fn sparse_shapes(ty: MatTy) -> &'static [Shape] {
    use MatTy as T;
    match ty {
        T::F16 | T::Bf16 => &[(16, 8, 16), (16, 8, 32)],
        T::Tf32 => &[(16, 8, 8), (16, 8, 16)],
        T::E4m3 | T::E5m2 => &[(16, 8, 64)],
        T::S8 | T::U8 => &[(16, 8, 32), (16, 8, 64)],
        T::S4 | T::U4 => &[(16, 8, 64), (16, 8, 128)],
        T::F64 | T::B1 => &[],
    }
}

/// True if the ISA has such a product (PTX ISA, tables of `mma` and `wmma`).
fn exists(mma: &Mma) -> bool {
    use MatTy as T;
    let shape = (mma.m, mma.n, mma.k);
    if mma.sparsity.is_some() {
        return sparse_shapes(mma.from[0]).contains(&shape) && mma.columns == [false, true];
    }
    let shapes: &[Shape] = match (mma.wmma, mma.from[0]) {
        (false, T::F16) => &[(8, 8, 4), (16, 8, 8), (16, 8, 16)],
        (false, T::Bf16) => &[(16, 8, 8), (16, 8, 16)],
        (false, T::Tf32) => &[(16, 8, 4), (16, 8, 8)],
        (false, T::F64) => &[(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)],
        (false, T::E4m3 | T::E5m2) => &[(16, 8, 16), (16, 8, 32)],
        (false, T::S8 | T::U8) => &[(8, 8, 16), (16, 8, 16), (16, 8, 32)],
        (false, T::S4 | T::U4) => &[(8, 8, 32), (16, 8, 32), (16, 8, 64)],
        (false, T::B1) => &[(8, 8, 128), (16, 8, 128), (16, 8, 256)],
        (true, T::F16 | T::Bf16 | T::S8 | T::U8) => &[(16, 16, 16), (8, 32, 16), (32, 8, 16)],
        (true, T::Tf32) => &[(16, 16, 8)],
        (true, T::F64) => &[(8, 8, 4)],
        (true, T::E4m3 | T::E5m2) => &[],
        (true, T::S4 | T::U4) => &[(8, 8, 32)],
        (true, T::B1) => &[(8, 8, 128)],
    };
    let any_layout = mma.products() > 1 || mma.wmma && mma.from[0].bits() >= 8;
    shapes.contains(&shape) && (any_layout || mma.columns == [false, true])
}

/// True if the types may be combined.
fn agree(mma: &Mma) -> bool {
    use MatTy as T;
    let signs = |ty: T| match ty {
        T::U8 => T::S8,
        T::U4 => T::S4,
        T::E5m2 => T::E4m3,
        ty => ty,
    };
    let fits = |acc: AccTy| match mma.from[0] {
        T::F16 | T::E4m3 | T::E5m2 => matches!(acc, AccTy::F16 | AccTy::F32),
        T::Bf16 | T::Tf32 => acc == AccTy::F32,
        T::F64 => acc == AccTy::F64,
        _ => acc == AccTy::S32,
    };
    let bits = mma.from[0] == T::B1;
    signs(mma.from[0]) == signs(mma.from[1])
        && mma.acc.iter().all(|acc| fits(*acc))
        && bits == (mma.rule != MatRule::Multiply)
        && (mma.acc[0] == AccTy::S32 || !mma.satfinite)
}

/// Types of d, a, b and c. `wmma` names only d and c if a and b are halves.
fn types(form: &mut Form, wmma: bool) -> Res<([MatTy; 2], [AccTy; 2])> {
    let mut found = Vec::with_capacity(4);
    while let Some(ty) = form.take(Modifier::scalar_type) {
        found.push(ty);
    }
    let (d, a, b, c) = match found[..] {
        [d, c] if wmma => (d, ScalarType::F16, ScalarType::F16, c),
        [d, a, b, c] => (d, a, b, c),
        _ => return form.unsupported(),
    };
    match (
        multiplicand(a),
        multiplicand(b),
        accumulator(d),
        accumulator(c),
    ) {
        (Some(a), Some(b), Some(d), Some(c)) => Ok(([a, b], [d, c])),
        _ => form.unsupported(),
    }
}

/// Lowers `mma` and `wmma.mma`.
pub(crate) fn product(b: &mut Builder, form: &mut Form, wmma: bool) -> Res<()> {
    let rule = form.take(|m| match m {
        Modifier::Xor => Some(MatRule::Xor),
        Modifier::And => Some(MatRule::And),
        _ => None,
    });
    if rule.is_some() {
        form.need("`.popc`", |m| (m == Modifier::Popc).then_some(()))?;
    }
    let sparse = !wmma && (form.has(Modifier::Sp) || form.has(Modifier::SpOrderedMetadata));
    synchronous(form)?;
    let shape = shape(form)?;
    let columns = [columns(form)?, columns(form)?];
    let satfinite = form.has(Modifier::Satfinite);
    form.ignore(|m| wmma && m == Modifier::Rn);
    let (from, acc) = types(form, wmma)?;
    form.finish(if sparse { 6 } else { 4 })?;
    let mut mma = Mma {
        m: shape.m.into(),
        n: shape.n.into(),
        k: shape.k.into(),
        from,
        acc,
        columns,
        wmma,
        sparsity: sparse.then_some(Sparsity { selector: 0 }),
        rule: rule.unwrap_or(MatRule::Multiply),
        satfinite,
    };
    if !exists(&mma) || !agree(&mma) {
        return form.unsupported();
    }
    if sparse {
        mma.sparsity = Some(sparsity(form, mma.selectors())?);
    }
    let dsts = results(b, form.operand(0)?, &mma.accumulator(0))?;
    let mut srcs = values(b, form.operand(1)?, &mma.a())?;
    srcs.extend(values(b, form.operand(2)?, &mma.b())?);
    srcs.extend(values(b, form.operand(3)?, &mma.accumulator(1))?);
    if sparse {
        srcs.push(b.src(form.operand(4)?, ScalarType::B32)?);
    }
    let extra = b.pools.extra(ExtraOperands {
        dsts,
        srcs,
        matrix: Some(mma),
        ..ExtraOperands::default()
    });
    b.emit(Op::Mma(mma.work()), &[], &[]).extra = extra;
    Ok(())
}

/// The selector of lanes with metadata: the last operand of a sparse product.
fn sparsity(form: &Form, selectors: u8) -> Res<Sparsity> {
    let given = number(form, 5)?;
    if given < u64::from(selectors) {
        return Ok(Sparsity {
            selector: given as u8,
        });
    }
    let message = format!("the selector of metadata is {given}, but must be below {selectors}");
    Err(invalid("operand-kind", form.operand(5)?.span, message))
}

fn register_type(fragment: &Fragment) -> ScalarType {
    match fragment.wide() {
        true => ScalarType::B64,
        false => ScalarType::B32,
    }
}

pub(crate) fn registers(
    b: &Builder,
    operand: &Spanned<Operand>,
    wanted: usize,
) -> Res<Vec<Spanned<Operand>>> {
    let parts = b.elements(operand);
    if parts.len() == wanted {
        return Ok(parts);
    }
    let message = format!(
        "{} registers where the matrix takes {wanted} of each thread",
        parts.len()
    );
    Err(invalid("vector-length", operand.span, message))
}

/// Registers from which a fragment is read.
fn values(b: &mut Builder, operand: &Spanned<Operand>, fragment: &Fragment) -> Res<Vec<Src>> {
    let parts = registers(b, operand, fragment.registers())?;
    let ty = register_type(fragment);
    parts.iter().map(|part| b.src(part, ty)).collect()
}

/// Registers to which a fragment is written.
fn results(b: &mut Builder, operand: &Spanned<Operand>, fragment: &Fragment) -> Res<Vec<Dst>> {
    let parts = registers(b, operand, fragment.registers())?;
    let ty = register_type(fragment);
    parts.iter().map(|part| b.dst(part, ty)).collect()
}

/// Lowers the forms of `wmma`.
pub(crate) fn wmma(b: &mut Builder, form: &mut Form) -> Res<()> {
    if form.has(Modifier::Mma) {
        return product(b, form, true);
    }
    let store = form.has(Modifier::Store);
    if !store && !form.has(Modifier::Load) {
        return form.unsupported();
    }
    let part = form.need("`.a`, `.b`, `.c` or `.d`", |m| match m {
        Modifier::A if !store => Some(Part::A),
        Modifier::B if !store => Some(Part::B),
        Modifier::C if !store => Some(Part::Accumulator),
        Modifier::D if store => Some(Part::Accumulator),
        _ => None,
    })?;
    synchronous(form)?;
    let columns = columns(form)?;
    let shape = shape(form)?;
    let space = form.space();
    let ty = form.ty()?;
    form.finish(3)?;
    let Some(fragment) = fragment(part, columns, shape, ty) else {
        return form.unsupported();
    };
    let (matrix, memory) = if store { (1, 0) } else { (0, 1) };
    let addr = b.address(form.operand(memory)?, space)?;
    let stride = match form.inst.operands.get(2) {
        None => None,
        Some(stride) => Some(b.src(stride, ScalarType::B32)?),
    };
    let stride = match (stride, ty) {
        (Some(bits), ScalarType::B1) => Some(tile::words(b, bits)?),
        (stride, _) => stride,
    };
    let place = tile::place(b, &fragment, columns, addr, stride)?;
    let matrix = form.operand(matrix)?;
    if store {
        let from = values(b, matrix, &fragment)?;
        tile::store(b, &fragment, &place, &from)
    } else {
        let to = results(b, matrix, &fragment)?;
        tile::load(b, &fragment, &place, &to)
    }
}

#[derive(Clone, Copy)]
enum Part {
    A,
    B,
    Accumulator,
}

/// Fragment that `wmma` loads or stores.
fn fragment(part: Part, columns: bool, shape: MatrixShape, ty: ScalarType) -> Option<Fragment> {
    let with = |from: MatTy, acc: AccTy| Mma {
        m: shape.m.into(),
        n: shape.n.into(),
        k: shape.k.into(),
        from: [from; 2],
        acc: [acc; 2],
        columns: [columns; 2],
        wmma: true,
        sparsity: None,
        rule: MatRule::Multiply,
        satfinite: false,
    };
    let known = |mma: &Mma| {
        let any = Mma {
            columns: [false, true],
            ..*mma
        };
        let only_so = mma.from[0].bits() < 8;
        exists(&any) && (!only_so || columns == matches!(part, Part::B))
    };
    let accumulated = |acc: AccTy| {
        use MatTy as T;
        let all = [T::F16, T::Bf16, T::Tf32, T::F64, T::S8, T::S4, T::B1];
        let made = all.into_iter().map(|from| Mma {
            columns: [false, true],
            ..with(from, acc)
        });
        let mut made = made.map(|mma| Mma {
            rule: match mma.from[0] {
                T::B1 => MatRule::Xor,
                _ => MatRule::Multiply,
            },
            ..mma
        });
        made.find(|mma| exists(mma) && agree(mma))
    };
    match part {
        Part::Accumulator => Some(accumulated(accumulator(ty)?)?.accumulator(0)),
        Part::A => Some(with(multiplicand(ty)?, AccTy::F32))
            .filter(known)
            .map(|mma| mma.a()),
        Part::B => Some(with(multiplicand(ty)?, AccTy::F32))
            .filter(known)
            .map(|mma| mma.b()),
    }
}

/// Takes `.m8n8`, the number of matrices, `.trans` and `.b16`.
fn eights(form: &mut Form) -> Res<(usize, bool)> {
    synchronous(form)?;
    let shape = shape(form)?;
    let count = form.need("`.x1`, `.x2` or `.x4`", |m| match m {
        Modifier::X1 => Some(1),
        Modifier::X2 => Some(2),
        Modifier::X4 => Some(4),
        _ => None,
    })?;
    let turned = form.has(Modifier::Trans);
    if (shape.m, shape.n, shape.k) != (8, 8, 0) {
        return form.unsupported();
    }
    Ok((count, turned))
}

fn only_halves(form: &mut Form) -> Res<()> {
    match form.ty()? {
        ScalarType::B16 => Ok(()),
        ty => form.bad_type(ty),
    }
}

/// Space of the access. A generic address must be one of shared memory, which is checked when the
/// instruction runs.
fn shared(form: &Form, space: MemSpace) -> Res<MemSpace> {
    match space {
        MemSpace::Shared | MemSpace::Generic => Ok(space),
        _ => form.unsupported(),
    }
}

/// Lowers the load `ldmatrix`.
pub(crate) fn load(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (count, turned) = eights(form)?;
    let space: Option<Space> = form.space();
    only_halves(form)?;
    form.finish(2)?;
    let addr = b.address(form.operand(1)?, space)?;
    let space = shared(form, addr.space)?;
    let parts = registers(b, form.operand(0)?, count)?;
    let dsts: Res<Vec<Dst>> = parts.iter().map(|p| b.dst(p, ScalarType::B32)).collect();
    let extra = b.extra(dsts?, Vec::new());
    let inst = b.emit(Op::LdMatrix(space, turned), &[], &[addr.base]);
    (inst.imm, inst.wide_addr, inst.extra) = (addr.offset, addr.wide, extra);
    Ok(())
}

/// Lowers the store `stmatrix`.
pub(crate) fn store(b: &mut Builder, form: &mut Form) -> Res<()> {
    let (count, turned) = eights(form)?;
    let space = form.space();
    only_halves(form)?;
    form.finish(2)?;
    let addr = b.address(form.operand(0)?, space)?;
    let space = shared(form, addr.space)?;
    let parts = registers(b, form.operand(1)?, count)?;
    let srcs: Res<Vec<Src>> = parts.iter().map(|p| b.src(p, ScalarType::B32)).collect();
    let extra = b.extra(Vec::new(), srcs?);
    let inst = b.emit(Op::StMatrix(space, turned), &[], &[addr.base]);
    (inst.imm, inst.wide_addr, inst.extra) = (addr.offset, addr.wide, extra);
    Ok(())
}

/// Lowers the transposition `movmatrix`.
pub(crate) fn turn(b: &mut Builder, form: &mut Form) -> Res<()> {
    synchronous(form)?;
    let shape = shape(form)?;
    form.need("`.trans`", |m| (m == Modifier::Trans).then_some(()))?;
    only_halves(form)?;
    form.finish(2)?;
    if (shape.m, shape.n, shape.k) != (8, 8, 0) {
        return form.unsupported();
    }
    let dst = b.dst(form.operand(0)?, ScalarType::B32)?;
    let src = b.src(form.operand(1)?, ScalarType::B32)?;
    b.emit(Op::TurnMatrix, &[dst], &[src]);
    Ok(())
}
