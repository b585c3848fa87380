//! Floating point in integers: exact results, rounded once, in any format and direction.
//!
//! The hosts' own arithmetic rounds to nearest only; everything else goes through here. A finite
//! value is `sig * 2^exp`; an operation forms its exact result (or one whose lowest bit says that
//! something is left below) and [`pack`] rounds it.

use warploom_ir::Round;

/// A binary interchange format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Significant bits, the hidden one included.
    pub precision: u32,
    /// Bits of the exponent.
    pub exponent: u32,
    /// The NaN that operations return.
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
    /// As the 19 upper bits of an f32.
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

    pub fn infinity(self, negative: bool) -> u64 {
        self.signed(negative, (self.max_biased() as u64) << self.mantissa_bits())
    }

    pub fn zero(self, negative: bool) -> u64 {
        self.signed(negative, 0)
    }

    /// 2^(1 - bias).
    pub fn smallest_normal(self) -> f64 {
        f64::from_bits(((1023 + 1 - self.bias()) as u64) << 52)
    }

    /// The format with one significant bit more.
    pub const fn finer(self) -> Self {
        Self {
            precision: self.precision + 1,
            nan: self.nan << 1,
            ..self
        }
    }

    fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }
}

/// A decoded value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Num {
    Nan,
    Inf(bool),
    Zero(bool),
    Finite(Finite),
}

/// `sig * 2^exp`, negated if `negative`; `sig` is not zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Finite {
    pub negative: bool,
    pub exp: i32,
    pub sig: u128,
}

/// Where [`Finite::align`] puts the highest bit: room for a carry above, for guard bits below.
const TOP: u32 = 124;

impl Finite {
    /// The same value with its highest bit at [`TOP`].
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

/// Shifts right; a one lost below stays as the lowest bit.
fn shift_jam(sig: u128, n: u32) -> u128 {
    match n {
        0 => sig,
        128.. => u128::from(sig != 0),
        _ => sig >> n | u128::from(sig << (128 - n) != 0),
    }
}

/// Decodes bits of a format.
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

/// Does rounding `kept` + `rest`/2^shift (rest < 2^shift) go away from zero?
fn rounds_up(round: Round, negative: bool, kept: u128, sig: u128, shift: u32) -> bool {
    if shift == 0 {
        return false;
    }
    let (rest, half) = match shift {
        1..=127 => (sig & ((1 << shift) - 1), 1 << (shift - 1)),
        // Below half a unit of the last place, whatever its exact value.
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
    // A carry out of the significand moves on into the exponent, as the encoding wants it.
    let biased = (top.max(least) + format.bias() - 1) as u64;
    let magnitude = (biased << format.mantissa_bits()) + kept;
    let overflow = top > format.bias() || magnitude >= format.infinity(false);
    if overflow {
        overflowed(negative, format, round)
    } else {
        format.signed(negative, magnitude)
    }
}

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

/// Sign of an exact zero that a sum of unlike terms gives.
fn zero_sum(round: Round, format: Format) -> u64 {
    format.zero(round == Round::Down)
}

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

/// Sum of decoded values; `None`: NaN.
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

/// Exact product of decoded values.
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

/// Encodes any value; `None`: NaN.
pub(crate) fn encode(value: Num, format: Format, round: Round) -> Option<u64> {
    match value {
        Num::Nan => None,
        Num::Inf(negative) => Some(format.infinity(negative)),
        Num::Zero(negative) => Some(format.zero(negative)),
        Num::Finite(x) => Some(pack(x, format, round)),
    }
}

/// a + b; `None`: NaN.
pub(crate) fn add(a: u64, b: u64, format: Format, round: Round) -> Option<u64> {
    add_nums(unpack(a, format), unpack(b, format), format, round)
}

/// a x b; `None`: NaN.
pub(crate) fn mul(a: u64, b: u64, format: Format, round: Round) -> Option<u64> {
    encode(
        mul_nums(unpack(a, format), unpack(b, format)),
        format,
        round,
    )
}

/// a x b + c with one rounding; `None`: NaN.
pub(crate) fn fma(a: u64, b: u64, c: u64, format: Format, round: Round) -> Option<u64> {
    let product = mul_nums(unpack(a, format), unpack(b, format));
    add_nums(product, unpack(c, format), format, round)
}

/// a / b; `None`: NaN.
pub(crate) fn div(a: u64, b: u64, format: Format, round: Round) -> Option<u64> {
    let negative = (a ^ b) >> format.sign_shift() & 1 == 1;
    Some(match (unpack(a, format), unpack(b, format)) {
        (Num::Nan, _) | (_, Num::Nan) => return None,
        (Num::Inf(_), Num::Inf(_)) | (Num::Zero(_), Num::Zero(_)) => return None,
        (Num::Inf(_), _) | (_, Num::Zero(_)) => format.infinity(negative),
        (Num::Zero(_), _) | (_, Num::Inf(_)) => format.zero(negative),
        (Num::Finite(x), Num::Finite(y)) => {
            // 128 bits by 64 bits: a quotient of 64 or 65, and one for the rest.
            let (up, divisor_up) = (x.sig.leading_zeros(), y.sig.leading_zeros() - 64);
            let (dividend, divisor) = (x.sig << up, y.sig << divisor_up);
            let sig = (dividend / divisor) << 1 | u128::from(dividend % divisor != 0);
            let exp = (x.exp - up as i32) - (y.exp - divisor_up as i32) - 1;
            pack(Finite { negative, exp, sig }, format, round)
        }
    })
}

/// Square root; `None`: NaN.
pub(crate) fn sqrt(a: u64, format: Format, round: Round) -> Option<u64> {
    Some(match unpack(a, format) {
        Num::Nan | Num::Inf(true) => return None,
        Num::Inf(false) => format.infinity(false),
        Num::Zero(negative) => format.zero(negative),
        Num::Finite(x) if x.negative => return None,
        Num::Finite(x) => {
            // An even exponent, and a radicand of at least 122 bits: 61 bits of root.
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

/// Rounds to an integer: magnitude (saturated at `u128::MAX`) and sign.
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

/// Converts between formats; `None`: NaN.
pub(crate) fn convert(bits: u64, from: Format, to: Format, round: Round) -> Option<u64> {
    encode(unpack(bits, from), to, round)
}

/// Is the value subnormal?
pub(crate) fn is_subnormal(bits: u64, format: Format) -> bool {
    let magnitude = bits & ((1 << format.sign_shift()) - 1);
    magnitude != 0 && magnitude >> format.mantissa_bits() == 0
}

/// Is the value neither subnormal nor zero?
pub(crate) fn is_normal(bits: u64, format: Format) -> bool {
    bits & ((1 << format.sign_shift()) - 1) >= 1 << format.mantissa_bits()
}

/// Is the value NaN?
pub(crate) fn is_nan(bits: u64, format: Format) -> bool {
    bits & ((1 << format.sign_shift()) - 1) > format.infinity(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;
    use warploom_base::Rng;

    const ALL: [Round; 5] = [
        Round::Near,
        Round::Zero,
        Round::Down,
        Round::Up,
        Round::NearAway,
    ];

    /// Bit patterns that matter: edges of every class, near ones, and random ones of all exponents.
    fn patterns(rng: &mut Rng, format: Format) -> u64 {
        let width = format.precision + format.exponent;
        let all = u64::MAX >> (64 - width);
        let edges = [
            0,
            1,
            (1 << format.mantissa_bits()) - 1,
            1 << format.mantissa_bits(),
            (format.bias() as u64) << format.mantissa_bits(),
            format.infinity(false) - 1,
            format.infinity(false),
        ];
        let random = rng.next_u64() & all;
        match rng.below(3) {
            0 => edges[rng.below(edges.len() as u32) as usize] ^ (random & 1 << (width - 1)),
            1 => edges[rng.below(edges.len() as u32) as usize].wrapping_add(random & 3) & all,
            _ => random,
        }
    }

    fn same32(soft: Option<u64>, host: f32, what: &str) {
        match soft {
            None => assert!(host.is_nan(), "{what}: host gives {host:e}"),
            Some(bits) => assert_eq!(bits as u32, host.to_bits(), "{what}: host gives {host:e}"),
        }
    }

    fn same64(soft: Option<u64>, host: f64, what: &str) {
        match soft {
            None => assert!(host.is_nan(), "{what}: host gives {host:e}"),
            Some(bits) => assert_eq!(bits, host.to_bits(), "{what}: host gives {host:e}"),
        }
    }

    /// Rounding to nearest must agree with the host's IEEE arithmetic.
    #[test]
    fn nearest_agrees_with_the_host() {
        let mut rng = Rng::new(11);
        for _ in 0..200_000 {
            let [a, b, c] = [(); 3].map(|()| patterns(&mut rng, Format::F32));
            let [x, y, z] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
            let what = format!("{x:e} {y:e} {z:e}");
            let (f, n) = (Format::F32, Round::Near);
            same32(add(a, b, f, n), x + y, &what);
            same32(mul(a, b, f, n), x * y, &what);
            same32(div(a, b, f, n), x / y, &what);
            same32(sqrt(a, f, n), x.sqrt(), &what);
            same32(fma(a, b, c, f, n), x.mul_add(y, z), &what);
            let [a, b, c] = [(); 3].map(|()| patterns(&mut rng, Format::F64));
            let [x, y, z] = [a, b, c].map(f64::from_bits);
            let what = format!("{x:e} {y:e} {z:e}");
            let f = Format::F64;
            same64(add(a, b, f, n), x + y, &what);
            same64(mul(a, b, f, n), x * y, &what);
            same64(div(a, b, f, n), x / y, &what);
            same64(sqrt(a, f, n), x.sqrt(), &what);
            same64(fma(a, b, c, f, n), x.mul_add(y, z), &what);
            same32(convert(a, Format::F64, Format::F32, n), x as f32, &what);
        }
    }

    /// The narrow formats against the `half` crate, from every exponent of f64.
    #[test]
    fn narrowing_agrees_with_half() {
        let mut rng = Rng::new(12);
        for _ in 0..300_000 {
            let exponent = 1023 - 160 + u64::from(rng.below(320));
            let bits = rng.next_u64() & !(0x7ff << 52) | exponent << 52;
            // Few significant bits make many ties; `half` does not look at the lower 32.
            let bits = bits & (u64::MAX << (32 + rng.below(20)));
            let x = f64::from_bits(bits);
            let got = convert(bits, Format::F64, Format::F16, Round::Near).unwrap();
            assert_eq!(got as u16, f16::from_f64(x).to_bits(), "{x:e}");
            let got = convert(bits, Format::F64, Format::BF16, Round::Near).unwrap();
            assert_eq!(got as u16, bf16::from_f64(x).to_bits(), "{x:e}");
        }
    }

    /// The neighbour above, for any finite value or infinity, in the order of the reals.
    fn next_up(bits: u64, format: Format) -> u64 {
        let sign = format.zero(true);
        match bits {
            b if b == sign || b == 0 => 1,
            b if b & sign != 0 => b - 1,
            b => b + 1,
        }
    }

    /// Directed results bracket the exact one: rounding down gives the greatest value not above it,
    /// rounding up the least not below it, and they are neighbours or equal.
    fn bracket(f: impl Fn(Round) -> Option<u64>, format: Format) {
        let Some(near) = f(Round::Near) else {
            assert!(ALL.iter().all(|&round| f(round).is_none()));
            return;
        };
        let [down, up, zero] = [Round::Down, Round::Up, Round::Zero].map(|r| f(r).unwrap());
        let zeros = [format.zero(false), format.zero(true)];
        if zeros.contains(&down) && zeros.contains(&up) {
            return;
        }
        assert!(down == up || next_up(down, format) == up, "{down:x} {up:x}");
        assert!(near == down || near == up);
        let toward_zero = if down & format.zero(true) != 0 {
            up
        } else {
            down
        };
        assert!(
            zero == toward_zero || down == up,
            "{zero:x} of {down:x} {up:x}"
        );
    }

    #[test]
    fn directed_results_bracket_the_exact_one() {
        let mut rng = Rng::new(13);
        for format in [Format::F16, Format::BF16, Format::F32, Format::F64] {
            for _ in 0..50_000 {
                let [a, b, c] = [(); 3].map(|()| patterns(&mut rng, format));
                bracket(|r| add(a, b, format, r), format);
                bracket(|r| mul(a, b, format, r), format);
                bracket(|r| div(a, b, format, r), format);
                bracket(|r| sqrt(a, format, r), format);
                bracket(|r| fma(a, b, c, format, r), format);
            }
        }
    }

    /// The exact side decides: f16 operations are exact in f64, so the bracket can be checked by
    /// value.
    #[test]
    fn f16_rounding_is_exact_by_value() {
        let value = |bits: u64| f16::from_bits(bits as u16).to_f64();
        let mut rng = Rng::new(14);
        for _ in 0..200_000 {
            let [a, b] = [(); 2].map(|()| patterns(&mut rng, Format::F16));
            let exact = value(a) * value(b);
            if !exact.is_finite() {
                continue;
            }
            let down = value(mul(a, b, Format::F16, Round::Down).unwrap());
            let up = value(mul(a, b, Format::F16, Round::Up).unwrap());
            let away = value(mul(a, b, Format::F16, Round::NearAway).unwrap());
            assert!(down <= exact && exact <= up);
            assert!((down == exact) == (up == exact));
            if down.is_finite() && up.is_finite() {
                assert!((away - exact).abs() <= ((up - down) / 2.0).abs());
                if exact - down == up - exact && down != up {
                    assert!(away.abs() >= exact.abs(), "ties go away from zero");
                }
            }
        }
    }

    #[test]
    fn overflow_and_zero_follow_the_direction() {
        let f = Format::F32;
        let [max, min_neg] = [f32::MAX, f32::MIN].map(|x| u64::from(x.to_bits()));
        let bits = |x: f32| Some(u64::from(x.to_bits()));
        assert_eq!(add(max, max, f, Round::Zero), bits(f32::MAX));
        assert_eq!(add(max, max, f, Round::Down), bits(f32::MAX));
        assert_eq!(add(max, max, f, Round::Up), bits(f32::INFINITY));
        assert_eq!(add(min_neg, min_neg, f, Round::Up), bits(f32::MIN));
        assert_eq!(
            add(min_neg, min_neg, f, Round::Down),
            bits(f32::NEG_INFINITY)
        );
        assert_eq!(add(max, min_neg, f, Round::Near), bits(0.0));
        assert_eq!(add(max, min_neg, f, Round::Down), bits(-0.0));
        assert_eq!(mul(1, 1, f, Round::Up), bits(f32::from_bits(1)));
        assert_eq!(mul(1, 1, f, Round::Near), bits(0.0));
    }

    proptest! {
        /// Rounding to an integer against a rational comparison.
        #[test]
        fn integers_are_the_right_neighbours(x in -1.0e15f64..1.0e15) {
            let Num::Finite(value) = unpack(x.to_bits(), Format::F64) else {
                return Ok(());
            };
            let signed = |round| {
                let (negative, magnitude) = to_integer(value, round);
                if negative { -(magnitude as i128) } else { magnitude as i128 }
            };
            prop_assert_eq!(signed(Round::Down) as f64, x.floor());
            prop_assert_eq!(signed(Round::Up) as f64, x.ceil());
            prop_assert_eq!(signed(Round::Zero) as f64, x.trunc());
            prop_assert_eq!(signed(Round::Near) as f64, x.round_ties_even());
            prop_assert_eq!(signed(Round::NearAway) as f64, x.round());
        }
    }
}
