//! Video instructions on one element, following the pseudo code of the PTX ISA ("Scalar Video
//! Instructions"). Parts of registers are extended with the source's sign. The result is computed
//! exactly, then clamped and combined with the third operand.

use crate::inst::{Exec, InstExec};
use crate::ops::bits::szext;
use crate::ops::compare::holds;
use warploom_ir::{Addend, Part, ScalarVideo, ScalarVideoOp, Second, VideoMad};

/// Part of a register, extended with or without its sign.
fn selected(value: u32, part: Part, signed: bool) -> i64 {
    let (bits, shift) = part.extent();
    let value = szext(value >> shift, bits, true, signed);
    extended(value, signed)
}

/// A word, extended with or without its sign.
fn extended(value: u32, signed: bool) -> i64 {
    if signed {
        i64::from(value as i32)
    } else {
        i64::from(value)
    }
}

/// Shift amount, reduced to 5 bits or limited to 32.
fn amount(b: i64, wrap: bool) -> u32 {
    if wrap {
        b as u32 & 31
    } else {
        b.min(32) as u32
    }
}

/// Exact result of an operation.
fn operate(op: ScalarVideoOp, a: i64, b: i64) -> i128 {
    let (wide, other) = (i128::from(a), i128::from(b));
    match op {
        ScalarVideoOp::Add => wide + other,
        ScalarVideoOp::Sub => wide - other,
        ScalarVideoOp::AbsDiff => (wide - other).abs(),
        ScalarVideoOp::Min => wide.min(other),
        ScalarVideoOp::Max => wide.max(other),
        ScalarVideoOp::Shl(wrap) => wide << amount(b, wrap),
        ScalarVideoOp::Shr(wrap) => wide >> amount(b, wrap),
        ScalarVideoOp::Set(cmp) => i128::from(holds(cmp, a, b)),
    }
}

/// Clamps a value to the range of an integer of `bits` bits.
fn saturated(value: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

/// Low 33 bits, sign-extended: the width of the ISA's results before they are combined.
fn narrowed(value: i128) -> i64 {
    (value as i64) << 31 >> 31
}

/// Result of an instruction.
fn video(op: ScalarVideoOp, how: ScalarVideo, a: u32, b: u32, c: u32) -> u32 {
    let (x, y) = (
        selected(a, how.a, how.a_signed),
        selected(b, how.b, how.b_signed),
    );
    let (bits, shift) = how.d.extent();
    let mut exact = operate(op, x, y);
    if how.sat {
        exact = saturated(exact, bits, how.d_signed);
    }
    let result = narrowed(exact);
    let third = extended(c, how.d_signed);
    let combined = match how.second {
        Second::None => result,
        Second::Add => result + third,
        Second::Min => result.min(third),
        Second::Max => result.max(third),
    };
    let mask = u32::MAX >> (32 - bits) << shift;
    (combined as u32) << shift & mask | c & !mask
}

/// Result of the instruction `vmad`.
fn multiply_add(how: VideoMad, a: u32, b: u32, c: u32) -> u32 {
    let product =
        i128::from(selected(a, how.a, how.a_signed)) * i128::from(selected(b, how.b, how.b_signed));
    let negates = matches!(how.addend, Addend::ProductNegated | Addend::AddendNegated);
    let signed = how.a_signed || how.b_signed || negates;
    let third = i128::from(extended(c, signed));
    let sum = match how.addend {
        Addend::Plain => product + third,
        Addend::PlusOne => product + third + 1,
        Addend::ProductNegated => third - product,
        Addend::AddendNegated => product - third,
    };
    let result = (sum >> how.shift) as i64;
    match (how.sat, signed) {
        (false, _) => result as u32,
        (true, true) => saturated(result.into(), 32, true) as u32,
        (true, false) => saturated((result as u64).into(), 32, false) as u32,
    }
}

impl InstExec<'_, '_> {
    /// Executes a video instruction on one element.
    pub fn scalar_video(&mut self, op: ScalarVideoOp) -> Exec {
        let how = ScalarVideo::of_imm(self.inst.imm);
        self.ternary(|a, b, c| video(op, how, a, b, c))
    }

    /// Executes the instruction `vmad`.
    pub fn video_mad(&mut self) -> Exec {
        let how = VideoMad::of_imm(self.inst.imm);
        self.ternary(|a, b, c| multiply_add(how, a, b, c))
    }
}
