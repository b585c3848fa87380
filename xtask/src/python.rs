//! Python packages: virtual environments with the packages that a requirements file pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Creates a virtual environment with the pinned packages below `work` and returns its Python. An
/// existing environment is reused while the pinned versions stay the same.
pub fn prepare(work: &Path, requirements: &Path) -> Result<PathBuf> {
    let (environment, stamp) = (work.join("venv"), work.join("requirements.txt"));
    let python = environment.join("bin/python");
    let wanted = fs::read_to_string(requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    if !fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        fs::create_dir_all(work)?;
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&environment),
        )?;
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
        ];
        succeed(Command::new(&python).args(install).arg(requirements))?;
        fs::write(&stamp, wanted)?;
    }
    Ok(python)
}

/// Runs a command and fails if it fails.
pub fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let status = command
        .status()
        .with_context(|| format!("cannot start {program}; Python 3 with venv and pip is needed"))?;
    if !status.success() {
        bail!("{program} failed ({status})");
    }
    Ok(())
}
