//! Elements of matrices: values of the formats that multiplicands and accumulators have (PTX ISA,
//! "Matrix Data-types").

use crate::numeric::float::{canonical, narrow};
use crate::numeric::softfloat::Format;
use warploom_ir::Round;
use warploom_ir::matrix::{AccTy, MatTy};

/// Low bits of a tf32, which are ignored.
const TF32_UNUSED: u32 = (1 << 13) - 1;

/// Value of an f16, computed without branches: the exponent's bias changes by a product with a
/// power of two, which is exact.
#[inline(always)]
fn half(bits: u16) -> f32 {
    const BIAS: f32 = (1_u128 << (127 - 15)) as f32;
    let magnitude = u32::from(bits & 0x7fff);
    let finite = f32::from_bits(magnitude << 13) * BIAS;
    let is_finite = magnitude < 0x7c00;
    // All bits of the exponent are set for infinities and NaNs.
    let other = magnitude << 13 | 0xff << 23;
    let value = if is_finite { finite.to_bits() } else { other };
    f32::from_bits(value | u32::from(bits >> 15) << 31)
}

/// Value of an e4m3, computed as that of an f16 is. The format has no infinities and one NaN.
#[inline(always)]
fn e4m3(bits: u8) -> f32 {
    const BIAS: f32 = (1_u128 << (127 - 7)) as f32;
    let magnitude = u32::from(bits & 0x7f);
    let number = f32::from_bits(magnitude << 20) * BIAS;
    let value = if magnitude == 0x7f { f32::NAN } else { number };
    f32::from_bits(value.to_bits() | u32::from(bits >> 7) << 31)
}

/// Value of a floating-point multiplicand.
#[inline(always)]
pub(super) fn decode_f32(ty: MatTy, bits: u64) -> f32 {
    match ty {
        MatTy::F16 => half(bits as u16),
        MatTy::Bf16 => f32::from_bits((bits as u32) << 16),
        MatTy::E4m3 => e4m3(bits as u8),
        // The upper half of an f16.
        MatTy::E5m2 => half((bits as u16) << 8),
        _ => f32::from_bits(bits as u32 & !TF32_UNUSED),
    }
}

/// Value of an integer multiplicand.
#[inline(always)]
pub(super) fn decode_int(ty: MatTy, bits: u64) -> i64 {
    match ty {
        MatTy::S8 => i64::from(bits as i8),
        MatTy::S4 => (bits << 60) as i64 >> 60,
        _ => bits as i64,
    }
}

/// Value of a floating-point accumulator.
#[inline(always)]
pub(super) fn acc_f32(ty: AccTy, bits: u64) -> f32 {
    match ty {
        AccTy::F16 => half(bits as u16),
        _ => f32::from_bits(bits as u32),
    }
}

/// Bits of a floating-point result.
#[inline(always)]
pub(super) fn acc_bits(ty: AccTy, value: f32) -> u64 {
    match ty {
        AccTy::F16 => narrow(f64::from(value), Format::F16, Round::Near).into(),
        _ => canonical(value).to_bits().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{e4m3, half};
    use crate::numeric::float::widen;
    use crate::numeric::softfloat::Format;

    #[test]
    fn numbers_of_8_bits_have_their_exact_values() {
        for bits in 0..=u8::MAX {
            let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
            let magnitude = match exponent {
                0 => mantissa / 8.0 * 2_f64.powi(-6),
                _ => (1.0 + mantissa / 8.0) * 2_f64.powi(exponent - 7),
            };
            let value = e4m3(bits);
            match bits & 0x7f {
                0x7f => assert!(value.is_nan(), "{bits:#x}"),
                _ => assert_eq!(f64::from(value.abs()), magnitude, "{bits:#x}"),
            }
            assert_eq!(value.is_sign_negative(), bits >= 0x80, "{bits:#x}");
        }
    }

    #[test]
    fn halves_have_their_exact_values() {
        for bits in 0..=u16::MAX {
            let (got, want) = (half(bits), widen(bits, Format::F16));
            match want.is_nan() {
                true => assert!(got.is_nan(), "{bits:#x}"),
                false => assert_eq!(f64::from(got).to_bits(), want.to_bits(), "{bits:#x}"),
            }
        }
    }
}
