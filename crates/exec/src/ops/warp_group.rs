//! Products of warp groups (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! Each warp computes the 16 rows of the result that its threads hold. Values are read and written
//! when the instruction issues, which is one of the orders of events that the ISA allows; the
//! arithmetic is that of [`matrix`](super::matrix), in [`tile`](super::tile)s.

mod descriptor;

use crate::inst::{Exec, InstExec};
use crate::numeric::float::fma32;
use crate::ops::swizzle::CHUNK;
use crate::ops::tile::{
    DEEPEST, EIGHT, Eight, Element, Left, Right, Tile, element_bits, multiply, spread_columns,
    spread_rows,
};
use descriptor::Descriptor;
use warploom_base::WARP_SIZE;
use warploom_ir::ExtraOperands;
use warploom_ir::matrix::{AccTy, MatRule, MatTy};
use warploom_ir::warp_group::{DEPTH_BYTES, WARP_ROWS, WarpGroupMma};

/// Number of warps of a warp group.
const WARPS: usize = 4;

/// Size of an element in shared memory in bytes.
fn element_bytes(ty: MatTy) -> usize {
    element_bits(ty) / 8
}

/// Number of elements along the depth of the product.
fn depth(mma: &WarpGroupMma) -> usize {
    DEPTH_BYTES / element_bytes(mma.from[0])
}

/// Sum of an accumulator and a product in s32.
fn sum(mma: &WarpGroupMma, accumulator: i32, product: i32) -> i32 {
    match mma.satfinite {
        true => accumulator.saturating_add(product),
        false => accumulator.wrapping_add(product),
    }
}

/// Elements on their way from shared memory to the multiplicands.
struct Scratch<T> {
    bits: Eight,
    values: [[T; EIGHT]; DEEPEST],
}

impl<T: Element> Scratch<T> {
    fn new() -> Self {
        Self {
            bits: [[0; EIGHT]; DEEPEST],
            values: [[T::default(); EIGHT]; DEEPEST],
        }
    }
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
                self.group_product(mma, extra, |a, b, c| fma32(a, b, c, fused))
            }
            AccTy::S32 if mma.rule == MatRule::And => self.group_product_of_bits(mma, extra),
            AccTy::S32 => self.group_product(mma, extra, |a: i32, b, c| c + a * b),
            AccTy::F64 => Err(self.illegal()),
        }
    }

    /// Executes a product of single bits. It is rare and has one version for all hosts.
    #[inline(never)]
    fn group_product_of_bits(&mut self, mma: &WarpGroupMma, extra: &ExtraOperands) -> Exec {
        self.group_product(mma, extra, |a: i32, b, c| c + (a & b).count_ones() as i32)
    }

    /// Computes the result tile by tile.
    #[inline(always)]
    fn group_product<T: Summand>(
        &mut self,
        mma: &WarpGroupMma,
        extra: &ExtraOperands,
        step: impl Fn(T, T, T) -> T,
    ) -> Exec {
        let mut left = [[[T::default(); WARP_SIZE]; 2]; DEEPEST];
        self.left(mma, extra, &mut left)?;
        let adds = self.pred_of(self.inst.src[2]) & self.mask != 0;
        let descriptor = Descriptor::new(self.descriptor(1));
        let (depth, per) = (depth(mma), mma.d_registers() * EIGHT / mma.n);
        let old = extra.srcs[mma.a_registers()..].chunks_exact(per);
        let mut right = [[[T::default(); EIGHT]; 2]; DEEPEST];
        let mut scratch = Scratch::new();
        for (nth, (srcs, dsts)) in old.zip(extra.dsts.chunks_exact(per)).enumerate() {
            self.right(mma, (&descriptor, nth), &mut scratch, &mut right)?;
            let before = match adds {
                true => self.tile(mma.acc, srcs),
                false => [[[T::default(); WARP_SIZE]; 2]; 2],
            };
            let mut tile = T::start(&before);
            multiply(&left[..depth], &right[..depth], &mut tile, &step);
            T::finish(mma, &before, &mut tile);
            self.put_tile(mma.acc, dsts, &tile);
        }
        Ok(())
    }

    /// Descriptor in a source operand: that of the lowest lane, because all lanes have the same.
    fn descriptor(&self, k: usize) -> u64 {
        self.lane_wide(self.inst.src[k], self.lowest_lane())
    }

    /// Rows of a that belong to this warp.
    #[inline(always)]
    fn left<T: Element>(
        &self,
        mma: &WarpGroupMma,
        extra: &ExtraOperands,
        to: &mut Left<T>,
    ) -> Exec {
        if mma.a_in_registers {
            self.left_of_registers(mma.from[0], &extra.srcs[..mma.a_registers()], to);
        } else {
            let descriptor = Descriptor::new(self.descriptor(0));
            let first = self.warp.warp_index as usize % WARPS * (WARP_ROWS / EIGHT);
            let mut scratch = Scratch::new();
            for half in 0..2 {
                let values = self.eight(mma, 0, (&descriptor, first + half), &mut scratch)?;
                spread_rows(values, half, to);
            }
        }
        if mma.negated[0] {
            to.as_flattened_mut()
                .as_flattened_mut()
                .iter_mut()
                .for_each(T::negate);
        }
        Ok(())
    }

    /// Columns of b of a tile.
    #[inline(always)]
    fn right<T: Element>(
        &self,
        mma: &WarpGroupMma,
        of: (&Descriptor, usize),
        scratch: &mut Scratch<T>,
        to: &mut Right<T>,
    ) -> Exec {
        let values = self.eight(mma, 1, of, scratch)?;
        if mma.negated[1] {
            values.as_flattened_mut().iter_mut().for_each(T::negate);
        }
        spread_columns(values, to);
        Ok(())
    }

    /// Values of the `nth` eight rows of a, or columns of b, by place along the depth.
    #[inline(always)]
    fn eight<'s, T: Element>(
        &self,
        mma: &WarpGroupMma,
        which: usize,
        (descriptor, nth): (&Descriptor, usize),
        scratch: &'s mut Scratch<T>,
    ) -> Exec<&'s mut [[T; EIGHT]]> {
        let (turned, ty) = (mma.transposed[which], mma.from[which]);
        let Scratch { bits, values } = scratch;
        match element_bytes(ty) {
            2 if turned => self.eight_across(descriptor, nth, bits)?,
            1 => self.eight_along::<1>(descriptor, nth, bits)?,
            2 => self.eight_along::<2>(descriptor, nth, bits)?,
            _ => self.eight_along::<4>(descriptor, nth, bits)?,
        }
        let depth = depth(mma);
        T::decode(ty, &bits[..depth], &mut values[..depth]);
        Ok(&mut values[..depth])
    }

    /// Reads eight rows or columns that follow the depth, of elements of `BYTES` bytes.
    #[inline(always)]
    fn eight_along<const BYTES: usize>(
        &self,
        descriptor: &Descriptor,
        nth: usize,
        to: &mut Eight,
    ) -> Exec {
        let per = CHUNK / BYTES;
        for row in 0..EIGHT {
            for part in 0..DEPTH_BYTES / CHUNK {
                let chunk = self.chunk(descriptor.along(nth * EIGHT + row, part))?;
                let elements = chunk.as_chunks::<BYTES>().0;
                for (to, element) in to[part * per..].iter_mut().zip(elements) {
                    let mut word = [0; 4];
                    word[..BYTES].copy_from_slice(element);
                    to[row] = u32::from_le_bytes(word);
                }
            }
        }
        Ok(())
    }

    /// Reads eight rows or columns of elements of two bytes that lie next to each other.
    #[inline(always)]
    fn eight_across(&self, descriptor: &Descriptor, nth: usize, to: &mut Eight) -> Exec {
        for (k, to) in to.iter_mut().enumerate().take(DEPTH_BYTES / 2) {
            let chunk = self.chunk(descriptor.across(nth, k))?;
            for (to, element) in to.iter_mut().zip(chunk.as_chunks::<2>().0) {
                *to = u16::from_le_bytes(*element).into();
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
}

/// Type in which a warp group's elements are multiplied and added to the accumulators.
trait Summand: Element {
    /// Sums before the first product.
    fn start(before: &Tile<Self>) -> Tile<Self>;

    /// Result for the sums and the accumulators before.
    fn finish(mma: &WarpGroupMma, before: &Tile<Self>, sums: &mut Tile<Self>);
}

/// Sums start with the accumulators.
impl Summand for f32 {
    #[inline(always)]
    fn start(before: &Tile<Self>) -> Tile<Self> {
        *before
    }

    #[inline(always)]
    fn finish(_mma: &WarpGroupMma, _before: &Tile<Self>, _sums: &mut Tile<Self>) {}
}

/// The accumulators are added at the end.
impl Summand for i32 {
    #[inline(always)]
    fn start(_before: &Tile<Self>) -> Tile<Self> {
        [[[0; WARP_SIZE]; 2]; 2]
    }

    #[inline(always)]
    fn finish(mma: &WarpGroupMma, before: &Tile<Self>, sums: &mut Tile<Self>) {
        let before = before.as_flattened().as_flattened();
        for (value, before) in sums
            .as_flattened_mut()
            .as_flattened_mut()
            .iter_mut()
            .zip(before)
        {
            *value = sum(mma, *before, *value);
        }
    }
}
