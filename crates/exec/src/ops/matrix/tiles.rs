//! Products of `mma` whose result is one tile of 16 rows and 8 columns.

use crate::inst::{Exec, InstExec};
use crate::numeric::float::fma32;
use crate::ops::tile::{DEEPEST, EIGHT, multiply};
use warploom_base::WARP_SIZE;
use warploom_ir::ExtraOperands;
use warploom_ir::matrix::Mma;

/// Elements along the depth of the usual product, `mma.m16n8k16`.
const USUAL_DEPTH: usize = 16;

/// True for a dense product of floating-point elements of at least 8 bits whose result is a tile.
pub(super) fn is_tile(mma: &Mma) -> bool {
    (mma.m, mma.n, mma.products()) == (16, EIGHT, 1)
        && !mma.wmma
        && mma.sparsity.is_none()
        && mma.k <= DEEPEST
}

impl InstExec<'_, '_> {
    /// Executes a product that is accumulated in f32 and whose result is a tile.
    #[inline(always)]
    pub(super) fn tile_product(&mut self, mma: &Mma, extra: &ExtraOperands, fused: bool) -> Exec {
        match mma.k <= USUAL_DEPTH {
            true => self.tile_product_of::<USUAL_DEPTH>(mma, extra, fused),
            false => self.tile_product_of::<DEEPEST>(mma, extra, fused),
        }
    }

    /// Executes a product of at most `DEPTH` elements along the depth.
    #[inline(always)]
    fn tile_product_of<const DEPTH: usize>(
        &mut self,
        mma: &Mma,
        extra: &ExtraOperands,
        fused: bool,
    ) -> Exec {
        let a = mma.a().registers();
        let b = a + mma.b().registers();
        let ends = (
            b + mma.accumulator(1).registers(),
            mma.accumulator(0).registers(),
        );
        if (extra.srcs.len(), extra.dsts.len()) != ends {
            return Err(self.illegal());
        }
        let mut left = [[[0.0; WARP_SIZE]; 2]; DEPTH];
        self.left_of_registers::<f32>(mma.from[0], &extra.srcs[..a], &mut left);
        let mut right = [[[0.0; EIGHT]; 2]; DEPTH];
        self.right_of_registers::<f32>(mma.from[1], &extra.srcs[a..b], &mut right);
        let mut tile = self.tile::<f32>(mma.acc[1], &extra.srcs[b..]);
        let depth = mma.k.min(DEPTH);
        multiply(&left[..depth], &right[..depth], &mut tile, |a, b, c| {
            fma32(a, b, c, fused)
        });
        self.put_tile(mma.acc[0], &extra.dsts, &tile);
        Ok(())
    }
}
