//! Matrices that the lanes of a warp hold together (PTX ISA, "Warp-Level Matrix Multiply-Accumulate
//! Instructions").
//!
//! Where the ISA leaves the arithmetic open, an element of the result starts with c and adds the
//! products in the order of k, each with one rounding to nearest even. Multiplicands of up to 32
//! bits are accumulated in f32. This includes f16 results, which are rounded at the end.
//! Multiplicands of 64 bits are accumulated in f64. Nothing is flushed. Registers of inactive lanes
//! are read as they are.

mod moves;
mod tiles;

use crate::inst::{Exec, InstExec};
use crate::launch::KernelLaunch;
use crate::matrix_places::MmaPlaces;
use crate::numeric::float::{canonical, fma32, nan64};
use crate::ops::elements::{acc_bits, acc_f32, decode_f32, decode_int};
use tiles::is_tile;
use warploom_base::WARP_SIZE;
use warploom_ir::matrix::{AccTy, Fragment, MatRule, MatTy, MetadataPlace, Mma};
use warploom_ir::{Dst, ExtraOperands, Src};

// The numbers are powers of two, so that a place modulo a number needs no check.
/// Number of elements of the largest multiplicand: `mma.m16n8k64`.
const MOST: usize = 16 * 64;
/// Number of elements of the usual multiplicand: `mma.m16n8k16`, `wmma.m16n16k16`.
const USUAL: usize = 16 * 16;
/// Number of elements of the largest result: `wmma.m16n16k16`, or four results of `mma.m8n8k4`.
const RESULT: usize = 16 * 16;

/// Product of two integer elements under the instruction's rule.
#[inline(always)]
fn bits_of(rule: MatRule, a: i64, b: i64) -> i64 {
    let bits = match rule {
        MatRule::Multiply => return a * b,
        MatRule::Xor => a ^ b,
        MatRule::And => a & b,
    };
    (bits as u32).count_ones().into()
}

/// Elements of the operands of a product, with room for multiplicands of `N` elements.
struct Operands<T, const N: usize> {
    a: [T; N],
    b: [T; N],
    c: [T; RESULT],
}

impl<T: Copy + Default, const N: usize> Operands<T, N> {
    fn new() -> Self {
        Self {
            a: [T::default(); N],
            b: [T::default(); N],
            c: [T::default(); RESULT],
        }
    }
}

/// Adds the products to c, for each of the independent products of the instruction.
#[inline(always)]
fn multiply<T: Copy, const N: usize>(
    mma: &Mma,
    of: &mut Operands<T, N>,
    step: impl Fn(T, T, T) -> T + Copy,
) {
    let (m, n, k) = (mma.m, mma.n, mma.a().cols);
    for part in 0..mma.products() {
        let a = &of.a[part * m * k..][..m * k];
        let b = &of.b[part * k * n..][..k * n];
        let c = &mut of.c[part * m * n..][..m * n];
        // Plain loops: what a method of an iterator calls is not compiled for the same vector
        // instructions.
        for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
            match n {
                // The usual widths, for which the compiler keeps a row of the result in registers.
                8 => add_row::<T, 8>(a, b, c, step),
                16 => add_row::<T, 16>(a, b, c, step),
                _ => {
                    for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                        for (c, b) in c.iter_mut().zip(b) {
                            *c = step(*a, *b, *c);
                        }
                    }
                }
            }
        }
    }
}

/// Adds the products of a sparse a to c. `columns` has the column of each element of a. Elements
/// that are not stored are not multiplied, so that they make no NaN of an infinity in b.
fn multiply_sparse<T: Copy, const N: usize>(
    mma: &Mma,
    of: &mut Operands<T, N>,
    columns: &[u8],
    step: impl Fn(T, T, T) -> T,
) {
    let (n, stored) = (mma.n, mma.a().cols);
    let rows = of.a.chunks_exact(stored).zip(columns.chunks_exact(stored));
    for ((a, columns), c) in rows.zip(of.c.chunks_exact_mut(n)) {
        for (a, column) in a.iter().zip(columns) {
            let b = &of.b[usize::from(*column) * n..][..n];
            for (c, b) in c.iter_mut().zip(b) {
                *c = step(*a, *b, *c);
            }
        }
    }
}

/// Adds the products of a row of a with b to a row of c with `N` elements.
#[inline(always)]
fn add_row<T: Copy, const N: usize>(a: &[T], b: &[T], c: &mut [T], step: impl Fn(T, T, T) -> T) {
    let Some(c) = c.first_chunk_mut::<N>() else {
        return;
    };
    let mut sums = *c;
    for (a, b) in a.iter().zip(b.as_chunks::<N>().0) {
        for (sum, b) in sums.iter_mut().zip(b) {
            *sum = step(*a, *b, *sum);
        }
    }
    *c = sums;
}

impl InstExec<'_, '_> {
    /// Executes `mma` and `wmma.mma`.
    #[inline(always)]
    pub fn mma(&mut self, fused: bool) -> Exec {
        let extra = self.extra_operands()?;
        let Some(mma) = &extra.matrix else {
            return Err(self.illegal());
        };
        if matches!(mma.acc[0], AccTy::F16 | AccTy::F32) && is_tile(mma) {
            return self.tile_product(mma, extra, fused);
        }
        let launch: &KernelLaunch = self.ctx;
        let Some(places) = launch.matrices.of(self.inst.extra.0 as usize) else {
            return Err(self.illegal());
        };
        let most = [mma.a(), mma.b()].map(|fragment| fragment.rows * fragment.cols);
        let is_usual = mma.products() * most[0].max(most[1]) <= USUAL;
        let of = (mma, places);
        match mma.acc[0] {
            AccTy::F16 | AccTy::F32 if is_usual => self.float_product::<USUAL>(of, extra, fused),
            AccTy::F16 | AccTy::F32 => self.float_product::<MOST>(of, extra, fused),
            AccTy::F64 if is_usual => self.double_product(of, extra),
            AccTy::F64 => Err(self.illegal()),
            AccTy::S32 => self.integer_product(of, extra),
        }
    }

    /// Executes a product of f64, whose multiplicands have at most the usual number of elements.
    #[inline(always)]
    fn double_product(&mut self, of: (&Mma, &MmaPlaces), extra: &ExtraOperands) -> Exec {
        let read = |_, bits| f64::from_bits(bits);
        let acc = |_, bits| f64::from_bits(bits);
        let mut all = Operands::<f64, USUAL>::new();
        self.operands(of, &extra.srcs, &mut all, read, acc)?;
        multiply(of.0, &mut all, |a, b, c| nan64(a.mul_add(b, c), &[a, b, c]));
        self.put_result(of, &extra.dsts, &all.c, f64::to_bits)
    }

    /// Executes a product of integers. Those of 8 bits and less have many elements, so that all
    /// share the code for the largest multiplicands.
    #[inline(always)]
    fn integer_product(&mut self, of: (&Mma, &MmaPlaces), extra: &ExtraOperands) -> Exec {
        let (mma, _) = of;
        let read = |_, bits: u64| i64::from(bits as i32);
        let mut all = Operands::<i64, MOST>::new();
        self.operands(of, &extra.srcs, &mut all, decode_int, read)?;
        self.multiply(of, extra, &mut all, |a, b, c| c + bits_of(mma.rule, a, b));
        self.put_result(of, &extra.dsts, &all.c, |value| integer(mma, value))
    }

    /// Executes a product that is accumulated in f32. Multiplicands of f16 and results of f32 have
    /// code of their own, without a choice of the format for each element.
    #[inline(always)]
    fn float_product<const N: usize>(
        &mut self,
        of: (&Mma, &MmaPlaces),
        extra: &ExtraOperands,
        fused: bool,
    ) -> Exec {
        let (mma, _) = of;
        let mut all = Operands::<f32, N>::new();
        if mma.from == [MatTy::F16; 2] {
            let read = |_, bits| acc_f32(AccTy::F16, bits);
            self.operands(of, &extra.srcs, &mut all, read, acc_f32)?;
        } else {
            self.operands(of, &extra.srcs, &mut all, decode_f32, acc_f32)?;
        }
        self.multiply(of, extra, &mut all, |a, b, c| fma32(a, b, c, fused));
        match mma.acc[0] {
            AccTy::F32 => self.put_result(of, &extra.dsts, &all.c, |value| {
                canonical(value).to_bits().into()
            }),
            ty => self.put_result(of, &extra.dsts, &all.c, |value| acc_bits(ty, value)),
        }
    }

    /// Adds the products to c.
    #[inline(always)]
    fn multiply<T: Copy, const N: usize>(
        &self,
        (mma, places): (&Mma, &MmaPlaces),
        extra: &ExtraOperands,
        all: &mut Operands<T, N>,
        step: impl Fn(T, T, T) -> T + Copy,
    ) {
        match (mma.sparsity, extra.srcs.last()) {
            (Some(_), Some(&metadata)) => {
                let columns = self.columns(&places.metadata, metadata);
                multiply_sparse(mma, all, &columns[..places.metadata.len()], step);
            }
            _ => multiply(mma, all, step),
        }
    }

    /// Columns of the stored elements of a sparse matrix, row by row.
    fn columns(&self, places: &[MetadataPlace], metadata: Src) -> [u8; MOST] {
        let words: [u32; WARP_SIZE] = self.gather(metadata, false);
        let mut columns = [0; MOST];
        for (column, place) in columns.iter_mut().zip(places) {
            let bits = words[place.lane] >> place.bit & 3;
            *column = (place.first + place.columns[bits as usize]) as u8;
        }
        columns
    }

    /// Collects the operands from the registers of all lanes.
    #[inline(always)]
    fn operands<T: Copy + Default, const N: usize>(
        &self,
        (mma, places): (&Mma, &MmaPlaces),
        srcs: &[Src],
        of: &mut Operands<T, N>,
        multiplicand: impl Fn(MatTy, u64) -> T,
        accumulator: impl Fn(AccTy, u64) -> T,
    ) -> Exec {
        let (a, b, c) = (mma.a(), mma.b(), mma.accumulator(1));
        let (x, y) = (a.registers(), a.registers() + b.registers());
        let metadata = usize::from(mma.sparsity.is_some());
        if srcs.len() != y + c.registers() + metadata {
            return Err(self.illegal());
        }
        self.collect((&a, &places.of[0]), &srcs[..x], &mut of.a, |bits| {
            multiplicand(mma.from[0], bits)
        });
        self.collect((&b, &places.of[1]), &srcs[x..y], &mut of.b, |bits| {
            multiplicand(mma.from[1], bits)
        });
        self.collect((&c, &places.of[2]), &srcs[y..], &mut of.c, |bits| {
            accumulator(mma.acc[1], bits)
        });
        Ok(())
    }

    /// Collects the elements of one fragment from the registers of all lanes.
    #[inline(always)]
    fn collect<T: Copy + Default, const N: usize>(
        &self,
        (fragment, places): (&Fragment, &[[u16; WARP_SIZE]]),
        srcs: &[Src],
        to: &mut [T; N],
        decode: impl Fn(u64) -> T,
    ) {
        let per = fragment.per_register();
        let ones = u64::MAX >> (64 - fragment.bits);
        for (&src, places) in srcs.iter().zip(places.chunks(per)) {
            let narrow = match src {
                Src::Reg(reg) if !fragment.wide() => Some(self.warp.regs.r32(reg.0 as usize)),
                _ => None,
            };
            let wide: [u64; WARP_SIZE] = match narrow {
                Some(_) => [0; WARP_SIZE],
                None => self.gather(src, fragment.wide()),
            };
            for (nth, places) in places.iter().enumerate() {
                // Decoded together before they go to their places: vectors of the host take
                // several lanes.
                let (mut values, shift) = ([T::default(); WARP_SIZE], nth * fragment.bits);
                match narrow {
                    Some(row) => {
                        for (value, word) in values.iter_mut().zip(row) {
                            *value = decode(u64::from(word >> shift & ones as u32));
                        }
                    }
                    None => {
                        for (value, word) in values.iter_mut().zip(&wide) {
                            *value = decode(word >> shift & ones);
                        }
                    }
                }
                for (value, place) in values.iter().zip(places) {
                    to[usize::from(*place) % N] = *value;
                }
            }
        }
    }

    /// Writes the result to the registers of all lanes. `bits` returns the bits of an element.
    #[inline(always)]
    fn put_result<T: Copy + Default>(
        &mut self,
        (mma, places): (&Mma, &MmaPlaces),
        dsts: &[Dst],
        from: &[T; RESULT],
        bits: impl Fn(T) -> u64,
    ) -> Exec {
        let fragment = mma.accumulator(0);
        if dsts.len() != fragment.registers() {
            return Err(self.illegal());
        }
        let per = fragment.per_register();
        for (&dst, places) in dsts.iter().zip(places.of[3].chunks(per)) {
            let mut value = [0; WARP_SIZE];
            for (nth, places) in places.iter().enumerate() {
                let mut elements = [T::default(); WARP_SIZE];
                for (element, place) in elements.iter_mut().zip(places) {
                    *element = from[usize::from(*place) % RESULT];
                }
                for (value, element) in value.iter_mut().zip(elements) {
                    *value |= bits(element) << (nth * fragment.bits);
                }
            }
            if fragment.wide() {
                self.write_reg(dst, &value);
                continue;
            }
            let mut narrow = [0_u32; WARP_SIZE];
            for (narrow, bits) in narrow.iter_mut().zip(value) {
                *narrow = bits as u32;
            }
            self.write_reg(dst, &narrow);
        }
        Ok(())
    }
}

/// Bits of an s32 result, saturated if the instruction asks for it.
#[inline(always)]
fn integer(mma: &Mma, value: i64) -> u64 {
    if mma.satfinite {
        value.clamp(i32::MIN.into(), i32::MAX.into()) as u64 & u64::from(u32::MAX)
    } else {
        value as u64 & u64::from(u32::MAX)
    }
}
