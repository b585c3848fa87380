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
    let number = 1 + wrong.count();
    Comparison {
        passed: false,
        detail: format!("{number} of {count} differ, first at {at}: {got} instead of {expected}"),
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
            "2 of 3 differ, first at 1: 2.5 instead of 2.0"
        );
    }

    #[test]
    fn large_integers_are_exact() {
        let bytes = (u64::MAX - 1).to_le_bytes();
        let expected = |_| Number::Int(u64::MAX.into());
        assert!(!compare(Element::U64, &bytes, expected, 0.0).passed);
    }
}
