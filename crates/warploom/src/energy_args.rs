//! Options of energy: `--energy` and `--volts`.

use crate::failure::Failure;
use crate::output::{error_style, note};
use std::path::Path;
use warploom_config::GpuSpec;
use warploom_energy::{EnergyPreset, attach, import, named, read};
use warploom_stats::result::RunReport;

/// Whether energy is computed, and by which preset.
#[derive(clap::Args)]
#[command(next_help_heading = "Energy")]
pub struct EnergyArgs {
    /// Compute energy and power by component; with a name or a file, by that energy preset
    /// (`warploom list energy`) or XML file of AccelWattch, else by that of the GPU
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

/// The energy preset that was asked for: one for all machines, or each machine's own.
pub struct EnergyChoice {
    named: Option<EnergyPreset>,
    volts: Option<f64>,
}

impl EnergyChoice {
    /// The preset for a machine.
    pub fn of(&self, gpu: &GpuSpec) -> Result<EnergyPreset, Failure> {
        let preset = match &self.named {
            Some(preset) => preset.clone(),
            None => named("", &gpu.name).map_err(Failure::Input)?,
        };
        Ok(match self.volts {
            Some(volts) => preset.at_volts(volts),
            None => preset,
        })
    }
}

impl EnergyArgs {
    /// The energy preset that was asked for, for any machine.
    pub fn choice(&self) -> Result<Option<EnergyChoice>, Failure> {
        let Some(name) = self.energy.as_deref() else {
            return Ok(None);
        };
        let named = match name {
            "" => None,
            name => Some(preset_named(name)?),
        };
        let volts = self.volts;
        Ok(Some(EnergyChoice { named, volts }))
    }

    /// The energy preset that was asked for, for a machine.
    pub fn preset(&self, gpu: &GpuSpec) -> Result<Option<EnergyPreset>, Failure> {
        self.choice()?.map(|choice| choice.of(gpu)).transpose()
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

/// A built-in preset, a preset in a file, or an imported one.
fn preset_named(name: &str) -> Result<EnergyPreset, Failure> {
    let is_xml = is_xml(Path::new(name));
    if !is_xml && !name.ends_with(".toml") {
        return named(name, "").map_err(Failure::Input);
    }
    let source = warploom_run::launch_file::read(Path::new(name))?;
    let wrong =
        |errors: warploom_energy::EnergyErrors| Failure::Input(errors.render(error_style()));
    if !is_xml {
        return read(&source).map_err(wrong);
    }
    let imported = import(&source).map_err(wrong)?;
    note(&format!(
        "note: {} values of {name}; `warploom import {name}` shows what it leaves open\n",
        imported.carried
    ));
    Ok(imported.preset)
}

/// True for the name of an XML file, which AccelWattch and GPUWattch use.
pub fn is_xml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("xml"))
}
