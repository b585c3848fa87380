//! Signatures of launches, by which they are sorted into strata.

/// Largest ratio of two sizes of launches that are in one stratum.
const TOLERANCE: f64 = 1.1;

/// Properties of a launch that are known before it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Number that stands for all properties in which launches of one stratum are equal: the
    /// kernel, the shape of a block, and the resources of a block.
    pub kernel: u64,
    /// Sizes in which launches of one stratum are almost equal: blocks, warp instructions, thread
    /// instructions, and accesses of lines of global memory.
    pub sizes: [u64; 4],
}

impl Signature {
    /// Largest ratio of a size of two launches of one kernel, at least 1; `None` if they are too
    /// different for one stratum.
    pub(crate) fn distance(&self, other: &Self) -> Option<f64> {
        if self.kernel != other.kernel {
            return None;
        }
        let pairs = self.sizes.iter().zip(&other.sizes);
        let ratio = |(a, b): (&u64, &u64)| (*a.max(b)).max(1) as f64 / (*a.min(b)).max(1) as f64;
        let largest = pairs.map(ratio).fold(1.0, f64::max);
        (largest <= TOLERANCE).then_some(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::Signature;

    #[test]
    fn launches_are_alike_if_no_size_differs_by_more_than_a_tenth() {
        let of = |kernel, sizes| Signature { kernel, sizes };
        let one = of(7, [10, 1000, 30_000, 0]);
        assert_eq!(one.distance(&one), Some(1.0));
        assert_eq!(one.distance(&of(7, [10, 1100, 30_000, 0])), Some(1.1));
        assert_eq!(of(7, [10, 1100, 30_000, 0]).distance(&one), Some(1.1));
        assert_eq!(one.distance(&of(7, [10, 1101, 30_000, 0])), None);
        assert_eq!(one.distance(&of(7, [12, 1000, 30_000, 0])), None);
        assert_eq!(one.distance(&of(8, one.sizes)), None);
    }
}
