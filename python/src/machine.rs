//! Machines: presets and files with changed keys.

use crate::errors::input_error;
use pyo3::prelude::*;
use std::path::Path;
use warploom_config::{Base, GpuSpec, PRESETS, Preset, Setting, Sheet, find, resolve};
use warploom_run::launch_file::read;

/// Machine whose configuration has been checked.
#[pyclass(frozen)]
pub struct Machine {
    pub(crate) spec: GpuSpec,
    about: Option<String>,
}

#[pymethods]
impl Machine {
    /// Resolves a preset or a TOML file with changes of the form `key=value`.
    #[new]
    fn new(py: Python<'_>, name: &str, sets: Vec<String>) -> PyResult<Self> {
        let base = base(name).map_err(|message| input_error(py, &message))?;
        let spec = resolve(&base, &sets).map_err(|errors| input_error(py, &errors.to_string()))?;
        let about = find(name).map(Preset::about);
        Ok(Self { spec, about })
    }

    /// Name of the machine.
    #[getter]
    fn name(&self) -> &str {
        &self.spec.name
    }

    /// Description of the preset with its sources; `None` for a file.
    #[getter]
    fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// Values of all keys.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        let keys = pyo3::types::PyDict::new(py);
        for (key, setting) in self.spec.settings() {
            match setting {
                Setting::Bool(on) => keys.set_item(key, on)?,
                Setting::Integer(number) => keys.set_item(key, number)?,
                Setting::Float(number) => keys.set_item(key, number)?,
                Setting::Text(text) => keys.set_item(key, text)?,
            }
        }
        Ok(keys)
    }

    /// Data sheet of the machine as JSON: what follows from its specification.
    fn sheet(&self) -> String {
        serde_json::to_string(&Sheet::new(&self.spec)).unwrap_or_default()
    }

    /// The specification as a TOML file.
    fn to_toml(&self) -> String {
        self.spec.to_toml()
    }
}

/// The preset or file with this name.
fn base(name: &str) -> Result<Base, String> {
    let is_file = name.ends_with(".toml") || Path::new(name).components().count() > 1;
    if is_file {
        let file = read(Path::new(name)).map_err(|errors| errors.to_string())?;
        return Ok(Base::Text(file));
    }
    Ok(Base::Preset(name.to_owned()))
}

/// Names and descriptions of all presets.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, String)> {
    let row = |preset: &Preset| (preset.name, preset.about());
    PRESETS.iter().map(row).collect()
}
