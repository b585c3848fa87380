//! Sets of lanes for which an instruction of a warp waits.

use crate::launch::KernelLaunch;
use crate::state::registers::{LANE_BITS, RegFile};
use warploom_base::{LaneMask, WARP_SIZE};
use warploom_ir::{Inst, Op, Src};

/// Set of lanes for which an instruction waits, and the instructions at which these may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitSet {
    /// Lanes of the mask in the given source operand, at instructions with the same operation.
    Named(usize),
    /// All lanes, at the same instruction (`.aligned`).
    Aligned,
    /// All lanes, at barriers with the same number and thread count.
    Block,
}

/// Set of lanes for which an instruction waits.
pub(crate) fn wait_set(inst: &Inst) -> WaitSet {
    match inst.op {
        Op::Barrier(_) => WaitSet::Block,
        op => mask_operand(op).map_or(WaitSet::Aligned, WaitSet::Named),
    }
}

/// Index of the source operand that holds an operation's member mask. `None` if the operation has
/// no mask.
pub(crate) fn mask_operand(op: Op) -> Option<usize> {
    match op {
        Op::Shfl(_) => Some(3),
        Op::Elect | Op::BarWarp => Some(0),
        Op::Vote(_) | Op::Match(..) | Op::Redux(..) | Op::ReduxFloat(_) => Some(1),
        _ => None,
    }
}

/// Union of the member masks of some lanes at an instruction. If the mask is in a special register,
/// the result contains all lanes.
#[inline(always)]
pub(crate) fn named_by(
    regs: &RegFile,
    ctx: &KernelLaunch,
    inst: &Inst,
    lanes: LaneMask,
) -> LaneMask {
    let WaitSet::Named(k) = wait_set(inst) else {
        return LaneMask::MAX;
    };
    match inst.src[k] {
        Src::Reg(reg) => {
            let masks = regs.r32(reg.0 as usize);
            let of = |lane: usize| {
                if lanes & LANE_BITS[lane] == 0 {
                    0
                } else {
                    masks[lane]
                }
            };
            (0..WARP_SIZE).fold(0, |all, lane| all | of(lane))
        }
        Src::Const(index) => ctx.consts32[index as usize].0[0],
        _ => LaneMask::MAX,
    }
}
