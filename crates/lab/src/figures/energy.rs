//! Energy in figures of several papers: what is saved, and what that depends on.
//!
//! Energy that is drawn over time (static, idle and constant power) follows the time that a run
//! takes, and energy of events follows its work. How much a faster run saves therefore depends on
//! the share of the two, which the papers do not print. Figures state what is saved with the
//! preset's own share and with shares of 30 and 60 %.

use warploom_config::GpuSpec;
use warploom_energy::{EnergyPreset, energy_of, for_gpu};
use warploom_stats::result::Figures;

/// Lowest and highest share of energy that is drawn over time in the run that others are compared
/// with.
pub(super) const SHARES: [f64; 2] = [0.3, 0.6];

/// Energy of a run in joules, and its time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub dynamic: f64,
    pub over_time: f64,
    pub seconds: f64,
}

impl Parts {
    /// Energy of a run or a launch; nothing of one that was not timed.
    pub fn of(preset: &EnergyPreset, spec: &GpuSpec, figures: &Figures) -> Self {
        let Some(energy) = energy_of(preset, spec, figures) else {
            return Self::default();
        };
        let over_time = energy.static_share * energy.joules;
        Self {
            dynamic: energy.joules - over_time,
            over_time,
            seconds: energy.seconds,
        }
    }

    /// Energy of several launches, one after the other.
    pub fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, part| Self {
            dynamic: sum.dynamic + part.dynamic,
            over_time: sum.over_time + part.over_time,
            seconds: sum.seconds + part.seconds,
        })
    }

    pub fn joules(&self) -> f64 {
        self.dynamic + self.over_time
    }

    /// Share of the energy that is drawn over time.
    pub fn share(&self) -> f64 {
        self.over_time / self.joules()
    }

    /// Mean power of events in watts.
    pub fn dynamic_watts(&self) -> f64 {
        self.dynamic / self.seconds
    }

    /// Percent of energy that this run saves against another.
    pub fn saved(&self, base: &Self) -> f64 {
        100.0 * (1.0 - self.joules() / base.joules())
    }

    /// Percent of energy that this run would save if the other drew this share of its energy over
    /// time.
    pub fn saved_at(&self, base: &Self, share: f64) -> f64 {
        let dynamic = (1.0 - share) * self.dynamic / base.dynamic;
        let over_time = share * self.seconds / base.seconds;
        100.0 * (1.0 - dynamic - over_time)
    }
}

/// Energy preset of a paper's machine.
pub(super) fn preset_of(gpu: &str) -> EnergyPreset {
    for_gpu(gpu).unwrap_or_else(|| panic!("{gpu} has no energy preset"))
}

#[cfg(test)]
mod tests {
    use super::Parts;

    /// A run of half the time that uses nine tenths of the dynamic energy of another.
    #[test]
    fn savings_by_hand() {
        let base = Parts {
            dynamic: 3.0,
            over_time: 2.0,
            seconds: 4.0,
        };
        let ours = Parts {
            dynamic: 2.7,
            over_time: 1.0,
            seconds: 2.0,
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, {b}");
        near(base.share(), 0.4);
        near(ours.saved(&base), 100.0 * (1.0 - 3.7 / 5.0));
        // At the run's own share both are the same, since power over time is constant here.
        near(ours.saved_at(&base, 0.4), ours.saved(&base));
        near(ours.saved_at(&base, 0.0), 10.0);
        near(ours.saved_at(&base, 1.0), 50.0);
        near(ours.dynamic_watts(), 1.35);
        let both = Parts::sum([base, ours].into_iter());
        near(both.joules(), 8.7);
        near(both.seconds, 6.0);
    }
}
