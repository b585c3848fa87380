//! Comparison of software floating-point arithmetic with the host and with the crate `half`.

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

/// Significant bit patterns: limits of every class, patterns close to these, and random ones.
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

/// Rounding to nearest agrees with the IEEE arithmetic of the host.
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

/// Conversions to narrow formats agree with the `half` crate, for every exponent.
#[test]
fn narrowing_agrees_with_half() {
    let mut rng = Rng::new(12);
    for _ in 0..300_000 {
        let exponent = 1023 - 160 + u64::from(rng.below(320));
        let bits = rng.next_u64() & !(0x7ff << 52) | exponent << 52;
        // Numbers with few significant bits often are ties. `half` ignores the lower 32 bits.
        let bits = bits & (u64::MAX << (32 + rng.below(20)));
        let x = f64::from_bits(bits);
        let got = convert(bits, Format::F64, Format::F16, Round::Near).unwrap();
        assert_eq!(got as u16, f16::from_f64(x).to_bits(), "{x:e}");
        let got = convert(bits, Format::F64, Format::BF16, Round::Near).unwrap();
        assert_eq!(got as u16, bf16::from_f64(x).to_bits(), "{x:e}");
    }
}

/// Next larger value of a finite value or infinity, in the order of real numbers.
fn next_up(bits: u64, format: Format) -> u64 {
    let sign = format.zero(true);
    match bits {
        b if b == sign || b == 0 => 1,
        b if b & sign != 0 => b - 1,
        b => b + 1,
    }
}

/// Directed results bracket the exact one: rounding down gives the largest value not above it,
/// and rounding up the smallest value not below it. Both are neighbours or equal.
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

/// Products of f16 are exact in f64, so that the bracket can be checked by value.
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
    /// Rounding to an integer agrees with the functions of the host.
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
