//! Products of warp groups (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! Each warp computes the 16 rows of the result that its threads hold. Values are read and written
//! when the instruction issues, which is one of the orders of events that the ISA allows; the
//! arithmetic is that of [`matrix`](super::matrix).

mod descriptor;

use crate::inst::{Exec, InstExec};
use crate::numeric::float::fma32;
use crate::ops::matrix::{acc_bits, acc_f32, decode_f32, decode_int};
use crate::ops::swizzle::CHUNK;
use descriptor::Descriptor;
use warploom_base::WARP_SIZE;
use warploom_ir::matrix::{AccTy, MatRule, MatTy, Mma};
use warploom_ir::warp_group::{DEPTH_BYTES, WARP_ROWS, WarpGroupMma};
use warploom_ir::{Dst, ExtraOperands, Src};

/// Number of warps of a warp group.
const WARPS: usize = 4;
/// Columns of the result that are computed together.
const WIDEST: usize = 64;
/// Elements along the depth of the product, for elements of one byte.
const DEEPEST: usize = DEPTH_BYTES;
/// Columns of a tile of the result, of which each lane holds two elements in each of two rows.
const TILE: usize = 8;

/// Rows of a, and columns `columns` to `columns + W` of b and of the result.
struct Part<T, const W: usize> {
    a: [[T; DEEPEST]; WARP_ROWS],
    b: [[T; W]; DEEPEST],
    d: [[T; W]; WARP_ROWS],
}

/// Size of an element in shared memory in bytes. Single bits count as words.
fn element_bytes(ty: MatTy) -> usize {
    match ty {
        MatTy::B1 => 4,
        ty => ty.bits() / 8,
    }
}

/// Number of elements along the depth of the product.
fn depth(mma: &WarpGroupMma) -> usize {
    DEPTH_BYTES / element_bytes(mma.from[0])
}

/// Row and column of a lane's element of the accumulator.
#[inline(always)]
fn position(lane: usize, slot: usize) -> (usize, usize) {
    let row = lane / 4 + slot / 2 % 2 * TILE;
    (row, slot / 4 * TILE + lane % 4 * 2 + slot % 2)
}

/// Adds the products along the depth to the result.
#[inline(always)]
fn multiply<T: Copy, const W: usize>(
    of: &mut Part<T, W>,
    depth: usize,
    step: impl Fn(T, T, T) -> T,
) {
    for row in 0..WARP_ROWS {
        let mut sums = of.d[row];
        for k in 0..depth.min(DEEPEST) {
            let a = of.a[row][k];
            for col in 0..W {
                sums[col] = step(a, of.b[k][col], sums[col]);
            }
        }
        of.d[row] = sums;
    }
}

/// Sum of an accumulator and a product in s32.
fn sum(mma: &WarpGroupMma, accumulator: u64, product: i32) -> u64 {
    let sum = i64::from(accumulator as i32) + i64::from(product);
    let sum = match mma.satfinite {
        true => sum.clamp(i32::MIN.into(), i32::MAX.into()),
        false => sum,
    };
    u64::from(sum as u32)
}

/// Reading of elements, with the sign that the instruction gives them.
struct Reading<T> {
    decode: fn(MatTy, u64) -> T,
    negate: fn(T) -> T,
}

impl InstExec<'_, '_> {
    /// Executes `wgmma.mma_async` for the rows of this warp.
    #[inline(always)]
    pub fn warp_group_mma(&mut self, fused: bool) -> Exec {
        let extra = self.extra_operands()?;
        let Some(mma) = &extra.warp_group else {
            return Err(self.illegal());
        };
        if extra.srcs.len() != mma.a_registers() + mma.d_registers()
            || extra.dsts.len() != mma.d_registers()
        {
            return Err(self.illegal());
        }
        match mma.acc {
            AccTy::F16 | AccTy::F32 => {
                let read = Reading {
                    decode: decode_f32,
                    negate: |x: f32| -x,
                };
                self.in_parts(mma, extra, &read, |a, b, c| fma32(a, b, c, fused))
            }
            AccTy::S32 if mma.rule == MatRule::And => self.group_product_of_bits(mma, extra),
            AccTy::S32 => {
                let read = Reading {
                    decode: |ty, bits| decode_int(ty, bits) as i32,
                    negate: |x: i32| x,
                };
                self.in_parts(mma, extra, &read, |a, b, c| c + a * b)
            }
            AccTy::F64 => Err(self.illegal()),
        }
    }

    /// Executes a product of single bits. It is rare and has one version for all hosts.
    #[inline(never)]
    fn group_product_of_bits(&mut self, mma: &WarpGroupMma, extra: &ExtraOperands) -> Exec {
        let read = Reading {
            decode: |_, bits| bits as u32 as i32,
            negate: |x| x,
        };
        self.in_parts(mma, extra, &read, |a, b, c| c + (a & b).count_ones() as i32)
    }

    /// Computes the result in parts of as many columns as possible.
    #[inline(always)]
    fn in_parts<T: Element>(
        &mut self,
        mma: &WarpGroupMma,
        extra: &ExtraOperands,
        read: &Reading<T>,
        step: impl Fn(T, T, T) -> T + Copy,
    ) -> Exec {
        let a = self.read_a(mma, extra, read)?;
        let mut first = 0;
        while first < mma.n {
            let left = mma.n - first;
            if left >= WIDEST {
                self.part::<T, WIDEST>(mma, extra, read, (&a, first), step)?;
                first += WIDEST;
            } else if left >= 2 * TILE {
                self.part::<T, { 2 * TILE }>(mma, extra, read, (&a, first), step)?;
                first += 2 * TILE;
            } else {
                self.part::<T, TILE>(mma, extra, read, (&a, first), step)?;
                first += TILE;
            }
        }
        Ok(())
    }

    /// Computes `W` columns of the result from column `first` on.
    #[inline(always)]
    fn part<T: Element, const W: usize>(
        &mut self,
        mma: &WarpGroupMma,
        extra: &ExtraOperands,
        read: &Reading<T>,
        (a, first): (&[[T; DEEPEST]; WARP_ROWS], usize),
        step: impl Fn(T, T, T) -> T,
    ) -> Exec {
        let mut of = Part {
            a: *a,
            b: [[T::default(); W]; DEEPEST],
            d: [[T::default(); W]; WARP_ROWS],
        };
        let descriptor = Descriptor::new(self.descriptor(1));
        self.read_shared(mma, 1, &descriptor, (first, W), |k, col, bits| {
            let value = (read.decode)(mma.from[1], bits);
            of.b[k][col] = if mma.negated[1] {
                (read.negate)(value)
            } else {
                value
            };
        })?;
        let registers = first * mma.acc.bits() / 64..(first + W) * mma.acc.bits() / 64;
        let old = &extra.srcs[mma.a_registers()..][registers.clone()];
        let mut bits = self.accumulators::<W>(mma, old);
        if T::STARTS_WITH_ACCUMULATOR {
            for (row, values) in of.d.iter_mut().enumerate() {
                for (col, value) in values.iter_mut().enumerate() {
                    *value = T::of_accumulator(mma.acc, bits[row][col]);
                }
            }
        }
        multiply(&mut of, depth(mma), step);
        for (row, values) in of.d.iter().enumerate() {
            for (col, value) in values.iter().enumerate() {
                bits[row][col] = value.to_accumulator(mma, bits[row][col]);
            }
        }
        self.put_accumulators::<W>(mma, &extra.dsts[registers], &bits);
        Ok(())
    }

    /// Descriptor in a source operand: that of the lowest lane, because all lanes have the same.
    fn descriptor(&self, k: usize) -> u64 {
        self.lane_wide(self.inst.src[k], self.lowest_lane())
    }

    /// Rows of a that belong to this warp.
    #[inline(always)]
    fn read_a<T: Element>(
        &self,
        mma: &WarpGroupMma,
        extra: &ExtraOperands,
        read: &Reading<T>,
    ) -> Exec<[[T; DEEPEST]; WARP_ROWS]> {
        let mut a = [[T::default(); DEEPEST]; WARP_ROWS];
        let value = |bits: u64| {
            let value = (read.decode)(mma.from[0], bits);
            if mma.negated[0] {
                (read.negate)(value)
            } else {
                value
            }
        };
        if !mma.a_in_registers {
            let descriptor = Descriptor::new(self.descriptor(0));
            let first = self.warp.warp_index as usize % WARPS * WARP_ROWS;
            let put = |k: usize, row: usize, bits: u64| a[row][k] = value(bits);
            self.read_shared(mma, 0, &descriptor, (first, WARP_ROWS), put)?;
            return Ok(a);
        }
        let bits = element_bytes(mma.from[0]) * 8;
        let fragment = fragment_of_a(mma);
        for (nth, &src) in extra.srcs[..mma.a_registers()].iter().enumerate() {
            let words: [u32; WARP_SIZE] = self.gather(src, false);
            for (lane, word) in words.into_iter().enumerate() {
                for part in 0..32 / bits {
                    let at = fragment.a().place(lane, nth * (32 / bits) + part);
                    let element = u64::from(word) >> (part * bits) & (u64::MAX >> (64 - bits));
                    a[at / depth(mma)][at % depth(mma)] = value(element);
                }
            }
        }
        Ok(a)
    }

    /// Reads `count` rows of a, or columns of b, from number `first` on. `put` receives the
    /// position along the depth, the number from `first` on, and the bits of each element.
    #[inline(always)]
    fn read_shared(
        &self,
        mma: &WarpGroupMma,
        which: usize,
        descriptor: &Descriptor,
        (first, count): (usize, usize),
        mut put: impl FnMut(usize, usize, u64),
    ) -> Exec {
        let bytes = element_bytes(mma.from[which]);
        let per = CHUNK / bytes;
        let element = |chunk: &[u8; CHUNK], nth: usize| {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&chunk[nth * bytes..][..bytes]);
            u64::from_le_bytes(word)
        };
        if mma.transposed[which] {
            for k in 0..depth(mma) {
                for group in 0..count / per {
                    let at = descriptor.across(first / per + group, k);
                    let chunk = self.chunk(at)?;
                    (0..per).for_each(|nth| put(k, group * per + nth, element(&chunk, nth)));
                }
            }
            return Ok(());
        }
        for row in 0..count {
            for part in 0..DEPTH_BYTES / CHUNK {
                let chunk = self.chunk(descriptor.along(first + row, part))?;
                (0..per).for_each(|nth| put(part * per + nth, row, element(&chunk, nth)));
            }
        }
        Ok(())
    }

    /// Bytes of a chunk of shared memory.
    #[inline(always)]
    fn chunk(&self, address: u64) -> Exec<[u8; CHUNK]> {
        let shared = self.block.shared.get(address as usize..);
        match shared.and_then(|bytes| bytes.first_chunk()) {
            Some(chunk) => Ok(*chunk),
            None => Err(self.outside_shared(address)),
        }
    }

    /// Bits of the accumulators of `W` columns in the given registers; zeros if the product does
    /// not add them.
    #[inline(always)]
    fn accumulators<const W: usize>(
        &self,
        mma: &WarpGroupMma,
        srcs: &[Src],
    ) -> [[u64; W]; WARP_ROWS] {
        let mut bits = [[0; W]; WARP_ROWS];
        if self.pred_of(self.inst.src[2]) & self.mask == 0 {
            return bits;
        }
        let (per, ones) = (32 / mma.acc.bits(), u32::MAX >> (32 - mma.acc.bits()));
        for (nth, &src) in srcs.iter().enumerate() {
            let words: [u32; WARP_SIZE] = self.gather(src, false);
            for part in 0..per {
                for (lane, word) in words.iter().enumerate() {
                    let (row, col) = position(lane, nth * per + part);
                    bits[row][col] = u64::from(word >> (part * 16) & ones);
                }
            }
        }
        bits
    }

    /// Writes the accumulators of `W` columns to the given registers.
    #[inline(always)]
    fn put_accumulators<const W: usize>(
        &mut self,
        mma: &WarpGroupMma,
        dsts: &[Dst],
        bits: &[[u64; W]; WARP_ROWS],
    ) {
        let per = 32 / mma.acc.bits();
        for (nth, &dst) in dsts.iter().enumerate() {
            let mut words = [0_u32; WARP_SIZE];
            for part in 0..per {
                for (lane, word) in words.iter_mut().enumerate() {
                    let (row, col) = position(lane, nth * per + part);
                    *word |= (bits[row][col] as u32) << (part * 16);
                }
            }
            self.write_reg(dst, &words);
        }
    }
}

/// Product of a single warp whose fragment of a is that of the warps of a group.
fn fragment_of_a(mma: &WarpGroupMma) -> Mma {
    Mma {
        m: WARP_ROWS,
        n: TILE,
        k: DEPTH_BYTES * 8 / mma.from[0].bits(),
        from: mma.from,
        acc: [mma.acc; 2],
        columns: [false, true],
        wmma: false,
        sparsity: None,
        rule: MatRule::Multiply,
        satfinite: false,
    }
}

/// Type in which elements are multiplied.
trait Element: Copy + Default {
    /// True if sums start with the accumulator. Otherwise it is added at the end.
    const STARTS_WITH_ACCUMULATOR: bool;

    /// Value of an accumulator's bits.
    fn of_accumulator(ty: AccTy, bits: u64) -> Self;

    /// Bits of the result for a sum and the accumulator before.
    fn to_accumulator(self, mma: &WarpGroupMma, before: u64) -> u64;
}

impl Element for f32 {
    const STARTS_WITH_ACCUMULATOR: bool = true;

    #[inline(always)]
    fn of_accumulator(ty: AccTy, bits: u64) -> Self {
        acc_f32(ty, bits)
    }

    #[inline(always)]
    fn to_accumulator(self, mma: &WarpGroupMma, _before: u64) -> u64 {
        acc_bits(mma.acc, self)
    }
}

impl Element for i32 {
    const STARTS_WITH_ACCUMULATOR: bool = false;

    #[inline(always)]
    fn of_accumulator(_ty: AccTy, bits: u64) -> Self {
        bits as i32
    }

    #[inline(always)]
    fn to_accumulator(self, mma: &WarpGroupMma, before: u64) -> u64 {
        sum(mma, before, self)
    }
}
