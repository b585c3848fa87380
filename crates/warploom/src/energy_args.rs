//! Options of energy: `--energy` and `--volts`.

use crate::failure::Failure;
use crate::output::error_style;
use std::path::Path;
use warploom_config::GpuSpec;
use warploom_diag::nearest;
use warploom_energy::{EnergyPreset, PRESETS, attach, find, for_gpu, read};
use warploom_stats::result::RunReport;

/// Whether energy is computed, and by which preset.
#[derive(clap::Args)]
#[command(next_help_heading = "Energy")]
pub struct EnergyArgs {
    /// Compute energy and power by component; with a name or a file, by that energy preset
    /// (`warploom list energy`), else by that of the GPU
    #[arg(
        long,
        value_name = "PRESET-or-FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    energy: Option<String>,
    /// Supply voltage, where the energy preset's is 1.0 or what it says: energies of events grow
    /// with its square
    #[arg(long, value_name = "V", requires = "energy", value_parser = volts)]
    volts: Option<f64>,
}

fn volts(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(volts) if volts.is_finite() && volts > 0.0 => Ok(volts),
        _ => Err("write a number above 0, for example 0.9".to_owned()),
    }
}

impl EnergyArgs {
    /// The energy preset that was asked for.
    pub fn preset(&self, gpu: &GpuSpec) -> Result<Option<EnergyPreset>, Failure> {
        let Some(name) = self.energy.as_deref() else {
            return Ok(None);
        };
        let preset = match name {
            "" => for_gpu(&gpu.name).ok_or_else(|| no_preset_of(&gpu.name))?,
            name => named(name)?,
        };
        Ok(Some(match self.volts {
            Some(volts) => preset.at_volts(volts),
            None => preset,
        }))
    }

    /// True if energy is asked for.
    pub fn given(&self) -> bool {
        self.energy.is_some()
    }
}

/// Adds energy to a result.
pub fn with_energy(
    preset: Option<&EnergyPreset>,
    gpu: &GpuSpec,
    mut result: RunReport,
) -> RunReport {
    if let Some(preset) = preset {
        attach(preset, gpu, &mut result);
    }
    result
}

fn named(name: &str) -> Result<EnergyPreset, Failure> {
    if !name.ends_with(".toml") {
        return find(name).ok_or_else(|| unknown(name));
    }
    let source = warploom_run::launch_file::read(Path::new(name))?;
    read(&source).map_err(|errors| Failure::Input(errors.render(error_style())))
}

fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|row| row.name)
}

fn unknown(name: &str) -> Failure {
    let help = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "write one of {}, or a file that ends in .toml",
            names().collect::<Vec<_>>().join(", ")
        ),
    };
    Failure::Input(format!(
        "there is no energy preset `{name}`\n  = help: {help}"
    ))
}

fn no_preset_of(gpu: &str) -> Failure {
    Failure::Input(format!(
        "there is no energy preset for {gpu}\n  = help: name one with --energy=PRESET ({}), or a \
         file of your own",
        names().collect::<Vec<_>>().join(", ")
    ))
}
