//! Comparison of outputs with references.

use std::fmt::Display;

use warploom_run::{Check, Scalar};

/// Equality bit by bit: what is demanded of every output whose PTX is free of approximations.
pub(crate) fn equal<T: Scalar + Display>(name: &str, actual: &[T], expected: &[T]) -> Check {
    assert_eq!(
        actual.len(),
        expected.len(),
        "{name}: reference of another length"
    );
    let (have, want) = (bytes(actual), bytes(expected));
    let pairs = have.chunks_exact(T::BYTES).zip(want.chunks_exact(T::BYTES));
    let mut wrong = pairs
        .enumerate()
        .filter(|(_, (have, want))| have != want)
        .map(|(i, _)| i);
    let count = actual.len();
    let Some(first) = wrong.next() else {
        return Check {
            name: name.to_owned(),
            passed: true,
            detail: format!("{count} values equal"),
        };
    };
    let detail = format!(
        "{} of {count} values differ; the first is [{first}]: {} instead of {}",
        1 + wrong.count(),
        actual[first],
        expected[first],
    );
    Check {
        name: name.to_owned(),
        passed: false,
        detail,
    }
}

/// How far an output of approximate instructions (`ex2.approx`, `div.approx`...) may lie from a
/// reference that rounds correctly. Notes of a workload derive its figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Of the expected value.
    pub relative: f64,
    /// Regardless of it.
    pub absolute: f64,
}

/// Closeness, element by element: what is demanded of outputs of approximate instructions. NaN is
/// close to nothing.
pub(crate) fn close(name: &str, actual: &[f32], expected: &[f64], tolerance: Tolerance) -> Check {
    assert_eq!(
        actual.len(),
        expected.len(),
        "{name}: reference of another length"
    );
    let excess = |(have, want): (&f32, &f64)| {
        let allowed = tolerance.relative * want.abs() + tolerance.absolute;
        (f64::from(*have) - want).abs() / allowed
    };
    let excesses = || actual.iter().zip(expected).map(excess);
    let wrong = |excess: &f64| excess.is_nan() || *excess > 1.0;
    let count = actual.len();
    let Some(first) = excesses().position(|excess| wrong(&excess)) else {
        let worst = excesses().fold(0.0, f64::max);
        return Check {
            name: name.to_owned(),
            passed: true,
            detail: format!("{count} values within {worst:.2} of the tolerance"),
        };
    };
    Check {
        name: name.to_owned(),
        passed: false,
        detail: format!(
            "{} of {count} values differ; the first is [{first}]: {} instead of {}",
            excesses().filter(wrong).count(),
            actual[first],
            expected[first],
        ),
    }
}

fn bytes<T: Scalar>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    values.iter().for_each(|value| value.put(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Tolerance, close, equal};

    #[test]
    fn names_the_first_difference() {
        let check = equal("c", &[1, 2, 3, 5], &[1, 0, 3, 4]);
        assert!(!check.passed);
        assert_eq!(
            check.detail,
            "2 of 4 values differ; the first is [1]: 2 instead of 0"
        );
    }

    #[test]
    fn compares_bits_not_values() {
        assert!(equal("nan", &[f32::NAN], &[f32::NAN]).passed);
        assert!(!equal("zero", &[0.0_f32], &[-0.0]).passed);
        assert_eq!(
            equal("c", &[1.5_f32, 2.0], &[1.5, 2.0]).detail,
            "2 values equal"
        );
    }

    #[test]
    fn closeness_is_relative_or_absolute_and_never_nan() {
        let tolerance = Tolerance {
            relative: 0.01,
            absolute: 0.001,
        };
        let passes = |actual: f32, expected| close("c", &[actual], &[expected], tolerance).passed;
        assert!(passes(100.9, 100.0) && !passes(101.1, 100.0));
        assert!(passes(0.0009, 0.0) && !passes(-0.0011, 0.0));
        assert!(!passes(f32::NAN, 0.0) && !passes(f32::INFINITY, 1.0));
        let check = close("c", &[1.0, 2.0], &[1.0, 3.0], tolerance);
        assert_eq!(
            check.detail,
            "1 of 2 values differ; the first is [1]: 2 instead of 3"
        );
    }
}
