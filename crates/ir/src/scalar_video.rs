//! Video instructions on one lane (PTX ISA, "Scalar Video Instructions"), decoded.

use crate::op::Cmp;

/// Operation on the first two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarVideoOp {
    /// Sum of the operands: `vadd`.
    Add,
    /// Difference of the operands: `vsub`.
    Sub,
    /// Absolute difference of both: `vabsdiff`.
    AbsDiff,
    /// Minimum of the operands: `vmin`.
    Min,
    /// Maximum of the operands: `vmax`.
    Max,
    /// Left shift, `vshl`, with the amount wrapped (else clamped).
    Shl(bool),
    /// Right shift, `vshr`, with the amount wrapped (else clamped).
    Shr(bool),
    /// Result of a comparison: `vset`.
    Set(Cmp),
}

/// Part of a register that is an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// All 32 bits of the word.
    Word,
    /// Half of the word: `.h0` or `.h1`.
    Half(u8),
    /// Byte of the word: `.b0` to `.b3`.
    Byte(u8),
}

impl Part {
    /// Size of the part and its first bit.
    pub const fn extent(self) -> (u32, u32) {
        match self {
            Self::Word => (32, 0),
            Self::Half(nth) => (16, 16 * nth as u32),
            Self::Byte(nth) => (8, 8 * nth as u32),
        }
    }

    const fn code(self) -> u32 {
        match self {
            Self::Word => 0,
            Self::Half(nth) => 2 + nth as u32,
            Self::Byte(nth) => 4 + nth as u32,
        }
    }

    const fn of_code(code: u32) -> Self {
        match code & 7 {
            0 | 1 => Self::Word,
            half @ (2 | 3) => Self::Half(half as u8 - 2),
            byte => Self::Byte(byte as u8 - 4),
        }
    }
}

/// Use of the result and the third operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Second {
    /// The third operand is unused, or the result replaces a part of it.
    None,
    /// Sum of both: `.add`.
    Add,
    /// Minimum of both: `.min`.
    Min,
    /// Maximum of both: `.max`.
    Max,
}

/// Selections of a scalar video instruction, in the [`imm`](crate::Inst::imm) of its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScalarVideo {
    /// Part of the first source.
    pub a: Part,
    /// Part of the second source.
    pub b: Part,
    /// Part of the third source that the result replaces; the whole word if there is none.
    pub d: Part,
    /// True if the first source is signed.
    pub a_signed: bool,
    /// True if the second source is signed.
    pub b_signed: bool,
    /// True if the result and the third source are signed.
    pub d_signed: bool,
    /// True for `.sat`: the result is clamped.
    pub sat: bool,
    /// Use of the third source.
    pub second: Second,
}

impl ScalarVideo {
    /// Encodes the selections as an instruction's immediate.
    pub fn imm(self) -> i32 {
        let flags = [self.a_signed, self.b_signed, self.d_signed, self.sat];
        let second = match self.second {
            Second::None => 0,
            Second::Add => 1,
            Second::Min => 2,
            Second::Max => 3,
        };
        let parts = self.a.code() | self.b.code() << 3 | self.d.code() << 6;
        (parts | bits(&flags) << 9 | second << 13) as i32
    }

    /// Decodes the selections from an instruction's immediate.
    pub fn of_imm(imm: i32) -> Self {
        let imm = imm as u32;
        let flag = |nth: u32| imm >> (9 + nth) & 1 == 1;
        Self {
            a: Part::of_code(imm),
            b: Part::of_code(imm >> 3),
            d: Part::of_code(imm >> 6),
            a_signed: flag(0),
            b_signed: flag(1),
            d_signed: flag(2),
            sat: flag(3),
            second: match imm >> 13 & 3 {
                0 => Second::None,
                1 => Second::Add,
                2 => Second::Min,
                _ => Second::Max,
            },
        }
    }
}

/// Negation or increment in `vmad`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Addend {
    /// Neither operand is changed.
    Plain,
    /// The sum is incremented: `.po`.
    PlusOne,
    /// The product is negated.
    ProductNegated,
    /// The third operand is negated.
    AddendNegated,
}

/// Selections of `vmad`, in the [`imm`](crate::Inst::imm) of its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoMad {
    /// Part of the first source.
    pub a: Part,
    /// Part of the second source.
    pub b: Part,
    /// True if the first source is signed.
    pub a_signed: bool,
    /// True if the second source is signed.
    pub b_signed: bool,
    /// True for `.sat`: the result is clamped.
    pub sat: bool,
    /// Negation of product or addend, or increment of the sum.
    pub addend: Addend,
    /// Right shift of the result in bits: 0, 7 or 15.
    pub shift: u8,
}

impl VideoMad {
    /// Encodes the selections as an instruction's immediate.
    pub fn imm(self) -> i32 {
        let flags = [self.a_signed, self.b_signed, self.sat];
        let addend = match self.addend {
            Addend::Plain => 0,
            Addend::PlusOne => 1,
            Addend::ProductNegated => 2,
            Addend::AddendNegated => 3,
        };
        let parts = self.a.code() | self.b.code() << 3;
        (parts | bits(&flags) << 6 | addend << 9 | u32::from(self.shift) << 11) as i32
    }

    /// Decodes the selections from an instruction's immediate.
    pub fn of_imm(imm: i32) -> Self {
        let imm = imm as u32;
        let flag = |nth: u32| imm >> (6 + nth) & 1 == 1;
        Self {
            a: Part::of_code(imm),
            b: Part::of_code(imm >> 3),
            a_signed: flag(0),
            b_signed: flag(1),
            sat: flag(2),
            addend: match imm >> 9 & 3 {
                0 => Addend::Plain,
                1 => Addend::PlusOne,
                2 => Addend::ProductNegated,
                _ => Addend::AddendNegated,
            },
            shift: (imm >> 11 & 15) as u8,
        }
    }
}

/// Packs flags as bits, the first lowest.
fn bits(flags: &[bool]) -> u32 {
    let ordered = flags.iter().rev();
    ordered.fold(0, |bits, flag| bits << 1 | u32::from(*flag))
}

#[cfg(test)]
mod tests {
    use super::{Addend, Part, ScalarVideo, Second, VideoMad};

    const PARTS: [Part; 4] = [Part::Word, Part::Half(1), Part::Byte(0), Part::Byte(3)];

    #[test]
    fn what_an_instruction_keeps_comes_back() {
        let seconds = [Second::None, Second::Add, Second::Min, Second::Max];
        for (nth, second) in seconds.into_iter().enumerate() {
            let video = ScalarVideo {
                a: PARTS[nth],
                b: PARTS[3 - nth],
                d: PARTS[(nth + 1) % 4],
                a_signed: nth == 0,
                b_signed: nth == 1,
                d_signed: nth == 2,
                sat: nth == 3,
                second,
            };
            assert_eq!(ScalarVideo::of_imm(video.imm()), video);
        }
        let addends = [
            Addend::Plain,
            Addend::PlusOne,
            Addend::ProductNegated,
            Addend::AddendNegated,
        ];
        for (nth, addend) in addends.into_iter().enumerate() {
            let mad = VideoMad {
                a: PARTS[nth],
                b: PARTS[3 - nth],
                a_signed: nth == 0,
                b_signed: nth == 1,
                sat: nth == 2,
                addend,
                shift: [0, 7, 15, 0][nth],
            };
            assert_eq!(VideoMad::of_imm(mad.imm()), mad);
        }
    }
}
