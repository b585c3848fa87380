//! `cargo xtask cuda-programs`: builds the test programs of `cudart` with the nvcc of NVIDIA's
//! Python packages.
//!
//! Programs are checked in so that nobody needs CUDA to test. This verb is for developers who
//! change one. `--check` builds the programs in another folder and runs cudart's tests with them,
//! so that a changed source cannot be left unbuilt. It is skipped if the packages or g++ are not
//! available. Packages are pinned in `xtask/cuda-requirements.txt`. They contain release 13. The
//! programs of releases 11 and 12, which test other layouts and symbol versions, are built as
//! `crates/cudart/tests/programs/README.md` describes.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::python;

const PROGRAMS: &str = "crates/cudart/tests/programs";
/// Folder of the checked-in programs of release 13.
const RELEASE: &str = "13";
const REQUIREMENTS: &str = "xtask/cuda-requirements.txt";
/// Programs that use features which release 13 no longer has.
const OLD: [&str; 3] = ["older.cu", "reference.cu", "surfref.cu"];
/// Programs that are also built with a default stream for each thread.
const BOTH_STREAMS: [&str; 4] = ["family.cu", "graph.cu", "pool.cu", "stream.cu"];

/// Programs that need a newer architecture than the others, and it.
const NEWER: [(&str, &str); 1] = [("cluster.cu", "compute_90")];
/// Architecture for which the other programs are compiled.
const ARCHITECTURE: &str = "compute_75";

/// Variable with the folder of release 13's programs, if it is not the checked-in one.
const PROGRAMS_VARIABLE: &str = "WARPLOOM_PROGRAMS";

/// Settings of `cargo xtask cuda-programs`.
#[derive(clap::Args)]
pub struct Args {
    /// Build the programs below target and run cudart's tests with them; skipped, with a message,
    /// if NVIDIA's packages or g++ are not available
    #[arg(long)]
    check: bool,
}

/// Builds every program of the workspace at `root`.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let folder = root.join(PROGRAMS);
    match (packages(root), args.check) {
        (Ok(toolkit), false) => build_all(&toolkit, &folder, &folder.join(RELEASE)),
        (Ok(toolkit), true) => check(&toolkit, root),
        (Err(error), false) => Err(error),
        (Err(error), true) => {
            let why = format!("skipped: nvcc is not available: {error:#}");
            Ok(writeln!(io::stdout(), "{why}")?)
        }
    }
}

/// The toolkit of NVIDIA's packages, which is installed if necessary.
fn packages(root: &Path) -> Result<PathBuf> {
    let compiler = Command::new("g++").arg("--version").output();
    compiler.context("cannot start g++, with which nvcc compiles host code")?;
    let python = python::prepare(&root.join("target/cuda"), &root.join(REQUIREMENTS))?;
    let toolkit = toolkit(&python)?;
    link_runtime(&toolkit)?;
    Ok(toolkit)
}

fn check(toolkit: &Path, root: &Path) -> Result<()> {
    let built = root.join("target/cuda/programs");
    build_all(toolkit, &root.join(PROGRAMS), &built)?;
    let mut tests = Command::new("cargo");
    // The test runs for the workspace. For the one package, dependencies would have fewer features
    // and would be built again, with all crates that use them.
    tests.args(["test", "--locked", "--workspace", "--test", "programs"]);
    tests.current_dir(root);
    python::succeed(tests.env(PROGRAMS_VARIABLE, built))
}

fn build_all(toolkit: &Path, folder: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let sources = sources(folder)?;
    for source in &sources {
        let name = source.file_stem().unwrap_or_default();
        build(toolkit, source, &to.join(name), &[])?;
        if BOTH_STREAMS.iter().any(|name| source.ends_with(name)) {
            let mut name = name.to_owned();
            name.push("-per-thread");
            let flags = ["-default-stream", "per-thread"];
            build(toolkit, source, &to.join(name), &flags)?;
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

/// Creates a link with the runtime's short name, which linkers need. The packages contain only its
/// full name.
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

fn build(toolkit: &Path, source: &Path, target: &Path, flags: &[&str]) -> Result<()> {
    let mut command = Command::new(toolkit.join("bin/nvcc"));
    let newer = NEWER.iter().find(|(name, _)| source.ends_with(name));
    let architecture = newer.map_or(ARCHITECTURE, |(_, newer)| newer);
    command.args(["-cudart", "shared", "-arch", architecture, "-O2", "-L"]);
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
    use super::sources;
    use std::fs;

    #[test]
    fn programs_lie_beside_their_sources() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.cu", "a.cu", "reference.cu", "surfref.cu", "check.h"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let found = sources(dir.path()).unwrap();
        assert_eq!(found, [dir.path().join("a.cu"), dir.path().join("b.cu")]);
    }
}
