//! Launches of which not all blocks were timed: what was, and what all would have taken.
//!
//! The estimate takes every stretch of timed blocks for one observation of how many core cycles a
//! block adds to the launch, and the stretches for independent of each other: its interval is
//! Student's, as for any mean of few observations. It knows nothing of blocks that were not seen.

use serde::{Deserialize, Serialize};

/// Which blocks of a launch were timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleReport {
    /// Blocks that were timed; cycles and counters are of them. All, if the grid was too small for
    /// stretches.
    pub blocks_timed: u64,
    /// Blocks that were executed, those among them: all, unless the run ended before.
    pub blocks: u64,
    /// Blocks of the grid.
    #[serde(default)]
    pub grid_blocks: u64,
    /// Thread instructions of all of them.
    pub thread_instructions: u64,
    /// What all would have taken, if enough stretches were timed to say so, the launch came to its
    /// end, and no other was in flight meanwhile.
    pub estimate: Option<Estimate>,
}

/// Core cycles that were not all simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Expected core cycles.
    pub cycles: f64,
    /// Half the width of the 95 % confidence interval around them.
    pub margin: f64,
    /// Stretches that the estimate rests on.
    pub stretches: u64,
}

impl Estimate {
    /// What `skipped` blocks add to `cycles`, from the cycles that a block added in each of some
    /// stretches. `None` from fewer than two.
    pub fn new(cycles: u64, skipped: u64, per_block: &[f64]) -> Option<Self> {
        let n = per_block.len();
        if n < 2 {
            return None;
        }
        let mean = per_block.iter().sum::<f64>() / n as f64;
        let squares = per_block.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (n - 1) as f64 / n as f64).sqrt();
        Some(Self {
            cycles: cycles as f64 + skipped as f64 * mean,
            margin: skipped as f64 * deviation * quantile(n - 1),
            stretches: n as u64,
        })
    }

    /// Cycles known and estimated, one after the other.
    pub fn sum(known: u64, parts: &[Self]) -> Self {
        Self {
            cycles: known as f64 + parts.iter().map(|part| part.cycles).sum::<f64>(),
            margin: parts.iter().map(|p| p.margin.powi(2)).sum::<f64>().sqrt(),
            stretches: parts.iter().map(|part| part.stretches).sum(),
        }
    }

    /// The margin as a share of the cycles.
    pub fn relative_margin(&self) -> f64 {
        self.margin / self.cycles.max(1.0)
    }
}

/// The 97.5 % quantile of Student's t distribution for some degrees of freedom, at least one.
fn quantile(freedom: usize) -> f64 {
    /// For 1 to 30, to three digits, as any table has them.
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    // Cornish and Fisher's first terms around the normal quantile: three digits above 30.
    let (z, n) = (1.959_964, freedom as f64);
    let further = z + (z * z * z + z) / (4.0 * n);
    TABLE.get(freedom - 1).copied().unwrap_or(further)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, quantile};

    #[test]
    fn an_estimate_is_students_interval() {
        // Mean 3, standard deviation 1 (squares 1 + 0 + 1 over 2), of three: 1 / sqrt 3.
        let estimate = Estimate::new(1000, 100, &[2.0, 3.0, 4.0]).expect("three stretches");
        assert_eq!(estimate.cycles, 1300.0);
        assert!((estimate.margin - 100.0 * 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(estimate.stretches, 3);
        let equal = Estimate::new(10, 5, &[2.0, 2.0]).expect("two stretches");
        assert_eq!((equal.cycles, equal.margin), (20.0, 0.0));
        assert_eq!(Estimate::new(10, 5, &[2.0]), None);
    }

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
