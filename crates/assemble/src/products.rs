//! A product or a shift and the sums that alone use it become one instruction each, as `IMAD` and
//! `LEA` in machine code.

use crate::body::Body;
use crate::constants::Pool;
use crate::fold::Counts;
use crate::written::Written;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use warploom_ir::{Half, Inst, IntBin, IntTy, Op, Src, Width};

/// A sum with the product that it takes over.
struct Join {
    sum: usize,
    product: usize,
    /// Register of the product, by its number in the universe.
    value: usize,
    inst: Inst,
}

/// Joins products and sums of integers within basic blocks.
pub(crate) fn join(body: &mut Body) {
    let counts = Counts::of(body);
    let (cfg, _) = body.flow();
    let mut pool = Pool::new(&body.consts);
    let mut joins = Vec::new();
    let mut taken: FxHashMap<usize, u32> = FxHashMap::default();
    for block in &cfg.blocks {
        let mut written = Written::default();
        for at in block.start..block.end {
            if let Some(join) = find(body, &counts, &written, at, &mut pool) {
                *taken.entry(join.value).or_default() += 1;
                joins.push(join);
            }
            written.pass(body, at);
        }
    }
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    kept.insert_range(..);
    for join in joins {
        if taken[&join.value] == counts.uses[join.value] {
            body.insts[join.sum] = join.inst;
            kept.set(join.product, false);
        }
    }
    body.consts = pool.into_values();
    body.keep(&kept);
}

/// The sum at a position with a product that it uses.
fn find(
    body: &Body,
    counts: &Counts,
    written: &Written,
    at: usize,
    pool: &mut Pool,
) -> Option<Join> {
    let sum = &body.insts[at];
    let Op::Int(IntBin::Add, ty) = sum.op else {
        return None;
    };
    if sum.guard.is_some() {
        return None;
    }
    let [a, b, ..] = sum.src;
    [(a, b), (b, a)].into_iter().find_map(|(used, addend)| {
        let (product, reg, inst) = written.source(body, used)?;
        let value = usize::from(reg.0);
        let (half, of, factors) = factors(inst, pool)?;
        let often = half == Half::Wide || matches!(inst.op, Op::Shl(_));
        let alone = counts.defs[value] == 1 && (often || counts.uses[value] == 1);
        if used == addend || !alone || !takes(ty, half, of) {
            return None;
        }
        let [x, y] = factors;
        let inst = Inst {
            op: Op::Mad(half, of, false),
            src: [x, y, addend, Src::None],
            ..*sum
        };
        Some(Join {
            sum: at,
            product,
            value,
            inst,
        })
    })
}

/// A product or a shift to the left by a literal as a product.
fn factors(inst: &Inst, pool: &mut Pool) -> Option<(Half, IntTy, [Src; 2])> {
    let [a, b, ..] = inst.src;
    match inst.op {
        Op::Mul(half, ty) => Some((half, ty, [a, b])),
        Op::Shl(Width::B32) => {
            let by = pool.literal(b).filter(|by| *by < 32)?;
            Some((Half::Lo, IntTy::U32, [a, pool.bits(1 << by)?]))
        }
        _ => None,
    }
}

/// True if a sum of a type takes the bits of a product as they are.
fn takes(sum: IntTy, half: Half, ty: IntTy) -> bool {
    use IntTy::{S32, S64, U32, U64};
    match (half, ty) {
        (Half::Lo, U32 | S32) => matches!(sum, U32 | S32),
        (Half::Wide, U32 | S32) => matches!(sum, U64 | S64),
        _ => false,
    }
}
