//! Execution state of a warp instruction: access to its operands as arrays of lanes, and to its
//! destinations under the lane mask.

use crate::fault::{FaultKind, Finding, FindingKind, RawFault};
use crate::launch::KernelLaunch;
use crate::memory::write_log::MemPort;
use crate::numeric::lane_value::{Raw, Val};
use crate::outcome::StagedSources;
use crate::outcome::{Effect, Env, StepOut};
use crate::state::block::BlockState;
use crate::state::registers::{LANE_BITS, blend, mask_of};
use crate::state::warp::WarpState;
use warploom_base::{LaneMask, Pc, WARP_SIZE};
use warploom_ir::{Dst, ExtraOperands, Inst, MemSpace, Src};

/// Result of executing an instruction inside this crate. Faults are boxed, because a large error
/// type would force every result through memory.
pub(crate) type Exec<T = ()> = Result<T, Box<RawFault>>;

/// Everything that the execution of one warp instruction may access.
pub(crate) struct InstExec<'a, 'p> {
    pub ctx: &'a KernelLaunch,
    pub block: &'a mut BlockState,
    pub warp: &'a mut WarpState,
    pub port: &'a mut MemPort<'p>,
    pub env: &'a Env,
    pub out: &'a mut StepOut,
    pub inst: &'a Inst,
    pub pc: Pc,
    /// True if the instruction ends a loop that may wait for other threads (see
    /// [`Decoded::polls`](crate::decode::Decoded::polls)).
    pub polls: bool,
    /// Active lanes: those of the stack's top entry for which the guard predicate holds.
    pub mask: LaneMask,
}

impl<'a> InstExec<'a, '_> {
    /// Source operand `k` in all lanes, in the width of `R`.
    #[inline(always)]
    pub fn src<R: SrcRaw>(&self, k: usize) -> &[R; WARP_SIZE] {
        match self.inst.src[k] {
            Src::Reg(reg) => R::reg(&self.warp.regs, reg.0 as usize),
            Src::Const(index) => R::constant(self.ctx, index as usize),
            _ => self.other_src(k),
        }
    }

    /// Source operand `k` if it is neither a register nor a constant.
    #[inline(never)]
    fn other_src<R: SrcRaw>(&self, k: usize) -> &[R; WARP_SIZE] {
        match self.inst.src[k] {
            Src::Special(_) => R::staged(&self.out.staged, k),
            // Predicates are read only as masks: see `src_pred`.
            _ => R::zeros(),
        }
    }

    /// Source operand `k` as a lane mask. Used for predicates.
    #[inline(always)]
    pub fn src_pred(&self, k: usize) -> LaneMask {
        self.pred_of(self.inst.src[k])
    }

    /// Any source as a lane mask. For sources that are not predicates, the lanes with a nonzero
    /// value.
    pub fn pred_of(&self, src: Src) -> LaneMask {
        match src {
            Src::Pred(pred, negated) => {
                let value = self.warp.regs.pred(pred.0 as usize);
                if negated { !value } else { value }
            }
            Src::None => 0,
            other => {
                let bit = |lane: usize| u32::from(self.lane_value(other, lane) != 0) << lane;
                (0..WARP_SIZE).fold(0, |mask, lane| mask | bit(lane))
            }
        }
    }

    /// Value of any source in one lane, zero-extended from 32 bits. For registers of 64 bits use
    /// [`Self::lane_wide`].
    pub fn lane_value(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Reg(reg) => u64::from(self.warp.regs.r32(reg.0 as usize)[lane]),
            _ => self.lane_wide(src, lane),
        }
    }

    /// Value of any source in one lane. Registers are read as 64 bits.
    pub fn lane_wide(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Reg(reg) => self.warp.regs.r64(reg.0 as usize)[lane],
            Src::Const(index) => self.ctx.consts64[index as usize].0[lane],
            Src::Special(special) => self.special(special, lane),
            Src::Pred(pred, negated) => {
                let set = self.warp.regs.pred(pred.0 as usize) >> lane & 1 == 1;
                u64::from(set != negated)
            }
            Src::None => 0,
        }
    }

    /// Values in all lanes of a source that is not among the four operands of the instruction
    /// itself. `wide` states that a register has 64 bits.
    pub fn gather<R: SrcRaw>(&self, src: Src, wide: bool) -> [R; WARP_SIZE] {
        std::array::from_fn(|lane| {
            let value = if wide {
                self.lane_wide(src, lane)
            } else {
                self.lane_value(src, lane)
            };
            R::from_u64(value)
        })
    }

    /// Writes a result to a destination register in the active lanes.
    #[inline(always)]
    pub fn write_reg<R: Raw>(&mut self, dst: Dst, value: &[R; WARP_SIZE]) {
        if let Dst::Reg(reg) = dst {
            blend(
                R::reg_mut(&mut self.warp.regs, reg.0 as usize),
                value,
                self.mask,
            );
        }
    }

    /// Writes a result to the first destination register in the active lanes.
    #[inline(always)]
    pub fn write_result<R: Raw>(&mut self, value: &[R; WARP_SIZE]) {
        self.write_reg(self.inst.dst[0], value);
    }

    /// Writes a predicate in the active lanes.
    #[inline(always)]
    pub fn write_pred(&mut self, dst: Dst, value: LaneMask) {
        if let Dst::Pred(pred) = dst {
            self.warp.regs.set_pred(pred.0 as usize, self.mask, value);
        }
    }

    /// Executes d = f(a).
    #[inline(always)]
    pub fn unary<A, D>(&mut self, f: impl Fn(A) -> D) -> Exec
    where
        A: Val<Raw: SrcRaw>,
        D: Val,
    {
        let a = self.src::<A::Raw>(0);
        let mut d = [D::Raw::default(); WARP_SIZE];
        for i in 0..WARP_SIZE {
            d[i] = f(A::from_raw(a[i])).to_raw();
        }
        self.write_result(&d);
        Ok(())
    }

    /// Executes d = f(a, b).
    #[inline(always)]
    pub fn binary<A, B, D>(&mut self, f: impl Fn(A, B) -> D) -> Exec
    where
        A: Val<Raw: SrcRaw>,
        B: Val<Raw: SrcRaw>,
        D: Val,
    {
        let (a, b) = (self.src::<A::Raw>(0), self.src::<B::Raw>(1));
        let mut d = [D::Raw::default(); WARP_SIZE];
        for i in 0..WARP_SIZE {
            d[i] = f(A::from_raw(a[i]), B::from_raw(b[i])).to_raw();
        }
        self.write_result(&d);
        Ok(())
    }

    /// Executes d = f(a, b, c).
    #[inline(always)]
    pub fn ternary<A, B, C, D>(&mut self, f: impl Fn(A, B, C) -> D) -> Exec
    where
        A: Val<Raw: SrcRaw>,
        B: Val<Raw: SrcRaw>,
        C: Val<Raw: SrcRaw>,
        D: Val,
    {
        let a = self.src::<A::Raw>(0);
        let (b, c) = (self.src::<B::Raw>(1), self.src::<C::Raw>(2));
        let mut d = [D::Raw::default(); WARP_SIZE];
        for i in 0..WARP_SIZE {
            d[i] = f(A::from_raw(a[i]), B::from_raw(b[i]), C::from_raw(c[i])).to_raw();
        }
        self.write_result(&d);
        Ok(())
    }

    /// Executes d = f(a, b, c, d).
    #[inline(always)]
    pub fn quaternary<A, C, D>(&mut self, f: impl Fn(A, A, C, C) -> D) -> Exec
    where
        A: Val<Raw: SrcRaw>,
        C: Val<Raw: SrcRaw>,
        D: Val,
    {
        let (a, b) = (self.src::<A::Raw>(0), self.src::<A::Raw>(1));
        let (c, e) = (self.src::<C::Raw>(2), self.src::<C::Raw>(3));
        let mut d = [D::Raw::default(); WARP_SIZE];
        for i in 0..WARP_SIZE {
            let (c, e) = (C::from_raw(c[i]), C::from_raw(e[i]));
            d[i] = f(A::from_raw(a[i]), A::from_raw(b[i]), c, e).to_raw();
        }
        self.write_result(&d);
        Ok(())
    }

    /// Lanes in which f(a, b) holds.
    #[inline(always)]
    pub fn compare<A>(&self, f: impl Fn(A, A) -> bool) -> LaneMask
    where
        A: Val<Raw: SrcRaw>,
    {
        let (a, b) = (self.src::<A::Raw>(0), self.src::<A::Raw>(1));
        let mut bits = [0; WARP_SIZE];
        for i in 0..WARP_SIZE {
            let holds = f(A::from_raw(a[i]), A::from_raw(b[i]));
            bits[i] = if holds { LANE_BITS[i] } else { 0 };
        }
        mask_of(&bits)
    }

    /// Lanes in which f(a) holds.
    #[inline(always)]
    pub fn test<A>(&self, f: impl Fn(A) -> bool) -> LaneMask
    where
        A: Val<Raw: SrcRaw>,
    {
        let a = self.src::<A::Raw>(0);
        let bit = |i: usize| {
            if f(A::from_raw(a[i])) {
                LANE_BITS[i]
            } else {
                0
            }
        };
        (0..WARP_SIZE).fold(0, |mask, i| mask | bit(i))
    }

    /// Operands beyond those that are stored in the instruction itself.
    pub fn extra_operands(&self) -> Exec<&'a ExtraOperands> {
        let ctx: &'a KernelLaunch = self.ctx;
        let extra = ctx.program.extras.get(self.inst.extra.0 as usize);
        extra.ok_or_else(|| self.illegal())
    }

    /// Fault of an operation that does not exist for its operands.
    #[cold]
    pub fn illegal(&self) -> Box<RawFault> {
        RawFault::plain(FaultKind::IllegalInstruction, self.lowest_lane())
    }

    /// Number of the lowest active lane.
    pub fn lowest_lane(&self) -> usize {
        lowest_lane(self.mask)
    }

    /// Records a finding. Only the first finding of an instruction is kept.
    pub fn record_finding(
        &mut self,
        kind: FindingKind,
        lane: usize,
        space: MemSpace,
        address: u64,
    ) {
        let finding = Finding {
            kind,
            lane: lane as u8,
            space,
            address,
        };
        self.out.finding.get_or_insert(finding);
    }

    /// Reports an effect of the instruction.
    pub fn set_effect(&mut self, effect: Effect) {
        self.out.effect = effect;
        self.out.halves = None;
    }
}

/// Lowest lane of a mask, which must not be empty.
pub(crate) fn lowest_lane(mask: LaneMask) -> usize {
    (mask.trailing_zeros() as usize).min(WARP_SIZE - 1)
}

/// A register width in which all kinds of source operands can be read.
pub(crate) trait SrcRaw: Raw {
    fn constant(ctx: &KernelLaunch, index: usize) -> &[Self; WARP_SIZE];
    fn staged(staged: &StagedSources, k: usize) -> &[Self; WARP_SIZE];
}

impl SrcRaw for u32 {
    #[inline(always)]
    fn constant(ctx: &KernelLaunch, index: usize) -> &[u32; WARP_SIZE] {
        &ctx.consts32[index].0
    }

    fn staged(staged: &StagedSources, k: usize) -> &[u32; WARP_SIZE] {
        &staged.narrow[k].0
    }
}

impl SrcRaw for u64 {
    #[inline(always)]
    fn constant(ctx: &KernelLaunch, index: usize) -> &[u64; WARP_SIZE] {
        &ctx.consts64[index].0
    }

    fn staged(staged: &StagedSources, k: usize) -> &[u64; WARP_SIZE] {
        &staged.wide[k].0
    }
}
