//! Estimates of a sum over all launches from the timed ones: the combined regression estimator of
//! stratified sampling (Cochran, Sampling Techniques, 3rd edition, section 7.10), where epochs are
//! Cochran's strata and a stratum's slopes are common to its epochs.

use crate::regression::{LEAST_VARIANCE, Line, Moments, PRIOR, Sizes, dot};
use crate::signature::relative;
use warploom_stats::sample::quantile;
use warploom_stats::sampling::{EpochReport, Interval, SamplingReport, StratumReport};

/// Probability with which the true value lies in an interval.
pub const CONFIDENCE: f64 = 0.95;
/// Part of a sum by which the estimate may be wrong because launches were not timed: the timed ones
/// begin with other contents of caches and at other phases of the clocks than in a full run. Up to
/// 0.2 % were measured.
pub(crate) const DISTURBANCE: f64 = 0.005;

/// Launches of a stratum that follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epoch {
    /// Number of launches, and sums of their sizes.
    pub launches: u64,
    pub sizes: Sizes,
    /// Number of timed launches, with the sums of their sizes and values.
    pub timed: u64,
    of_timed: Sizes,
    value: f64,
    /// Sum of squared relative differences of the timed launches from the stratum's line.
    squares: f64,
}

impl Epoch {
    /// Adds launches with the given sums of sizes.
    pub fn count(&mut self, launches: u64, sizes: &Sizes) {
        self.launches += launches;
        add(&mut self.sizes, sizes, 1.0);
    }

    /// Mean of the value over timed launches.
    fn mean(&self) -> f64 {
        self.value / self.timed.max(1) as f64
    }

    /// Sums of the sizes of all launches minus those of as many launches like the timed ones.
    fn surplus(&self) -> Sizes {
        if self.timed == self.launches {
            return Sizes::default();
        }
        let mut surplus = self.sizes;
        let weight = self.launches as f64 / self.timed.max(1) as f64;
        add(&mut surplus, &self.of_timed, -weight);
        surplus
    }
}

fn add(to: &mut Sizes, other: &Sizes, weight: f64) {
    for (to, other) in to.iter_mut().zip(other) {
        *to += weight * other;
    }
}

/// A stratum. Its epochs have means of their own, so that a stratum may change with time, and
/// slopes in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stratum {
    pub epochs: Vec<Epoch>,
    /// Sizes and values of all timed launches.
    pub timed: Moments,
    line: Line,
    /// Epoch, sizes and value of each timed launch.
    observed: Vec<(usize, Sizes, f64)>,
}

impl Stratum {
    /// Adds a timed launch.
    pub fn add(&mut self, at: usize, sizes: &Sizes, value: f64) {
        self.timed.add(sizes, value);
        self.line = self.timed.line();
        if let Some(epoch) = self.epochs.get_mut(at) {
            epoch.timed += 1;
            epoch.value += value;
            add(&mut epoch.of_timed, sizes, 1.0);
            self.observed.push((at, *sizes, value));
        }
        self.measure_epochs();
    }

    /// Sums up how far the timed launches of each epoch are from the line.
    fn measure_epochs(&mut self) {
        for epoch in &mut self.epochs {
            epoch.squares = 0.0;
        }
        for (epoch, sizes, value) in &self.observed {
            let residual = self.timed.residual(&self.line, sizes, *value);
            self.epochs[*epoch].squares += residual * residual;
        }
    }

    /// Relative variance of a launch of an epoch around the line, at least that in the stratum, as
    /// most launches of a stratum that changes with time may be timed in its other epochs.
    fn variance_in(&self, epoch: &Epoch, in_stratum: f64) -> f64 {
        let used = self.timed.count as f64 / self.line.freedom.max(1.0);
        let squares = used * epoch.squares + PRIOR * in_stratum;
        in_stratum.max(squares / (epoch.timed as f64 + PRIOR))
    }

    /// Number of its launches.
    pub fn launches(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.launches).sum()
    }

    /// Estimated sum over its launches.
    pub fn sum(&self) -> f64 {
        let of = |epoch: Epoch| {
            let by_size = self.timed.mean * dot(&self.line.slopes, &epoch.surplus());
            epoch.launches as f64 * epoch.mean() + by_size
        };
        self.known().map(of).sum()
    }

    /// Epochs with timed launches. Epochs without are added to the ones before.
    pub fn known(&self) -> impl Iterator<Item = Epoch> {
        let mut known: Vec<Epoch> = Vec::new();
        for epoch in &self.epochs {
            match known.last_mut() {
                Some(last) if epoch.timed == 0 => last.count(epoch.launches, &epoch.sizes),
                _ => known.push(*epoch),
            }
        }
        known.into_iter()
    }

    /// Variance of the sum, of which `relative` is the relative variance of a launch around the
    /// line: that of the means of epochs, with the finite-population correction, and that of the
    /// slopes.
    fn variance_of_sum(&self, relative: f64) -> f64 {
        let (mut of_means, mut surplus) = (0.0, Sizes::default());
        for epoch in self.known() {
            let untimed = epoch.launches.saturating_sub(epoch.timed) as f64;
            let variance = self.variance_in(&epoch, relative);
            of_means += epoch.launches as f64 * untimed * variance / epoch.timed.max(1) as f64;
            add(&mut surplus, &epoch.surplus(), 1.0);
        }
        let of_slopes = self.timed.of_slopes(&surplus, relative);
        (of_means + of_slopes) * self.timed.mean * self.timed.mean
    }
}

/// Deviations around the lines of all strata together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    /// Relative variance of a launch.
    variance: f64,
    /// Number of degrees of freedom of the variance.
    freedom: f64,
}

impl Pool {
    pub fn of(strata: &[Stratum]) -> Self {
        let lines = || strata.iter().map(|stratum| &stratum.line);
        let freedom: f64 = lines().map(|line| line.freedom).sum();
        let squares: f64 = lines().map(|line| line.squares).sum();
        let variance = if freedom > 0.0 {
            squares / freedom
        } else {
            0.0
        };
        Self { variance, freedom }
    }

    /// Degrees of freedom of [`variance_in`](Self::variance_in).
    fn freedom_in(&self, stratum: &Stratum) -> f64 {
        let own = stratum.line.freedom;
        (own + PRIOR.min(self.freedom - own)).max(1.0)
    }

    /// Estimated relative variance of the value of a launch around the line of a stratum.
    pub fn variance_in(&self, stratum: &Stratum) -> f64 {
        let Line {
            squares, freedom, ..
        } = stratum.line;
        let variance = (squares + PRIOR * self.variance) / (freedom + PRIOR);
        variance.max(LEAST_VARIANCE)
    }
}

/// Estimated sum over the launches of all strata, with its variance and degrees of freedom.
pub(crate) struct Sum {
    pub value: f64,
    /// Variance of the part of each stratum.
    pub parts: Vec<f64>,
    pub variance: f64,
    freedom: f64,
}

impl Sum {
    pub fn of(strata: &[Stratum]) -> Self {
        let pool = Pool::of(strata);
        let part = |stratum: &Stratum| stratum.variance_of_sum(pool.variance_in(stratum));
        let parts: Vec<f64> = strata.iter().map(part).collect();
        let variance: f64 = parts.iter().sum();
        let squared = |(part, stratum): (&f64, &Stratum)| part * part / pool.freedom_in(stratum);
        let of_variance: f64 = parts.iter().zip(strata).map(squared).sum();
        // Satterthwaite's approximation.
        let freedom = if of_variance > 0.0 {
            variance * variance / of_variance
        } else {
            1.0
        };
        Self {
            value: strata.iter().map(Stratum::sum).sum(),
            parts,
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

/// Estimates the sum of a value over all launches of a sampled run. `timed` has the value of each
/// timed launch in their order.
pub fn estimate(report: &SamplingReport, timed: &[f64]) -> Interval {
    let mut strata: Vec<Stratum> = report.strata.iter().map(without_values).collect();
    let launches = report.timed_in_order().into_iter();
    for ((number, launch), value) in launches.zip(timed) {
        let first = &report.strata[number].sizes;
        strata[number].add(launch.epoch, &relative(first, &launch.sizes, 1), *value);
    }
    Sum::of(&strata).interval()
}

/// The launches of a stratum, none of them timed.
fn without_values(report: &StratumReport) -> Stratum {
    let epoch = |of: &EpochReport| {
        let mut epoch = Epoch::default();
        epoch.count(
            of.launches,
            &relative(&report.sizes, &of.sizes, of.launches),
        );
        epoch
    };
    Stratum {
        epochs: report.epochs.iter().map(epoch).collect(),
        ..Stratum::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{DISTURBANCE, Epoch, Stratum, Sum};
    use warploom_stats::sampling::Interval;

    /// The part of a margin that is due to sampling.
    fn sampling(of: &Interval) -> f64 {
        (of.margin.powi(2) - (DISTURBANCE * of.value).powi(2)).sqrt()
    }

    /// Estimates a sum over launches of equal sizes. `launches` has the number of launches of each
    /// epoch of each stratum, and `timed` the stratum, the epoch and the value of each timed launch.
    fn interval(launches: &[&[u64]], timed: &[((usize, usize), f64)]) -> Interval {
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
            strata[*stratum].add(*epoch, &[0.0; 5], *value);
        }
        Sum::of(&strata).interval()
    }

    /// Launches whose value is proportional to one size, of which the first ones, small, were timed:
    /// 100 at 1, 110 at 1.1, 120 at 1.2 and 130 at 1.3 of the first size; the mean of all is 2.
    #[test]
    fn launches_of_other_sizes_are_estimated_along_the_line() {
        let mut stratum = Stratum::default();
        let mut epoch = Epoch::default();
        epoch.count(40, &[40.0, 0.0, 0.0, 0.0, 0.0]);
        stratum.epochs.push(epoch);
        for tenth in 0..4 {
            let size = f64::from(tenth) / 10.0;
            stratum.add(0, &[size, 0.0, 0.0, 0.0, 0.0], 100.0 + 100.0 * size);
        }
        let sum = Sum::of(&[stratum]).interval();
        assert!((sum.value / 8000.0 - 1.0).abs() < 0.02, "{sum:?}");
        // Nothing was observed beyond 1.3, so the interval is wide.
        assert!(sampling(&sum) > 0.02 * sum.value, "{sum:?}");
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
