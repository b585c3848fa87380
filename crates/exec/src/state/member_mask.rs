//! Which lanes an instruction of a warp waits for.

use crate::launch::KernelLaunch;
use crate::state::registers::LANE_BITS;
use crate::state::warp::WarpState;
use warploom_base::{LaneMask, WARP_SIZE};
use warploom_ir::{Inst, Op, Src};

/// Whom an instruction waits for, and with which other instructions it meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitsFor {
    /// The lanes of the mask in a source operand, at instructions with the same operation.
    Named(usize),
    /// All lanes, at the same instruction (`.aligned`).
    Aligned,
    /// All lanes, at barriers of the same number and thread count.
    Block,
}

pub(crate) fn waits_for(inst: &Inst) -> WaitsFor {
    match inst.op {
        Op::Barrier(_) => WaitsFor::Block,
        op => mask_operand(op).map_or(WaitsFor::Aligned, WaitsFor::Named),
    }
}

/// The source operand that holds an operation's member mask.
pub(crate) fn mask_operand(op: Op) -> Option<usize> {
    match op {
        Op::Shfl(_) => Some(3),
        Op::Elect | Op::BarWarp => Some(0),
        Op::Vote(_) | Op::Match(..) | Op::Redux(..) => Some(1),
        _ => None,
    }
}

/// The lanes that some lanes of a warp name at an instruction. Of masks in special registers it
/// says all.
#[inline(always)]
pub(crate) fn named_by(
    warp: &WarpState,
    ctx: &KernelLaunch,
    inst: &Inst,
    lanes: LaneMask,
) -> LaneMask {
    let WaitsFor::Named(k) = waits_for(inst) else {
        return LaneMask::MAX;
    };
    match inst.src[k] {
        Src::Reg(reg) => {
            let masks = warp.regs.r32(reg.0 as usize);
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
