//! Values by name, their means with leave-one-out ranges, and the agreement of two series.

use crate::grid::{geometric_mean, mean};
use warploom_report::page::{Agreement, Range};

/// A measured value, with a leave-one-out range if it is a mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value in the unit of the statement.
    pub value: f64,
    /// The values without one member of the mean.
    pub range: Option<Range>,
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Self { value, range: None }
    }
}

impl Measured {
    /// A quantity of several members, such as a mean or a ratio of means: with all of them, and
    /// without each. `of` receives the indices of the members that remain. `None` if the quantity
    /// is not finite.
    pub fn over(names: &[String], of: impl Fn(&[usize]) -> f64) -> Option<Self> {
        let all: Vec<usize> = (0..names.len()).collect();
        let value = of(&all);
        if names.is_empty() || !value.is_finite() {
            return None;
        }
        let without = |left: usize| {
            let rest: Vec<usize> = all.iter().copied().filter(|at| *at != left).collect();
            (of(&rest), &names[left])
        };
        let each = (0..names.len()).map(without);
        let mut each: Vec<_> = each.filter(|(value, _)| value.is_finite()).collect();
        each.sort_by(|a, b| a.0.total_cmp(&b.0));
        let range = each.first().zip(each.last()).map(|(least, most)| Range {
            of: names.len(),
            least: least.0,
            least_without: least.1.clone(),
            most: most.0,
            most_without: most.1.clone(),
        });
        Some(Self {
            value,
            range: range.filter(|_| names.len() > 1),
        })
    }

    /// The quantity in another unit. `to` is monotonic.
    pub fn map(self, to: impl Fn(f64) -> f64) -> Self {
        let range = self.range.map(|range| {
            let ends = [to(range.least), to(range.most)];
            let [least, most] = [range.least_without, range.most_without];
            let (ends, least_without, most_without) = match ends[0] <= ends[1] {
                true => (ends, least, most),
                false => ([ends[1], ends[0]], most, least),
            };
            Range {
                of: range.of,
                least: ends[0],
                least_without,
                most: ends[1],
                most_without,
            }
        });
        Self {
            value: to(self.value),
            range,
        }
    }

    /// The quantity as a share in per cent.
    pub fn percent(self) -> Self {
        self.map(|share| share * 100.0)
    }
}

/// Values of benchmarks, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(pub Vec<(String, f64)>);

impl Samples {
    /// Names of the benchmarks.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Values of the benchmarks.
    pub fn values(&self) -> Vec<f64> {
        self.0.iter().map(|(_, value)| *value).collect()
    }

    /// Value of a benchmark.
    pub fn get(&self, name: &str) -> Option<f64> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value)
    }

    /// The benchmarks whose names `keeps` accepts.
    pub fn filter(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let kept = self.0.iter().filter(|(name, _)| keeps(name));
        Self(kept.cloned().collect())
    }

    /// The benchmarks whose values `keeps` accepts.
    pub fn filter_values(&self, keeps: impl Fn(f64) -> bool) -> Self {
        let kept = self.0.iter().filter(|(_, value)| keeps(*value));
        Self(kept.cloned().collect())
    }

    /// The benchmarks in this list.
    pub fn only(&self, names: &[&str]) -> Self {
        self.filter(|name| names.contains(&name))
    }

    /// Ratios to other values of the same benchmarks.
    pub fn over(&self, base: &Self) -> Self {
        let ratio = |(name, value): &(String, f64)| Some((name.clone(), value / base.get(name)?));
        Self(self.0.iter().filter_map(ratio).collect())
    }

    /// The values in another unit.
    pub fn map(&self, to: impl Fn(f64) -> f64) -> Self {
        let each = self
            .0
            .iter()
            .map(|(name, value)| (name.clone(), to(*value)));
        Self(each.collect())
    }

    /// Geometric mean, with its leave-one-out range. `None` unless all values are positive.
    pub fn geometric(&self) -> Option<Measured> {
        let is_positive = |(_, value): &(String, f64)| *value > 0.0;
        let mean = self.quantity(geometric_mean);
        mean.filter(|_| self.0.iter().all(is_positive))
    }

    /// Arithmetic mean, with its leave-one-out range.
    pub fn arithmetic(&self) -> Option<Measured> {
        self.quantity(mean)
    }

    fn quantity(&self, of: fn(&[f64]) -> f64) -> Option<Measured> {
        let values = self.values();
        let picked = |at: &[usize]| at.iter().map(|at| values[*at]).collect::<Vec<_>>();
        Measured::over(&self.names(), |rest| of(&picked(rest)))
    }

    /// The largest value with its benchmark.
    pub fn best(&self) -> Option<(&str, f64)> {
        let each = self.0.iter().map(|(name, value)| (name.as_str(), *value));
        each.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// The smallest value with its benchmark.
    pub fn worst(&self) -> Option<(&str, f64)> {
        let each = self.0.iter().map(|(name, value)| (name.as_str(), *value));
        each.reduce(|worst, next| if next.1 < worst.1 { next } else { worst })
    }

    /// The benchmarks with their values as text: `BT 1.557, HG 0.860`.
    pub fn shown(&self) -> String {
        let each = self
            .0
            .iter()
            .map(|(name, value)| format!("{name} {value:.3}"));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Agreement of these values with the paper's of the same benchmarks.
    pub fn agreement(&self, paper: &Self) -> Agreement {
        let pair = |(name, theirs): &(String, f64)| Some([*theirs, self.get(name)?]);
        let pairs: Vec<[f64; 2]> = paper.0.iter().filter_map(pair).collect();
        let is_positive = |pair: &&[f64; 2]| pair.iter().all(|value| *value > 0.0);
        let ratios = pairs
            .iter()
            .filter(is_positive)
            .map(|[theirs, ours]| ours / theirs);
        let ratios: Vec<f64> = ratios.collect();
        let mean_ratio = Some(geometric_mean(&ratios));
        Agreement {
            pairs: pairs.len(),
            rank_correlation: rank_correlation(&pairs),
            mean_ratio: mean_ratio.filter(|mean| mean.is_finite()),
            positive_pairs: ratios.len(),
        }
    }
}

/// Spearman's rank correlation of pairs: the correlation of their ranks, where equal values share
/// the mean of their ranks. `None` if a series is constant.
pub fn rank_correlation(pairs: &[[f64; 2]]) -> Option<f64> {
    let [xs, ys] =
        [0, 1].map(|side| ranks(&pairs.iter().map(|pair| pair[side]).collect::<Vec<_>>()));
    let (mean_x, mean_y) = (mean(&xs), mean(&ys));
    let products = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    let both = products(&xs, mean_x, &ys, mean_y);
    let spread = products(&xs, mean_x, &xs, mean_x) * products(&ys, mean_y, &ys, mean_y);
    (spread > 0.0).then(|| both / spread.sqrt())
}

/// Ranks from 1 on; equal values have the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::{Measured, Samples, rank_correlation};

    fn samples(values: &[(&str, f64)]) -> Samples {
        Samples(
            values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        )
    }

    #[test]
    fn a_mean_tells_what_it_is_without_each_member() {
        let three = samples(&[("a", 1.0), ("b", 2.0), ("c", 4.0)]);
        let mean = three.geometric().unwrap();
        let range = mean.range.unwrap();
        assert!((mean.value - 2.0).abs() < 1e-12);
        // Without c it is the root of 2, without a the root of 8.
        assert!((range.least - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((range.most - 8.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(
            (
                range.of,
                range.least_without.as_str(),
                range.most_without.as_str()
            ),
            (3, "c", "a")
        );
        let mean = three.arithmetic().unwrap();
        let range = mean.range.unwrap();
        assert!((mean.value - 7.0 / 3.0).abs() < 1e-12);
        assert!((range.least - 1.5).abs() < 1e-12 && (range.most - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_mean_of_one_has_no_range_and_one_of_none_no_value() {
        let one = samples(&[("a", 1.5)]).geometric().unwrap();
        assert!((one.value - 1.5).abs() < 1e-12 && one.range.is_none());
        assert_eq!(Samples::default().geometric(), None);
        assert_eq!(samples(&[("a", -1.0), ("b", 2.0)]).geometric(), None);
        assert_eq!(samples(&[("a", 0.0), ("b", 2.0)]).geometric(), None);
    }

    #[test]
    fn a_range_keeps_its_order_in_another_unit() {
        let mean = samples(&[("a", 0.5), ("b", 0.9)]).arithmetic().unwrap();
        let saved = mean.map(|kept| 1.0 - kept).percent();
        let range = saved.range.unwrap();
        assert!((saved.value - 30.0).abs() < 1e-9);
        assert!((range.least - 10.0).abs() < 1e-9 && (range.most - 50.0).abs() < 1e-9);
        // Without a, 0.9 is kept and 10 % saved.
        assert_eq!(
            (range.least_without.as_str(), range.most_without.as_str()),
            ("a", "b")
        );
    }

    #[test]
    fn a_ratio_of_means_leaves_out_the_same_member_in_both() {
        let (ours, base) = ([2.0, 6.0], [1.0, 2.0]);
        let names = ["a", "b"].map(str::to_owned);
        let sum = |of: &[f64; 2], at: &[usize]| at.iter().map(|at| of[*at]).sum::<f64>();
        let ratio = Measured::over(&names, |at| sum(&ours, at) / sum(&base, at)).unwrap();
        let range = ratio.range.unwrap();
        assert!((ratio.value - 8.0 / 3.0).abs() < 1e-12);
        assert!((range.least - 2.0).abs() < 1e-12 && (range.most - 3.0).abs() < 1e-12);
    }

    #[test]
    fn ranks_correlate_as_spearman_defines_it() {
        let of = |ys: &[f64]| {
            let pairs = ys.iter().enumerate().map(|(x, y)| [x as f64, *y]);
            rank_correlation(&pairs.collect::<Vec<_>>())
        };
        let near = |ours: Option<f64>, value: f64| (ours.unwrap() - value).abs() < 1e-12;
        // Only the order counts.
        assert!(near(of(&[1.0, 10.0, 11.0, 500.0]), 1.0));
        assert!(near(of(&[4.0, 3.0, 2.0, 1.0]), -1.0));
        // Differences of ranks 0, 1, -1, 0: 1 - 6 * 2 / (4 * 15) = 0.8.
        assert!(near(of(&[1.0, 3.0, 2.0, 4.0]), 0.8));
        // Ties share ranks 1.5, 1.5, 3: covariance 1.5 over the root of 2 * 1.5.
        assert!(near(of(&[1.0, 1.0, 2.0]), 1.5 / 3.0_f64.sqrt()));
        assert_eq!(of(&[2.0, 2.0, 2.0]), None);
        assert_eq!(rank_correlation(&[]), None);
    }

    #[test]
    fn agreement_is_of_the_benchmarks_that_both_have() {
        let ours = samples(&[("a", 2.0), ("b", 8.0), ("c", 0.0), ("d", 5.0)]);
        let paper = samples(&[("a", 1.0), ("b", 2.0), ("c", 0.5), ("e", 7.0)]);
        let agreement = ours.agreement(&paper);
        assert_eq!((agreement.pairs, agreement.positive_pairs), (3, 2));
        // Ratios 2 and 4 have the geometric mean of the root of 8; c has none.
        assert!((agreement.mean_ratio.unwrap() - 8.0_f64.sqrt()).abs() < 1e-12);
        assert!((agreement.rank_correlation.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ratios_go_by_name() {
        let ours = samples(&[("a", 3.0), ("b", 8.0), ("x", 1.0)]);
        let ratios = ours.over(&samples(&[("b", 4.0), ("a", 2.0)]));
        assert_eq!(ratios, samples(&[("a", 1.5), ("b", 2.0)]));
        assert_eq!(ratios.best(), Some(("b", 2.0)));
        assert_eq!(ratios.worst(), Some(("a", 1.5)));
        assert_eq!(ratios.shown(), "a 1.500, b 2.000");
        assert_eq!(ratios.only(&["b"]).0.len(), 1);
    }
}
