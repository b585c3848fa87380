//! Scaling of a preset to another GPU: one factor for each group of values.

use crate::component::Component;
use crate::event::Event;
use crate::preset::{EnergyPreset, Power};

/// A group of values that a derived preset scales with one factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Energies of all events on the GPU's own chip.
    Events,
    /// Energies of DRAM's commands.
    Dram,
    /// Static power of SMs with blocks, and power of idle SMs.
    Static,
    /// Power of the memory controllers and of DRAM without accesses.
    Memory,
}

impl Scale {
    /// All groups of values.
    pub const ALL: [Self; 4] = [Self::Events, Self::Dram, Self::Static, Self::Memory];

    /// Key in the table `scale` of an energy preset.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Dram => "dram",
            Self::Static => "static",
            Self::Memory => "memory",
        }
    }

    /// Multiplies the group's values by a factor.
    pub fn apply(self, factor: f64, preset: &mut EnergyPreset) {
        match self {
            Self::Events => events(preset, factor, |part| part != Component::Dram),
            Self::Dram => events(preset, factor, |part| part == Component::Dram),
            Self::Static => {
                preset.watts[Power::IdleSm as usize] *= factor;
                for power in &mut preset.statics {
                    power.first_lane_w *= factor;
                    power.added_lane_w *= factor;
                }
            }
            Self::Memory => {
                for power in [Power::MemoryControllers, Power::DramBackground] {
                    preset.watts[power as usize] *= factor;
                }
            }
        }
    }
}

fn events(preset: &mut EnergyPreset, factor: f64, is_in: impl Fn(Component) -> bool) {
    let joules = Event::ALL.iter().zip(&mut preset.joules);
    let group = joules.filter(|(event, _)| is_in(event.component));
    group.for_each(|(_, joules)| *joules *= factor);
}
