//! Whole programs: each launch's cycles beside GPGPU-Sim's.
//!
//! Programs are built by whoever measures and are no part of this project; figures are. GPGPU-Sim's
//! were recorded once, ours are what `cargo xtask fidelity --programs FOLDER` measured last.

mod measure;
mod page;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use measure::{build, measure};
pub use page::{TITLE, section};

/// What GPGPU-Sim reported.
const THEIRS: &str = include_str!("../../data/gpgpusim-4.2-programs.json");
/// What Warploom came to, from the workspace's root.
const OURS: &str = "xtask/data/warploom-programs.json";

/// Programs as GPGPU-Sim ran them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// What ran, and how programs were built.
    pub source: String,
    /// The programs, in the order of the page.
    pub programs: Vec<Program>,
}

/// A program and GPGPU-Sim's launches of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name, and that of its folder.
    pub name: String,
    /// Where its source is from.
    pub suite: String,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// What lies in the files that it reads; empty where it reads none.
    pub input: String,
    /// Launches by configuration.
    pub runs: Runs,
}

/// Launches in their order, by GPGPU-Sim's name of the configuration.
pub type Runs = BTreeMap<String, Vec<Launch>>;

/// Figures of one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The kernel, as the PTX calls it.
    pub kernel: String,
    /// Core cycles.
    pub cycles: u64,
    /// Thread instructions.
    pub instructions: u64,
}

/// Programs as Warploom ran them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Our version.
    pub version: String,
    /// Launches by program.
    pub programs: BTreeMap<String, Runs>,
}

/// A program's launches on one configuration, in pairs.
pub struct Pairs<'a> {
    /// GPGPU-Sim's name of the configuration.
    pub configuration: &'a str,
    /// GPGPU-Sim's launch and ours.
    pub launches: Vec<(&'a Launch, &'a Launch)>,
}

/// Reads the recorded figures of GPGPU-Sim.
pub fn recorded() -> Result<Recorded> {
    serde_json::from_str(THEIRS).context("cannot read the recorded programs")
}

/// Our figures, as they were measured last.
pub fn measured(root: &Path) -> Result<Measured> {
    let text = super::read(&root.join(OURS))?;
    serde_json::from_str(&text).with_context(|| format!("cannot read {OURS}"))
}

/// Writes Warploom's figures to their file.
pub fn keep(measured: &Measured, root: &Path) -> Result<()> {
    super::replace(&root.join(OURS), &measured.text())
}

impl Measured {
    /// JSON with a launch a line, so that a change is seen where it is.
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
    /// Its launches on every configuration beside ours.
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

    /// Both sides launched the same kernels.
    fn check_kernels(&self, theirs: &[Launch], ours: &[Launch]) -> Result<()> {
        let differs = |(a, b): (&Launch, &Launch)| a.kernel != b.kernel;
        let differing = theirs.iter().zip(ours).position(differs);
        ensure!(
            theirs.len() == ours.len() && differing.is_none(),
            "{}: {} launches, of GPGPU-Sim {}; the first other kernel at {differing:?}",
            self.name,
            ours.len(),
            theirs.len(),
        );
        Ok(())
    }
}

impl Pairs<'_> {
    /// Cycles of all launches: GPGPU-Sim's and ours.
    pub fn totals(&self) -> (u64, u64) {
        let sum = |of: fn(&(&Launch, &Launch)) -> u64| self.launches.iter().map(of).sum();
        (sum(|pair| pair.0.cycles), sum(|pair| pair.1.cycles))
    }
}

/// How far ours is off, as a share of theirs.
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
        let bfs = "- SM2_GTX480, bfs: `Kernel2`, 10 of 10 launches, the furthest +10.0 %\n";
        assert!(text.contains(bfs), "{text}");
        // 3,126 cycles of GPGPU-Sim, whose eleventh tenth is cut off.
        assert!(text.contains("| 1 | Kernel | 81,992 | 3,126 | 3,438 | +10.0 % |\n"));
        let mut equal = slower(&recorded);
        for program in &recorded.programs {
            let runs = program.runs.clone();
            equal.programs.insert(program.name.clone(), runs);
        }
        let text = section(&recorded, &equal).unwrap();
        assert!(text.contains("are more than 3.0 % off\n\nNone.\n"));
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
        assert!(error.to_string().contains("of GPGPU-Sim"), "{error}");
    }
}
