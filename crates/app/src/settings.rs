//! Settings of a program that runs under Warploom, passed in one environment variable.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use warploom_config::{Base, GpuSpec, find, resolve};
use warploom_diag::{Source, Style};
use warploom_energy::EnergyPreset;
use warploom_run::{Checks, Options, Timed};

/// Name of the environment variable. Its value is a JSON text of [`Settings`], as `warploom app`
/// writes it, or the path of a file with such a text. Without the variable, all settings have their
/// defaults.
pub const SETTINGS_VARIABLE: &str = "WARPLOOM_APP";

/// Optional check for errors that do not cause a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Check for loads of memory that was never written.
    Uninitialised,
    /// Check for races on shared memory.
    SharedRaces,
    /// Check for barriers that only a part of a warp reaches.
    Barriers,
    /// Place allocations with gaps, so that an overrun into the next one is a fault.
    Bounds,
}

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// GPU: the name of a preset, the path of a TOML file, or a TOML text that contains a line
    /// break.
    pub gpu: String,
    /// Keys of the GPU to change, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// True to execute kernels without timing.
    pub functional: bool,
    /// Number of host threads that simulate.
    pub threads: usize,
    /// Number of core cycles after which the GPU is stopped.
    pub max_cycles: Option<u64>,
    /// Timed launches, counted from 0. All launches are timed if not given.
    pub launches: Option<Range<u64>>,
    /// Bound of the relative error of the cycles, if only some launches are timed and all are
    /// estimated.
    pub sample_error: Option<f64>,
    /// Kernels that are timed, given by parts of their names. All kernels are timed if the list is
    /// empty.
    pub kernels: Vec<String>,
    /// Device memory in MiB.
    pub memory_mib: u64,
    /// True if an access is a fault only when no allocation is in the same unit of 2 MiB, as on a
    /// GPU.
    pub page_protection: bool,
    /// Optional checks whose findings are reported as warnings.
    pub check: Vec<CheckKind>,
    /// Registers per thread by kernel name or part of a name, mangled or plain. If several parts
    /// match a name, the longest one counts. Other kernels use the compiler's number.
    pub registers: BTreeMap<String, u32>,
    /// Compute capability that the program sees, such as 75 for 7.5. If not given, the one of the
    /// GPU.
    pub capability: Option<u32>,
    /// File for the result in JSON.
    pub stats: Option<PathBuf>,
    /// File for a timeline of every warp, for the Perfetto UI.
    pub trace: Option<PathBuf>,
    /// File for the report. If not given, the report is written to standard error.
    pub report: Option<PathBuf>,
    /// True to write no report.
    pub quiet: bool,
    /// Number of columns of the terminal that shows the report, if one does.
    pub width: Option<u16>,
    /// Length in core cycles of the windows in which counters are recorded.
    pub window_cycles: Option<u64>,
    /// Energy preset: an empty text for that of the GPU, a name, the path of a TOML file, or a TOML
    /// text that contains a line break. No energy is computed if not given.
    pub energy: Option<String>,
    /// Command line, which is stored in the result.
    pub command: String,
    /// File for checkpoints of the run, each of which replaces the last one.
    pub checkpoint: Option<PathBuf>,
    /// Core cycles from one checkpoint to the next, beside that at an early end.
    pub checkpoint_every: Option<u64>,
    /// Checkpoint from which the program goes on.
    pub resume: Option<PathBuf>,
    /// True if the program goes on with other policies than those of the checkpoint.
    pub fork: bool,
    /// Process with whose end this one ends, too, if it is the one that started it.
    pub ends_with: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gpu: "gtx480".to_owned(),
            set: Vec::new(),
            functional: false,
            threads: 1,
            max_cycles: None,
            launches: None,
            sample_error: None,
            kernels: Vec::new(),
            memory_mib: 4096,
            page_protection: false,
            check: Vec::new(),
            registers: BTreeMap::new(),
            capability: None,
            stats: None,
            trace: None,
            report: None,
            quiet: false,
            width: None,
            window_cycles: None,
            energy: None,
            command: String::new(),
            checkpoint: None,
            checkpoint_every: None,
            resume: None,
            fork: false,
            ends_with: None,
        }
    }
}

/// Reason for which settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("{SETTINGS_VARIABLE} names {path}, which cannot be read: {error}")]
    File {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The text is not a valid JSON text of settings.
    #[error(
        "{SETTINGS_VARIABLE} is not what Warploom writes: {0}; start the program with `warploom app`"
    )]
    Text(serde_json::Error),
    /// The description of the GPU is invalid. The text lists all problems.
    #[error("{0}")]
    Gpu(String),
    /// The program cannot go on from the file.
    #[error("cannot go on from {path}: {reason}")]
    Checkpoint {
        /// Path of the file.
        path: String,
        /// Reason why it is not usable.
        reason: String,
    },
    /// The energy preset does not exist or is invalid. The text lists all problems.
    #[error("{0}")]
    Energy(String),
}

impl Settings {
    /// Reads settings from the value of the environment variable.
    ///
    /// # Errors
    /// Fails if the value is neither a JSON text of settings nor the path of a file with one.
    pub fn read(value: Option<&str>) -> Result<Self, SettingsError> {
        let Some(value) = value.filter(|value| !value.trim().is_empty()) else {
            return Ok(Self::default());
        };
        let text = match value.trim_start().starts_with('{') {
            true => value.to_owned(),
            false => file(Path::new(value))?,
        };
        serde_json::from_str(&text).map_err(SettingsError::Text)
    }

    /// Specification of the GPU.
    ///
    /// # Errors
    /// Fails if there is no GPU of that name, or if a key is invalid.
    pub fn spec(&self) -> Result<GpuSpec, SettingsError> {
        let base = match self.gpu.contains('\n') {
            true => Base::Text(Source::new("the GPU", &self.gpu)),
            false if find(&self.gpu).is_none() && self.gpu.ends_with(".toml") => {
                Base::Text(Source::new(&self.gpu, file(Path::new(&self.gpu))?))
            }
            false => Base::Preset(self.gpu.clone()),
        };
        resolve(&base, &self.set).map_err(|error| SettingsError::Gpu(error.render(Style::Plain)))
    }

    /// Energy preset for the GPU, if the settings request energy.
    ///
    /// # Errors
    /// Fails if there is no such preset, or none for the GPU, or if a value is invalid.
    pub fn energy_preset(&self, gpu: &GpuSpec) -> Result<Option<EnergyPreset>, SettingsError> {
        let Some(given) = &self.energy else {
            return Ok(None);
        };
        let source = match given.contains('\n') {
            true => Some(Source::new("the energy preset", given)),
            false if given.ends_with(".toml") => Some(Source::new(given, file(Path::new(given))?)),
            false => None,
        };
        let preset = match source {
            Some(source) => warploom_energy::read(&source).map_err(|errors| errors.to_string()),
            None => warploom_energy::named(given, &gpu.name),
        };
        preset.map(Some).map_err(SettingsError::Energy)
    }

    /// Registers per thread of a kernel, if the settings give a number.
    pub(crate) fn registers_of(&self, kernel: &str) -> Option<u32> {
        let fits = self
            .registers
            .iter()
            .filter(|(part, _)| warploom_names::has_part(kernel, part));
        fits.max_by_key(|(part, _)| part.len())
            .map(|(_, count)| *count)
    }

    /// Optional checks in the form of the simulator's options.
    fn checks(&self) -> Checks {
        let has = |kind| self.check.contains(&kind);
        Checks {
            uninitialised: has(CheckKind::Uninitialised),
            shared_races: has(CheckKind::SharedRaces),
            barrier_divergence: has(CheckKind::Barriers),
            bounds: has(CheckKind::Bounds),
        }
    }

    /// Options of the simulation session.
    pub fn options(&self) -> Options {
        Options {
            threads: self.threads.max(1),
            max_cycles: self.max_cycles,
            functional: self.functional,
            timed: Timed {
                launches: self.launches.clone().unwrap_or(0..u64::MAX),
                kernels: self.kernels.clone(),
                ..Timed::default()
            },
            sample_error: self.sample_error,
            memory_bytes: self.memory_mib << 20,
            page_protection: self.page_protection,
            checks: self.checks(),
            window_cycles: self.window_cycles,
            command: self.command.clone(),
            ..Options::default()
        }
    }
}

/// Text of a file.
fn file(path: &Path) -> Result<String, SettingsError> {
    std::fs::read_to_string(path).map_err(|error| SettingsError::File {
        path: path.display().to_string(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn settings_come_back_as_they_went() {
        let settings = Settings {
            set: vec!["sm.warp_scheduler=lrr".to_owned()],
            launches: Some(2..5),
            sample_error: Some(0.02),
            capability: Some(75),
            ..Settings::default()
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(Settings::read(Some(&text)).unwrap(), settings);
        assert_eq!(Settings::read(None).unwrap(), Settings::default());
        assert_eq!(settings.options().timed.launches, 2..5);
    }

    #[test]
    fn the_longest_part_of_a_kernels_name_counts() {
        let counts = [("spmv", 20), ("spmv_csr", 30), ("", 8)];
        let registers = counts.map(|(part, count)| (part.to_owned(), count)).into();
        let settings = Settings {
            registers,
            ..Settings::default()
        };
        assert_eq!(settings.registers_of("_Z8spmv_csrPf"), Some(30));
        assert_eq!(settings.registers_of("_Z8spmv_ellPf"), Some(20));
        assert_eq!(settings.registers_of("add"), Some(8));
        let plain = Settings {
            registers: [("reduce<256>".to_owned(), 24)].into(),
            ..Settings::default()
        };
        assert_eq!(plain.registers_of("_Z6reduceILi256EEvPf"), Some(24));
        assert_eq!(plain.registers_of("_Z6reduceILi512EEvPf"), None);
        assert_eq!(Settings::default().registers_of("add"), None);
    }

    #[test]
    fn checks_have_the_names_of_the_command_line() {
        let text = "{\"check\": [\"shared-races\", \"barriers\", \"bounds\"]}";
        let checks = Settings::read(Some(text)).unwrap().options().checks;
        assert!(checks.shared_races && checks.barrier_divergence && !checks.uninitialised);
        assert!(checks.bounds);
    }

    #[test]
    fn energy_presets_come_by_name_text_and_gpu() {
        let of = |energy: Option<&str>, gpu: &str| {
            let settings = Settings {
                gpu: gpu.to_owned(),
                energy: energy.map(str::to_owned),
                ..Settings::default()
            };
            let preset = settings.energy_preset(&settings.spec().unwrap());
            let preset = preset.map_err(|error| error.to_string());
            preset.map(|preset| preset.map(|preset| preset.name))
        };
        let name = |name: &str| Ok(Some(name.to_owned()));
        assert_eq!(of(None, "gtx480"), Ok(None));
        assert_eq!(of(Some(""), "qv100-volta"), name("qv100"));
        assert_eq!(of(Some("qv100"), "gtx480"), name("qv100"));
        let text = "name = \"mine\"\nbase = \"qv100\"\n";
        assert_eq!(of(Some(text), "gtx480"), name("mine"));
        let wrong = of(Some("qv10"), "gtx480").unwrap_err();
        assert!(wrong.contains("did you mean `qv100`?"), "{wrong}");
        let wrong = of(Some("base = \"qv10\"\n"), "gtx480").unwrap_err();
        assert!(wrong.contains("the energy preset:1:"), "{wrong}");
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |value: &str| Settings::read(Some(value)).unwrap_err().to_string();
        assert!(told("{\"gpu\": 3}").contains("warploom app"));
        assert!(told("{\"gppu\": \"\"}").contains("unknown field `gppu`"));
        assert!(told("no/such/file").contains("no/such/file"));
        let unknown = Settings {
            gpu: "gtx48".to_owned(),
            ..Settings::default()
        };
        assert!(unknown.spec().unwrap_err().to_string().contains("gtx480"));
    }
}
