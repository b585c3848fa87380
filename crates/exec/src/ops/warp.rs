//! Operations across the lanes of a warp. Lanes that arrive together ([`crate::ops::warp_sync`])
//! execute an operation together, each with its own member mask. Old forms without a mask involve
//! all active lanes. A shuffle that reads an inactive lane returns the contents of that lane's
//! register.

use crate::handler::vectorized;
use crate::host_isa::VectorIsa;
use crate::inst::{Exec, InstExec};
use crate::numeric::float::{canonical, min_max32};
use crate::ops::warp_sync::{JointGroup, SyncOutcome, SyncPart};
use crate::outcome::Effect;
use crate::state::member_mask::mask_operand;
use crate::state::registers::map_lanes;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{
    FloatMinMax, FloatRedux, Inst, IntTy, Op, ReduxOp, ShflMode, Src, VoteMode, Width,
};

/// Operands of all lanes that execute an operation together.
struct Operands<'a> {
    /// Lanes that execute the operation.
    lanes: LaneMask,
    /// Member mask of each lane. Without masks, all lanes are members.
    masks: Option<&'a [u32; WARP_SIZE]>,
    a: &'a [u32; WARP_SIZE],
    b: &'a [u32; WARP_SIZE],
    c: &'a [u32; WARP_SIZE],
    /// First operand in 64 bits, for operations that use it.
    wide: &'a [u64; WARP_SIZE],
    /// Lanes whose predicate is true.
    votes: LaneMask,
}

impl Operands<'_> {
    /// Calls `put` for each distinct set of members, with the lanes whose mask names that set.
    fn by_members(&self, mut put: impl FnMut(LaneMask, LaneMask)) {
        let Some(masks) = self.masks else {
            return put(self.lanes, self.lanes);
        };
        let mut left = self.lanes;
        while left != 0 {
            let mask = masks[left.trailing_zeros() as usize];
            let same = lanes_of(left).filter(|&lane| masks[lane] == mask);
            let named = same.fold(0, |lanes: LaneMask, lane| lanes | 1 << lane);
            put(mask & self.lanes, named);
            left &= !named;
        }
    }
}

/// Results of all lanes. Operations use the word, the predicate or both.
struct Results {
    words: [u32; WARP_SIZE],
    truth: LaneMask,
}

impl Results {
    const NONE: Self = Self {
        words: [0; WARP_SIZE],
        truth: 0,
    };

    /// Sets the results of some lanes.
    fn put(&mut self, lanes: LaneMask, word: u32, truth: LaneMask) {
        lanes_of(lanes).for_each(|lane| self.words[lane] = word);
        self.truth |= truth & lanes;
    }
}

/// Lane mask with all lanes set or none.
fn truth(yes: bool) -> LaneMask {
    if yes { LaneMask::MAX } else { 0 }
}

/// Results of `vote` in all lanes.
fn vote(mode: VoteMode, of: &Operands<'_>) -> Results {
    let mut results = Results::NONE;
    of.by_members(|members, lanes| {
        let votes = of.votes & members;
        let yes = match mode {
            VoteMode::All => votes == members,
            VoteMode::Any => votes != 0,
            VoteMode::Uni => votes == members || votes == 0,
            VoteMode::Ballot => false,
        };
        results.put(lanes, votes, truth(yes));
    });
    results
}

/// Results of `match` in all lanes.
fn match_lanes(any: bool, of: &Operands<'_>) -> Results {
    let mut results = Results::NONE;
    of.by_members(|members, lanes| {
        let equal_to = |lane: usize| {
            let same = |&other: &usize| of.wide[other] == of.wide[lane];
            let same = lanes_of(members).filter(same);
            same.fold(0, |mask: LaneMask, other| mask | 1 << other)
        };
        if any {
            lanes_of(lanes).for_each(|lane| results.words[lane] = equal_to(lane));
            return;
        }
        let all = members != 0 && equal_to(members.trailing_zeros() as usize) == members;
        results.put(lanes, if all { members } else { 0 }, truth(all));
    });
    results
}

/// Results of `shfl` in all lanes.
#[inline(always)]
fn shuffle(mode: ShflMode, of: &Operands<'_>) -> Results {
    let mut results = Results::NONE;
    for lane in 0..WARP_SIZE {
        let (source, ok) = shuffle_source(mode, lane as u32, of.b[lane], of.c[lane]);
        results.words[lane] = of.a[source];
        results.truth |= LaneMask::from(ok) << lane;
    }
    results
}

/// Results of `redux` in all lanes.
fn redux(op: ReduxOp, ty: IntTy, of: &Operands<'_>) -> Results {
    let mut results = Results::NONE;
    of.by_members(|members, lanes| {
        let values = lanes_of(members).map(|lane| of.a[lane]);
        let value = values.reduce(|x, y| reduce(op, ty, x, y));
        results.put(lanes, value.unwrap_or(0), 0);
    });
    results
}

/// Results of `redux` on f32 in all lanes.
fn redux_float(how: FloatRedux, of: &Operands<'_>) -> Results {
    let rule = FloatMinMax {
        max: how.max,
        nan: how.nan,
        xorsign_abs: false,
        ftz: false,
    };
    let value = |bits: u32| match how.abs {
        true => f32::from_bits(bits).abs(),
        false => f32::from_bits(bits),
    };
    let mut results = Results::NONE;
    of.by_members(|members, lanes| {
        let values = lanes_of(members).map(|lane| value(of.a[lane]));
        let picked = values.reduce(|x, y| min_max32::<false>(rule, x, y));
        results.put(lanes, canonical(picked.unwrap_or(0.0)).to_bits(), 0);
    });
    results
}

/// Results of `elect` in all lanes.
fn elect(of: &Operands<'_>) -> Results {
    let mut results = Results::NONE;
    of.by_members(|members, lanes| {
        let leader = members & members.wrapping_neg();
        results.put(lanes, members.trailing_zeros() & 31, leader);
    });
    results
}

/// Results of any operation across lanes.
#[inline(always)]
fn results(op: Op, of: &Operands<'_>) -> Results {
    match op {
        Op::Shfl(mode) => shuffle(mode, of),
        Op::Vote(mode) => vote(mode, of),
        Op::Match(any, _) => match_lanes(any, of),
        Op::Redux(op, ty) => redux(op, ty, of),
        Op::ReduxFloat(how) => redux_float(how, of),
        Op::Elect => elect(of),
        _ => Results::NONE,
    }
}

/// Lane that a shuffle reads, and whether it is inside the segment. A lane outside reads its own
/// register.
fn shuffle_source(mode: ShflMode, lane: u32, b: u32, c: u32) -> (usize, bool) {
    let (offset, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let highest = (lane & segment) | (clamp & !segment);
    let lowest = lane & segment;
    let (source, inside) = match mode {
        ShflMode::Up => {
            let source = lane.wrapping_sub(offset);
            // For `.up`, the clamp is the lowest lane of the segment.
            (source, source as i32 >= highest as i32)
        }
        ShflMode::Down => (lane + offset, lane + offset <= highest),
        ShflMode::Bfly => (lane ^ offset, lane ^ offset <= highest),
        ShflMode::Idx => {
            let source = lowest | (offset & !segment);
            (source, source <= highest)
        }
    };
    (if inside { source & 31 } else { lane } as usize, inside)
}

/// Combines two values in a reduction.
fn reduce(op: ReduxOp, ty: IntTy, a: u32, b: u32) -> u32 {
    let signed = ty == IntTy::S32;
    match op {
        ReduxOp::Add => a.wrapping_add(b),
        ReduxOp::Min if signed => (a as i32).min(b as i32) as u32,
        ReduxOp::Max if signed => (a as i32).max(b as i32) as u32,
        ReduxOp::Min => a.min(b),
        ReduxOp::Max => a.max(b),
        ReduxOp::And => a & b,
        ReduxOp::Or => a | b,
        ReduxOp::Xor => a ^ b,
    }
}

impl InstExec<'_, '_> {
    /// Executes an operation across the lanes of the warp that arrive together for it.
    pub fn warp_op(&mut self) -> Exec {
        if self.mask == 0 {
            self.fall_through();
            return Ok(());
        }
        let outcome = self.synchronize();
        match &outcome {
            SyncOutcome::Complete => self.operate_in_split(),
            SyncOutcome::Joint(joint) => self.operate_in_splits(joint),
            SyncOutcome::Waiting => return Ok(()),
        }
        if self.inst.op == Op::BarWarp {
            self.set_effect(Effect::WarpBarrier);
        }
        self.advance_synchronized(&outcome);
        Ok(())
    }

    /// Executes an operation in the lanes of the running split.
    #[inline(always)]
    fn operate_in_split(&mut self) {
        let op = self.inst.op;
        let mask = mask_operand(op).filter(|&k| self.inst.src[k] != Src::None);
        let none = [0; WARP_SIZE];
        let wide = match op {
            Op::Match(_, Width::B64) => *self.src::<u64>(0),
            Op::Match(..) => map_lanes(self.src::<u32>(0), u64::from),
            _ => none,
        };
        let results = results(
            op,
            &Operands {
                lanes: self.mask,
                masks: mask.map(|k| self.src::<u32>(k)),
                a: self.src(0),
                b: self.src(1),
                c: self.src(2),
                wide: &wide,
                votes: self.src_pred(0),
            },
        );
        self.write_result(&results.words);
        self.write_pred(self.inst.dst[0], results.truth);
        self.write_pred(self.inst.dst[1], results.truth);
    }

    /// Executes an operation in lanes of several splits, each with the operands of its own
    /// instruction.
    #[cold]
    fn operate_in_splits(&mut self, joint: &JointGroup) {
        let wide = matches!(self.inst.op, Op::Match(_, Width::B64));
        let operand = |k: usize| map_lanes(&self.gathered(joint, k, false), |v| v as u32);
        let (a, b, c) = (operand(0), operand(1), operand(2));
        let masks = mask_operand(self.inst.op).map(operand);
        let results = results(
            self.inst.op,
            &Operands {
                lanes: joint.lanes(),
                masks: masks.as_ref(),
                a: &a,
                b: &b,
                c: &c,
                wide: &self.gathered(joint, 0, wide),
                votes: self.votes(joint, 0),
            },
        );
        for part in &joint.parts {
            let dst = self.ctx.program.insts[part.pc.index()].dst;
            self.mask = part.lanes;
            self.write_reg(dst[0], &results.words);
            self.write_pred(dst[0], results.truth);
            self.write_pred(dst[1], results.truth);
        }
    }

    /// Values of source operand `k` in lanes that execute an operation together. For other lanes,
    /// the register named by this instruction is read.
    fn gathered(&self, joint: &JointGroup, k: usize, wide: bool) -> [u64; WARP_SIZE] {
        let read = |inst: &Inst, lane: usize| {
            if wide {
                self.lane_wide(inst.src[k], lane)
            } else {
                self.lane_value(inst.src[k], lane)
            }
        };
        let mut values = std::array::from_fn(|lane| read(self.inst, lane));
        for part in &joint.parts {
            let inst = &self.ctx.program.insts[part.pc.index()];
            lanes_of(part.lanes).for_each(|lane| values[lane] = read(inst, lane));
        }
        values
    }

    /// Lanes among those executing together whose predicate in source operand `k` is true.
    pub(crate) fn votes(&self, joint: &JointGroup, k: usize) -> LaneMask {
        let of = |part: &SyncPart| {
            let inst = &self.ctx.program.insts[part.pc.index()];
            self.pred_of(inst.src[k]) & part.lanes
        };
        joint.parts.iter().fold(0, |votes, part| votes | of(part))
    }

    /// Executes an operation on matrices that all lanes of the warp hold together.
    pub fn matrix_op(&mut self) -> Exec {
        if self.mask == 0 {
            self.fall_through();
            return Ok(());
        }
        let outcome = self.synchronize();
        match &outcome {
            SyncOutcome::Complete => {}
            SyncOutcome::Joint(joint) => self.mask = joint.lanes(),
            SyncOutcome::Waiting => return Ok(()),
        }
        match self.inst.op {
            Op::Mma(_) => vectorized!(self.mma(; fused)),
            Op::WarpGroupMma(_) => vectorized!(self.warp_group_mma(; fused)),
            Op::LdMatrix(space, turned) => self.load_matrix(space, turned),
            Op::StMatrix(space, turned) => self.store_matrix(space, turned),
            _ => self.turn_matrix(),
        }?;
        self.advance_synchronized(&outcome);
        Ok(())
    }

    /// Executes the instruction `activemask`.
    pub fn activemask(&mut self) -> Exec {
        self.write_result(&[self.mask; WARP_SIZE]);
        Ok(())
    }
}
