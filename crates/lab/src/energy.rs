//! Energy of the runs of figures and comparisons, computed from stored results.

use crate::runs::UsedRun;
use warploom_config::GpuSpec;
use warploom_energy::{EnergyPreset, energy_of};
use warploom_report::page::Page;

/// Function that chooses the energy preset of a machine; `None` for a machine without one.
pub type ChooseEnergy<'a> = dyn Fn(&GpuSpec) -> Option<EnergyPreset> + 'a;

/// Adds energy to the runs of a page, which are those of `used` in their order.
pub fn add_energy(page: &mut Page, used: &[UsedRun], choose: &ChooseEnergy<'_>) {
    for (line, (spec, report)) in page.runs.iter_mut().zip(used) {
        let machine = &spec.machine.spec;
        let figures = &report.totals.figures;
        line.energy = choose(machine).and_then(|preset| energy_of(&preset, machine, figures));
    }
}
