//! Comparison of an output with its expected values.

use super::element::Element;
use warploom_fields::Number;

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub passed: bool,
    /// Number of differences and the first of them, or number of compared elements.
    pub detail: String,
}

/// Compares `got` with `expected(i)` element by element.
pub(crate) fn compare(
    element: Element,
    got: &[u8],
    expected: impl Fn(usize) -> Number,
    tolerance: f64,
) -> Comparison {
    let values = got
        .chunks_exact(element.bytes())
        .map(|bytes| element.get(bytes));
    let pairs = values.enumerate().map(|(i, value)| (i, value, expected(i)));
    let mut wrong = pairs.filter(|(_, got, expected)| !close(*got, *expected, tolerance));
    let count = got.len() / element.bytes();
    let Some((at, got, expected)) = wrong.next() else {
        return Comparison {
            passed: true,
            detail: format!("{count} values"),
        };
    };
    let of = |at, got, expected: Number| Largest {
        difference: difference(got, expected),
        at,
        is_relative: expected.as_f64().abs() > 1.0,
    };
    let (mut number, mut largest) = (1, of(at, got, expected));
    for (at, got, expected) in wrong {
        number += 1;
        let other = of(at, got, expected);
        if other.difference > largest.difference {
            largest = other;
        }
    }
    let mut detail =
        format!("{number} of {count} differ, first at {at}: {got} instead of {expected}");
    if element.is_float() {
        detail += &by_how_much(&largest);
    }
    Comparison {
        passed: false,
        detail,
    }
}

/// The largest of the differences, in the unit of a tolerance.
struct Largest {
    difference: f64,
    /// Index of the element.
    at: usize,
    /// True if the difference is a multiple of the expected value, which is larger than 1.
    is_relative: bool,
}

/// Largest difference that another order of floating-point operations usually explains.
const ROUNDING: f64 = 1e-3;

/// Clause on the largest difference of floating-point numbers and its place, with the tolerance
/// that permits it if it may come from rounding.
fn by_how_much(largest: &Largest) -> String {
    let Largest { difference, at, .. } = *largest;
    if difference > ROUNDING {
        let measure = match (difference.is_finite(), largest.is_relative) {
            (false, _) => "",
            (true, true) => " relative to the expected value",
            (true, false) => " (absolute, as the expected value is at most 1)",
        };
        return format!("; the largest difference is {difference:.1e}{measure}, at {at}");
    }
    let exponent = difference.max(f64::MIN_POSITIVE).log10().ceil();
    format!(
        "; the largest difference is {difference:.1e} times the larger of 1 and the value, as \
         rounding makes it: `tolerance = 1e{exponent}` permits all"
    )
}

/// Difference as a multiple of the larger of 1 and the expected value; infinite if only one of the
/// numbers is finite.
fn difference(got: Number, expected: Number) -> f64 {
    let (got, expected) = (got.as_f64(), expected.as_f64());
    let differs = (got - expected).abs() / expected.abs().max(1.0);
    if differs.is_nan() {
        f64::INFINITY
    } else {
        differs
    }
}

/// True if |got - expected| <= tolerance x max(1, |expected|). NaN equals NaN, and integers without
/// a tolerance are compared exactly.
fn close(got: Number, expected: Number, tolerance: f64) -> bool {
    if let (Number::Int(got), Number::Int(expected), true) = (got, expected, tolerance == 0.0) {
        return got == expected;
    }
    let (got, expected) = (got.as_f64(), expected.as_f64());
    got == expected
        || (got.is_nan() && expected.is_nan())
        || (got - expected).abs() <= tolerance * expected.abs().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::{Comparison, compare};
    use crate::launch_file::{Element, Number};

    fn floats(got: &[f32], expected: &[f32], tolerance: f64) -> Comparison {
        let bytes: Vec<u8> = got.iter().flat_map(|value| value.to_le_bytes()).collect();
        let expected = |i: usize| Number::Float(expected[i].into());
        compare(Element::F32, &bytes, expected, tolerance)
    }

    #[test]
    fn tolerance_is_relative_above_one_and_absolute_below() {
        assert!(floats(&[1001.0, 0.0009], &[1000.0, 0.0], 1e-3).passed);
        assert!(!floats(&[1002.0], &[1000.0], 1e-3).passed);
        assert!(!floats(&[f32::INFINITY], &[1.0], 1e30).passed);
        assert!(floats(&[f32::NAN, f32::INFINITY], &[f32::NAN, f32::INFINITY], 0.0).passed);
        assert!(!floats(&[f32::NAN], &[0.0], 1.0).passed);
    }

    #[test]
    fn the_first_difference_is_named() {
        let comparison = floats(&[1.0, 2.5, 3.5], &[1.0, 2.0, 3.0], 0.0);
        assert_eq!(
            comparison.detail,
            "2 of 3 differ, first at 1: 2.5 instead of 2.0; the largest difference is 2.5e-1 relative \
             to the expected value, at 1"
        );
    }

    /// The unit of a difference is that of a tolerance, which depends on the expected value.
    #[test]
    fn the_largest_difference_is_told_as_relative_or_absolute() {
        let told = |expected: f32| floats(&[0.0], &[expected], 0.0).detail;
        for (expected, told_as) in [
            (-4.0, "is 1.0e0 relative to the expected value, at 0"),
            (
                1.0,
                "is 1.0e0 (absolute, as the expected value is at most 1), at 0",
            ),
            (
                0.5,
                "is 5.0e-1 (absolute, as the expected value is at most 1), at 0",
            ),
        ] {
            let detail = told(expected);
            assert!(detail.ends_with(told_as), "{detail}");
        }
    }

    /// A sum in another order differs in its last bits. The tolerance that the message states
    /// passes.
    #[test]
    fn a_difference_by_rounding_has_a_tolerance() {
        let (got, expected) = ([63.225_334_f32, 1.0, 0.25], [63.225_33_f32, 1.0, 0.250_003]);
        let detail = floats(&got, &expected, 0.0).detail;
        let told = "times the larger of 1 and the value, as rounding makes it: `tolerance = 1e-5` \
                    permits all";
        assert!(
            detail.contains("2 of 3 differ") && detail.ends_with(told),
            "{detail}"
        );
        assert!(floats(&got, &expected, 1e-5).passed);
        let nan = floats(&[f32::NAN], &[1.0], 0.0).detail;
        assert!(
            nan.ends_with("the largest difference is inf, at 0"),
            "{nan}"
        );
    }

    #[test]
    fn large_integers_are_exact() {
        let bytes = (u64::MAX - 1).to_le_bytes();
        let expected = |_| Number::Int(u64::MAX.into());
        assert!(!compare(Element::U64, &bytes, expected, 0.0).passed);
    }
}
