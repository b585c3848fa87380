//! Sampled launches, of which not all blocks were timed, and the estimate of the cycles of all.
//!
//! The crate `sample` makes the estimates.

use serde::{Deserialize, Serialize};
use warploom_state::Value;

/// Report of the blocks of a launch that were timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Value)]
pub struct SampleReport {
    /// Number of blocks that were timed, which cycles and counters refer to. All blocks, if the
    /// grid was too small for stretches.
    pub blocks_timed: u64,
    /// Number of blocks that were executed, timed or not: all, unless the run ended earlier.
    pub blocks: u64,
    /// Number of blocks of the grid.
    #[serde(default)]
    pub grid_blocks: u64,
    /// Thread instructions of all blocks executed.
    pub thread_instructions: u64,
    /// Estimated cycles of all blocks. Present if enough stretches were timed, the launch ended,
    /// and no other launch was in flight at the same time.
    pub estimate: Option<Estimate>,
}

/// Estimated core cycles of a launch of which not all blocks were timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Value)]
pub struct Estimate {
    /// Expected number of core cycles.
    pub cycles: f64,
    /// Half of the width of the 95 % confidence interval.
    pub margin: f64,
    /// Number of stretches that were observed.
    pub stretches: u64,
}

impl Estimate {
    /// Sum of `known` cycles and of the estimated cycles of launches, which run one after another.
    pub fn sum(known: u64, parts: &[Self]) -> Self {
        Self {
            cycles: known as f64 + parts.iter().map(|part| part.cycles).sum::<f64>(),
            margin: parts.iter().map(|p| p.margin.powi(2)).sum::<f64>().sqrt(),
            stretches: parts.iter().map(|part| part.stretches).sum(),
        }
    }

    /// Margin as a fraction of the cycles.
    pub fn relative_margin(&self) -> f64 {
        self.margin / self.cycles.max(1.0)
    }
}

/// Quantile of 97.5 % of Student's t distribution for at least one degree of freedom.
pub fn quantile(freedom: usize) -> f64 {
    /// Quantiles for 1 to 30 degrees of freedom, to three digits.
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    // First terms of the Cornish-Fisher expansion around the normal quantile, exact to three digits
    // above 30.
    let (z, n) = (1.959_964, freedom as f64);
    let further = z + (z * z * z + z) / (4.0 * n);
    TABLE
        .get(freedom.saturating_sub(1))
        .copied()
        .unwrap_or(further)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, quantile};

    #[test]
    fn margins_of_launches_add_as_squares() {
        let of = |cycles, margin| Estimate {
            cycles,
            margin,
            stretches: 4,
        };
        let sum = Estimate::sum(50, &[of(100.0, 3.0), of(200.0, 4.0)]);
        assert_eq!((sum.cycles, sum.margin, sum.stretches), (350.0, 5.0, 8));
        assert_eq!(sum.relative_margin(), 5.0 / 350.0);
    }

    #[test]
    fn quantiles_fall_to_the_normal_one() {
        assert_eq!((quantile(1), quantile(30)), (12.706, 2.042));
        let all: Vec<f64> = (1..200).map(quantile).collect();
        assert!(all.windows(2).all(|pair| pair[0] > pair[1]));
        assert!((quantile(60) - 2.000).abs() < 0.001);
        assert!((quantile(120) - 1.980).abs() < 0.001);
    }
}
