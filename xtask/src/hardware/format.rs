//! Floating-point formats, and conversions from and to their bits.

use half::{bf16, f16};
use warploom_ptx::tokens::ScalarType;

/// Format of a number: bits of the exponent and of the mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub exponent: u32,
    pub mantissa: u32,
}

impl Format {
    /// The format of a type's numbers, and how many numbers a register contains.
    pub const fn of(ty: ScalarType) -> Option<(Self, u32)> {
        let (exponent, mantissa, count) = match ty {
            ScalarType::F16 => (5, 10, 1),
            ScalarType::F16x2 => (5, 10, 2),
            ScalarType::Bf16 => (8, 7, 1),
            ScalarType::Bf16x2 => (8, 7, 2),
            ScalarType::F32 => (8, 23, 1),
            ScalarType::F64 => (11, 52, 1),
            _ => return None,
        };
        Some((Self { exponent, mantissa }, count))
    }

    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.mantissa)
    }

    pub const fn bias(self) -> u64 {
        (1 << (self.exponent - 1)) - 1
    }

    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    /// Mask of all bits of a number.
    pub const fn mask(self) -> u64 {
        self.sign() | (self.sign() - 1)
    }

    /// Bits of number `k` in a register.
    pub const fn part(self, bits: u64, k: u32) -> u64 {
        bits >> (k * (1 + self.exponent + self.mantissa)) & self.mask()
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & !self.sign();
        magnitude != 0 && magnitude < 1 << self.mantissa
    }

    /// Value of a number's bits.
    pub fn value(self, bits: u64) -> f64 {
        match self.mantissa {
            7 => bf16::from_bits(bits as u16).to_f64(),
            10 => f16::from_bits(bits as u16).to_f64(),
            23 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }
    }

    /// Bits of a small integer.
    pub fn integer(self, value: i64) -> u64 {
        let value = value as f64;
        match self.mantissa {
            7 => bf16::from_f64(value).to_bits().into(),
            10 => f16::from_f64(value).to_bits().into(),
            23 => (value as f32).to_bits().into(),
            _ => value.to_bits(),
        }
    }

    /// Value of the smallest normal number.
    pub fn smallest_normal(self) -> f64 {
        self.value(1 << self.mantissa)
    }
}

#[cfg(test)]
mod tests {
    use super::Format;
    use warploom_ptx::tokens::ScalarType;

    #[test]
    fn numbers_have_their_values() {
        let of = |ty, bits| Format::of(ty).expect("a float").0.value(bits);
        assert_eq!(of(ScalarType::F16, 0xbe00), -1.5);
        assert_eq!(of(ScalarType::F16, 1), 2f64.powi(-24));
        assert_eq!(of(ScalarType::Bf16, 0x4049), 3.140625);
        assert_eq!(of(ScalarType::F32, 0x8000_0001), -(2f64.powi(-149)));
        assert_eq!(of(ScalarType::F32, 0x7f80_0000), f64::INFINITY);
        assert!(of(ScalarType::F32, 0x7f80_0001).is_nan());
        assert_eq!(of(ScalarType::F64, 0.1f64.to_bits()), 0.1);
        let whole = |value| Format::of(ScalarType::F16).map(|(format, _)| format.integer(value));
        assert_eq!([0, 1, -6].map(whole), [0, 0x3c00, 0xc600].map(Some));
        let f32s = Format::of(ScalarType::F32).expect("a float").0;
        assert_eq!(f32s.smallest_normal(), f64::from(f32::MIN_POSITIVE));
    }
}
