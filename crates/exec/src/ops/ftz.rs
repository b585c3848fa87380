//! `.ftz` of results next to the smallest normal number.
//!
//! Hardware rounds a result as if exponents had no end, and makes it zero if it is below the
//! smallest normal then (measured: `docs/hardware.md`). Rounding to what a subnormal can hold,
//! which is coarser, may give the smallest normal instead: the only result in question, and rare.
//! Lane loops stay as they are and note that it occurred; such lanes are computed again, with
//! one bit more. Sums cannot tell, because a sum of normal numbers below the smallest normal is
//! exact; products, quotients and fused multiply-adds can.

use crate::inst::{Exec, InstExec};
use crate::numeric::float;
use crate::numeric::float::flush;
use crate::numeric::softfloat as soft;
use crate::numeric::softfloat::Format;
use warploom_base::WARP_SIZE;
use warploom_ir::Round;

const SIGN: u32 = 1 << 31;
const SMALLEST_NORMAL: u32 = 1 << 23;

/// The format with a bit more: its largest subnormals are as fine as f32's would be if exponents
/// had no end. Bits of an f32, shifted left by one, are the same number in it.
pub(crate) const FINER: Format = Format::F32.finer();

/// An operation on two numbers in [`soft`].
type Soft2 = fn(u64, u64, Format, Round) -> Option<u64>;

/// The bits of an f32 result, given what it is in the finer format.
pub(crate) fn flushed(rounded: u32, finer: impl FnOnce() -> Option<u64>) -> u32 {
    let is_edge = rounded & !SIGN == SMALLEST_NORMAL;
    match is_edge && finer().is_some_and(|bits| soft::is_subnormal(bits, FINER)) {
        true => rounded & SIGN,
        false => rounded,
    }
}

/// A number below a 16-bit format's smallest normal, rounded.
pub(crate) fn narrow(value: f64, format: Format, round: Round) -> u16 {
    let rounded = float::narrow(value, format, round);
    let finer = soft::convert(value.to_bits(), Format::F64, format.finer(), round);
    match finer.is_some_and(|bits| soft::is_normal(bits, format.finer())) {
        true => rounded,
        false => rounded & 0x8000,
    }
}

/// Nothing unless the result is one in question.
#[inline(always)]
fn edge(bits: u32) -> u32 {
    u32::from(bits & !SIGN == SMALLEST_NORMAL)
}

/// Decides about the lanes in question.
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

/// An operand as `.ftz` has it, in the finer format.
fn operand(bits: u32) -> u64 {
    u64::from(flush::<true>(f32::from_bits(bits)).to_bits()) << 1
}

impl InstExec<'_, '_> {
    /// d = f(a, b), which is what `exact` gives when rounded to nearest.
    #[inline(always)]
    pub fn bin_tiny<const FTZ: bool>(&mut self, f: impl Fn(f32, f32) -> f32, exact: Soft2) -> Exec {
        if !FTZ {
            return self.bin(f);
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
        self.put0(&d);
        Ok(())
    }

    /// d = f(a, b, c), which is a x b + c rounded to nearest.
    #[inline(always)]
    pub fn tri_tiny<const FTZ: bool>(&mut self, f: impl Fn(f32, f32, f32) -> f32) -> Exec {
        if !FTZ {
            return self.tri(f);
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
                soft::fma(a, b, c, FINER, Round::Near)
            });
        }
        self.put0(&d);
        Ok(())
    }
}
