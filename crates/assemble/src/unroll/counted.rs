//! Counted loops of one basic block: `loop: ...; add i, i, step; setp p, i, bound; @p bra loop`.

use crate::body::Body;
use crate::effects::{Effect, effect};
use crate::fold::Counts;
use std::ops::Range;
use warploom_ir::cfg::Cfg;
use warploom_ir::{
    Cmp, Combine, ConstValue, Dst, Inst, IntBin, IntTy, Op, Pred, Reg, Src, Ty, Var, Width,
};

/// A loop of one block that counts a register of 32 bits.
pub(super) struct Loop {
    /// Number of its block.
    pub block: usize,
    /// Positions of its instructions, with the branch at the end.
    pub range: Range<usize>,
    /// Position of the branch.
    pub branch: usize,
    /// Position of the comparison, whose result only the branch reads.
    pub compare: usize,
    /// Predicate of the comparison.
    pub pred: Pred,
    /// Position of the addition to the counter.
    pub update: usize,
    /// Register that counts iterations.
    pub counter: Reg,
    /// Number that an iteration adds to it.
    pub step: i32,
    /// How it is compared with the bound for a further iteration.
    pub test: Test,
    /// The bound, which no iteration changes.
    pub bound: Src,
    /// Value of the counter before the first iteration, if it is known.
    pub first: Option<u32>,
    /// Registers to which an iteration adds a constant and which nothing else needs in it but
    /// addresses and the comparison.
    pub sums: Vec<Sum>,
}

/// A register to which each iteration adds a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub reg: Reg,
    /// Position of the addition.
    pub at: usize,
    pub step: i64,
}

/// Comparison for which a loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Until the counter is the bound.
    Differs,
    /// While the counter is before the bound, or equal to it if `or_equal`, in the direction of the
    /// step.
    Before { signed: bool, or_equal: bool },
}

impl Loop {
    /// The loop that block `nth` is, if it counts.
    pub fn find(body: &Body, cfg: &Cfg, counts: &Counts, nth: usize) -> Option<Self> {
        let block = &cfg.blocks[nth];
        let branch = block.end - 1;
        let inst = &body.insts[branch];
        let guard = inst.guard.filter(|guard| !guard.negated)?;
        let repeats = matches!(inst.op, Op::Bra(_)) && inst.imm as usize == block.start;
        let pred = body.universe().index(Var::Pred(guard.pred));
        if !repeats || counts.defs[pred] != 1 || counts.uses[pred] != 1 {
            return None;
        }
        let writes_pred = |at: &usize| body.insts[*at].dst[0] == Dst::Pred(guard.pred);
        let compare = (block.start..branch).find(writes_pred)?;
        let found = &body.insts[compare];
        let Op::Setp(cmp, Combine::None, ty, _) = found.op else {
            return None;
        };
        let [Src::Reg(counter), bound, ..] = found.src else {
            return None;
        };
        let plain = found.guard.is_none() && found.dst[1] == Dst::None;
        let sum = Sum::of(body, block.start..branch, counter).filter(|_| plain)?;
        let step = i32::try_from(sum.step).ok().filter(|_| sum.at < compare)?;
        let fixed = match bound {
            Src::Reg(reg) => !writes(body, block.start..branch, reg),
            Src::Const(_) => true,
            _ => false,
        };
        let test = Test::of(cmp, ty, step).filter(|_| fixed)?;
        let first = first(body, counts, counter);
        let mut found = Self {
            block: nth,
            range: block.start..block.end,
            branch,
            compare,
            update: sum.at,
            pred: guard.pred,
            counter,
            step,
            test,
            bound,
            first,
            sums: Vec::new(),
        };
        found.sums = found.find_sums(body);
        Some(found)
    }

    /// Sums of which only addresses and the comparison need the values in an iteration.
    fn find_sums(&self, body: &Body) -> Vec<Sum> {
        let block = self.range.start..self.branch;
        let regs = block.clone().filter_map(|at| match body.insts[at].dst[0] {
            Dst::Reg(reg) => Sum::of(body, block.clone(), reg).filter(|sum| sum.at == at),
            _ => None,
        });
        regs.filter(|sum| {
            let others = block
                .clone()
                .filter(|at| *at != sum.at && *at != self.compare);
            let mut reads = others.filter(|at| reads(body, *at, sum.reg) > 0);
            reads.all(|at| is_address(body, at, sum.reg))
        })
        .collect()
    }

    /// Number of instructions of an iteration besides counting.
    pub fn work(&self) -> usize {
        (self.range.len() - 2).saturating_sub(self.sums.len())
    }

    /// Number of iterations, if it is known.
    pub fn trips(&self, body: &Body) -> Option<u64> {
        let Src::Const(at) = self.bound else {
            return None;
        };
        let ConstValue::Bits(bound) = body.consts[usize::from(at)] else {
            return None;
        };
        trips(self.first?, bound as u32, self.step, self.test)
    }

    /// True if lanes may leave the loop in different iterations without effect on each other.
    pub fn may_split(&self, body: &Body) -> bool {
        let code = body.code();
        let mut insts = body.insts[self.range.start..self.branch].iter();
        insts.all(|inst| {
            let effect = effect(&code, inst, None);
            let alone = !matches!(effect, Effect::Exchange | Effect::Ordered | Effect::Fence);
            alone && !matches!(inst.op, Op::Mma(_) | Op::TurnMatrix | Op::LdMatrix(..))
        })
    }
}

impl Sum {
    /// The addition of a constant that is the only write of a register in a range.
    fn of(body: &Body, range: Range<usize>, reg: Reg) -> Option<Self> {
        let code = body.code();
        let written = |at: &usize| {
            let mut writes = code.writes(&body.insts[*at]);
            writes.any(|var| var == Var::Reg(reg))
        };
        let mut all = range.filter(written);
        let (at, None) = (all.next()?, all.next()) else {
            return None;
        };
        let inst = &body.insts[at];
        let (Op::Int(op, ty), [Src::Reg(from), Src::Const(by), ..]) = (inst.op, inst.src) else {
            return None;
        };
        let ConstValue::Bits(bits) = body.consts[usize::from(by)] else {
            return None;
        };
        let by = match ty {
            IntTy::S32 | IntTy::U32 => i64::from(bits as u32 as i32),
            IntTy::S64 | IntTy::U64 => bits as i64,
            _ => return None,
        };
        let step = match op {
            IntBin::Add => by,
            IntBin::Sub => by.checked_neg()?,
            _ => return None,
        };
        let in_place = from == reg && inst.guard.is_none() && step != 0;
        in_place.then_some(Self { reg, at, step })
    }
}

impl Test {
    /// The test of a comparison of the counter with the bound, if the loop ends by counting.
    fn of(cmp: Cmp, ty: Ty, step: i32) -> Option<Self> {
        let signed = match ty {
            Ty::Int(IntTy::S32) => !matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs),
            Ty::Int(IntTy::U32) | Ty::Bits(Width::B32) => false,
            _ => return None,
        };
        let before = |or_equal| Some(Self::Before { signed, or_equal });
        match (cmp, step > 0) {
            (Cmp::Ne, _) => Some(Self::Differs),
            (Cmp::Lt | Cmp::Lo, true) | (Cmp::Gt | Cmp::Hi, false) => before(false),
            (Cmp::Le | Cmp::Ls, true) | (Cmp::Ge | Cmp::Hs, false) => before(true),
            _ => None,
        }
    }
}

/// Iterations of a loop whose counter begins with `first`: the first always runs. `None` if the
/// counter would wrap around.
fn trips(first: u32, bound: u32, step: i32, test: Test) -> Option<u64> {
    let signed = !matches!(test, Test::Before { signed: false, .. });
    let value = |bits: u32| match signed {
        true => i64::from(bits as i32),
        false => i64::from(bits),
    };
    let range = match signed {
        true => i64::from(i32::MIN)..=i64::from(i32::MAX),
        false => 0..=i64::from(u32::MAX),
    };
    let (step, size) = (i64::from(step), i64::from(step).abs());
    let distance = (value(bound) - value(first)) * step.signum();
    let trips = match test {
        Test::Differs => (distance > 0 && distance % size == 0).then(|| distance / size)?,
        Test::Before { or_equal: true, .. } => distance.div_euclid(size) + 1,
        Test::Before { .. } => (distance + size - 1).div_euclid(size),
    };
    let trips = trips.max(1);
    let last = value(first).checked_add(trips.checked_mul(step)?)?;
    range.contains(&last).then_some(trips as u64)
}

/// Value of a counter before its loop: that of the only other instruction that writes it.
fn first(body: &Body, counts: &Counts, counter: Reg) -> Option<u32> {
    let value = usize::from(counter.0);
    if counts.defs[value] != 2 || body.unwritten.contains(value) {
        return None;
    }
    let mut moves = body
        .insts
        .iter()
        .filter(|inst| matches!(inst.op, Op::Mov(Width::B32)) && inst.dst[0] == Dst::Reg(counter));
    let inst: &Inst = moves.next()?;
    let Src::Const(at) = inst.src[0] else {
        return None;
    };
    match body.consts[usize::from(at)] {
        ConstValue::Bits(bits) if inst.guard.is_none() => Some(bits as u32),
        _ => None,
    }
}

fn writes(body: &Body, mut range: Range<usize>, reg: Reg) -> bool {
    let code = body.code();
    range.any(|at| {
        let mut writes = code.writes(&body.insts[at]);
        writes.any(|var| var == Var::Reg(reg))
    })
}

fn reads(body: &Body, at: usize, reg: Reg) -> usize {
    let code = body.code();
    let all = code.reads(&body.insts[at]);
    all.filter(|var| *var == Var::Reg(reg)).count()
}

/// True if an instruction needs a register as its address alone, to which a constant can be added.
fn is_address(body: &Body, at: usize, reg: Reg) -> bool {
    let inst = &body.insts[at];
    let access = matches!(inst.op, Op::Ld(..) | Op::St(..)) && inst.wide_addr;
    let near = inst.imm.unsigned_abs() < 1 << 30;
    access && near && inst.src[0] == Src::Reg(reg) && reads(body, at, reg) == 1
}
