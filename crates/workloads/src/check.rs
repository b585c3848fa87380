//! Comparison of outputs with references.

use std::fmt::Display;

use warploom_run::{Check, Output, Scalar};

/// Compares bit by bit. Outputs of PTX without approximations must pass.
pub(crate) fn equal<T: Scalar + Display>(name: &str, actual: &Output<T>, expected: &[T]) -> Check {
    let differs = |have: &T, want: &T| !have.same_bits(*want);
    compare(name, actual, expected, differs, || "equal".to_owned())
}

/// Permitted difference of an output of approximate instructions (`ex2.approx`, `div.approx`...)
/// from a correctly rounded reference. The notes of a workload derive its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Difference relative to the expected value.
    pub relative: f64,
    /// Difference independent of the expected value.
    pub absolute: f64,
}

/// Compares within a tolerance, element by element, for outputs of approximate instructions. NaN is
/// outside of any tolerance.
pub(crate) fn close(
    name: &str,
    actual: &Output<f32>,
    expected: &[f64],
    tolerance: Tolerance,
) -> Check {
    let excess = |have: &f32, want: &f64| {
        let allowed = tolerance.relative * want.abs() + tolerance.absolute;
        (f64::from(*have) - want).abs() / allowed
    };
    let differs = |have: &f32, want: &f64| {
        let excess = excess(have, want);
        excess.is_nan() || excess > 1.0
    };
    compare(name, actual, expected, differs, || {
        let pairs = computed(actual, expected);
        let worst = pairs.map(|(_, have, want)| excess(have, want));
        format!("within {:.2} of the tolerance", worst.fold(0.0, f64::max))
    })
}

/// Compares the elements that were computed. `how` describes the agreement of values that do not
/// differ.
fn compare<T: Display, U: Display>(
    name: &str,
    actual: &Output<T>,
    expected: &[U],
    differs: impl Fn(&T, &U) -> bool,
    how: impl Fn() -> String,
) -> Check {
    let all = actual.values().len();
    assert_eq!(all, expected.len(), "{name}: reference of another length");
    let compared = computed(actual, expected).count();
    let of = if compared == all {
        String::new()
    } else {
        format!(" of {all}")
    };
    let mut wrong = computed(actual, expected).filter(|(_, have, want)| differs(have, want));
    let first = wrong.next();
    let detail = match first {
        _ if compared == 0 => format!("none of {all} values was computed"),
        None => format!("{compared}{of} values {}", how()),
        Some((at, have, want)) => format!(
            "{} of {compared}{of} values differ; the first is [{at}]: {have} instead of {want}",
            1 + wrong.count(),
        ),
    };
    Check {
        name: name.to_owned(),
        passed: compared > 0 && first.is_none(),
        detail,
        compared: compared as u64,
    }
}

/// The elements that were computed, with their indices and expected values.
fn computed<'a, T, U>(
    actual: &'a Output<T>,
    expected: &'a [U],
) -> impl Iterator<Item = (usize, &'a T, &'a U)> {
    let pairs = actual.values().iter().zip(expected).enumerate();
    let computed = pairs.filter(|(at, _)| actual.is_computed(*at));
    computed.map(|(at, (have, want))| (at, have, want))
}

#[cfg(test)]
mod tests {
    use super::{Check, Output, Scalar, Tolerance, close, equal};

    fn compare<T: Scalar + std::fmt::Display>(actual: &[T], expected: &[T]) -> Check {
        equal("c", &Output::from(actual.to_vec()), expected)
    }

    #[test]
    fn names_the_first_difference() {
        let check = compare(&[1, 2, 3, 5], &[1, 0, 3, 4]);
        assert!(!check.passed);
        assert_eq!(
            check.detail,
            "2 of 4 values differ; the first is [1]: 2 instead of 0"
        );
    }

    #[test]
    fn compares_bits_not_values() {
        assert!(compare(&[f32::NAN], &[f32::NAN]).passed);
        assert!(!compare(&[0.0_f32], &[-0.0]).passed);
        let check = compare(&[1.5_f32, 2.0], &[1.5, 2.0]);
        assert_eq!(
            (check.detail.as_str(), check.compared),
            ("2 values equal", 2)
        );
    }

    #[test]
    fn nothing_compared_is_no_pass() {
        let check = compare::<u32>(&[], &[]);
        assert_eq!((check.passed, check.compared), (false, 0));
        assert_eq!(check.detail, "none of 0 values was computed");
    }

    #[test]
    fn closeness_is_relative_or_absolute_and_never_nan() {
        let tolerance = Tolerance {
            relative: 0.01,
            absolute: 0.001,
        };
        let check = |actual: &[f32], expected: &[f64]| {
            close("c", &Output::from(actual.to_vec()), expected, tolerance)
        };
        let passes = |actual, expected| check(&[actual], &[expected]).passed;
        assert!(passes(100.9, 100.0) && !passes(101.1, 100.0));
        assert!(passes(0.0009, 0.0) && !passes(-0.0011, 0.0));
        assert!(!passes(f32::NAN, 0.0) && !passes(f32::INFINITY, 1.0));
        assert_eq!(
            check(&[1.0, 2.0], &[1.0, 3.0]).detail,
            "1 of 2 values differ; the first is [1]: 2 instead of 3"
        );
    }
}
