//! Transcendental functions, computed in f64 by short series and rounded once to f32. Results are
//! far inside the error bounds that NVIDIA documents. They are the same on every host, because only
//! IEEE additions and multiplications are used. Coefficients are computed rather than typed in.

use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E};

/// The reciprocal of n factorial.
const fn inverse_factorial(n: u32) -> f64 {
    let mut product = 1.0;
    let mut i = 2;
    while i <= n {
        product *= i as f64;
        i += 1;
    }
    1.0 / product
}

/// Coefficients of the Taylor series of the exponential. For |x| <= ln(2)/2 the remainder is below
/// 2^-40.
const EXP: [f64; 12] = {
    let mut c = [0.0; 12];
    let mut n = 0;
    while n < c.len() {
        c[n] = inverse_factorial(n as u32);
        n += 1;
    }
    c
};

/// Coefficients of the series of sine and cosine with their signs. For |x| <= pi/4 the remainder is
/// below 2^-50.
const SIN: [f64; 8] = trigonometric(1);
const COS: [f64; 8] = trigonometric(0);

/// Every second coefficient of the exponential's series from `first` on, with alternating signs.
const fn trigonometric(first: u32) -> [f64; 8] {
    let mut c = [0.0; 8];
    let mut i = 0;
    while i < c.len() {
        let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
        c[i] = sign * inverse_factorial(first + 2 * i as u32);
        i += 1;
    }
    c
}

/// Coefficients 1/(2n+1) of the inverse hyperbolic tangent. For |s| <= 0.172 the remainder is below
/// 2^-45.
const ATANH: [f64; 9] = {
    let mut c = [0.0; 9];
    let mut n = 0;
    while n < c.len() {
        c[n] = 1.0 / (2 * n + 1) as f64;
        n += 1;
    }
    c
};

/// Value of a polynomial, given its coefficients from the constant one up.
#[inline(always)]
fn polynomial<const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum * x + c[i];
    }
    sum
}

/// Number whose addition and subtraction rounds an f64 below 2^51 to an integer.
const ROUNDER: f64 = 1.5 * (1u64 << 52) as f64;
const F64_BIAS: u64 = 1023;

/// Nearest integer of an f64 below 2^51, as a float and as a wrapping integer. Avoids conversions
/// between float and integer, which keep a loop from being vectorised.
#[inline(always)]
fn nearest(x: f64) -> (f64, u64) {
    let biased = x + ROUNDER;
    (
        biased - ROUNDER,
        biased.to_bits().wrapping_sub(ROUNDER.to_bits()),
    )
}

/// Two to the power of `x`, for all values of `x`.
#[inline(always)]
pub fn ex2(x: f32) -> f32 {
    // The result is 0 or infinity beyond these exponents.
    let x = f64::from(x).clamp(-200.0, 200.0);
    let (whole, exponent) = nearest(x);
    let fraction = polynomial(&EXP, (x - whole) * LN_2);
    let scale = f64::from_bits(exponent.wrapping_add(F64_BIAS) << 52);
    (fraction * scale) as f32
}

/// Binary logarithm, for values of any sign and magnitude.
#[inline(always)]
pub(crate) fn lg2(x: f32) -> f32 {
    let bits = f64::from(x).to_bits();
    // Moves the significand to [sqrt(1/2), sqrt(2)).
    let offset = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let exponent = (bits.wrapping_sub(offset) as i64) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((exponent << 52) as u64));
    let s = (m - 1.0) / (m + 1.0);
    let ln = 2.0 * s * polynomial(&ATANH, s * s);
    let value = exponent as f64 + ln * LOG2_E;
    if x > 0.0 && x < f32::INFINITY {
        value as f32
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f32::NAN
    }
}

/// Magnitude beyond which the one-step argument reduction of [`sine`] loses bits. `libm` reduces
/// larger arguments with more digits of pi.
pub(crate) const NEAR: f32 = 4096.0;

/// The number pi/2 in two parts. The first has 33 significant bits, so that its multiples below
/// 2^20 are exact.
const HALF_PI_HIGH: f64 = f64::from_bits(std::f64::consts::FRAC_PI_2.to_bits() & !((1 << 20) - 1));
const HALF_PI_LOW: f64 = {
    // Part of pi/2 that f64 cannot hold: pi/2 = FRAC_PI_2 + 6.123233995736766e-17.
    const BELOW: f64 = 6.123_233_995_736_766e-17;
    (std::f64::consts::FRAC_PI_2 - HALF_PI_HIGH) + BELOW
};

/// Sine of x + `quarter` x pi/2, for |x| below [`NEAR`].
#[inline(always)]
pub(crate) fn sine(x: f32, quarter: u64) -> f32 {
    let wide = f64::from(x);
    let (turns, quadrant) = nearest(wide * FRAC_2_PI);
    let r = (wide - turns * HALF_PI_HIGH) - turns * HALF_PI_LOW;
    let quadrant = quadrant.wrapping_add(quarter);
    let odd = r * polynomial(&SIN, r * r);
    let even = polynomial(&COS, r * r);
    let magnitude = if quadrant & 1 == 0 { odd } else { even };
    (if quadrant & 2 == 0 {
        magnitude
    } else {
        -magnitude
    }) as f32
}

/// Sine of any argument in radians.
pub(crate) fn sin(x: f32) -> f32 {
    if x.abs() < NEAR {
        sine(x, 0)
    } else {
        libm::sin(f64::from(x)) as f32
    }
}

/// Cosine of any argument in radians.
pub(crate) fn cos(x: f32) -> f32 {
    if x.abs() < NEAR {
        sine(x, 1)
    } else {
        libm::cos(f64::from(x)) as f32
    }
}

/// Hyperbolic tangent of any argument.
pub(crate) fn tanh(x: f32) -> f32 {
    libm::tanh(f64::from(x)) as f32
}

/// Reciprocal square root. The result for -0 is -infinity.
#[inline(always)]
pub(crate) fn rsqrt(x: f32) -> f32 {
    let value = (1.0 / f64::from(x).sqrt()) as f32;
    if x == 0.0 {
        f32::INFINITY.copysign(x)
    } else {
        value
    }
}

/// Result of `div.approx.f32`: the quotient, except that finite divisors beyond 2^126 give 0 or
/// NaN.
#[inline(always)]
pub(crate) fn div(a: f32, b: f32) -> f32 {
    const HUGE: f32 = f32::from_bits((126 + 127) << 23);
    let quotient = a / b;
    let huge = b.abs() > HUGE && b.abs() < f32::INFINITY;
    match (huge, a.is_infinite()) {
        (false, _) => quotient,
        (true, true) => f32::NAN,
        (true, false) if a.is_nan() => f32::NAN,
        (true, false) => 0f32.copysign(quotient),
    }
}

/// Rounds an f64 to its upper 32 bits, to nearest.
fn upper_word(x: f64) -> f64 {
    let bits = x.to_bits();
    let rounded = bits + 0x7fff_ffff + (bits >> 32 & 1);
    f64::from_bits(rounded & !0xffff_ffff)
}

/// Evaluates `f` for the upper word of an f64, with subnormal numbers flushed to zero, as
/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` do.
fn gross(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    let x = f64::from_bits(x.to_bits() & !0xffff_ffff);
    let x = if x.is_subnormal() {
        0f64.copysign(x)
    } else {
        x
    };
    let y = f(x);
    match y {
        _ if y.is_nan() => f64::from_bits(0x7fff_ffff_0000_0000),
        _ if y.is_subnormal() => 0f64.copysign(y),
        _ if y.is_infinite() || y == 0.0 => y,
        _ => upper_word(y),
    }
}

/// Result of the instruction `rcp.approx.ftz.f64`.
pub(crate) fn rcp_f64(x: f64) -> f64 {
    gross(x, |x| 1.0 / x)
}

/// Result of the instruction `rsqrt.approx.ftz.f64`.
pub(crate) fn rsqrt_f64(x: f64) -> f64 {
    gross(x, |x| {
        if x == 0.0 {
            f64::INFINITY.copysign(x)
        } else {
            1.0 / x.sqrt()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_base::Rng;

    /// Error in units of the last place of the exact value rounded to f32.
    fn ulps(got: f32, exact: f64) -> f64 {
        let nearest = exact as f32;
        let unit = if nearest.abs() < f32::MIN_POSITIVE {
            f64::from(f32::from_bits(1))
        } else {
            f64::from(f32::from_bits(
                (nearest.to_bits() & 0x7f80_0000) + (1 << 23),
            )) / f64::from(1 << 24)
        };
        (f64::from(got) - exact).abs() / unit
    }

    fn samples(range: f32) -> impl Iterator<Item = f32> {
        let mut rng = Rng::new(21);
        (0..200_000).map(move |_| (rng.unit_f32() * 2.0 - 1.0) * range)
    }

    /// Documented bound: 2 units in the last place over the full range.
    #[test]
    fn ex2_stays_within_its_bound() {
        for x in samples(150.0).chain(samples(1.0)) {
            let exact = libm::exp2(f64::from(x));
            assert!(
                exact > f64::from(f32::MAX) || ulps(ex2(x), exact) < 0.51,
                "{x}"
            );
        }
        let whole: Vec<f32> = (-149..128).map(|n| ex2(n as f32)).collect();
        let exact: Vec<f32> = (-149..128)
            .map(|n| libm::exp2(f64::from(n)) as f32)
            .collect();
        assert_eq!(whole, exact, "powers of two are exact");
        assert_eq!(ex2(f32::NEG_INFINITY), 0.0);
        assert_eq!(ex2(f32::INFINITY), f32::INFINITY);
        assert_eq!((ex2(128.0), ex2(-200.0)), (f32::INFINITY, 0.0));
        assert_eq!(ex2(-0.0), 1.0);
        assert!(ex2(f32::NAN).is_nan());
    }

    /// Documented bounds: absolute error 2^-22 in (0.5, 2), and relative error 2^-22 elsewhere.
    #[test]
    fn lg2_stays_within_its_bound() {
        let mut rng = Rng::new(22);
        for _ in 0..200_000 {
            let x = f32::from_bits(rng.below(0x7f80_0000).max(1));
            let exact = libm::log2(f64::from(x));
            assert!(ulps(lg2(x), exact) < 0.51, "{x:e}");
        }
        for x in samples(0.5).map(|x| 1.0 + x) {
            assert!(
                (f64::from(lg2(x)) - libm::log2(f64::from(x))).abs() < 1e-7,
                "{x}"
            );
        }
        assert_eq!(
            (lg2(0.0), lg2(-0.0)),
            (f32::NEG_INFINITY, f32::NEG_INFINITY)
        );
        assert_eq!(lg2(f32::INFINITY), f32::INFINITY);
        assert!(lg2(-1.0).is_nan() && lg2(f32::NAN).is_nan());
        assert_eq!(lg2(1.0).to_bits(), 0);
    }

    /// Documented bound: absolute error 2^-20.5 in [-2pi, 2pi]. Here it holds for every argument.
    #[test]
    fn sine_and_cosine_stay_within_their_bounds() {
        for x in samples(6.3).chain(samples(4000.0)).chain(samples(1.0e9)) {
            assert!(ulps(sin(x), libm::sin(f64::from(x))) < 0.51, "sin {x}");
            assert!(ulps(cos(x), libm::cos(f64::from(x))) < 0.51, "cos {x}");
        }
        assert_eq!((sin(0.0).to_bits(), sin(-0.0).to_bits()), (0, 1 << 31));
        assert!(sin(f32::INFINITY).is_nan() && cos(f32::NEG_INFINITY).is_nan());
        let tiny = f32::from_bits(1);
        assert_eq!((sin(tiny), cos(tiny)), (tiny, 1.0));
    }

    /// Documented bounds: relative error 2^-11 for tanh, and 2^-22.9 for rsqrt.
    #[test]
    fn tanh_and_rsqrt_stay_within_their_bounds() {
        for x in samples(10.0) {
            assert!(ulps(tanh(x), libm::tanh(f64::from(x))) < 0.51, "{x}");
            let (y, exact) = (x.abs(), 1.0 / f64::from(x.abs()).sqrt());
            assert!(ulps(rsqrt(y), exact) < 0.51, "{y}");
        }
        assert_eq!(
            (rsqrt(0.0), rsqrt(-0.0)),
            (f32::INFINITY, f32::NEG_INFINITY)
        );
        assert_eq!(rsqrt(f32::INFINITY), 0.0);
        assert!(rsqrt(-1.0).is_nan());
    }

    #[test]
    fn approximate_division_gives_up_on_huge_divisors() {
        assert_eq!(div(6.0, 3.0), 2.0);
        assert_eq!(div(1.0, 1.5 * 2f32.powi(126)).to_bits(), 0);
        assert_eq!(div(-1.0, 1.5 * 2f32.powi(126)).to_bits(), 1 << 31);
        assert!(div(f32::INFINITY, 1.5 * 2f32.powi(126)).is_nan());
        assert_eq!(div(f32::INFINITY, 2.0), f32::INFINITY);
    }

    #[test]
    fn gross_f64_reciprocals_keep_twenty_bits() {
        let mut rng = Rng::new(23);
        for _ in 0..100_000 {
            let x = f64::from_bits(rng.next_u64() & (!(1 << 63) % (0x7fd << 52)) | 1 << 60);
            for (got, exact) in [(rcp_f64(x), 1.0 / x), (rsqrt_f64(x), 1.0 / x.sqrt())] {
                assert_eq!(got.to_bits() as u32, 0, "the low word is zero");
                assert!(
                    ((got - exact) / exact).abs() < 1.0 / f64::from(1 << 19),
                    "{x:e}"
                );
            }
        }
        assert_eq!(rcp_f64(f64::from_bits(1)), f64::INFINITY);
        assert_eq!(rcp_f64(f64::NEG_INFINITY).to_bits(), 1 << 63);
        assert!(rsqrt_f64(-1.0).is_nan());
    }
}
