//! `cargo xtask cuda-programs`: builds the test programs of `cudart` with the nvcc of NVIDIA's
//! Python packages.
//!
//! Programs are checked in so that nobody needs CUDA to test; this verb is for whoever changes one.
//! Packages are pinned in `xtask/cuda-requirements.txt`. They hold release 13; those of releases
//! 11 and 12, which test other layouts and symbol versions, are built as
//! `crates/cudart/tests/programs/README.md` says.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::python;

const PROGRAMS: &str = "crates/cudart/tests/programs";
const REQUIREMENTS: &str = "xtask/cuda-requirements.txt";
/// Use what release 13 does not have.
const OLD: [&str; 3] = ["older.cu", "reference.cu", "surfref.cu"];
/// Built a second time, for programs whose default stream is a thread's own.
const BOTH_STREAMS: [&str; 1] = ["family.cu"];

/// Builds every program of the workspace at `root`.
pub fn run(root: &Path) -> Result<()> {
    let work = root.join("target/cuda");
    let python = python::prepare(&work, &root.join(REQUIREMENTS))?;
    let toolkit = toolkit(&python)?;
    link_runtime(&toolkit)?;
    let sources = sources(&root.join(PROGRAMS))?;
    for source in &sources {
        build(&toolkit, source, &target(source), &[])?;
        if BOTH_STREAMS.iter().any(|name| source.ends_with(name)) {
            let mut target = target(source).into_os_string();
            target.push("-per-thread");
            let flags = ["-default-stream", "per-thread"];
            build(&toolkit, source, Path::new(&target), &flags)?;
        }
    }
    writeln!(io::stdout(), "{} programs built", sources.len())?;
    Ok(())
}

/// The folder of the packages: `lib/python3.x/site-packages/nvidia/cu13` of the environment.
fn toolkit(python: &Path) -> Result<PathBuf> {
    let environment = python.ancestors().nth(2).context("no environment")?;
    let library = environment.join("lib");
    let entries = fs::read_dir(&library).context("no packages")?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut toolkits = folders.map(|folder| folder.join("site-packages/nvidia/cu13"));
    let found = toolkits.find(|folder| folder.join("bin/nvcc").is_file());
    found.with_context(|| format!("no nvcc below {}", library.display()))
}

/// Packages have the runtime under its full name only, and linkers want the short one.
fn link_runtime(toolkit: &Path) -> Result<()> {
    let short = toolkit.join("lib/libcudart.so");
    if !short.exists() {
        fs::copy(toolkit.join("lib/libcudart.so.13"), &short)?;
    }
    Ok(())
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_old = |path: &Path| OLD.iter().any(|name| path.ends_with(name));
    let mut found: Vec<_> = crate::entries(folder)?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "cu") && !is_old(path))
        .collect();
    found.sort();
    ensure!(!found.is_empty(), "no program in {}", folder.display());
    Ok(found)
}

/// `13/NAME` beside `NAME.cu`.
fn target(source: &Path) -> PathBuf {
    let folder = source.parent().unwrap_or(Path::new(".")).join("13");
    folder.join(source.file_stem().unwrap_or_default())
}

fn build(toolkit: &Path, source: &Path, target: &Path, flags: &[&str]) -> Result<()> {
    let mut command = Command::new(toolkit.join("bin/nvcc"));
    command.args(["-cudart", "shared", "-arch=compute_75", "-O2", "-L"]);
    command.arg(toolkit.join("lib"));
    command.args(["-Xlinker", "-s", "-Xlinker", "--as-needed"]);
    command
        .args(["-Xlinker", "--build-id=none"])
        .args(flags)
        .arg("-o");
    command
        .arg(target)
        .arg(source.file_name().unwrap_or_default());
    command.current_dir(source.parent().unwrap_or(Path::new(".")));
    python::succeed(&mut command)
}

#[cfg(test)]
mod tests {
    use super::{sources, target};
    use std::fs;
    use std::path::Path;

    #[test]
    fn programs_lie_beside_their_sources() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.cu", "a.cu", "reference.cu", "surfref.cu", "check.h"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let found = sources(dir.path()).unwrap();
        assert_eq!(found, [dir.path().join("a.cu"), dir.path().join("b.cu")]);
        assert_eq!(target(Path::new("x/a.cu")), Path::new("x/13/a"));
    }
}
