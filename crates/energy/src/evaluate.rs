//! From activity and preset to joules.

use crate::activity::Activity;
use crate::component::Component;
use crate::event::Event;
use crate::preset::{EnergyPreset, Power};
use crate::static_power::UnitMix;

/// Energy of an interval by component.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// Joules by component, in the order of [`Component::ALL`].
    pub joules: [f64; Component::ALL.len()],
}

impl Energy {
    /// Joules of one component.
    pub fn of(&self, component: Component) -> f64 {
        self.joules[component as usize]
    }

    /// Joules of all components.
    pub fn total(&self) -> f64 {
        self.joules.iter().sum()
    }

    /// Joules of events: without static, idle and constant power.
    pub fn dynamic(&self) -> f64 {
        let dynamic = Component::ALL.iter().filter(|part| !part.is_static());
        dynamic.map(|part| self.of(*part)).sum()
    }

    /// Mean power in watts; 0 of an empty interval.
    pub fn watts(&self) -> f64 {
        match self.seconds {
            0.0 => 0.0,
            seconds => self.total() / seconds,
        }
    }

    /// Energy-delay product in joule seconds.
    pub fn energy_delay(&self) -> f64 {
        self.total() * self.seconds
    }
}

/// Static power of an SM that holds blocks, in watts: what does not depend on events, chosen once
/// for a run so that its windows sum to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaticRate(f64);

impl StaticRate {
    /// The rate of an interval, by the units that worked in it and by their active lanes.
    pub fn of(preset: &EnergyPreset, activity: &Activity<'_>) -> Self {
        let power = preset.static_power(UnitMix::of(activity));
        Self(power.at(activity.lanes_per_warp()) / f64::from(preset.sms))
    }
}

/// Energy of an interval.
pub fn evaluate(preset: &EnergyPreset, activity: &Activity<'_>) -> Energy {
    evaluate_at(preset, activity, StaticRate::of(preset, activity))
}

/// Energy of an interval whose static power is that of another, such as the run that it is a
/// window of.
pub fn evaluate_at(preset: &EnergyPreset, activity: &Activity<'_>, rate: StaticRate) -> Energy {
    let mut energy = Energy {
        seconds: activity.seconds(),
        joules: [0.0; Component::ALL.len()],
    };
    let mut add = |part: Component, joules: f64| energy.joules[part as usize] += joules;
    for (event, joules) in Event::ALL.iter().zip(&preset.joules) {
        add(event.component, joules * (event.count)(activity));
    }
    let seconds = activity.seconds();
    let sm_seconds = |cycles: f64| cycles / activity.core_hz;
    let idle = preset.power(Power::IdleSm) * sm_seconds(activity.idle_sm_cycles());
    add(Component::IdleSms, idle);
    add(
        Component::Static,
        rate.0 * sm_seconds(activity.active_sm_cycles()),
    );
    add(
        Component::MemoryControllers,
        preset.power(Power::MemoryControllers) * seconds,
    );
    add(
        Component::Dram,
        preset.power(Power::DramBackground) * seconds,
    );
    add(Component::Constant, preset.power(Power::Constant) * seconds);
    energy
}
