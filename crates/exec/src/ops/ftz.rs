//! Exact `.ftz` for f32 results next to the smallest normal number.
//!
//! Hardware rounds a result as if the exponent range were unbounded, and then flushes it if it is
//! below the smallest normal number (measured: `docs/hardware.md`). Rounding to the coarser spacing
//! of subnormal numbers may give the smallest normal number instead. This is the only result that
//! can differ, and it is rare. The loops over lanes therefore only note that it occurred, and the
//! affected lanes are computed again with one more significant bit. Sums are not affected, because
//! a sum of normal numbers that is below the smallest normal number is exact. Products, quotients
//! and fused multiply-adds are.

use crate::inst::{Exec, InstExec};
use crate::numeric::float;
use crate::numeric::float::flush;
use crate::numeric::softfloat;
use crate::numeric::softfloat::Format;
use warploom_base::WARP_SIZE;
use warploom_ir::Round;

const SIGN: u32 = 1 << 31;
const SMALLEST_NORMAL: u32 = 1 << 23;

/// The format of f32 with one more significant bit. Its largest subnormal numbers are as finely
/// spaced as those of f32 would be with an unbounded exponent range. The bits of an f32, shifted
/// left by one, denote the same number in it.
pub(crate) const FINER: Format = Format::F32.finer();

/// An operation of [`softfloat`] on two numbers.
type Soft2 = fn(u64, u64, Format, Round) -> Option<u64>;

/// Bits of an f32 result after `.ftz`, given the result in the finer format.
pub(crate) fn flushed(rounded: u32, finer: impl FnOnce() -> Option<u64>) -> u32 {
    let is_edge = rounded & !SIGN == SMALLEST_NORMAL;
    if is_edge && finer().is_some_and(|bits| softfloat::is_subnormal(bits, FINER)) {
        rounded & SIGN
    } else {
        rounded
    }
}

/// Rounds a number below the smallest normal number of a 16-bit format, with `.ftz`.
pub(crate) fn narrow(value: f64, format: Format, round: Round) -> u16 {
    let rounded = float::narrow(value, format, round);
    let finer = softfloat::convert(value.to_bits(), Format::F64, format.finer(), round);
    if finer.is_some_and(|bits| softfloat::is_normal(bits, format.finer())) {
        rounded
    } else {
        rounded & 0x8000
    }
}

/// Returns 1 if a result equals the smallest normal number, so that it must be computed again, and
/// 0 otherwise.
#[inline(always)]
fn edge(bits: u32) -> u32 {
    u32::from(bits & !SIGN == SMALLEST_NORMAL)
}

/// Computes the affected lanes again in the finer format.
#[cold]
#[inline(never)]
fn repaired(
    mut results: [u32; WARP_SIZE],
    finer: &dyn Fn(usize) -> Option<u64>,
) -> [u32; WARP_SIZE] {
    for (lane, bits) in results.iter_mut().enumerate() {
        *bits = flushed(*bits, || finer(lane));
    }
    results
}

/// An operand after `.ftz`, in the finer format.
fn operand(bits: u32) -> u64 {
    u64::from(flush::<true>(f32::from_bits(bits)).to_bits()) << 1
}

impl InstExec<'_, '_> {
    /// Executes d = f(a, b) for an operation that `exact` computes when it rounds to nearest.
    #[inline(always)]
    pub fn binary_ftz<const FTZ: bool>(
        &mut self,
        f: impl Fn(f32, f32) -> f32,
        exact: Soft2,
    ) -> Exec {
        if !FTZ {
            return self.binary(f);
        }
        let (a, b) = (self.src::<u32>(0), self.src::<u32>(1));
        let (mut d, mut edges) = ([0; WARP_SIZE], 0);
        for i in 0..WARP_SIZE {
            d[i] = f(f32::from_bits(a[i]), f32::from_bits(b[i])).to_bits();
            edges |= edge(d[i]);
        }
        if edges != 0 {
            d = repaired(d, &|i| {
                exact(operand(a[i]), operand(b[i]), FINER, Round::Near)
            });
        }
        self.write_result(&d);
        Ok(())
    }

    /// Executes d = f(a, b, c), where `f` is a x b + c rounded to nearest.
    #[inline(always)]
    pub fn ternary_ftz<const FTZ: bool>(&mut self, f: impl Fn(f32, f32, f32) -> f32) -> Exec {
        if !FTZ {
            return self.ternary(f);
        }
        let (a, b) = (self.src::<u32>(0), self.src::<u32>(1));
        let c = self.src::<u32>(2);
        let (mut d, mut edges) = ([0; WARP_SIZE], 0);
        for i in 0..WARP_SIZE {
            let [a, b, c] = [a[i], b[i], c[i]].map(f32::from_bits);
            d[i] = f(a, b, c).to_bits();
            edges |= edge(d[i]);
        }
        if edges != 0 {
            d = repaired(d, &|i| {
                let [a, b, c] = [a[i], b[i], c[i]].map(operand);
                softfloat::fma(a, b, c, FINER, Round::Near)
            });
        }
        self.write_result(&d);
        Ok(())
    }
}
