//! A product and the sum that alone uses it become one instruction, as `IMAD` in machine code.

use crate::body::Body;
use crate::fold::Counts;
use fixedbitset::FixedBitSet;
use warploom_ir::{Dst, Half, Inst, IntBin, IntTy, Op, Reg, Src, Var};

/// Joins products and sums of integers within basic blocks.
pub(crate) fn join(body: &mut Body) {
    let counts = Counts::of(body);
    let (cfg, _) = body.flow();
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    kept.insert_range(..);
    for block in &cfg.blocks {
        for sum in block.start..block.end {
            let Some((product, addend)) = find(body, &counts, block.start, sum) else {
                continue;
            };
            let Op::Mul(half, ty) = body.insts[product].op else {
                continue;
            };
            let [a, b, ..] = body.insts[product].src;
            let inst = &mut body.insts[sum];
            inst.op = Op::Mad(half, ty, false);
            inst.src = [a, b, addend, Src::None];
            kept.set(product, false);
        }
    }
    body.keep(&kept);
}

/// Product that a sum at `at` uses, and the other addend, if the sum can take its place.
fn find(body: &Body, counts: &Counts, start: usize, at: usize) -> Option<(usize, Src)> {
    let sum = &body.insts[at];
    let Op::Int(IntBin::Add, sum_ty) = sum.op else {
        return None;
    };
    if sum.guard.is_some() {
        return None;
    }
    let [a, b, ..] = sum.src;
    [(a, b), (b, a)].into_iter().find_map(|(used, addend)| {
        let Src::Reg(reg) = used else { return None };
        let value = usize::from(reg.0);
        if counts.defs[value] != 1 || counts.uses[value] != 1 {
            return None;
        }
        let product = (start..at)
            .rev()
            .find(|at| body.insts[*at].dst[0] == Dst::Reg(reg))?;
        let fits = joins(&body.insts[product], sum_ty) && keeps_sources(body, product, at);
        fits.then_some((product, addend))
    })
}

/// True for a product whose bits a sum of this type takes as they are.
fn joins(product: &Inst, sum: IntTy) -> bool {
    let Op::Mul(half, ty) = product.op else {
        return false;
    };
    use IntTy::{S32, S64, U32, U64};
    let same = match (half, ty) {
        (Half::Lo, U32 | S32) => matches!(sum, U32 | S32),
        (Half::Wide, U32 | S32) => matches!(sum, U64 | S64),
        _ => false,
    };
    same && product.guard.is_none()
}

/// True if no instruction between a product and a sum writes a factor.
fn keeps_sources(body: &Body, product: usize, sum: usize) -> bool {
    let code = body.code();
    let factors: Vec<Reg> = (code.reads(&body.insts[product]))
        .filter_map(|var| match var {
            Var::Reg(reg) => Some(reg),
            Var::Pred(_) => None,
        })
        .collect();
    let between = &body.insts[product + 1..sum];
    let mut written = between.iter().flat_map(|inst| code.writes(inst));
    !written.any(|var| matches!(var, Var::Reg(reg) if factors.contains(&reg)))
}
