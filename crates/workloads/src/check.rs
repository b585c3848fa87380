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

fn bytes<T: Scalar>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    values.iter().for_each(|value| value.put(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::equal;

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
}
