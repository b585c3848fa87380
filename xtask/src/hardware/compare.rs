//! Compares our results with those of the GPU.

use warploom_ptx::tokens::ScalarType;

use super::accuracy::Bound;
use super::case::{Accuracy, Case, TUPLES};
use super::format::Format;

/// Operands and results of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    pub inputs: Vec<u64>,
    pub ours: Vec<u64>,
    pub theirs: Vec<u64>,
}

/// Comparison of the results of one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Tuples that differ in more than the payload of a NaN.
    pub differing: Vec<Tuple>,
    /// Tuples that differ only in the payload of a NaN.
    pub payloads: Vec<Tuple>,
    /// Largest errors of an approximation: ours and the GPU's.
    pub errors: [f64; 2],
}

/// Value in column `k` of `bytes`, for one thread.
pub fn value(bytes: &[u8], k: usize, thread: usize) -> u64 {
    let at = 8 * (k * TUPLES + thread);
    let word = bytes[at..at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(word)
}

/// Values in all columns, for one thread.
pub fn row(bytes: &[u8], columns: usize, thread: usize) -> Vec<u64> {
    (0..columns).map(|k| value(bytes, k, thread)).collect()
}

/// Compares the results of all tuples.
pub fn compare(case: &Case, input: &[u8], ours: &[u8], theirs: &[u8]) -> Comparison {
    let mut comparison = Comparison::default();
    if let Accuracy::Within(bound) = case.accuracy {
        comparison.errors = [ours, theirs].map(|bytes| {
            let results = (0..TUPLES).map(|thread| value(bytes, 0, thread));
            largest_error(case, &bound, input, results)
        });
    }
    for thread in 0..TUPLES {
        let tuple = Tuple {
            inputs: row(input, case.inputs.len(), thread),
            ours: row(ours, case.outputs.len(), thread),
            theirs: row(theirs, case.outputs.len(), thread),
        };
        if tuple.ours != tuple.theirs {
            let both = tuple.ours.iter().zip(&tuple.theirs).zip(&case.outputs);
            let mut both = both.map(|((&ours, &theirs), &ty)| [ours, theirs].map(|b| (ty, b)));
            let payload = both.all(|[a, b]| without_payload(a.0, a.1) == without_payload(b.0, b.1));
            if payload {
                comparison.payloads.push(tuple)
            } else {
                comparison.differing.push(tuple)
            }
        }
    }
    comparison
}

/// Largest error of an approximation, over the given results, which begin with the first tuple.
pub fn largest_error(
    case: &Case,
    bound: &Bound,
    input: &[u8],
    results: impl Iterator<Item = u64>,
) -> f64 {
    let errors = results
        .enumerate()
        .filter_map(|(thread, result)| bound.error(&row(input, case.inputs.len(), thread), result));
    errors.fold(0.0, f64::max)
}

impl Comparison {
    /// True if all results are equal in every bit.
    pub fn is_equal(&self) -> bool {
        self.differing.is_empty() && self.payloads.is_empty()
    }
}

/// The bits with every NaN replaced by the same one.
pub fn without_payload(ty: ScalarType, bits: u64) -> u64 {
    let Some((format, count)) = Format::of(ty) else {
        return bits;
    };
    let width = 1 + format.exponent + format.mantissa;
    let mut all = bits;
    for k in 0..count {
        if format.is_nan(format.part(bits, k)) {
            let nan = format.mask() >> 1;
            all = all & !(format.mask() << (k * width)) | nan << (k * width);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use warploom_ptx::tokens::ScalarType;

    use super::without_payload;

    #[test]
    fn every_nan_becomes_the_same() {
        assert_eq!(without_payload(ScalarType::F32, 0xff80_0001), 0x7fff_ffff);
        assert_eq!(without_payload(ScalarType::F32, 0xff80_0000), 0xff80_0000);
        assert_eq!(without_payload(ScalarType::F16x2, 0xfe01_3c00), 0x7fff_3c00);
        assert_eq!(without_payload(ScalarType::B32, 0xff80_0001), 0xff80_0001);
    }
}
