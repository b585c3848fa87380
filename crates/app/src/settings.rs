//! What a program under Warploom is told, in one environment variable.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use warploom_config::{Base, GpuSpec, find, resolve};
use warploom_diag::{Source, Style};
use warploom_run::{Checks, Options, Timed};

/// The variable: a JSON text of [`Settings`] (`warploom app` writes it), or the path of a file with
/// one. Without it everything is as it is without options.
pub const SETTINGS_VARIABLE: &str = "WARPLOOM_APP";

/// What is looked for that no fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Loads of memory that nobody wrote.
    Uninitialised,
    /// Races on shared memory.
    SharedRaces,
    /// Barriers that a part of a warp reaches.
    Barriers,
}

/// Options of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The GPU: a preset's name, a TOML file's path, or a TOML text (with a line break).
    pub gpu: String,
    /// Keys to change of it, `KEY=VALUE`.
    pub set: Vec<String>,
    /// Execute only, without timing.
    pub functional: bool,
    /// Threads that simulate.
    pub threads: usize,
    /// Stop the GPU after this many core cycles.
    pub max_cycles: Option<u64>,
    /// First launch that is timed, counted from 0, and the one behind the last.
    pub launches: Option<Range<u64>>,
    /// Kernels that are timed, by parts of their names; all if there is none.
    pub kernels: Vec<String>,
    /// Device memory in MiB.
    pub memory_mib: u64,
    /// Only accesses outside pages of 2 MiB with something allocated are faults, as on a GPU.
    pub page_protection: bool,
    /// What is looked for and warned of.
    pub check: Vec<CheckKind>,
    /// Registers of a thread by names of kernels, or by parts of names: of several that fit the
    /// longest counts. Of other kernels as the compiler counts.
    pub registers: BTreeMap<String, u32>,
    /// Compute capability that the program is told, 75 for 7.5; the machine's own if not given.
    pub capability: Option<u32>,
    /// Where the result goes, as JSON.
    pub stats: Option<PathBuf>,
    /// Where a timeline of every warp goes, for the Perfetto UI.
    pub trace: Option<PathBuf>,
    /// Where the report goes; standard error if not given.
    pub report: Option<PathBuf>,
    /// No report at all.
    pub quiet: bool,
    /// Counters in windows of this many core cycles.
    pub window_cycles: Option<u64>,
    /// The command line, for the result.
    pub command: String,
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
            window_cycles: None,
            command: String::new(),
        }
    }
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("{SETTINGS_VARIABLE} names {path}, which cannot be read: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// No such text.
    #[error(
        "{SETTINGS_VARIABLE} is not what Warploom writes: {0}; start the program with `warploom app`"
    )]
    Text(serde_json::Error),
    /// The GPU, rendered with every problem.
    #[error("{0}")]
    Gpu(String),
}

impl Settings {
    /// Settings from the variable's value.
    ///
    /// # Errors
    /// When it is neither a text nor a file of settings.
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

    /// The machine.
    ///
    /// # Errors
    /// When there is none of that name or a key is wrong.
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

    /// Registers of a thread of a kernel, where they are said.
    pub(crate) fn registers_of(&self, kernel: &str) -> Option<u32> {
        let fits = self
            .registers
            .iter()
            .filter(|(part, _)| kernel.contains(part.as_str()));
        fits.max_by_key(|(part, _)| part.len())
            .map(|(_, count)| *count)
    }

    fn checks(&self) -> Checks {
        let has = |kind| self.check.contains(&kind);
        Checks {
            uninitialised: has(CheckKind::Uninitialised),
            shared_races: has(CheckKind::SharedRaces),
            barrier_divergence: has(CheckKind::Barriers),
        }
    }

    /// How the session is made.
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
            memory_bytes: self.memory_mib << 20,
            page_protection: self.page_protection,
            checks: self.checks(),
            window_cycles: self.window_cycles,
            command: self.command.clone(),
            ..Options::default()
        }
    }
}

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
        assert_eq!(Settings::default().registers_of("add"), None);
    }

    #[test]
    fn checks_have_the_names_of_the_command_line() {
        let text = "{\"check\": [\"shared-races\", \"barriers\"]}";
        let checks = Settings::read(Some(text)).unwrap().options().checks;
        assert!(checks.shared_races && checks.barrier_divergence && !checks.uninitialised);
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
