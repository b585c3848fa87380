//! Products whose results are tiles of 16 rows and 8 columns, computed in the layout in which the
//! lanes of a warp hold them (PTX ISA, "Matrix Fragments for mma.m16n8k16"; the results of `wgmma`
//! consist of such tiles).
//!
//! A lane holds two neighbouring elements in each of two rows. A vector of the host holds the same
//! element of several lanes. Accumulators therefore need no permutation between registers and
//! arithmetic; only the multiplicands, which have fewer elements, are spread over the lanes.

use crate::inst::InstExec;
use crate::ops::elements::{acc_bits, acc_f32, decode_f32, decode_int};
use warploom_base::WARP_SIZE;
use warploom_ir::matrix::{AccTy, MatTy};
use warploom_ir::{Dst, Src};

/// Number of columns of a tile, and of rows of each of its halves.
pub(super) const EIGHT: usize = 8;
/// Largest number of elements along the depth of a product: 32 bytes of them.
pub(super) const DEEPEST: usize = 32;
/// Number of lanes that hold the elements of a row.
const QUAD: usize = 4;

/// An element of each lane.
pub(super) type Lanes<T> = [T; WARP_SIZE];
/// Rows of a: by place along the depth, for the upper and the lower eight rows, the element of the
/// row of each lane.
pub(super) type Left<T> = [[Lanes<T>; 2]];
/// Columns of b: by place along the depth, the elements of the four even and of the four odd
/// columns, each repeated.
pub(super) type Right<T> = [[[T; EIGHT]; 2]];
/// A tile: for the upper and the lower eight rows, the elements of the even and the odd columns.
pub(super) type Tile<T> = [[Lanes<T>; 2]; 2];
/// Bits of eight rows of a, or of eight columns of b, by place along the depth.
pub(super) type Eight = [[u32; EIGHT]; DEEPEST];

/// A type in which elements are multiplied.
pub(super) trait Element: Copy + Default {
    /// Values of the bits of multiplicands.
    fn decode<const N: usize>(ty: MatTy, bits: &[[u32; N]], values: &mut [[Self; N]]);

    /// Values of the bits of accumulators.
    fn of_accumulators(ty: AccTy, bits: &Lanes<u32>) -> Lanes<Self>;

    /// Changes the sign of the value.
    fn negate(&mut self);

    /// Bits that registers hold for values of accumulators.
    fn to_accumulators(ty: AccTy, values: &Lanes<Self>) -> Lanes<u32>;
}

/// Size of an element in bits. Single bits count as words.
pub(super) fn element_bits(ty: MatTy) -> usize {
    match ty {
        MatTy::B1 => 32,
        ty => ty.bits(),
    }
}

/// Applies a function to all elements.
#[inline(always)]
fn each<T: Copy, U, const N: usize>(from: &[[T; N]], to: &mut [[U; N]], f: impl Fn(T) -> U) {
    for (from, to) in from.iter().zip(to) {
        for at in 0..N {
            to[at] = f(from[at]);
        }
    }
}

/// Applies a function to the elements of all lanes.
#[inline(always)]
fn each_lane<T: Copy, U: Copy + Default>(from: &Lanes<T>, f: impl Fn(T) -> U) -> Lanes<U> {
    let mut to = [[U::default(); WARP_SIZE]];
    each(&[*from], &mut to, f);
    to[0]
}

// A loop for each type, so that there is no choice within a loop.
impl Element for f32 {
    #[inline(always)]
    fn decode<const N: usize>(ty: MatTy, bits: &[[u32; N]], values: &mut [[f32; N]]) {
        match ty {
            MatTy::F16 => each(bits, values, |b| decode_f32(MatTy::F16, b.into())),
            MatTy::Bf16 => each(bits, values, |b| decode_f32(MatTy::Bf16, b.into())),
            MatTy::E4m3 => each(bits, values, |b| decode_f32(MatTy::E4m3, b.into())),
            MatTy::E5m2 => each(bits, values, |b| decode_f32(MatTy::E5m2, b.into())),
            _ => each(bits, values, |b| decode_f32(MatTy::Tf32, b.into())),
        }
    }

    #[inline(always)]
    fn of_accumulators(ty: AccTy, bits: &Lanes<u32>) -> Lanes<f32> {
        match ty {
            AccTy::F16 => each_lane(bits, |b| acc_f32(AccTy::F16, b.into())),
            _ => each_lane(bits, f32::from_bits),
        }
    }

    #[inline(always)]
    fn negate(&mut self) {
        *self = -*self;
    }

    #[inline(always)]
    fn to_accumulators(ty: AccTy, values: &Lanes<f32>) -> Lanes<u32> {
        match ty {
            AccTy::F16 => each_lane(values, |value| acc_bits(AccTy::F16, value) as u32),
            _ => each_lane(values, |value| acc_bits(AccTy::F32, value) as u32),
        }
    }
}

impl Element for i32 {
    #[inline(always)]
    fn decode<const N: usize>(ty: MatTy, bits: &[[u32; N]], values: &mut [[i32; N]]) {
        match ty {
            MatTy::S8 => each(bits, values, |b| decode_int(MatTy::S8, b.into()) as i32),
            _ => each(bits, values, |b| b as i32),
        }
    }

    #[inline(always)]
    fn of_accumulators(_ty: AccTy, bits: &Lanes<u32>) -> Lanes<i32> {
        each_lane(bits, |b| b as i32)
    }

    #[inline(always)]
    fn negate(&mut self) {
        *self = -*self;
    }

    #[inline(always)]
    fn to_accumulators(_ty: AccTy, values: &Lanes<i32>) -> Lanes<u32> {
        each_lane(values, |value| value as u32)
    }
}

/// Adds the products to a tile, in the order of their places along the depth.
#[inline(always)]
pub(super) fn multiply<T: Copy>(
    a: &Left<T>,
    b: &Right<T>,
    tile: &mut Tile<T>,
    step: impl Fn(T, T, T) -> T,
) {
    for half in 0..2 {
        let mut sums = tile[half];
        for (a, b) in a.iter().zip(b) {
            let a = &a[half];
            for first in (0..WARP_SIZE).step_by(EIGHT) {
                for parity in 0..2 {
                    for at in 0..EIGHT {
                        let sum = &mut sums[parity][first + at];
                        *sum = step(a[first + at], b[parity][at], *sum);
                    }
                }
            }
        }
        tile[half] = sums;
    }
}

/// Gives each lane the elements of its row. `values` are those of eight rows.
#[inline(always)]
pub(super) fn spread_rows<T: Copy>(values: &[[T; EIGHT]], half: usize, left: &mut Left<T>) {
    for (values, left) in values.iter().zip(left) {
        for (value, quad) in values.iter().zip(left[half].as_chunks_mut::<QUAD>().0) {
            *quad = [*value; QUAD];
        }
    }
}

/// Separates the elements of even and odd columns.
#[inline(always)]
pub(super) fn spread_columns<T: Copy>(values: &[[T; EIGHT]], right: &mut Right<T>) {
    for (values, right) in values.iter().zip(right) {
        for parity in 0..2 {
            for at in 0..EIGHT {
                right[parity][at] = values[2 * (at % QUAD) + parity];
            }
        }
    }
}

impl InstExec<'_, '_> {
    /// A register or constant of 32 bits in all lanes.
    #[inline(always)]
    pub(super) fn lanes_of_word(&self, src: Src) -> Lanes<u32> {
        match src {
            Src::Reg(reg) => *self.warp.regs.r32(reg.0 as usize),
            _ => self.gather(src, false),
        }
    }

    /// Rows of a in registers: each holds as many neighbouring elements as fit in it, of a row of
    /// the upper and the lower half by turns.
    #[inline(always)]
    pub(super) fn left_of_registers<T: Element>(&self, ty: MatTy, srcs: &[Src], to: &mut Left<T>) {
        let per = 32 / element_bits(ty);
        for (nth, &src) in srcs.iter().enumerate() {
            let first = nth / 2 * QUAD * per;
            for part in 0..per {
                let values = self.elements::<T>(ty, src, part);
                for thread in 0..QUAD {
                    let Some(to) = to.get_mut(first + thread * per + part) else {
                        return;
                    };
                    let quads = to[nth % 2].as_chunks_mut::<QUAD>().0;
                    for (quad, values) in quads.iter_mut().zip(values.as_chunks::<QUAD>().0) {
                        *quad = [values[thread]; QUAD];
                    }
                }
            }
        }
    }

    /// Columns of b in registers: each holds as many neighbouring elements as fit in it.
    #[inline(always)]
    pub(super) fn right_of_registers<T: Element>(
        &self,
        ty: MatTy,
        srcs: &[Src],
        to: &mut Right<T>,
    ) {
        let per = 32 / element_bits(ty);
        for (nth, &src) in srcs.iter().enumerate() {
            let first = nth * QUAD * per;
            for part in 0..per {
                let values = self.elements::<T>(ty, src, part);
                for thread in 0..QUAD {
                    let Some(to) = to.get_mut(first + thread * per + part) else {
                        return;
                    };
                    for parity in 0..2 {
                        for at in 0..EIGHT {
                            let column = 2 * (at % QUAD) + parity;
                            to[parity][at] = values[column * QUAD + thread];
                        }
                    }
                }
            }
        }
    }

    /// Values of one of the elements in a register.
    #[inline(always)]
    fn elements<T: Element>(&self, ty: MatTy, src: Src, part: usize) -> Lanes<T> {
        let bits = element_bits(ty);
        let (shift, ones) = (part * bits, u32::MAX >> (32 - bits));
        let bits = each_lane(&self.lanes_of_word(src), |word| word >> shift & ones);
        let mut values = [[T::default(); WARP_SIZE]];
        T::decode(ty, &[bits], &mut values);
        values[0]
    }

    /// A tile of accumulators in registers, two of f16 in each.
    #[inline(always)]
    pub(super) fn tile<T: Element>(&self, ty: AccTy, srcs: &[Src]) -> Tile<T> {
        let mut tile = [[[T::default(); WARP_SIZE]; 2]; 2];
        for (half, srcs) in srcs.chunks_exact(srcs.len() / 2).take(2).enumerate() {
            for parity in 0..2 {
                let words = self.lanes_of_word(srcs[parity % srcs.len()]);
                let shift = match srcs.len() {
                    1 => parity * 16,
                    _ => 0,
                };
                let bits = each_lane(&words, |word| word >> shift);
                tile[half][parity] = T::of_accumulators(ty, &bits);
            }
        }
        tile
    }

    /// Writes a tile of accumulators to registers, two of f16 to each.
    #[inline(always)]
    pub(super) fn put_tile<T: Element>(&mut self, ty: AccTy, dsts: &[Dst], tile: &Tile<T>) {
        for (dsts, tile) in dsts.chunks_exact(dsts.len() / 2).zip(tile) {
            let [even, odd] = tile;
            let [even, odd] = [T::to_accumulators(ty, even), T::to_accumulators(ty, odd)];
            match *dsts {
                [both] => {
                    let mut words = even;
                    for lane in 0..WARP_SIZE {
                        words[lane] |= odd[lane] << 16;
                    }
                    self.write_reg(both, &words);
                }
                [first, second, ..] => {
                    self.write_reg(first, &even);
                    self.write_reg(second, &odd);
                }
                [] => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EIGHT, multiply, spread_columns, spread_rows};
    use warploom_base::{Rng, WARP_SIZE};
    use warploom_ir::matrix::{AccTy, MatRule, MatTy, Mma};

    const DEPTH: usize = 16;

    /// Each lane's sums are those of its elements in the fragment of `mma`, and products are added
    /// in the order of the depth.
    #[test]
    fn lanes_have_the_elements_of_their_fragment() {
        let mma = Mma {
            m: 16,
            n: EIGHT,
            k: DEPTH,
            from: [MatTy::F16; 2],
            acc: [AccTy::F32; 2],
            columns: [false, true],
            wmma: false,
            sparsity: None,
            rule: MatRule::Multiply,
            satfinite: false,
        };
        let mut rng = Rng::new(7);
        let mut any = || [(); DEPTH].map(|()| [(); EIGHT].map(|()| rng.next_u32()));
        let (a, b) = ([any(), any()], any());
        let mut left = [[[0; WARP_SIZE]; 2]; DEPTH];
        spread_rows(&a[0], 0, &mut left);
        spread_rows(&a[1], 1, &mut left);
        let mut right = [[[0; EIGHT]; 2]; DEPTH];
        spread_columns(&b, &mut right);
        // Not associative, so that another order gives another result.
        let step = |a: u32, b: u32, sum: u32| (sum ^ a.wrapping_mul(b)).rotate_left(5);
        let mut tile = [[[1; WARP_SIZE]; 2]; 2];
        multiply(&left, &right, &mut tile, step);
        for lane in 0..WARP_SIZE {
            for slot in 0..4 {
                let place = mma.accumulator(0).place(lane, slot);
                let (row, col) = (place / EIGHT, place % EIGHT);
                let add = |sum, k: usize| step(a[row / EIGHT][k][row % EIGHT], b[k][col], sum);
                let want = (0..DEPTH).fold(1, add);
                assert_eq!(
                    tile[slot / 2][slot % 2][lane],
                    want,
                    "lane {lane}, slot {slot}"
                );
            }
        }
    }
}
