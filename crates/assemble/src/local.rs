//! Values that the instructions of a basic block leave behind: literals, and sums of a register and
//! a literal. Where a later instruction of the block reads such a value, the literal takes its
//! place, sums of sums become one, and a sum in an address becomes the offset that memory
//! instructions of machine code have.

use crate::arithmetic::{compare, value};
use crate::body::Body;
use crate::constants::{Pool, constant, replace};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use warploom_ir::{Combine, Dst, Half, Inst, IntBin, IntTy, Op, Reg, Src, Var, Width};

/// Bytes that the offset of a machine instruction can hold: 24 bits with a sign.
const MOST_OFFSET: i64 = 1 << 23;

/// Replaces values within each block, and removes instructions whose guard is false there. Blocks
/// that a branch ended become one, and are passed again.
pub(crate) fn fold(body: &mut Body) {
    let branches = |body: &Body| {
        let insts = body.insts.iter();
        insts.filter(|inst| matches!(inst.op, Op::Bra(_))).count()
    };
    loop {
        let before = branches(body);
        pass(body);
        if branches(body) == before {
            return;
        }
    }
}

fn pass(body: &mut Body) {
    let (cfg, _) = body.flow();
    let mut pool = Pool::new(&body.consts);
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    kept.insert_range(..);
    for block in &cfg.blocks {
        let mut known = Known::default();
        for at in block.start..block.end {
            kept.set(at, known.pass(body, at, &mut pool));
        }
    }
    body.consts = pool.into_values();
    body.keep(&kept);
}

/// A register, parameter or address of a variable plus a literal of the same width.
#[derive(Clone, Copy, Debug)]
struct Sum {
    base: Src,
    by: u64,
    /// Number of writes of the base before.
    writes: u32,
}

/// Values of registers at a point of a block.
#[derive(Default)]
struct Known {
    literals: FxHashMap<u16, Src>,
    sums: FxHashMap<u16, Sum>,
    tests: FxHashMap<u16, bool>,
    /// Number of writes of each register so far.
    writes: FxHashMap<u16, u32>,
}

impl Known {
    /// Passes the instruction at a position. False if it has no effect.
    fn pass(&mut self, body: &mut Body, at: usize, pool: &mut Pool) -> bool {
        let mut inst = body.insts[at];
        if let Some(guard) = inst.guard
            && let Some(&test) = self.tests.get(&guard.pred.0)
        {
            if test == guard.negated {
                return false;
            }
            inst.guard = None;
        }
        for src in &mut inst.src {
            if let Src::Reg(read) = src
                && let Some(Sum {
                    base: base @ Src::Reg(_),
                    by: 0,
                    ..
                }) = self.sum(*read)
            {
                *src = base;
            }
        }
        replace(&mut inst, &self.literals, pool);
        simplify(&mut inst, pool);
        self.join(&mut inst, body, pool);
        body.insts[at] = inst;
        let code = body.code();
        for var in code.writes(&inst) {
            match var {
                Var::Reg(reg) => self.forget(reg),
                Var::Pred(pred) => {
                    self.tests.remove(&pred.0);
                }
            }
        }
        self.note(&inst, body, pool);
        true
    }

    /// Forgets what is known of a register, and by means of it.
    fn forget(&mut self, reg: Reg) {
        self.literals.remove(&reg.0);
        self.sums.remove(&reg.0);
        *self.writes.entry(reg.0).or_default() += 1;
    }

    /// Number of writes so far of the register that an operand is.
    fn writes_of(&self, src: Src) -> u32 {
        match src {
            Src::Reg(reg) => self.writes.get(&reg.0).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The sum that a register holds, if its base is still what it was.
    fn sum(&self, reg: Reg) -> Option<Sum> {
        let sum = self.sums.get(&reg.0)?;
        (sum.writes == self.writes_of(sum.base)).then_some(*sum)
    }

    /// Replaces sums that an instruction reads by their parts.
    fn join(&self, inst: &mut Inst, body: &Body, pool: &mut Pool) {
        let Src::Reg(read) = inst.src[0] else { return };
        let Some(sum) = self.sum(read) else { return };
        match inst.op {
            Op::Ld(..) | Op::St(..) | Op::Atom(..) | Op::LdMatrix(..) | Op::StMatrix(..) => {
                let wide = body.wide[usize::from(read.0)];
                let by = if wide {
                    sum.by as i64
                } else {
                    i64::from(sum.by as u32 as i32)
                };
                let offset = i64::from(inst.imm).checked_add(by);
                let offset = offset.filter(|offset| (-MOST_OFFSET..MOST_OFFSET).contains(offset));
                // Only loads and stores take a constant as their address, and one of 64 bits.
                let plain = wide && matches!(inst.op, Op::Ld(..) | Op::St(..));
                let fits = wide == inst.wide_addr && (plain || matches!(sum.base, Src::Reg(_)));
                if let (Some(offset), true) = (offset, fits) {
                    (inst.src[0], inst.imm) = (sum.base, offset as i32);
                }
            }
            Op::Int(IntBin::Add, ty) => {
                let Some(by) = pool.literal(inst.src[1]) else {
                    return;
                };
                if let Some(by) = pool.bits(masked(sum.by.wrapping_add(by), ty)) {
                    (inst.src[0], inst.src[1]) = (sum.base, by);
                }
            }
            _ => {}
        }
    }

    /// Notes the value that an instruction leaves.
    fn note(&mut self, inst: &Inst, body: &Body, pool: &mut Pool) {
        if inst.guard.is_some() {
            return;
        }
        let reg = match inst.dst[0] {
            Dst::Reg(reg) => reg,
            Dst::Pred(pred) => {
                if let Some(holds) = comparison(inst, pool) {
                    self.tests.insert(pred.0, holds);
                }
                return;
            }
            Dst::None => return,
        };
        if body.code().extra(inst).is_some() {
            return;
        }
        if let Some(src) = constant(body, inst, 0, reg, pool) {
            self.literals.insert(reg.0, src);
        }
        let base = inst.src[0];
        let by = match (inst.op, base) {
            (Op::Mov(width), Src::Reg(from)) => {
                let wide = [reg, from].map(|reg| body.wide[usize::from(reg.0)]);
                let whole = matches!(width, Width::B32 | Width::B64);
                (whole && wide == [width == Width::B64; 2]).then_some(0)
            }
            (Op::Int(IntBin::Add, ty), Src::Reg(_) | Src::Const(_)) if is_whole(ty) => {
                pool.literal(inst.src[1])
            }
            _ => None,
        };
        let own = base == Src::Reg(reg) || pool.literal(base).is_some();
        if let (Some(by), false) = (by, own) {
            let writes = self.writes_of(base);
            self.sums.insert(reg.0, Sum { base, by, writes });
        }
    }
}

/// Result of a comparison of two literals to one predicate.
fn comparison(inst: &Inst, pool: &Pool) -> Option<bool> {
    let Op::Setp(cmp, Combine::None, ty, _) = inst.op else {
        return None;
    };
    let [a, b] = [inst.src[0], inst.src[1]].map(|src| pool.literal(src));
    let holds = compare(cmp, ty, a?, b?)?;
    (inst.dst[1] == Dst::None).then_some(holds)
}

/// True for the types of registers of 32 and 64 bits.
const fn is_whole(ty: IntTy) -> bool {
    matches!(ty, IntTy::U32 | IntTy::S32 | IntTy::U64 | IntTy::S64)
}

const fn masked(bits: u64, ty: IntTy) -> u64 {
    match ty {
        IntTy::U64 | IntTy::S64 => bits,
        _ => bits & u32::MAX as u64,
    }
}

/// Gives an instruction with literals a simpler form: a literal of a sum comes last, a difference
/// becomes a sum, a product of literals with a sum becomes a sum, and a sum with zero a copy.
fn simplify(inst: &mut Inst, pool: &mut Pool) {
    let [a, b, c, _] = inst.src;
    let values = [a, b, c].map(|src| pool.literal(src));
    match (inst.op, values) {
        (Op::Mad(half, ty, false), [Some(x), Some(y), None]) => {
            let product = Op::Mul(half, ty);
            let Some(bits) = value(product, [Some(x), Some(y), None, None]) else {
                return;
            };
            let sum = match (half, ty) {
                (Half::Wide, IntTy::U32 | IntTy::S32) => IntTy::U64,
                (Half::Lo, ty) if is_whole(ty) => ty,
                _ => return,
            };
            let Some(by) = pool.bits(bits) else {
                return;
            };
            inst.op = Op::Int(IntBin::Add, sum);
            inst.src = [c, by, Src::None, Src::None];
        }
        (Op::Int(IntBin::Add, ty), [Some(_), None, _]) if is_whole(ty) => {
            inst.src = [b, a, Src::None, Src::None];
        }
        (Op::Int(IntBin::Sub, ty), [None, Some(by), _]) if is_whole(ty) => {
            let by = masked(by.wrapping_neg(), ty);
            let Some(by) = pool.bits(by) else {
                return;
            };
            inst.op = Op::Int(IntBin::Add, ty);
            inst.src = [a, by, Src::None, Src::None];
        }
        _ => {}
    }
    let Op::Int(IntBin::Add, ty) = inst.op else {
        return;
    };
    if is_whole(ty) && pool.literal(inst.src[1]) == Some(0) {
        let wide = matches!(ty, IntTy::U64 | IntTy::S64);
        inst.op = Op::Mov(if wide { Width::B64 } else { Width::B32 });
        inst.src = [inst.src[0], Src::None, Src::None, Src::None];
    }
}
