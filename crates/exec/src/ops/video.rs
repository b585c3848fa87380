//! Video instructions on several elements of a register (PTX ISA 9.7.19).

use crate::inst::{Exec, InstExec};
use crate::ops::bits::szext;
use crate::ops::compare::holds;
use warploom_ir::{Video, VideoOp, VideoParts};

/// Clamps a value to the range of an element.
fn saturated(value: i32, bits: u32, signed: bool) -> i32 {
    if signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

/// Result for one element. Sums and differences of elements do not overflow.
fn operate(op: VideoOp, a: i32, b: i32) -> i32 {
    match op {
        VideoOp::Add => a + b,
        VideoOp::Sub => a - b,
        VideoOp::AbsDiff => (a - b).abs(),
        VideoOp::Min => a.min(b),
        VideoOp::Max => a.max(b),
        // Halves are rounded away from zero.
        VideoOp::Average if a + b >= 0 => (a + b + 1) >> 1,
        VideoOp::Average => (a + b) >> 1,
        VideoOp::Set(cmp) => i32::from(holds(cmp, a, b)),
    }
}

/// Result of an instruction.
fn video(video: Video, parts: VideoParts, a: u32, b: u32, c: u32) -> u32 {
    let bits = 32 / video.lanes.count();
    let both = u64::from(b) << 32 | u64::from(a);
    let of = |source, lane, signed| {
        let value = both >> (bits * parts.lane(source, lane));
        szext(value as u32, bits, true, signed) as i32
    };
    let result = |lane| {
        let (x, y) = (of(0, lane, video.a_signed), of(1, lane, video.b_signed));
        let value = operate(video.op, x, y);
        if video.sat {
            saturated(value, bits, video.d_signed)
        } else {
            value
        }
    };
    let lanes = (0..video.lanes.count()).filter(|&lane| parts.writes(lane));
    if video.add {
        return lanes.fold(c, |sum, lane| sum.wrapping_add_signed(result(lane)));
    }
    lanes.fold(c, |merged, lane| {
        let mask = (u32::MAX >> (32 - bits)) << (bits * lane);
        (result(lane) as u32) << (bits * lane) & mask | merged & !mask
    })
}

impl InstExec<'_, '_> {
    /// Executes a video instruction on two or four elements.
    pub fn video(&mut self, how: Video) -> Exec {
        let parts = VideoParts::of_imm(self.inst.imm);
        self.ternary(|a, b, c| video(how, parts, a, b, c))
    }
}
