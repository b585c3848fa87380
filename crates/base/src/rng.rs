//! Seeded generator of random numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Its stream is
//! part of the project's contract, because inputs and arbitration must be the same on every
//! machine and in every version.

use warploom_state::Value;

/// Seeded generator. Equal seeds give equal streams in all versions.
#[derive(Clone, Debug, PartialEq, Eq, Value)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns 64 uniform random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns 32 uniform random bits.
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Returns a uniform number in `0..bound` by multiply-shift; the bias is below 2^-32. `bound`
    /// must not be 0.
    pub const fn below(&mut self, bound: u32) -> u32 {
        ((self.next_u32() as u64 * bound as u64) >> 32) as u32
    }

    /// Returns a uniform number in [0, 1) with 24 random bits.
    pub fn unit_f32(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// Returns a uniform number in [0, 1) with 53 random bits.
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a standard normal number, approximated by the sum of twelve uniform ones
    /// (Irwin-Hall). Only additions are used, so that the bits do not depend on a maths library.
    pub fn normal_f64(&mut self) -> f64 {
        (0..12).map(|_| self.unit_f64()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn stream_is_pinned() {
        // First outputs of SplitMix64 for seed 0, as published with the algorithm.
        let mut rng = Rng::new(0);
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn below_stays_below() {
        let mut rng = Rng::new(7);
        assert!((0..1000).all(|_| rng.below(10) < 10));
    }
}
