//! Floating-point arithmetic on integers: exact results that are rounded once, in any format and
//! direction.
//!
//! The arithmetic of the host rounds to nearest only, so that all other roundings use this module.
//! A finite value is `sig * 2^exp`. An operation computes its exact result, or one whose lowest bit
//! states that lower bits are not zero, and [`pack`] rounds it.

use warploom_ir::Round;

/// A binary floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Number of significant bits, including the hidden one.
    pub precision: u32,
    /// Number of bits of the exponent.
    pub exponent: u32,
    /// Bits of the NaN that operations return.
    pub nan: u64,
}

impl Format {
    pub const F16: Self = Self {
        precision: 11,
        exponent: 5,
        nan: 0x7fff,
    };
    pub const BF16: Self = Self {
        precision: 8,
        exponent: 8,
        nan: 0x7fff,
    };
    /// Tensor format of 19 bits: the upper bits of an f32.
    pub const TF32: Self = Self {
        precision: 11,
        exponent: 8,
        nan: 0x3ffff,
    };
    pub const F32: Self = Self {
        precision: 24,
        exponent: 8,
        nan: 0x7fff_ffff,
    };
    pub const F64: Self = Self {
        precision: 53,
        exponent: 11,
        nan: 0xfff8_0000_0000_0000,
    };

    const fn mantissa_bits(self) -> u32 {
        self.precision - 1
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    const fn max_biased(self) -> i32 {
        (1 << self.exponent) - 1
    }

    const fn sign_shift(self) -> u32 {
        self.mantissa_bits() + self.exponent
    }

    fn signed(self, negative: bool, magnitude: u64) -> u64 {
        u64::from(negative) << self.sign_shift() | magnitude
    }

    /// Bits of an infinity.
    pub fn infinity(self, negative: bool) -> u64 {
        self.signed(negative, (self.max_biased() as u64) << self.mantissa_bits())
    }

    /// Bits of a zero.
    pub fn zero(self, negative: bool) -> u64 {
        self.signed(negative, 0)
    }

    /// Smallest normal number of the format, 2^(1 - bias).
    pub fn smallest_normal(self) -> f64 {
        f64::from_bits(((1023 + 1 - self.bias()) as u64) << 52)
    }

    /// Format with one more significant bit.
    pub const fn finer(self) -> Self {
        Self {
            precision: self.precision + 1,
            nan: self.nan << 1,
            ..self
        }
    }

    /// Bits of the largest finite number.
    fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }
}

/// A decoded floating-point value. The flags are true for negative values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Num {
    Nan,
    Inf(bool),
    Zero(bool),
    Finite(Finite),
}

/// Finite value `sig * 2^exp`, negated if `negative`. `sig` is not zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Finite {
    pub negative: bool,
    pub exp: i32,
    pub sig: u128,
}

/// Position to which [`Finite::align`] moves the highest bit. It leaves room for a carry above and
/// for guard bits below.
const TOP: u32 = 124;

impl Finite {
    /// Same value with its highest bit at [`TOP`].
    fn align(self) -> Self {
        let up = self.sig.leading_zeros() as i32 - (127 - TOP as i32);
        debug_assert!(up >= 0, "operands have at most 106 bits");
        Self {
            exp: self.exp - up,
            sig: self.sig << up,
            ..self
        }
    }
}

/// Shifts right. If a one is lost, the lowest bit of the result is set.
fn shift_jam(sig: u128, n: u32) -> u128 {
    match n {
        0 => sig,
        128.. => u128::from(sig != 0),
        _ => sig >> n | u128::from(sig << (128 - n) != 0),
    }
}

/// Decodes a value from the bits of a format.
pub(crate) fn unpack(bits: u64, format: Format) -> Num {
    let mantissa = bits & ((1 << format.mantissa_bits()) - 1);
    let biased = (bits >> format.mantissa_bits()) as i32 & format.max_biased();
    let negative = bits >> format.sign_shift() & 1 == 1;
    let lowest = 1 - format.bias() - format.mantissa_bits() as i32;
    let finite = |exp, sig: u64| {
        Num::Finite(Finite {
            negative,
            exp,
            sig: sig.into(),
        })
    };
    match (biased, mantissa) {
        (0, 0) => Num::Zero(negative),
        (0, _) => finite(lowest, mantissa),
        (e, 0) if e == format.max_biased() => Num::Inf(negative),
        (e, _) if e == format.max_biased() => Num::Nan,
        (e, _) => finite(lowest + e - 1, mantissa | 1 << format.mantissa_bits()),
    }
}

/// True if rounding moves `kept`, the value `sig` without its lowest `shift` bits, away from zero.
fn rounds_up(round: Round, negative: bool, kept: u128, sig: u128, shift: u32) -> bool {
    if shift == 0 {
        return false;
    }
    let (rest, half) = match shift {
        1..=127 => (sig & ((1 << shift) - 1), 1 << (shift - 1)),
        // The value is below half a unit of the last place, whatever its exact size.
        _ => (u128::from(sig != 0), 2),
    };
    match round {
        Round::Near => rest > half || (rest == half && kept & 1 == 1),
        Round::NearAway => rest >= half,
        Round::Zero => false,
        Round::Down => negative && rest != 0,
        Round::Up => !negative && rest != 0,
    }
}

/// Rounds a finite value to a format.
pub(crate) fn pack(value: Finite, format: Format, round: Round) -> u64 {
    let Finite { negative, exp, sig } = value;
    let top = 127 - sig.leading_zeros() as i32 + exp;
    let least = 1 - format.bias();
    let unit = top.max(least) - format.mantissa_bits() as i32;
    let shift = unit - exp;
    let kept = match shift {
        ..=0 => sig << -shift,
        1..=127 => sig >> shift,
        _ => 0,
    };
    let up = rounds_up(round, negative, kept, sig, shift.max(0) as u32);
    let kept = (kept + u128::from(up)) as u64;
    // A carry out of the significand increments the exponent, as the encoding requires.
    let biased = (top.max(least) + format.bias() - 1) as u64;
    let magnitude = (biased << format.mantissa_bits()) + kept;
    let overflow = top > format.bias() || magnitude >= format.infinity(false);
    if overflow {
        overflowed(negative, format, round)
    } else {
        format.signed(negative, magnitude)
    }
}

/// Result of an overflow in the given rounding direction.
fn overflowed(negative: bool, format: Format, round: Round) -> u64 {
    let to_largest = match round {
        Round::Near | Round::NearAway => false,
        Round::Zero => true,
        Round::Down => !negative,
        Round::Up => negative,
    };
    if to_largest {
        format.largest(negative)
    } else {
        format.infinity(negative)
    }
}

/// Zero with the sign that an exact sum of terms with different signs has.
fn zero_sum(round: Round, format: Format) -> u64 {
    format.zero(round == Round::Down)
}

/// Rounded sum of two finite values.
fn add_finite(a: Finite, b: Finite, format: Format, round: Round) -> u64 {
    let (a, b) = (a.align(), b.align());
    let (big, small) = if a.exp >= b.exp { (a, b) } else { (b, a) };
    let small_sig = shift_jam(small.sig, (big.exp - small.exp) as u32);
    let (negative, sig) = if big.negative == small.negative {
        (big.negative, big.sig + small_sig)
    } else if big.sig >= small_sig {
        (big.negative, big.sig - small_sig)
    } else {
        (small.negative, small_sig - big.sig)
    };
    match sig {
        0 => zero_sum(round, format),
        _ => pack(
            Finite {
                negative,
                exp: big.exp,
                sig,
            },
            format,
            round,
        ),
    }
}

/// Rounded sum of two decoded values. `None` stands for NaN.
fn add_nums(a: Num, b: Num, format: Format, round: Round) -> Option<u64> {
    Some(match (a, b) {
        (Num::Nan, _) | (_, Num::Nan) => return None,
        (Num::Inf(x), Num::Inf(y)) if x != y => return None,
        (Num::Inf(x), _) | (_, Num::Inf(x)) => format.infinity(x),
        (Num::Zero(x), Num::Zero(y)) if x == y => format.zero(x),
        (Num::Zero(_), Num::Zero(_)) => zero_sum(round, format),
        (Num::Finite(x), Num::Zero(_)) | (Num::Zero(_), Num::Finite(x)) => pack(x, format, round),
        (Num::Finite(x), Num::Finite(y)) => add_finite(x, y, format, round),
    })
}

/// Exact product of two decoded values.
fn mul_nums(a: Num, b: Num) -> Num {
    let sign = |n| match n {
        Num::Inf(s) | Num::Zero(s) => s,
        Num::Finite(f) => f.negative,
        Num::Nan => false,
    };
    let negative = sign(a) != sign(b);
    match (a, b) {
        (Num::Nan, _) | (_, Num::Nan) => Num::Nan,
        (Num::Inf(_), Num::Zero(_)) | (Num::Zero(_), Num::Inf(_)) => Num::Nan,
        (Num::Inf(_), _) | (_, Num::Inf(_)) => Num::Inf(negative),
        (Num::Zero(_), _) | (_, Num::Zero(_)) => Num::Zero(negative),
        (Num::Finite(x), Num::Finite(y)) => Num::Finite(Finite {
            negative,
            exp: x.exp + y.exp,
            sig: x.sig * y.sig,
        }),
    }
}

/// Rounds any decoded value to a format. `None` stands for NaN.
pub(crate) fn encode(value: Num, format: Format, round: Round) -> Option<u64> {
    match value {
        Num::Nan => None,
        Num::Inf(negative) => Some(format.infinity(negative)),
        Num::Zero(negative) => Some(format.zero(negative)),
        Num::Finite(x) => Some(pack(x, format, round)),
    }
}

/// Rounded sum a + b. `None` stands for NaN.
pub(crate) fn add(a: u64, b: u64, format: Format, round: Round) -> Option<u64> {
    add_nums(unpack(a, format), unpack(b, format), format, round)
}

/// Rounded product a x b. `None` stands for NaN.
pub(crate) fn mul(a: u64, b: u64, format: Format, round: Round) -> Option<u64> {
    encode(
        mul_nums(unpack(a, format), unpack(b, format)),
        format,
        round,
    )
}

/// Value of a x b + c with a single rounding. `None` stands for NaN.
pub(crate) fn fma(a: u64, b: u64, c: u64, format: Format, round: Round) -> Option<u64> {
    let product = mul_nums(unpack(a, format), unpack(b, format));
    add_nums(product, unpack(c, format), format, round)
}

/// Rounded quotient a / b. `None` stands for NaN.
pub(crate) fn div(a: u64, b: u64, format: Format, round: Round) -> Option<u64> {
    let negative = (a ^ b) >> format.sign_shift() & 1 == 1;
    Some(match (unpack(a, format), unpack(b, format)) {
        (Num::Nan, _) | (_, Num::Nan) => return None,
        (Num::Inf(_), Num::Inf(_)) | (Num::Zero(_), Num::Zero(_)) => return None,
        (Num::Inf(_), _) | (_, Num::Zero(_)) => format.infinity(negative),
        (Num::Zero(_), _) | (_, Num::Inf(_)) => format.zero(negative),
        (Num::Finite(x), Num::Finite(y)) => {
            // Division of 128 by 64 bits, with a quotient of 64 or 65 bits and one bit for the
            // remainder.
            let (up, divisor_up) = (x.sig.leading_zeros(), y.sig.leading_zeros() - 64);
            let (dividend, divisor) = (x.sig << up, y.sig << divisor_up);
            let sig = (dividend / divisor) << 1 | u128::from(dividend % divisor != 0);
            let exp = (x.exp - up as i32) - (y.exp - divisor_up as i32) - 1;
            pack(Finite { negative, exp, sig }, format, round)
        }
    })
}

/// Rounded square root. `None` stands for NaN.
pub(crate) fn sqrt(a: u64, format: Format, round: Round) -> Option<u64> {
    Some(match unpack(a, format) {
        Num::Nan | Num::Inf(true) => return None,
        Num::Inf(false) => format.infinity(false),
        Num::Zero(negative) => format.zero(negative),
        Num::Finite(x) if x.negative => return None,
        Num::Finite(x) => {
            // With an even exponent and a radicand of at least 122 bits, the root has 61 bits.
            let up = x.sig.leading_zeros() - 4;
            let up = up - (x.exp - up as i32).rem_euclid(2) as u32;
            let radicand = x.sig << up;
            let root = radicand.isqrt();
            let sig = root << 1 | u128::from(root * root != radicand);
            pack(
                Finite {
                    negative: false,
                    exp: (x.exp - up as i32) / 2 - 1,
                    sig,
                },
                format,
                round,
            )
        }
    })
}

/// Rounds a value to an integer. Returns whether it is negative, and its magnitude, saturated at
/// `u128::MAX`.
pub(crate) fn to_integer(x: Finite, round: Round) -> (bool, u128) {
    let magnitude = if x.exp >= 0 {
        if x.sig.leading_zeros() as i32 > x.exp {
            x.sig << x.exp
        } else {
            u128::MAX
        }
    } else {
        let shift = x.exp.unsigned_abs();
        let kept = if shift < 128 { x.sig >> shift } else { 0 };
        kept + u128::from(rounds_up(round, x.negative, kept, x.sig, shift))
    };
    (x.negative, magnitude)
}

/// Converts a value between formats. `None` stands for NaN.
pub(crate) fn convert(bits: u64, from: Format, to: Format, round: Round) -> Option<u64> {
    encode(unpack(bits, from), to, round)
}

/// True if a value is subnormal.
pub(crate) fn is_subnormal(bits: u64, format: Format) -> bool {
    let magnitude = bits & ((1 << format.sign_shift()) - 1);
    magnitude != 0 && magnitude >> format.mantissa_bits() == 0
}

/// True if a value is neither subnormal nor zero.
pub(crate) fn is_normal(bits: u64, format: Format) -> bool {
    bits & ((1 << format.sign_shift()) - 1) >= 1 << format.mantissa_bits()
}

/// True if a value is NaN.
pub(crate) fn is_nan(bits: u64, format: Format) -> bool {
    bits & ((1 << format.sign_shift()) - 1) > format.infinity(false)
}

#[cfg(test)]
mod tests;
