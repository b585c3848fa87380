//! `cargo xtask energy --programs FOLDER`: the power of kernels of CUDA programs beside that of a
//! real Quadro GV100, from the same source as the table of workloads.
//!
//! The programs are not part of this project. They are built by the user and run by `warploom app`.

use super::measured::mean_errors;
use crate::fidelity::build_programs;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use warploom_stats::result::RunReport;

/// A measured kernel of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    /// Name of the benchmark, and of its kernel in the measurement.
    name: String,
    watts: f64,
    /// Folder of the program, and its command line.
    program: String,
    #[serde(default)]
    arguments: Vec<String>,
    /// Part of the entry's name.
    entry: String,
    /// How the inputs differ from the measured ones.
    inputs: String,
}

/// The measured kernels of all programs.
const KERNELS: &str = include_str!("../../data/measured-programs.json");

/// Core cycles of a kernel after which a run is cut.
const CUT: &str = "40000";

/// Runs the programs, which `folder` contains, and writes the table.
pub(super) fn table(root: &Path, folder: &Path) -> Result<String> {
    let warploom = build_programs(root)?;
    let kernels: Vec<Measured> = serde_json::from_str(KERNELS)?;
    let mut text = String::from(
        "\n| kernel | entry | measured, W | here, W | difference | inputs |\n\
         |---|---|--:|--:|--:|---|\n",
    );
    let mut errors = Vec::new();
    for kernel in &kernels {
        writeln!(io::stderr(), "{}", kernel.name)?;
        let watts = power(kernel, folder, &warploom).with_context(|| kernel.name.clone())?;
        let error = watts / kernel.watts - 1.0;
        errors.push(error);
        writeln!(
            text,
            "| `{}` | `{}` | {:.1} | {watts:.1} | {:+.1} % | {} |",
            kernel.name,
            kernel.entry,
            kernel.watts,
            100.0 * error,
            kernel.inputs
        )?;
    }
    Ok(text + &mean_errors(&errors))
}

/// Mean power of a kernel in watts.
fn power(kernel: &Measured, folder: &Path, warploom: &Path) -> Result<f64> {
    let at = fs::canonicalize(folder.join(&kernel.program))?;
    let stats = at.join("energy.json");
    let mut command = Command::new(warploom);
    command.args(["app", "--quiet", "--energy", "--gpu", "qv100-volta"]);
    command.args(["--set", "gpu.kernel_launch_cycles=0", "--max-cycles", CUT]);
    command
        .args(["--kernel", &kernel.entry, "--stats"])
        .arg(&stats);
    command
        .arg("--")
        .arg(at.join("program"))
        .args(&kernel.arguments);
    // A cut run may end with another status.
    command.current_dir(&at).stdout(Stdio::null()).status()?;
    let report: RunReport = serde_json::from_str(&fs::read_to_string(&stats)?)?;
    fs::remove_file(&stats)?;
    let energy = report.totals.figures.energy.context("nothing was timed")?;
    ensure!(energy.watts.is_finite(), "no time passed");
    Ok(energy.watts)
}
