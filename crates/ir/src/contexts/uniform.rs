//! Values that are the same in all lanes of a warp that hold them: divergence analysis, after
//! Karrenberg and Hack, "Whole-Function Vectorization", CGO 2011.
//!
//! A value varies in three cases: an operand varies; the operation makes it vary (thread indices,
//! atomics, ...); or it is written between a divergent branch and its reconvergence point while
//! lanes elsewhere still hold the register, either lanes at the start of the other arm or lanes
//! that wait at the reconvergence point. Both facts depend on each other and grow to a fixed point.

use crate::cfg::{Cfg, may_diverge};
use crate::inst::{Inst, SpecialReg, Src};
use crate::liveness::Liveness;
use crate::op::{CacheOp, MemSpace, Op};
use crate::operands::{Code, Var, var_of_src};
use fixedbitset::FixedBitSet;

/// Branch at which the lanes of a warp may diverge.
pub(super) struct Parting {
    /// Block that ends with the branch.
    branch: usize,
    /// Blocks in which some lanes may be while others are elsewhere.
    pub region: FixedBitSet,
    /// Variables that those others may still read: the ones live after the branch and at the
    /// reconvergence point.
    pub kept: FixedBitSet,
}

/// Variables that vary and branches that diverge in one function.
pub(super) struct Uniform {
    /// Variables that may differ between lanes.
    varies: FixedBitSet,
    partings: Vec<Parting>,
}

impl Uniform {
    /// Analyses the variables of a function.
    pub fn new(code: &Code, cfg: &Cfg, live: &Liveness) -> Self {
        let meets = cfg.post_dominators();
        let mut this = Self {
            varies: FixedBitSet::with_capacity(live.universe.len()),
            partings: Vec::new(),
        };
        loop {
            let mut grew = this.spread(code, cfg, live);
            for (branch, block) in cfg.blocks.iter().enumerate() {
                let last = &code.insts[block.end - 1];
                let known = this.partings.iter().any(|p| p.branch == branch);
                if known || !may_diverge(last) || !this.depends(code, live, last) {
                    continue;
                }
                let mut kept = live.live_out(branch).clone();
                if let Some(meet) = meets[branch] {
                    kept.union_with(live.live_in(meet));
                }
                this.partings.push(Parting {
                    branch,
                    region: region(cfg, branch, meets[branch]),
                    kept,
                });
                grew = true;
            }
            if !grew {
                return this;
            }
        }
    }

    /// True if the variable is the same in all lanes that hold it.
    pub fn is_uniform(&self, var: usize) -> bool {
        !self.varies.contains(var)
    }

    /// Branches at which lanes may diverge.
    pub fn partings(&self) -> &[Parting] {
        &self.partings
    }

    /// Marks variables that vary because of operands or place. Returns true if one was added.
    fn spread(&mut self, code: &Code, cfg: &Cfg, live: &Liveness) -> bool {
        let mut any = false;
        loop {
            let mut grew = false;
            for (at, inst) in code.insts.iter().enumerate() {
                let block = cfg.block_of(at);
                let made = makes_vary(inst) || self.depends(code, live, inst);
                for var in code.writes(inst).map(|var| live.universe.index(var)) {
                    let around = |p: &Parting| p.region.contains(block) && p.kept.contains(var);
                    if made || self.partings.iter().any(around) {
                        grew |= !self.varies.put(var);
                    }
                }
            }
            if !grew {
                return any;
            }
            any = true;
        }
    }

    /// True if the guard or an operand of the instruction varies.
    fn depends(&self, code: &Code, live: &Liveness, inst: &Inst) -> bool {
        let varies = |var: Var| self.varies.contains(live.universe.index(var));
        let source = |src: Src| match src {
            Src::Special(special) => special_varies(special),
            other => var_of_src(other).is_some_and(varies),
        };
        inst.guard.is_some_and(|g| varies(Var::Pred(g.pred)))
            || code.sources(inst).any(source) && !joins_lanes(inst.op)
    }
}

/// True if the result is the same in all lanes for any operands.
fn joins_lanes(op: Op) -> bool {
    matches!(
        op,
        Op::Vote(_) | Op::Activemask | Op::Redux(..) | Op::ReduxFloat(_) | Op::Barrier(_)
    )
}

/// True if the result may differ between lanes with equal operands.
fn makes_vary(inst: &Inst) -> bool {
    match inst.op {
        Op::Ld(space, _, cache) => {
            let shared = matches!(
                space,
                MemSpace::Param | MemSpace::Const | MemSpace::Global | MemSpace::Shared
            );
            let plain = matches!(
                cache,
                CacheOp::Default
                    | CacheOp::Ca
                    | CacheOp::Cg
                    | CacheOp::Cs
                    | CacheOp::Lu
                    | CacheOp::NonCoherent
            );
            !shared || !plain
        }
        Op::Atom(..)
        | Op::Tex { .. }
        | Op::Tld4 { .. }
        | Op::Match(..)
        | Op::Shfl(_)
        | Op::Elect
        | Op::System(_)
        | Op::Mbarrier(..)
        | Op::CopyAsync { .. }
        | Op::Surf { .. }
        | Op::Mma(_)
        | Op::WarpGroupMma(_)
        | Op::Bulk { .. }
        | Op::BulkTensor { .. }
        | Op::TensorMapCopy(_)
        | Op::LdMatrix(..)
        | Op::TurnMatrix
        | Op::Alloca(_)
        | Op::StackSave(_) => true,
        // The carry of an earlier instruction is no operand.
        Op::AddC { cin, .. } | Op::SubC { cin, .. } | Op::MadC { cin, .. } => cin,
        _ => false,
    }
}

fn special_varies(special: SpecialReg) -> bool {
    use SpecialReg as S;
    matches!(
        special,
        S::TidX
            | S::TidY
            | S::TidZ
            | S::LaneId
            | S::LanemaskEq
            | S::LanemaskLe
            | S::LanemaskLt
            | S::LanemaskGe
            | S::LanemaskGt
            | S::Clock
            | S::ClockHi
            | S::Clock64
            | S::GlobalTimer
            | S::GlobalTimerLo
            | S::GlobalTimerHi
            | S::FrameBase
    )
}

/// Blocks that can be reached from a branch without passing its reconvergence point.
fn region(cfg: &Cfg, branch: usize, meet: Option<usize>) -> FixedBitSet {
    let mut region = FixedBitSet::with_capacity(cfg.blocks.len());
    let mut work: Vec<usize> = cfg.blocks[branch].succs.to_vec();
    while let Some(block) = work.pop() {
        if Some(block) != meet && !region.put(block) {
            work.extend(cfg.blocks[block].succs.iter().copied());
        }
    }
    region
}
