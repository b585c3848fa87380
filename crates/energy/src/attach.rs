//! Energy as a part of a run's result.

use crate::activity::Activity;
use crate::component::Component;
use crate::evaluate::{Energy, StaticRate, evaluate, evaluate_at};
use crate::preset::EnergyPreset;
use std::collections::BTreeMap;
use warploom_config::GpuSpec;
use warploom_sample::estimate;
use warploom_stats::energy::EnergyReport;
use warploom_stats::result::{Counts, Figures, RunReport, Series};

/// Adds the energy of the run, of each launch that had the machine to itself, and of each window.
///
/// Windows take the static power of the run, so that they sum to it. Each launch takes its own.
pub fn attach(preset: &EnergyPreset, spec: &GpuSpec, run: &mut RunReport) {
    let whole = energy_of(preset, spec, &run.totals.figures);
    let rate = {
        let counts = &run.totals.figures.statistics;
        let cycles = run.totals.figures.cycles;
        StaticRate::of(
            preset,
            &Activity::new(spec, counts, cycles, preset.gated_lanes),
        )
    };
    if let Some(series) = &mut run.series {
        series.watts = watts(preset, spec, series, rate);
    }
    for kernel in &mut run.kernels {
        let alone = kernel.figures.contention.dram_full.is_some();
        kernel.figures.energy = match alone {
            true => energy_of(preset, spec, &kernel.figures),
            false => None,
        };
    }
    run.totals.figures.energy = whole;
    estimate_energy(run);
}

/// Adds the energy of all launches of a sampled run to its estimates.
fn estimate_energy(run: &mut RunReport) {
    let Some(report) = &mut run.sampling else {
        return;
    };
    let energy = run
        .kernels
        .iter()
        .map(|kernel| kernel.figures.energy.as_ref());
    let joules: Option<Vec<f64>> = energy.map(|energy| Some(energy?.joules)).collect();
    if let Some(joules) = joules {
        let joules = estimate(report, &joules);
        report.estimates.insert("energy.joules".to_owned(), joules);
    }
}

/// Energy of a run or a launch on a machine; `None` if it was not timed.
pub fn energy_of(preset: &EnergyPreset, spec: &GpuSpec, figures: &Figures) -> Option<EnergyReport> {
    if figures.cycles == 0 {
        return None;
    }
    let counts = &figures.statistics;
    let activity = Activity::new(spec, counts, figures.cycles, preset.gated_lanes);
    Some(report(preset, &evaluate(preset, &activity)))
}

/// Energy of an interval as a part of a result.
fn report(preset: &EnergyPreset, energy: &Energy) -> EnergyReport {
    let used = Component::ALL
        .iter()
        .filter(|part| energy.of(**part) != 0.0);
    EnergyReport {
        preset: preset.name.clone(),
        seconds: energy.seconds,
        joules: energy.total(),
        watts: energy.watts(),
        energy_delay: energy.energy_delay(),
        static_share: 1.0 - energy.dynamic() / energy.total(),
        components: used
            .map(|part| (part.key().to_owned(), energy.of(*part)))
            .collect(),
    }
}

/// Mean power of each window by component, those without any left out, and in all.
fn watts(
    preset: &EnergyPreset,
    spec: &GpuSpec,
    series: &Series,
    rate: StaticRate,
) -> BTreeMap<String, Vec<f64>> {
    let windows = series.start.iter().zip(&series.end).enumerate();
    let energies: Vec<Energy> = windows
        .map(|(at, (start, end))| {
            let columns = series.columns.iter();
            let counts: Counts = columns
                .map(|(name, values)| (name.clone(), values[at]))
                .collect();
            let activity = Activity::new(spec, &counts, end - start, preset.gated_lanes);
            evaluate_at(preset, &activity, rate)
        })
        .collect();
    let column = |of: &dyn Fn(&Energy) -> f64| -> Vec<f64> {
        let watts = |energy: &Energy| of(energy) / energy.seconds;
        energies.iter().map(watts).collect()
    };
    let mut watts = BTreeMap::from([("total".to_owned(), column(&Energy::total))]);
    for part in Component::ALL {
        let values = column(&|energy| energy.of(part));
        if values.iter().any(|value| *value != 0.0) {
            watts.insert(part.key().to_owned(), values);
        }
    }
    watts
}
