//! Arithmetic of single floating-point values: the rules of PTX for NaNs, subnormal numbers,
//! minimum and maximum, and the narrow formats.

use crate::numeric::softfloat;
use crate::numeric::softfloat::Format;
use warploom_ir::{FloatMinMax, FloatTy, Round, TestKind};

/// Canonical NaN of f32.
pub(crate) const NAN32: f32 = f32::from_bits(0x7fff_ffff);
pub(crate) const SIGN32: u32 = 1 << 31;
const EXPONENT32: u32 = 0x7f80_0000;

/// Applies `.ftz` to an operand or a result.
#[inline(always)]
pub(crate) fn flush<const FTZ: bool>(x: f32) -> f32 {
    let bits = x.to_bits();
    let flushed = if bits & EXPONENT32 == 0 {
        bits & SIGN32
    } else {
        bits
    };
    if FTZ { f32::from_bits(flushed) } else { x }
}

/// Replaces any NaN by the canonical NaN. The function works on bits because the compiler treats
/// the bits of a NaN as unspecified and may drop a choice between two NaNs.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    let nan = (bits & !SIGN32) as i32 > EXPONENT32 as i32;
    f32::from_bits(if nan { NAN32.to_bits() } else { bits })
}

/// Clamps a value to [0, 1]. NaN and -0 become +0.
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    let low = if x > 0.0 { x } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// Clamps a value to [0, 1]. NaN and -0 become +0.
pub(crate) fn saturate64(x: f64) -> f64 {
    let low = if x > 0.0 { x } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// Sum rounded to odd: the last of its 53 bits is set if any lower bit of the exact sum is. A later
/// rounding to 51 bits or fewer then has the effect of a single rounding.
#[inline(always)]
pub(crate) fn add_to_odd(p: f64, c: f64) -> f64 {
    let s = p + c;
    let part = s - p;
    let error = (p - (s - part)) + (c - part);
    let bits = s.to_bits();
    // An infinite sum or a NaN has a NaN as error, which is not above zero.
    let inexact = error.abs() > 0.0 && bits & 1 == 0;
    let outward = (error > 0.0) == (s > 0.0);
    let odd = if outward {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    f64::from_bits(if inexact { odd } else { bits })
}

/// Value of a x b + c with one rounding to nearest. `fused` states that the host has an instruction
/// for it. The product is exact in f64.
#[inline(always)]
pub(crate) fn fma32(a: f32, b: f32, c: f32, fused: bool) -> f32 {
    if fused {
        return a.mul_add(b, c);
    }
    add_to_odd(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

/// Result of an f64 operation, with the specified NaN if the result is a NaN.
#[inline(always)]
pub(crate) fn nan64(result: f64, operands: &[f64]) -> f64 {
    // NaNs that operations return are quiet. The test is on bits for the reason given at
    // `canonical`.
    const QUIET_NAN: u64 = 0x7ff8 << 48;
    const QUIET: u64 = 1 << 51;
    if result.to_bits() & QUIET_NAN != QUIET_NAN {
        return result;
    }
    let first = operands.iter().find(|x| x.is_nan());
    f64::from_bits(first.map_or(Format::F64.nan, |x| x.to_bits() | QUIET))
}

/// Result of a software operation on f64, with the specified NaN if the result is a NaN.
pub(crate) fn or_nan64(bits: Option<u64>, operands: &[f64]) -> f64 {
    bits.map_or_else(|| nan64(f64::NAN, operands), f64::from_bits)
}

/// Result of a software operation on f32, with the canonical NaN if the result is a NaN.
pub(crate) fn or_nan32(bits: Option<u64>) -> f32 {
    bits.map_or(NAN32, |b| f32::from_bits(b as u32))
}

/// Format of one element of a type.
pub(crate) fn format_of(ty: FloatTy) -> Format {
    match ty {
        FloatTy::F16 | FloatTy::F16x2 => Format::F16,
        FloatTy::Bf16 | FloatTy::Bf16x2 => Format::BF16,
        FloatTy::F32 => Format::F32,
        FloatTy::F64 => Format::F64,
    }
}

/// Exact value of a 16-bit float.
pub(crate) fn widen(bits: u16, format: Format) -> f64 {
    if format == Format::BF16 {
        return f64::from(f32::from_bits(u32::from(bits) << 16));
    }
    let magnitude = f64::from(bits & 0x3ff);
    let exponent = bits >> 10 & 0x1f;
    let unit = |e: u16| f64::from_bits(u64::from(e + 1023 - 15 - 10) << 52);
    let value = match exponent {
        0 => magnitude * unit(1),
        31 if magnitude == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (magnitude + 1024.0) * unit(e),
    };
    if bits >> 15 == 1 { -value } else { value }
}

/// Rounds a value to a 16-bit float.
pub(crate) fn narrow(value: f64, format: Format, round: Round) -> u16 {
    softfloat::convert(value.to_bits(), Format::F64, format, round).unwrap_or(format.nan) as u16
}

/// Applies `.ftz` to a 16-bit float.
pub(crate) fn flush16(bits: u16, format: Format, ftz: bool) -> u16 {
    if ftz && softfloat::is_subnormal(bits.into(), format) {
        bits & 0x8000
    } else {
        bits
    }
}

/// Applies `.relu` to a 16-bit float. A NaN is kept.
pub(crate) fn relu16(bits: u16, format: Format, relu: bool) -> u16 {
    let negative = bits & 0x8000 != 0 && !softfloat::is_nan(bits.into(), format);
    if relu && negative { 0 } else { bits }
}

/// Minimum or maximum of two f32.
pub(crate) fn min_max32<const FTZ: bool>(how: FloatMinMax, a: f32, b: f32) -> f32 {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    let sign = (a.to_bits() ^ b.to_bits()) & SIGN32;
    let (a, b) = if how.xorsign_abs {
        (a.abs(), b.abs())
    } else {
        (a, b)
    };
    if a.is_nan() || b.is_nan() {
        return match (a.is_nan() && b.is_nan(), how.nan) {
            (true, _) | (_, true) => NAN32,
            _ => xor_sign(if a.is_nan() { b } else { a }, sign, how.xorsign_abs),
        };
    }
    // If the bits are taken as sign and magnitude, -0 is below +0.
    let key = |x: f32| (x.to_bits() as i32) ^ ((x.to_bits() as i32 >> 31) & i32::MAX);
    let a_first = if how.max {
        key(a) >= key(b)
    } else {
        key(a) <= key(b)
    };
    xor_sign(if a_first { a } else { b }, sign, how.xorsign_abs)
}

/// Replaces the sign of a result by that of `.xorsign`, if `apply`.
fn xor_sign(x: f32, sign: u32, apply: bool) -> f32 {
    if apply {
        f32::from_bits(x.to_bits() & !SIGN32 | sign)
    } else {
        x
    }
}

/// Minimum or maximum of two f64.
pub(crate) fn min_max64(how: FloatMinMax, a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return match (a.is_nan() && b.is_nan(), how.nan) {
            (true, _) | (_, true) => nan64(f64::NAN, &[a, b]),
            _ if a.is_nan() => b,
            _ => a,
        };
    }
    let a_first = if how.max {
        a.total_cmp(&b).is_ge()
    } else {
        a.total_cmp(&b).is_le()
    };
    if a_first { a } else { b }
}

/// Minimum or maximum of two 16-bit floats, which compare like the f32 to which they are widened.
pub(crate) fn min_max16(how: FloatMinMax, format: Format, a: u16, b: u16) -> u16 {
    let (a, b) = (flush16(a, format, how.ftz), flush16(b, format, how.ftz));
    let [x, y] = [a, b].map(|bits| widen(bits, format) as f32);
    let picked = min_max32::<false>(how, x, y);
    if picked.is_nan() {
        format.nan as u16
    } else {
        narrow(picked.into(), format, Round::Near)
    }
}

/// True if a value belongs to the class that `testp` tests.
pub(crate) fn test(kind: TestKind, bits: u64, format: Format) -> bool {
    let nan = softfloat::is_nan(bits, format);
    let infinite = bits & !(format.zero(true)) == format.infinity(false);
    let subnormal = softfloat::is_subnormal(bits, format);
    match kind {
        TestKind::Finite => !nan && !infinite,
        TestKind::Infinite => infinite,
        TestKind::Number => !nan,
        TestKind::NotANumber => nan,
        // Zeros count as normal numbers.
        TestKind::Normal => !nan && !infinite && !subnormal,
        TestKind::Subnormal => subnormal,
    }
}

/// Applies `.ftz` if `ftz` is set at run time.
pub(crate) fn flush_if(ftz: bool, x: f32) -> f32 {
    if ftz { flush::<true>(x) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_base::Rng;

    /// Operands with close exponents, so that cancellation and ties occur.
    fn operand(rng: &mut Rng) -> f32 {
        let bits = rng.next_u32();
        f32::from_bits(match rng.below(4) {
            0 => bits,
            1 => bits & 0x807f_ffff | (120 + rng.below(16)) << 23,
            2 => bits & 0x8000_0000 | rng.below(1 << 24),
            _ => (bits & 0xff80_0000) | (1 << rng.below(23)),
        })
    }

    #[test]
    fn fma_rounds_once_like_the_host() {
        let mut rng = Rng::new(31);
        for _ in 0..3_000_000 {
            let (a, b, c) = (operand(&mut rng), operand(&mut rng), operand(&mut rng));
            // Sums close to a tie: c is near -a*b or half a unit from it.
            let c = if rng.below(4) == 0 { -(a * b) } else { c };
            let (got, want) = (fma32(a, b, c, false), a.mul_add(b, c));
            let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
            assert!(same, "{a:e} x {b:e} + {c:e}: {got:e}, host {want:e}");
        }
    }

    #[test]
    fn narrow_floats_widen_exactly() {
        for bits in 0..=u16::MAX {
            let (x, y) = (
                widen(bits, Format::F16),
                half::f16::from_bits(bits).to_f64(),
            );
            assert!(
                x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
                "{bits:x}"
            );
            let (x, y) = (
                widen(bits, Format::BF16),
                half::bf16::from_bits(bits).to_f64(),
            );
            assert!(
                x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
                "{bits:x}"
            );
        }
    }

    /// Half-precision products and sums through f64 agree with the software ones.
    #[test]
    fn half_fma_rounds_once() {
        let mut rng = Rng::new(32);
        for format in [Format::F16, Format::BF16] {
            for _ in 0..300_000 {
                let [a, b, c] = [(); 3].map(|()| rng.next_u32() as u16);
                let load = |x| widen(x, format);
                let got = narrow(add_to_odd(load(a) * load(b), load(c)), format, Round::Near);
                let [a, b, c] = [a, b, c].map(u64::from);
                let want = softfloat::fma(a, b, c, format, Round::Near).unwrap_or(format.nan);
                assert_eq!(u64::from(got), want, "{a:x} {b:x} {c:x}");
            }
        }
    }

    #[test]
    fn minimum_and_maximum_order_zeros_and_skip_nans() {
        let how = |max, nan| FloatMinMax {
            max,
            nan,
            xorsign_abs: false,
            ftz: false,
        };
        let min = |a, b| min_max32::<false>(how(false, false), a, b);
        let max = |a, b| min_max32::<false>(how(true, false), a, b);
        assert_eq!(min(0.0, -0.0).to_bits(), (-0f32).to_bits());
        assert_eq!(min(-0.0, 0.0).to_bits(), (-0f32).to_bits());
        assert_eq!(max(-0.0, 0.0).to_bits(), 0);
        assert_eq!((min(f32::NAN, 1.0), max(1.0, f32::NAN)), (1.0, 1.0));
        assert_eq!(min(f32::NAN, f32::NAN).to_bits(), NAN32.to_bits());
        assert_eq!((min(-2.0, -3.0), max(-2.0, -3.0)), (-3.0, -2.0));
        let strict = min_max32::<false>(how(false, true), 1.0, f32::NAN);
        assert_eq!(strict.to_bits(), NAN32.to_bits());
        let xor = FloatMinMax {
            max: true,
            nan: false,
            xorsign_abs: true,
            ftz: false,
        };
        assert_eq!(min_max32::<false>(xor, -2.0, 1.0), -2.0);
        assert_eq!(min_max32::<false>(xor, -1.0, -2.0), 2.0);
    }

    #[test]
    fn tests_of_classes() {
        let f = Format::F32;
        let bits = |x: f32| u64::from(x.to_bits());
        assert!(
            test(TestKind::Normal, bits(0.0), f),
            "zeros count as normal"
        );
        assert!(test(TestKind::Subnormal, 1, f) && !test(TestKind::Normal, 1, f));
        assert!(test(TestKind::Infinite, bits(f32::NEG_INFINITY), f));
        assert!(test(TestKind::NotANumber, bits(f32::NAN), f));
        assert!(!test(TestKind::Finite, bits(f32::INFINITY), f));
        assert!(test(TestKind::Number, bits(f32::INFINITY), f));
    }
}
