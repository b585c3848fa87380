//! Compares the cycles of each launch of whole programs with GPGPU-Sim's.
//!
//! The programs are not part of this project and must be built by the user; their figures are part
//! of it. GPGPU-Sim's figures were recorded once. Ours are those that
//! `cargo xtask fidelity --programs FOLDER` measured last.

mod measure;
mod page;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use measure::{build, measure};
pub use page::{TITLE, section};

/// Recorded figures of GPGPU-Sim.
const THEIRS: &str = include_str!("../../data/gpgpusim-4.2-programs.json");
/// Path of Warploom's figures, relative to the workspace's root.
const OURS: &str = "xtask/data/warploom-programs.json";

/// Programs as GPGPU-Sim ran them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Description of the simulator and of how the programs were built.
    pub source: String,
    /// The programs, in the order of the page.
    pub programs: Vec<Program>,
}

/// A program and GPGPU-Sim's launches of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name of the program and of its folder.
    pub name: String,
    /// Name of the suite that contains it.
    pub suite: String,
    /// Command-line arguments of the program.
    pub arguments: Vec<String>,
    /// Description of its input files; empty if it has none.
    pub input: String,
    /// Launches of the program by configuration.
    pub runs: Runs,
}

/// Launches in their order, by GPGPU-Sim's name of the configuration.
pub type Runs = BTreeMap<String, Vec<Launch>>;

/// Figures of one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Number of core cycles.
    pub cycles: u64,
    /// Number of thread instructions.
    pub instructions: u64,
}

/// Programs as Warploom ran them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Version of this program.
    pub version: String,
    /// Launches of each program.
    pub programs: BTreeMap<String, Runs>,
}

/// A program's launches on one configuration, in pairs.
pub struct Pairs<'a> {
    /// GPGPU-Sim's name of the configuration.
    pub configuration: &'a str,
    /// Pairs of GPGPU-Sim's launch and ours.
    pub launches: Vec<(&'a Launch, &'a Launch)>,
}

/// Reads the recorded figures of GPGPU-Sim.
pub fn recorded() -> Result<Recorded> {
    serde_json::from_str(THEIRS).context("cannot read the recorded programs")
}

/// Reads our figures of the last measurement.
pub fn measured(root: &Path) -> Result<Measured> {
    let text = super::read(&root.join(OURS))?;
    serde_json::from_str(&text).with_context(|| format!("cannot read {OURS}"))
}

/// Writes Warploom's figures to their file.
pub fn keep(measured: &Measured, root: &Path) -> Result<()> {
    super::replace(&root.join(OURS), &measured.text())
}

impl Measured {
    /// JSON with one launch per line, so that differences between versions are easy to read.
    fn text(&self) -> String {
        let launch = |launch: &Launch| format!("   {}", json!(launch));
        let run = |(configuration, launches): (&String, &Vec<Launch>)| {
            let launches = joined(launches.iter().map(launch));
            format!("  {}: [\n{launches}\n  ]", json!(configuration))
        };
        let program = |(name, runs): (&String, &Runs)| {
            let runs = joined(runs.iter().map(run));
            format!(" {}: {{\n{runs}\n }}", json!(name))
        };
        let programs = joined(self.programs.iter().map(program));
        let version = json!(self.version);
        format!("{{\n\"version\": {version},\n\"programs\": {{\n{programs}\n}}\n}}\n")
    }
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join(",\n")
}

impl Program {
    /// Pairs of its launches on every configuration.
    pub fn pairs<'a>(&'a self, ours: &'a Measured) -> Result<Vec<Pairs<'a>>> {
        let runs = ours.programs.get(&self.name);
        let runs = runs.with_context(|| format!("{} was not measured", self.name))?;
        let pairs = |(configuration, theirs): (&'a String, &'a Vec<Launch>)| {
            let ours = runs.get(configuration);
            let ours = ours.with_context(|| format!("{}: no {configuration}", self.name))?;
            self.check_kernels(theirs, ours)?;
            Ok(Pairs {
                configuration,
                launches: theirs.iter().zip(ours).collect(),
            })
        };
        self.runs.iter().map(pairs).collect()
    }

    /// Checks that both simulators launched the same kernels.
    fn check_kernels(&self, theirs: &[Launch], ours: &[Launch]) -> Result<()> {
        let differs = |(a, b): (&Launch, &Launch)| a.kernel != b.kernel;
        let differing = theirs.iter().zip(ours).position(differs);
        ensure!(
            theirs.len() == ours.len() && differing.is_none(),
            "{}: {} launches, GPGPU-Sim has {}; first different kernel: {differing:?}",
            self.name,
            ours.len(),
            theirs.len(),
        );
        Ok(())
    }
}

impl Pairs<'_> {
    /// Total cycles of all launches: GPGPU-Sim's and ours.
    pub fn totals(&self) -> (u64, u64) {
        let sum = |of: fn(&(&Launch, &Launch)) -> u64| self.launches.iter().map(of).sum();
        (sum(|pair| pair.0.cycles), sum(|pair| pair.1.cycles))
    }
}

/// Relative difference of our value from theirs.
pub fn off_by(theirs: u64, ours: u64) -> f64 {
    (ours as f64 - theirs as f64) / (theirs.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::{Launch, Measured, Program, Recorded, Runs, measured, recorded, section};
    use crate::root;

    /// GPGPU-Sim's own launches as ours, each a tenth slower.
    fn slower(recorded: &Recorded) -> Measured {
        let slower = |launch: &Launch| Launch {
            cycles: launch.cycles * 11 / 10,
            ..launch.clone()
        };
        let runs = |program: &Program| -> Runs {
            let runs = program.runs.iter();
            runs.map(|(name, launches)| (name.clone(), launches.iter().map(slower).collect()))
                .collect()
        };
        let programs = recorded.programs.iter();
        Measured {
            version: "1".to_owned(),
            programs: programs.map(|p| (p.name.clone(), runs(p))).collect(),
        }
    }

    #[test]
    fn the_kept_figures_are_those_of_the_recorded_programs() {
        let (recorded, ours) = (recorded().unwrap(), measured(&root()).unwrap());
        assert!(recorded.programs.len() >= 15);
        for program in &recorded.programs {
            assert_eq!(program.pairs(&ours).unwrap().len(), 2, "{}", program.name);
        }
        assert_eq!(ours.programs.len(), recorded.programs.len());
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let ours = slower(&recorded().unwrap());
        let again: Measured = serde_json::from_str(&ours.text()).unwrap();
        assert_eq!(again.programs, ours.programs);
        assert_eq!(again.version, "1");
    }

    #[test]
    fn a_launch_that_is_far_off_is_listed() {
        let recorded = recorded().unwrap();
        let text = section(&recorded, &slower(&recorded)).unwrap();
        let bfs = "- SM2_GTX480, bfs: `Kernel2`, 10 of 10 launches, at most +10.0 %\n";
        assert!(text.contains(bfs), "{text}");
        // 1.1 times GPGPU-Sim's 3,126 cycles, rounded down.
        assert!(text.contains("| 1 | Kernel | 81,992 | 3,126 | 3,438 | +10.0 % |\n"));
        let mut equal = slower(&recorded);
        for program in &recorded.programs {
            let runs = program.runs.clone();
            equal.programs.insert(program.name.clone(), runs);
        }
        let text = section(&recorded, &equal).unwrap();
        assert!(text.contains("differ by more than 3.0 %\n\nNone.\n"));
    }

    #[test]
    fn another_kernel_is_no_pair() {
        let recorded = recorded().unwrap();
        let mut ours = slower(&recorded);
        let first = &recorded.programs[0];
        let runs = ours.programs.get_mut(&first.name).unwrap();
        runs.values_mut().for_each(|launches| {
            launches.pop();
        });
        let Err(error) = first.pairs(&ours) else {
            panic!("accepted");
        };
        assert!(error.to_string().contains("GPGPU-Sim has"), "{error}");
    }
}
