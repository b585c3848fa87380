//! Runs the programs under `warploom app`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use warploom_stats::result::{KernelReport, RunReport};

use super::{Launch, Measured, Program, Recorded, Runs};
use crate::fidelity::{CONFIGURATIONS, read};

/// Name of the executable in a program's folder.
const EXECUTABLE: &str = "program";

/// Runs every recorded program in `folder` on every configuration for which it was recorded.
///
/// `folder` contains a folder for each program, with the program's name, its executable `program`
/// and the files that it reads. The program runs in that folder and may write there. The runtime
/// library of `warploom` must be in the same folder as `warploom`.
pub fn measure(recorded: &Recorded, folder: &Path, warploom: &Path) -> Result<Measured> {
    let results = folder.join("results");
    fs::create_dir_all(&results)?;
    let runner = Runner {
        folder: &fs::canonicalize(folder)?,
        warploom: &fs::canonicalize(warploom)?,
    };
    let mut programs = BTreeMap::new();
    for program in &recorded.programs {
        programs.insert(program.name.clone(), runner.runs(program)?);
    }
    Ok(Measured {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        programs,
    })
}

/// Builds `warploom` and its runtime library, and returns the path of `warploom`.
pub fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--locked"]);
    cargo.args(["--package", "warploom", "--package", "warploom-cudart"]);
    crate::python::succeed(cargo.current_dir(root))?;
    Ok(root.join("target/release/warploom"))
}

/// Paths with which programs are run.
struct Runner<'a> {
    folder: &'a Path,
    warploom: &'a Path,
}

impl Runner<'_> {
    fn runs(&self, program: &Program) -> Result<Runs> {
        let mut runs = Runs::new();
        for configuration in program.runs.keys() {
            let name = format!("{} on {configuration}", program.name);
            writeln!(io::stderr(), "{name}")?;
            let launches = self.run(program, configuration).context(name)?;
            runs.insert(configuration.clone(), launches);
        }
        Ok(runs)
    }

    fn run(&self, program: &Program, configuration: &str) -> Result<Vec<Launch>> {
        let of = CONFIGURATIONS.iter().find(|of| of.name == configuration);
        let preset = of.context("no preset corresponds to it")?.preset;
        let at = self.folder.join(&program.name);
        let stats = self.stats_file(program, configuration)?;
        let mut command = Command::new(self.warploom);
        command.args(["app", "--quiet", "--page-protection", "--gpu", preset]);
        command.arg("--stats").arg(&stats);
        command.arg("--").arg(at.join(EXECUTABLE));
        command.args(&program.arguments).current_dir(at);
        let status = command.stdout(Stdio::null()).status()?;
        ensure!(status.success(), "the program ended with {status}");
        let report: RunReport = serde_json::from_str(&read(&stats)?)?;
        Ok(launches(&report))
    }

    /// Path of a run's result. An older file there is removed, so that it is not mistaken for the
    /// new result.
    fn stats_file(&self, program: &Program, configuration: &str) -> Result<PathBuf> {
        let name = format!("{}-{configuration}.json", program.name);
        let file = self.folder.join("results").join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error)?,
            _ => Ok(file),
        }
    }
}

fn launches(report: &RunReport) -> Vec<Launch> {
    let launch = |kernel: &KernelReport| Launch {
        kernel: kernel.name.clone(),
        cycles: kernel.figures.cycles,
        instructions: kernel.figures.thread_instructions,
    };
    report.kernels.iter().map(launch).collect()
}
