//! `cargo xtask cuda-programs`: builds the test programs of `cudart` with the nvcc of NVIDIA's
//! Python packages.
//!
//! Programs are checked in so that nobody needs CUDA to test. This verb is for developers who
//! change one. Beside the programs it writes what each was built from, as a digest. A test compares
//! the digests with the sources of today, so that a changed source cannot be left unbuilt. Packages
//! are pinned in `xtask/cuda-requirements.txt`. With the same packages and the same GCC, a program
//! comes out byte for byte, apart from names that nvcc draws where cooperative groups are used. The
//! packages contain release 13. The programs of releases 11 and 12, which test other layouts and
//! versions of symbols, are built as `crates/cudart/tests/programs/README.md` describes.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, ensure};
use warploom_base::Digest;

use crate::python;

const PROGRAMS: &str = "crates/cudart/tests/programs";
/// Folder of the checked-in programs of release 13.
const RELEASE: &str = "13";
/// File with a line for each program of that folder: its name, and a digest of what it was built
/// from.
const BUILT_FROM: &str = "crates/cudart/tests/programs/built-from.txt";
/// File that all sources include.
const HEADER: &str = "check.h";
const REQUIREMENTS: &str = "xtask/cuda-requirements.txt";
/// Programs that use features which release 13 no longer has.
const OLD: [&str; 3] = ["older.cu", "reference.cu", "surfref.cu"];
/// Programs that are also built with a default stream for each thread.
const BOTH_STREAMS: [&str; 4] = ["family.cu", "graph.cu", "pool.cu", "stream.cu"];

/// Programs that need a newer architecture than the others, and it.
const NEWER: [(&str, &str); 1] = [("cluster.cu", "compute_90")];
/// Architecture for which the other programs are compiled.
const ARCHITECTURE: &str = "compute_75";

/// A program, and how it is built.
struct Program {
    source: PathBuf,
    name: OsString,
    /// Options of the compiler apart from folders.
    options: Vec<&'static str>,
}

/// Builds every program of the workspace at `root`, and writes what they are built from.
pub fn run(root: &Path) -> Result<()> {
    let programs = programs(root)?;
    let toolkit = packages(root)?;
    build_all(&toolkit, &programs, &root.join(PROGRAMS).join(RELEASE))?;
    fs::write(root.join(BUILT_FROM), built_from(root, &programs)?)?;
    writeln!(io::stdout(), "{} programs built", programs.len())?;
    Ok(())
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

/// Starts a compiler on each of the machine's cores: nvcc and what it calls use one.
fn build_all(toolkit: &Path, programs: &[Program], to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let waiting = Mutex::new(programs.iter());
    let build_some = || -> Result<()> {
        loop {
            let next = waiting.lock().expect("no compiler panics").next();
            let Some(program) = next else {
                return Ok(());
            };
            build(toolkit, program, &to.join(&program.name))?;
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let compilers: Vec<_> = (0..cores).map(|_| scope.spawn(build_some)).collect();
        let mut ends = compilers.into_iter().map(|compiler| compiler.join());
        ends.try_for_each(|end| end.expect("no compiler panics"))
    })
}

/// The lines of the file `BUILT_FROM`.
fn built_from(root: &Path, programs: &[Program]) -> Result<String> {
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let packages = read(&root.join(REQUIREMENTS))?;
    let header = read(&root.join(PROGRAMS).join(HEADER))?;
    let mut lines = String::new();
    for program in programs {
        let mut digest = Digest::new();
        digest.str(&packages).str(&header);
        digest.str(&read(&program.source)?);
        for option in &program.options {
            digest.str(option);
        }
        writeln!(lines, "{} {}", program.name.display(), digest.hex())?;
    }
    Ok(lines)
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

/// The programs of release 13 in the workspace at `root`, in the order of their names.
fn programs(root: &Path) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for source in sources(&root.join(PROGRAMS))? {
        let name = source.file_stem().unwrap_or_default().to_owned();
        let options = options(&source);
        if BOTH_STREAMS.iter().any(|name| source.ends_with(name)) {
            let mut name = name.clone();
            name.push("-per-thread");
            let more = ["-default-stream", "per-thread"];
            programs.push(Program {
                source: source.clone(),
                name,
                options: [&options[..], &more].concat(),
            });
        }
        programs.push(Program {
            source,
            name,
            options,
        });
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_old = |path: &Path| OLD.iter().any(|name| path.ends_with(name));
    let entries = crate::entries(folder)?.into_iter();
    let is_source = |path: &PathBuf| path.extension() == Some(OsStr::new("cu")) && !is_old(path);
    let found: Vec<_> = entries.filter(is_source).collect();
    ensure!(!found.is_empty(), "no program in {}", folder.display());
    Ok(found)
}

fn options(source: &Path) -> Vec<&'static str> {
    let newer = NEWER.iter().find(|(name, _)| source.ends_with(name));
    let architecture = newer.map_or(ARCHITECTURE, |(_, newer)| newer);
    let mut options = vec!["-cudart", "shared", "-arch", architecture, "-O2"];
    for linked in ["-s", "--as-needed", "--build-id=none"] {
        options.extend(["-Xlinker", linked]);
    }
    options
}

fn build(toolkit: &Path, program: &Program, target: &Path) -> Result<()> {
    let mut command = Command::new(toolkit.join("bin/nvcc"));
    command.args(&program.options).arg("-L");
    command.arg(toolkit.join("lib")).arg("-o").arg(target);
    command.arg(program.source.file_name().unwrap_or_default());
    command.current_dir(program.source.parent().unwrap_or(Path::new(".")));
    python::succeed(&mut command)
}

#[cfg(test)]
mod tests {
    use super::{BUILT_FROM, PROGRAMS, RELEASE, built_from, programs, sources};
    use std::fs;
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn programs_lie_beside_their_sources() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.cu", "a.cu", "reference.cu", "surfref.cu", "check.h"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let mut found = sources(dir.path()).unwrap();
        found.sort();
        assert_eq!(found, [dir.path().join("a.cu"), dir.path().join("b.cu")]);
    }

    #[test]
    fn no_changed_source_is_left_unbuilt() {
        let recorded = fs::read_to_string(root().join(BUILT_FROM)).unwrap();
        let now = built_from(root(), &programs(root()).unwrap()).unwrap();
        assert_eq!(recorded, now, "`cargo xtask cuda-programs` builds them");
        let built = crate::entries(&root().join(PROGRAMS).join(RELEASE)).unwrap();
        let mut built: Vec<_> = built.iter().map(|path| path.file_name().unwrap()).collect();
        built.sort();
        let names = recorded.lines().map(|line| line.split(' ').next().unwrap());
        assert_eq!(built, names.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_built_follows_from_source_options_and_packages() {
        let dir = tempfile::tempdir().unwrap();
        let [folder, packages] = [PROGRAMS, super::REQUIREMENTS].map(|name| dir.path().join(name));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(packages.parent().unwrap()).unwrap();
        let now = || built_from(dir.path(), &programs(dir.path()).unwrap()).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("check.h", "");
        write("a.cu", "a");
        write("graph.cu", "a");
        fs::write(&packages, "nvcc==1").unwrap();
        let first = now();
        let cell = |text: &str, row: usize| text.lines().nth(row).unwrap().to_owned();
        let digest = |row: usize| cell(&first, row).split_once(' ').unwrap().1.to_owned();
        let names = first.lines().map(|line| line.split_once(' ').unwrap().0);
        let names: Vec<_> = names.collect();
        assert_eq!(names, ["a", "graph", "graph-per-thread"]);
        assert_eq!(digest(0), digest(1));
        assert_ne!(digest(1), digest(2));
        write("a.cu", "b");
        assert_ne!(cell(&now(), 0), cell(&first, 0));
        assert_eq!(cell(&now(), 1), cell(&first, 1));
        write("a.cu", "a");
        assert_eq!(now(), first);
        write("check.h", "int x;");
        assert_ne!(cell(&now(), 0), cell(&first, 0));
        write("check.h", "");
        fs::write(&packages, "nvcc==2").unwrap();
        assert_ne!(cell(&now(), 0), cell(&first, 0));
    }
}
