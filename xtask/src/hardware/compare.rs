//! Our answers beside the hardware's.

use warploom_ptx::tokens::ScalarType;

use super::case::{Case, TUPLES};

/// What one thread had and gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    pub inputs: Vec<u64>,
    pub ours: Vec<u64>,
    pub theirs: Vec<u64>,
}

/// How the answers of one case compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Tuples with a difference beyond the payload of a NaN.
    pub differing: Vec<Tuple>,
    /// Tuples that differ in the payload of a NaN only.
    pub payloads: Vec<Tuple>,
    /// Of numbers in floating point: the largest difference in units of the last place.
    pub farthest: Option<(u64, Tuple)>,
    /// A NaN on one side only.
    pub kinds: usize,
}

/// Values of column `k` of `bytes`.
fn value(bytes: &[u8], k: usize, thread: usize) -> u64 {
    let at = 8 * (k * TUPLES + thread);
    let word = bytes[at..at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(word)
}

/// All columns' values of one thread.
pub fn row(bytes: &[u8], columns: usize, thread: usize) -> Vec<u64> {
    (0..columns).map(|k| value(bytes, k, thread)).collect()
}

/// Compares all tuples.
pub fn compare(case: &Case, input: &[u8], ours: &[u8], theirs: &[u8]) -> Comparison {
    let mut comparison = Comparison::default();
    for thread in 0..TUPLES {
        let tuple = Tuple {
            inputs: row(input, case.inputs.len(), thread),
            ours: row(ours, case.outputs.len(), thread),
            theirs: row(theirs, case.outputs.len(), thread),
        };
        if tuple.ours != tuple.theirs {
            comparison.add(case, tuple);
        }
    }
    comparison
}

impl Comparison {
    fn add(&mut self, case: &Case, tuple: Tuple) {
        let both = tuple.ours.iter().zip(&tuple.theirs).zip(&case.outputs);
        let distances = both.map(|((&ours, &theirs), &ty)| apart(ty, ours, theirs));
        match distances.max().unwrap_or(Apart::Payload) {
            Apart::Payload => self.payloads.push(tuple),
            Apart::Ulps(ulps) => {
                if self.farthest.as_ref().is_none_or(|(most, _)| ulps > *most) {
                    self.farthest = Some((ulps, tuple.clone()));
                }
                self.differing.push(tuple);
            }
            Apart::Kind => {
                self.kinds += 1;
                self.differing.push(tuple);
            }
        }
    }

    /// Equal to the last bit.
    pub fn is_equal(&self) -> bool {
        self.differing.is_empty() && self.payloads.is_empty()
    }
}

/// How far two results are from each other; later is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Apart {
    /// Equal, or two NaNs.
    Payload,
    /// Numbers; of integers, simply unequal.
    Ulps(u64),
    /// A NaN and a number.
    Kind,
}

impl Apart {
    /// Numbers no farther from each other than that, or equal.
    pub fn is_within(self, ulps: u64) -> bool {
        self <= Self::Ulps(ulps)
    }
}

/// How far two results of a type are from each other.
pub fn apart(ty: ScalarType, ours: u64, theirs: u64) -> Apart {
    let Some((exponent, mantissa, count)) = format(ty) else {
        return if ours == theirs {
            Apart::Payload
        } else {
            Apart::Ulps(1)
        };
    };
    let width = 1 + exponent + mantissa;
    let part = |value: u64, k: u32| value >> (k * width) & (u64::MAX >> (64 - width));
    let infinity = ((1 << exponent) - 1) << mantissa;
    let magnitude = |bits: u64| bits & ((1 << (width - 1)) - 1);
    let place = |bits: u64| match bits >> (width - 1) {
        0 => magnitude(bits) as i128,
        _ => -i128::from(magnitude(bits)) - 1,
    };
    let part_by_part = |k| {
        let (a, b) = (part(ours, k), part(theirs, k));
        match (magnitude(a) > infinity, magnitude(b) > infinity) {
            _ if a == b => Apart::Payload,
            (true, true) => Apart::Payload,
            (false, false) => Apart::Ulps(place(a).abs_diff(place(b)) as u64),
            _ => Apart::Kind,
        }
    };
    (0..count).map(part_by_part).max().unwrap_or(Apart::Payload)
}

/// Bits of exponent and mantissa, and how many numbers there are.
const fn format(ty: ScalarType) -> Option<(u32, u32, u32)> {
    Some(match ty {
        ScalarType::F16 => (5, 10, 1),
        ScalarType::F16x2 => (5, 10, 2),
        ScalarType::Bf16 => (8, 7, 1),
        ScalarType::Bf16x2 => (8, 7, 2),
        ScalarType::F32 => (8, 23, 1),
        ScalarType::F64 => (11, 52, 1),
        _ => return None,
    })
}

/// The bits with one NaN in the place of all.
pub fn without_payload(ty: ScalarType, bits: u64) -> u64 {
    let Some((exponent, mantissa, count)) = format(ty) else {
        return bits;
    };
    let width = 1 + exponent + mantissa;
    let infinity = ((1 << exponent) - 1) << mantissa;
    let below = (1 << (width - 1)) - 1;
    let mut all = bits;
    for k in 0..count {
        if bits >> (k * width) & below > infinity {
            let whole = u64::MAX >> (64 - width);
            all = all & !(whole << (k * width)) | below << (k * width);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use warploom_ptx::tokens::ScalarType;

    use super::{Apart, apart, without_payload};

    #[test]
    fn distances_are_told_by_kind() {
        let of = |a, b| apart(ScalarType::F32, a, b);
        assert_eq!(of(0x7fc0_0000, 0xffc0_0001), Apart::Payload);
        assert_eq!(of(0x7fc0_0000, 0x7f80_0000), Apart::Kind);
        assert_eq!(of(0x3f80_0000, 0x3f7f_fffe), Apart::Ulps(2));
        assert_eq!(of(0, 0x8000_0000), Apart::Ulps(1), "zeros are not the same");
        let halves = apart(ScalarType::F16x2, 0x3c00_7e00, 0x3c01_7fff);
        assert_eq!(halves, Apart::Ulps(1));
        assert_eq!(apart(ScalarType::U32, 5, 5), Apart::Payload);
        assert_eq!(apart(ScalarType::U32, 5, 7), Apart::Ulps(1));
    }

    #[test]
    fn every_nan_becomes_the_same() {
        assert_eq!(without_payload(ScalarType::F32, 0xff80_0001), 0x7fff_ffff);
        assert_eq!(without_payload(ScalarType::F32, 0xff80_0000), 0xff80_0000);
        assert_eq!(without_payload(ScalarType::F16x2, 0xfe01_3c00), 0x7fff_3c00);
        assert_eq!(without_payload(ScalarType::B32, 0xff80_0001), 0xff80_0001);
    }
}
