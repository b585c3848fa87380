//! Video instructions on lanes of a register (PTX ISA 9.7.19), decoded.

use crate::op::Cmp;

/// Operation on two lanes.
#[allow(missing_docs, reason = "PTX's own mnemonics")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Average,
    Set(Cmp),
}

/// Lanes of a register: two halves or four bytes.
#[allow(missing_docs, reason = "halves and bytes")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VideoLanes {
    Two,
    Four,
}

impl VideoLanes {
    /// Number of these lanes.
    pub const fn count(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

/// Operation of `vadd2` to `vset4`; the lanes are in [`VideoParts`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Video {
    /// Operation on a lane of each source.
    pub op: VideoOp,
    /// Lanes of the operands.
    pub lanes: VideoLanes,
    /// True if lanes of the first source are signed.
    pub a_signed: bool,
    /// True if lanes of the second source are signed.
    pub b_signed: bool,
    /// True if lanes of the destination are signed, for `.sat`.
    pub d_signed: bool,
    /// True for `.sat`: results are clamped.
    pub sat: bool,
    /// True for `.add`: results are added to the third source. Without it the third source provides
    /// the lanes that are not written.
    pub add: bool,
}

/// Number of bits that choose a lane of a source.
const SOURCE: u32 = 12;

/// Lanes of a video instruction, in the [`imm`](crate::Inst::imm) of its instruction: a mask of
/// lanes of the destination and, for each lane of a source, the number of a lane in both sources.
/// The lanes of the first source come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoParts(u32);

impl VideoParts {
    /// Encodes a mask and lanes, the lowest first.
    pub fn new(mask: u8, sources: [[u8; 4]; 2]) -> Self {
        let code = |lanes: [u8; 4]| {
            let digits = lanes.into_iter().rev();
            digits.fold(0, |code, lane| code << 3 | u32::from(lane & 7))
        };
        let [a, b] = sources.map(code);
        Self(u32::from(mask) << (2 * SOURCE) | b << SOURCE | a)
    }

    /// Encodes the lanes as an instruction's immediate.
    pub const fn imm(self) -> i32 {
        self.0 as i32
    }

    /// Decodes the lanes of an instruction.
    pub const fn of_imm(imm: i32) -> Self {
        Self(imm as u32)
    }

    /// True if the lane of the destination is written.
    pub const fn writes(self, lane: u32) -> bool {
        self.0 >> (2 * SOURCE + lane) & 1 == 1
    }

    /// Number of the lane that is a lane of the first source (0) or the second (1).
    pub const fn lane(self, source: u32, lane: u32) -> u32 {
        self.0 >> (source * SOURCE + 3 * lane) & 7
    }
}

#[cfg(test)]
mod tests {
    use super::VideoParts;

    #[test]
    fn parts_come_back() {
        let parts = VideoParts::new(0b1010, [[0, 1, 2, 3], [7, 6, 5, 4]]);
        let parts = VideoParts::of_imm(parts.imm());
        assert!(parts.writes(1) && parts.writes(3));
        assert!(!parts.writes(0) && !parts.writes(2));
        let lanes = [parts.lane(0, 3), parts.lane(1, 0), parts.lane(1, 3)];
        assert_eq!(lanes, [3, 7, 4]);
    }
}
