//! Products of matrices that the four warps of a warp group compute together, asynchronously (PTX
//! ISA, "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! Each warp computes 16 of the 64 rows of the result by itself. Multiplicands in shared memory are
//! described by descriptors in registers, whose contents only execution knows.

use crate::matrix::{AccTy, MatRule, MatTy};

/// Rows of the result that one warp computes.
pub const WARP_ROWS: usize = 16;
/// Bytes of a row of a, or of a column of b, along the depth of the product, for every type.
pub const DEPTH_BYTES: usize = 32;
/// Most columns of the result.
pub const MOST_COLUMNS: usize = 256;

/// Product `d = a * b + d` or `d = a * b`, with 64 rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpGroupMma {
    /// Columns of the result: a multiple of 8 up to [`MOST_COLUMNS`].
    pub n: usize,
    /// Element types of a and b.
    pub from: [MatTy; 2],
    /// Element type of d.
    pub acc: AccTy,
    /// True if a is in registers.
    pub a_in_registers: bool,
    /// True for a and b if consecutive elements in shared memory follow the rows of a, or the
    /// columns of b, instead of the depth.
    pub transposed: [bool; 2],
    /// True for a and b if their elements are negated.
    pub negated: [bool; 2],
    /// Operation on two elements.
    pub rule: MatRule,
    /// True if integers saturate at their limits.
    pub satfinite: bool,
}

impl WarpGroupMma {
    /// Number of registers of a thread that hold a.
    pub fn a_registers(&self) -> usize {
        match self.a_in_registers {
            true => 4,
            false => 0,
        }
    }

    /// Number of registers of a thread that hold d.
    pub fn d_registers(&self) -> usize {
        self.n * self.acc.bits() / 64
    }

    /// Work of one warp, in the unit of [`Mma::work`](crate::matrix::Mma::work).
    pub fn work(&self) -> u8 {
        let bits = WARP_ROWS * self.n * DEPTH_BYTES * 8;
        (8 * bits / (16 * 16 * 16 * 16)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::WarpGroupMma;
    use crate::matrix::{AccTy, MatRule, MatTy};

    #[test]
    fn registers_and_work_follow_the_shape() {
        let mma = |n, acc| WarpGroupMma {
            n,
            from: [MatTy::F16; 2],
            acc,
            a_in_registers: true,
            transposed: [false; 2],
            negated: [false; 2],
            rule: MatRule::Multiply,
            satfinite: false,
        };
        let wide = mma(256, AccTy::F32);
        assert_eq!(
            (wide.a_registers(), wide.d_registers(), wide.work()),
            (4, 128, 128)
        );
        let narrow = mma(8, AccTy::F16);
        assert_eq!((narrow.d_registers(), narrow.work()), (2, 4));
    }
}
