//! Estimates of a sum over all launches from the timed ones (Cochran, Sampling Techniques, 3rd
//! edition, chapter 5: stratified random sampling).

use warploom_stats::sample::quantile;
use warploom_stats::sampling::{Interval, SamplingReport};

/// Probability with which the true value lies in an interval.
pub const CONFIDENCE: f64 = 0.95;
/// Number of observations for which the pooled deviation of all strata counts in a stratum. Few
/// observations that agree by chance would otherwise make a stratum look exact.
const PRIOR: f64 = 1.0;
/// Smallest deviation of a launch as a fraction of the mean, because earlier launches leave
/// different contents in caches.
const RESOLUTION: f64 = 0.002;
/// Part of a sum by which the estimate may be wrong because launches were not timed: the timed ones
/// begin with other contents of caches and at other phases of the clocks than in a full run. Up to
/// 0.22 % were measured.
pub(crate) const DISTURBANCE: f64 = 0.005;

/// Number, mean, and sum of squared differences from the mean of the values in a stratum
/// (Welford's method).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub count: u64,
    pub mean: f64,
    pub squares: f64,
}

impl Moments {
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Number of degrees of freedom of the deviation.
    fn freedom(&self) -> f64 {
        self.count.saturating_sub(1) as f64
    }

    /// Sum of squared relative differences from the mean.
    fn relative_squares(&self) -> f64 {
        match self.mean {
            0.0 => 0.0,
            mean => self.squares / (mean * mean),
        }
    }
}

/// Launches of a stratum that follow each other: their number, and the values of the timed ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epoch {
    pub launches: u64,
    pub timed: Moments,
}

/// A stratum. Its epochs are estimated one by one, so that a stratum may change with time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stratum {
    pub epochs: Vec<Epoch>,
    /// Values of all timed launches.
    pub timed: Moments,
}

impl Stratum {
    /// Adds a value of a timed launch.
    pub fn add(&mut self, epoch: usize, value: f64) {
        self.timed.add(value);
        if let Some(epoch) = self.epochs.get_mut(epoch) {
            epoch.timed.add(value);
        }
    }

    /// Number of its launches.
    pub fn launches(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.launches).sum()
    }

    /// Estimated sum over its launches.
    pub fn sum(&self) -> f64 {
        let epochs = self.known();
        epochs.map(|e| e.launches as f64 * e.timed.mean).sum()
    }

    /// Epochs with timed launches. Epochs without are added to the ones before.
    pub fn known(&self) -> impl Iterator<Item = Epoch> {
        let mut known: Vec<Epoch> = Vec::new();
        for epoch in &self.epochs {
            match known.last_mut() {
                Some(last) if epoch.timed.count == 0 => last.launches += epoch.launches,
                _ => known.push(*epoch),
            }
        }
        known.into_iter()
    }
}

/// Deviations within all strata together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    /// Relative variance of a launch.
    variance: f64,
    /// Number of degrees of freedom of the variance.
    freedom: f64,
}

impl Pool {
    pub fn of(strata: &[Stratum]) -> Self {
        let timed = || strata.iter().map(|stratum| &stratum.timed);
        let freedom: f64 = timed().map(Moments::freedom).sum();
        let squares: f64 = timed().map(Moments::relative_squares).sum();
        let variance = if freedom > 0.0 {
            squares / freedom
        } else {
            0.0
        };
        Self { variance, freedom }
    }

    /// Degrees of freedom of [`deviation`](Self::deviation).
    fn freedom_in(&self, timed: &Moments) -> f64 {
        let own = timed.freedom();
        (own + PRIOR.min(self.freedom - own)).max(1.0)
    }

    /// Estimated standard deviation of the value of a launch in a stratum.
    pub fn deviation(&self, timed: &Moments) -> f64 {
        let pooled = self.variance * timed.mean * timed.mean;
        let variance = (timed.squares + PRIOR * pooled) / (timed.freedom() + PRIOR);
        variance.sqrt().max(RESOLUTION * timed.mean.abs())
    }
}

/// Estimated sum over the launches of all strata, with its variance and degrees of freedom.
pub(crate) struct Sum {
    pub value: f64,
    variance: f64,
    freedom: f64,
}

impl Sum {
    pub fn of(strata: &[Stratum], pool: &Pool) -> Self {
        let value = strata.iter().map(Stratum::sum).sum();
        let (mut variance, mut of_variance) = (0.0, 0.0);
        for stratum in strata {
            let deviation = pool.deviation(&stratum.timed);
            let squared = deviation * deviation;
            let epochs = stratum.known().map(|epoch| {
                let untimed = epoch.launches.saturating_sub(epoch.timed.count) as f64;
                // With the finite-population correction.
                epoch.launches as f64 * untimed * squared / epoch.timed.count.max(1) as f64
            });
            let own: f64 = epochs.sum();
            variance += own;
            of_variance += own * own / pool.freedom_in(&stratum.timed);
        }
        // Satterthwaite's approximation.
        let freedom = if of_variance > 0.0 {
            variance * variance / of_variance
        } else {
            1.0
        };
        Self {
            value,
            variance,
            freedom,
        }
    }

    /// Student's quantile for the interval.
    pub fn quantile(&self) -> f64 {
        quantile((self.freedom as usize).max(1))
    }

    pub fn interval(&self) -> Interval {
        let value = self.value;
        if self.variance == 0.0 {
            return Interval { value, margin: 0.0 };
        }
        let sampling = self.quantile().powi(2) * self.variance;
        let margin = (sampling + (DISTURBANCE * value).powi(2)).sqrt();
        Interval { value, margin }
    }
}

/// Estimates the sum of a value over all launches. `launches` has the number of launches of each
/// epoch of each stratum, and `timed` the stratum, the epoch and the value of each timed launch.
/// The first epoch of every stratum needs a timed launch.
pub fn interval(launches: &[&[u64]], timed: &[((usize, usize), f64)]) -> Interval {
    let epoch = |launches: &u64| Epoch {
        launches: *launches,
        ..Epoch::default()
    };
    let new = |epochs: &&[u64]| Stratum {
        epochs: epochs.iter().map(epoch).collect(),
        ..Stratum::default()
    };
    let mut strata: Vec<Stratum> = launches.iter().map(new).collect();
    for ((stratum, epoch), value) in timed {
        if let Some(stratum) = strata.get_mut(*stratum) {
            stratum.add(*epoch, *value);
        }
    }
    let pool = Pool::of(&strata);
    Sum::of(&strata, &pool).interval()
}

/// Estimates the sum of a value over all launches of a sampled run. `timed` has the value of each
/// timed launch in their order.
pub fn estimate(report: &SamplingReport, timed: &[f64]) -> Interval {
    let epochs = report.strata.iter().map(|s| s.epochs.as_slice());
    let places = report.places_of_timed().into_iter();
    let values: Vec<_> = places.zip(timed.iter().copied()).collect();
    interval(&epochs.collect::<Vec<_>>(), &values)
}

#[cfg(test)]
mod tests {
    use super::{DISTURBANCE, interval};
    use warploom_stats::sampling::Interval;

    /// The part of a margin that is due to sampling.
    fn sampling(of: &Interval) -> f64 {
        (of.margin.powi(2) - (DISTURBANCE * of.value).powi(2)).sqrt()
    }

    #[test]
    fn launches_that_are_all_timed_have_no_margin() {
        let values = [((0, 0), 10.0), ((1, 0), 5.0), ((0, 1), 14.0)];
        let all = interval(&[&[1, 1], &[1]], &values);
        assert_eq!((all.value, all.margin), (29.0, 0.0));
    }

    /// A stratum of 100 launches, of which 3, 4 and 5 were observed: mean 4, variance 1. With the
    /// correction, the variance of the sum is 100 * 97 / 3, with 2 degrees of freedom.
    #[test]
    fn one_stratum_gets_students_interval() {
        let one = interval(&[&[100]], &[3.0, 4.0, 5.0].map(|value| ((0, 0), value)));
        assert_eq!(one.value, 400.0);
        let expected = 4.303 * (100.0 * 97.0 / 3.0f64).sqrt();
        assert!(
            (sampling(&one) - expected).abs() < 1e-9 * expected,
            "{one:?}"
        );
    }

    /// Epochs are estimated one by one, with the deviation of the stratum: mean 15, variance 50. An
    /// epoch without timed launches is added to the one before.
    #[test]
    fn epochs_have_means_of_their_own() {
        let one = interval(&[&[10, 20, 10]], &[((0, 0), 10.0), ((0, 1), 20.0)]);
        assert_eq!(one.value, 10.0 * 10.0 + 30.0 * 20.0);
        let expected = 12.706 * (50.0 * (10.0 * 9.0 + 30.0 * 29.0f64)).sqrt();
        assert!(
            (sampling(&one) - expected).abs() < 1e-9 * expected,
            "{one:?}"
        );
    }

    /// A stratum of two equal observations takes over some of the deviation of the other one.
    #[test]
    fn agreement_by_chance_is_not_taken_for_exactness() {
        let one = [9.0, 10.0, 11.0].map(|value| ((0, 0), value));
        let values = [&one[..], &[((1, 0), 20.0); 2]].concat();
        let both = interval(&[&[3], &[10]], &values);
        assert_eq!(both.value, 30.0 + 200.0);
        // Pooled relative variance: 0.02 over 3 degrees of freedom. In the second stratum 400 times
        // that counts for one observation beside one of its own.
        let deviation = (400.0 * 0.02 / 3.0 / 2.0f64).sqrt();
        let expected = 4.303 * (10.0 * 8.0 / 2.0f64).sqrt() * deviation;
        assert!(
            (sampling(&both) - expected).abs() < 1e-9 * expected,
            "{both:?}"
        );
    }
}
