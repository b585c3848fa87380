//! The plan: strata of the launches so far, and the choice of the launches that are timed.
//!
//! The plan does not know how many launches will come, since programs whose launches depend on data
//! do not know it either. It meets the bound for the launches so far, at every launch.

use crate::estimate::{DISTURBANCE, Epoch, Pool, Stratum, Sum};
use crate::signature::Signature;
use std::collections::BTreeMap;
use warploom_base::Rng;

/// Number of launches of a stratum that are timed before its deviation counts as known.
const PILOT: u64 = 3;
/// Part of the bound that the plan aims at, because deviations are estimates.
const AIM: f64 = 0.8;
/// Smallest error of sampling that is planned for.
const SMALLEST_BOUND: f64 = 1e-6;

/// Reason for timing a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The launch is the first one of its kernel, whose caches are cold. It stands for itself.
    First,
    /// The stratum is not known yet.
    Pilot,
    /// The launch is the first one of its epoch, or was drawn from it, so that a stratum may change
    /// with time. In each epoch the number of launches of the stratum doubles.
    Check,
    /// The error of the cycles would exceed the bound, and the stratum has a large part in it.
    Bound,
}

impl Why {
    /// Name of the reason in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Pilot => "pilot",
            Self::Check => "check",
            Self::Bound => "bound",
        }
    }
}

/// Choice of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Number of its stratum.
    pub stratum: usize,
    /// Number of its epoch in the stratum.
    pub epoch: usize,
    /// Reason for timing it; `None` if it is executed without timing.
    pub why: Option<Why>,
}

/// Common properties of a stratum's launches, and the next check.
#[derive(Clone, Debug)]
struct Member {
    /// Signature of the first launch.
    leader: Signature,
    /// Number of the launch in the running epoch, counted from 1, that is drawn for a check. The
    /// first epoch has none, as all of its launches are timed.
    check: u64,
    rng: Rng,
}

impl Member {
    fn new(leader: Signature, stratum: usize) -> Self {
        Self {
            leader,
            check: 0,
            rng: Rng::new(stratum as u64),
        }
    }

    /// Draws the check of an epoch of the given length.
    fn draw(&mut self, length: u64) {
        let among = u32::try_from(length).unwrap_or(u32::MAX);
        self.check = 1 + u64::from(self.rng.below(among));
    }
}

/// Number of launches of an epoch. Each epoch is as long as all before together.
fn length(epoch: usize) -> u64 {
    PILOT << epoch.saturating_sub(1).min(48)
}

/// Plan of a sampled program.
#[derive(Clone, Debug)]
pub struct Plan {
    bound: f64,
    members: Vec<Member>,
    strata: Vec<Stratum>,
    /// Strata that further launches of a kernel may join.
    of_kernel: BTreeMap<u64, Vec<usize>>,
}

impl Plan {
    /// A plan that bounds the relative error of the cycles of all launches, at
    /// [`CONFIDENCE`](crate::CONFIDENCE).
    pub fn new(bound: f64) -> Self {
        Self {
            bound,
            members: Vec::new(),
            strata: Vec::new(),
            of_kernel: BTreeMap::new(),
        }
    }

    /// True if no launch of a kernel has been chosen. The first one is timed in any case.
    pub fn is_first(&self, kernel: u64) -> bool {
        !self.of_kernel.contains_key(&kernel)
    }

    /// Chooses whether the next launch of the program is timed. If it is, the caller times it and
    /// calls [`timed`](Self::timed) before it asks for the next one.
    pub fn choose(&mut self, launch: &Signature) -> Choice {
        if self.is_first(launch.kernel) {
            self.of_kernel.insert(launch.kernel, Vec::new());
            let stratum = self.add(launch);
            let epoch = self.count(stratum);
            let why = Some(Why::First);
            return Choice {
                stratum,
                epoch,
                why,
            };
        }
        let stratum = self.stratum_of(launch);
        let epoch = self.count(stratum);
        let why = self.reason(stratum, epoch);
        Choice {
            stratum,
            epoch,
            why,
        }
    }

    /// Notes the cycles of a launch that was timed.
    pub fn timed(&mut self, stratum: usize, epoch: usize, cycles: f64) {
        self.strata[stratum].add(epoch, cycles);
    }

    /// Number of launches of each epoch of a stratum.
    pub fn epochs(&self, stratum: usize) -> Vec<u64> {
        let epochs = self.strata[stratum].epochs.iter();
        epochs.map(|epoch| epoch.launches).collect()
    }

    /// Estimated mean cycles of the launches of a stratum, and the deviation of a launch as a
    /// fraction of the mean.
    pub fn cycles(&self, stratum: usize) -> (f64, f64) {
        let Stratum { timed, .. } = &self.strata[stratum];
        let deviation = Pool::of(&self.strata).deviation(timed);
        let launches = self.strata[stratum].launches().max(1) as f64;
        let mean = self.strata[stratum].sum() / launches;
        (mean, deviation / timed.mean.max(1.0))
    }

    fn add(&mut self, leader: &Signature) -> usize {
        let stratum = self.strata.len();
        self.members.push(Member::new(*leader, stratum));
        self.strata.push(Stratum::default());
        stratum
    }

    /// Counts a launch of a stratum, and returns its epoch.
    fn count(&mut self, stratum: usize) -> usize {
        let epochs = &mut self.strata[stratum].epochs;
        let running = epochs.len().saturating_sub(1);
        match epochs.last_mut() {
            Some(last) if last.launches < length(running) => last.launches += 1,
            _ => {
                let timed = Default::default();
                epochs.push(Epoch { launches: 1, timed });
                self.members[stratum].draw(length(epochs.len() - 1));
            }
        }
        epochs.len() - 1
    }

    /// The nearest stratum that a launch may join, or a new one without launches.
    fn stratum_of(&mut self, launch: &Signature) -> usize {
        let candidates = &self.of_kernel[&launch.kernel];
        let near = candidates.iter().filter_map(|stratum| {
            let distance = self.members[*stratum].leader.distance(launch)?;
            Some((*stratum, distance))
        });
        let nearest = near.min_by(|(_, a), (_, b)| a.total_cmp(b));
        nearest.map_or_else(|| self.open(launch), |(stratum, _)| stratum)
    }

    fn open(&mut self, launch: &Signature) -> usize {
        let stratum = self.add(launch);
        let joined = self.of_kernel.entry(launch.kernel).or_default();
        joined.push(stratum);
        stratum
    }

    /// Reason for timing the launch that was counted last.
    fn reason(&mut self, stratum: usize, epoch: usize) -> Option<Why> {
        if epoch == 0 {
            return Some(Why::Pilot);
        }
        let Epoch { launches, timed } = self.strata[stratum].epochs[epoch];
        if launches == 1 || launches == self.members[stratum].check {
            return Some(Why::Check);
        }
        (self.wanted(stratum, launches) > timed.count as f64).then_some(Why::Bound)
    }

    /// Number of launches to be timed in an epoch of a stratum that has `launches` so far (Neyman's
    /// allocation, with the cycles of a launch as its cost).
    fn wanted(&self, stratum: usize, launches: u64) -> f64 {
        let pool = Pool::of(&self.strata);
        let sum = Sum::of(&self.strata, &pool);
        // What launches that are not timed disturb is in the interval, too.
        let left = (self.bound * self.bound - DISTURBANCE * DISTURBANCE).max(0.0);
        let aim = (AIM * left.sqrt()).max(SMALLEST_BOUND) * sum.value / sum.quantile();
        let cost = |stratum: &Stratum| stratum.timed.mean.max(1.0).sqrt();
        let weight = |stratum: &Stratum| {
            let epochs = stratum.epochs.iter();
            let open = epochs.filter(|epoch| epoch.launches > epoch.timed.count);
            let launches: u64 = open.map(|epoch| epoch.launches).sum();
            launches as f64 * pool.deviation(&stratum.timed) * cost(stratum)
        };
        let all: f64 = self.strata.iter().map(weight).sum();
        let own = &self.strata[stratum];
        let deviation = pool.deviation(&own.timed);
        launches as f64 * deviation / cost(own) * all / (aim * aim)
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, Why};
    use crate::{Signature, interval};
    use warploom_base::Rng;

    /// A launch of a synthetic program: kernel, size, and its cycles if it is timed.
    type Synthetic = (u64, u64, f64);

    /// Result of a plan for a program: relative error, relative margin, reasons for timing.
    struct Planned {
        error: f64,
        margin: f64,
        why: Vec<(usize, Why)>,
    }

    fn carry_out(program: &[Synthetic], bound: f64) -> Planned {
        let mut plan = Plan::new(bound);
        let (mut values, mut why) = (Vec::new(), Vec::new());
        for (number, (kernel, size, cycles)) in program.iter().enumerate() {
            let choice = plan.choose(&Signature {
                kernel: *kernel,
                sizes: [*size; 4],
            });
            if let Some(reason) = choice.why {
                plan.timed(choice.stratum, choice.epoch, *cycles);
                values.push(((choice.stratum, choice.epoch), *cycles));
                why.push((number, reason));
            }
        }
        let truth: f64 = program.iter().map(|(.., cycles)| cycles).sum();
        let epochs: Vec<_> = (0..plan.strata.len()).map(|s| plan.epochs(s)).collect();
        let epochs: Vec<&[u64]> = epochs.iter().map(Vec::as_slice).collect();
        let estimate = interval(&epochs, &values);
        Planned {
            error: (estimate.value - truth) / truth,
            margin: estimate.margin / truth,
            why,
        }
    }

    /// A program of `launches` launches of three kernels, whose cycles scatter by `deviation`.
    fn scattered(seed: u64, launches: usize, deviation: f64) -> Vec<Synthetic> {
        let mut rng = Rng::new(seed);
        let means = [1000.0, 5000.0, 200.0];
        let launch = |number: usize| {
            let kernel = number % 3;
            let cycles = means[kernel] * (1.0 + deviation * rng.normal_f64());
            (kernel as u64, 1000, cycles.max(1.0))
        };
        (0..launches).map(launch).collect()
    }

    /// Over many programs, the interval contains the true value about as often as it says, and is
    /// seldom wider than the bound.
    #[test]
    fn intervals_cover_the_true_value_and_meet_the_bound() {
        for (deviation, bound) in [(0.01, 0.02), (0.05, 0.02), (0.2, 0.05)] {
            let runs = (0..200).map(|seed| carry_out(&scattered(seed, 1000, deviation), bound));
            let runs: Vec<Planned> = runs.collect();
            let covered = runs.iter().filter(|run| run.error.abs() <= run.margin);
            let covered = covered.count();
            let met = runs.iter().filter(|run| run.margin <= bound).count();
            assert!(covered >= 180, "{deviation}: {covered} of 200 covered");
            assert!(met >= 190, "{deviation}: {met} of 200 met the bound");
        }
    }

    #[test]
    fn few_of_equal_launches_are_timed() {
        let planned = carry_out(&scattered(1, 10_000, 0.0), 0.02);
        // Three first launches, three pilots each, and at most two checks in each of eleven epochs.
        assert!(planned.why.len() <= 3 + 9 + 3 * 22, "{}", planned.why.len());
        assert!(planned.error.abs() < 1e-9);
    }

    #[test]
    fn a_scattered_stratum_gets_more_than_an_even_one() {
        let mut rng = Rng::new(5);
        let launch = |number: usize| {
            let scatter = if number.is_multiple_of(2) { 0.3 } else { 0.001 };
            let cycles = 1000.0 * (1.0 + scatter * rng.normal_f64());
            (number as u64 % 2, 10, cycles.max(1.0))
        };
        let program: Vec<Synthetic> = (0..4000).map(launch).collect();
        let planned = carry_out(&program, 0.02);
        let of_kernel = |kernel: usize| {
            let bound = planned.why.iter().filter(|(_, why)| *why == Why::Bound);
            bound.filter(|(number, _)| number % 2 == kernel).count()
        };
        assert!(of_kernel(0) > 100, "{}", of_kernel(0));
        assert!(of_kernel(1) * 5 < of_kernel(0), "{}", of_kernel(1));
    }

    /// A kernel that takes longer from the middle of the program on, with equal signatures.
    #[test]
    fn a_change_with_time_is_noticed_by_checks() {
        let launch = |number: usize| (0, 10, if number < 500 { 1000.0 } else { 1500.0 });
        let program: Vec<Synthetic> = (0..1000).map(launch).collect();
        let planned = carry_out(&program, 0.05);
        assert!(planned.error.abs() <= planned.margin, "{}", planned.error);
        assert!(
            planned
                .why
                .iter()
                .any(|(n, why)| *n >= 500 && *why == Why::Check)
        );
    }

    /// Launches of one kernel whose sizes double are in strata of their own, all of them timed.
    #[test]
    fn different_sizes_are_different_strata() {
        let program: Vec<Synthetic> = (0..12).map(|n| (0, 1 << n, f64::from(1 << n))).collect();
        let planned = carry_out(&program, 0.02);
        let why: Vec<Why> = planned.why.iter().map(|(_, why)| *why).collect();
        assert_eq!(why, [&[Why::First][..], &[Why::Pilot; 11]].concat());
        assert_eq!((planned.error, planned.margin), (0.0, 0.0));
    }

    #[test]
    fn equal_programs_give_equal_plans() {
        let of = || carry_out(&scattered(9, 500, 0.1), 0.03).why;
        assert_eq!(of(), of());
    }
}
