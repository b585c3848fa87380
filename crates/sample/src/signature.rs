//! Signatures of launches, by which they are sorted into strata.

/// Largest ratio of two sizes of launches that are in one stratum.
const TOLERANCE: f64 = 4.0;

pub use warploom_stats::sampling::SIZES;

/// Properties of a launch that are known before it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Number that stands for all properties in which launches of one stratum are equal: the
    /// kernel, the shape of a block, and the resources of a block.
    pub kernel: u64,
    /// Sizes in which launches of one stratum are alike: blocks, warp instructions, thread
    /// instructions, accesses of global memory, and these with more weight where they miss L2.
    pub sizes: [u64; SIZES],
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

/// Differences of a launch's sizes from those of the first launch of its stratum, as fractions of
/// these. `sizes` may be a sum over as many launches as `launches` says.
pub(crate) fn relative(first: &[u64; SIZES], sizes: &[u64; SIZES], launches: u64) -> [f64; SIZES] {
    let part = |at: usize| sizes[at] as f64 / first[at].max(1) as f64;
    std::array::from_fn(|at| part(at) - launches as f64)
}

#[cfg(test)]
mod tests {
    use super::{Signature, relative};

    #[test]
    fn launches_are_alike_if_no_size_is_more_than_four_times_as_large() {
        let of = |kernel, sizes| Signature { kernel, sizes };
        let one = of(7, [10, 1000, 30_000, 0, 0]);
        assert_eq!(one.distance(&one), Some(1.0));
        assert_eq!(one.distance(&of(7, [10, 4000, 30_000, 0, 0])), Some(4.0));
        assert_eq!(of(7, [10, 4000, 30_000, 0, 0]).distance(&one), Some(4.0));
        assert_eq!(one.distance(&of(7, [10, 4001, 30_000, 0, 0])), None);
        assert_eq!(one.distance(&of(7, [41, 1000, 30_000, 0, 0])), None);
        assert_eq!(one.distance(&of(8, one.sizes)), None);
    }

    #[test]
    fn relative_sizes_are_differences_from_the_first_launch() {
        let first = [10, 100, 0, 1000, 40];
        assert_eq!(
            relative(&first, &[10, 150, 0, 500, 50], 1),
            [0.0, 0.5, -1.0, -0.5, 0.25]
        );
        // Three launches with 30, 360 and 2700 together.
        let sum = relative(&first, &[30, 360, 3, 2700, 120], 3);
        assert!(
            sum.iter()
                .zip([0.0, 0.6, 0.0, -0.3, 0.0])
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
    }
}
