//! Two bitwise operations of which the second alone uses the first become one of three inputs, and
//! an operation whose result is only compared with zero sets the predicate itself: `LOP3` in
//! machine code does both.

use crate::body::Body;
use crate::constants::Pool;
use crate::fold::Counts;
use crate::written::Written;
use fixedbitset::FixedBitSet;
use warploom_ir::{Cmp, Combine, Dst, Inst, IntTy, Logic, Op, Pred, Src, Ty, Width};

/// Bits of the three inputs in a table of all their values.
const INPUTS: [u8; 3] = [0xf0, 0xcc, 0xaa];

/// Joins bitwise operations and comparisons within basic blocks.
pub(crate) fn join(body: &mut Body) {
    let counts = Counts::of(body);
    let (cfg, _) = body.flow();
    let mut pool = Pool::new(&body.consts);
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    kept.insert_range(..);
    // Predicates that become the opposite of what they were.
    let mut turned = FixedBitSet::with_capacity(body.preds);
    for block in &cfg.blocks {
        let mut written = Written::default();
        for at in block.start..block.end {
            let found = pair(body, &counts, &written, at, &mut pool)
                .or_else(|| test(body, &counts, &written, at, &mut pool, &mut turned));
            if let Some((first, inst)) = found {
                body.insts[at] = inst;
                kept.set(first, false);
            }
            written.pass(body, at);
        }
    }
    body.consts = pool.into_values();
    turn(body, &turned);
    body.keep(&kept);
}

/// The operation whose result only `src` of another one is, with its position.
fn only_use<'a>(
    body: &'a Body,
    counts: &Counts,
    written: &Written,
    src: Src,
) -> Option<(usize, &'a Inst)> {
    let (at, reg, inst) = written.source(body, src)?;
    let value = usize::from(reg.0);
    let alone = counts.defs[value] == 1 && counts.uses[value] == 1;
    (alone && inst.dst[1] == Dst::None).then_some((at, inst))
}

/// The operation at a position with another one in place of an operand.
fn pair(
    body: &Body,
    counts: &Counts,
    written: &Written,
    at: usize,
    pool: &mut Pool,
) -> Option<(usize, Inst)> {
    let second = &body.insts[at];
    let Op::Logic(op, Width::B32) = second.op else {
        return None;
    };
    let [a, b, ..] = second.src;
    [(a, b), (b, a)].into_iter().find_map(|(used, other)| {
        let (first, inst) = only_use(body, counts, written, used)?;
        let (table, src) = match inst.op {
            Op::Logic(inner, Width::B32) => {
                let inner = table(inner, INPUTS[0], INPUTS[1]);
                (
                    table(op, inner, INPUTS[2]),
                    [inst.src[0], inst.src[1], other],
                )
            }
            Op::Not(Width::B32) => (
                table(op, !INPUTS[0], INPUTS[1]),
                [inst.src[0], other, pool.bits(0)?],
            ),
            _ => return None,
        };
        // An instruction has room for one constant; zero is a register.
        let constants = src.iter().filter(|src| {
            let zero = pool.literal(**src) == Some(0);
            !zero && !matches!(src, Src::Reg(_))
        });
        let [x, y, z] = src;
        let joined = Inst {
            op: Op::Lop3(table, Combine::None),
            src: [x, y, z, Src::None],
            ..*second
        };
        (constants.count() <= 1).then_some((first, joined))
    })
}

/// The comparison with zero at a position with the operation that it compares.
fn test(
    body: &Body,
    counts: &Counts,
    written: &Written,
    at: usize,
    pool: &mut Pool,
    turned: &mut FixedBitSet,
) -> Option<(usize, Inst)> {
    let compare = &body.insts[at];
    let Op::Setp(cmp @ (Cmp::Eq | Cmp::Ne), Combine::None, ty, _) = compare.op else {
        return None;
    };
    let whole = matches!(ty, Ty::Int(IntTy::S32 | IntTy::U32) | Ty::Bits(Width::B32));
    let (Dst::Pred(pred), Dst::None) = (compare.dst[0], compare.dst[1]) else {
        return None;
    };
    let [used, zero, ..] = compare.src;
    if !whole || compare.guard.is_some() || pool.literal(zero) != Some(0) {
        return None;
    }
    let (first, inst) = only_use(body, counts, written, used)?;
    let (table, src) = match inst.op {
        Op::Logic(op, Width::B32) => (
            table(op, INPUTS[0], INPUTS[1]),
            [inst.src[0], inst.src[1], pool.bits(0)?],
        ),
        Op::Lop3(table, Combine::None) => (table, [inst.src[0], inst.src[1], inst.src[2]]),
        _ => return None,
    };
    if cmp == Cmp::Eq {
        let var = body.wide.len() + usize::from(pred.0);
        let once = counts.defs[var] == 1 && !body.unwritten.contains(var);
        if !once {
            return None;
        }
        turned.insert(usize::from(pred.0));
    }
    let [x, y, z] = src;
    let joined = Inst {
        op: Op::Lop3(table, Combine::None),
        dst: [Dst::None, Dst::Pred(pred)],
        src: [x, y, z, Src::None],
        ..*compare
    };
    Some((first, joined))
}

const fn table(op: Logic, a: u8, b: u8) -> u8 {
    match op {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

/// Negates all uses of predicates.
fn turn(body: &mut Body, turned: &FixedBitSet) {
    let is_turned = |pred: Pred| turned.contains(usize::from(pred.0));
    let source = |src: &mut Src| {
        if let Src::Pred(pred, negated) = src {
            *negated ^= is_turned(*pred);
        }
    };
    for inst in &mut body.insts {
        if let Some(guard) = &mut inst.guard {
            guard.negated ^= is_turned(guard.pred);
        }
        inst.src.iter_mut().for_each(source);
    }
    let extras = body.extras.iter_mut();
    extras.flat_map(|extra| &mut extra.srcs).for_each(source);
}
