//! `cargo xtask ptx`: compiles the workloads' kernels with NVRTC from its Python package.
//!
//! Every folder `crates/workloads/src/NAME` contains a `kernel.cu` and the `kernel.ptx` compiled
//! from it. PTX is checked in so that nobody needs CUDA to build, test or run. This verb is for
//! developers who change a kernel; its `--check` verifies that sources and PTX match. The
//! compiler's version is pinned in `xtask/nvrtc-requirements.txt`. Kernels in deeper folders, those
//! of `reference/`, keep the PTX that GPGPU-Sim ran.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::python;

/// Oldest architecture that the pinned NVRTC targets; every later one runs its PTX.
const ARCHITECTURE: &str = "compute_50";
const KERNELS: &str = "crates/workloads/src";
const REQUIREMENTS: &str = "xtask/nvrtc-requirements.txt";
const SCRIPT: &str = "xtask/nvrtc.py";

/// Settings of `cargo xtask ptx`.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail if a checked-in kernel.ptx differs from what its source compiles to
    #[arg(long)]
    check: bool,
}

/// A kernel: the path of the checked-in PTX, and the PTX that its source compiles to.
struct Kernel {
    ptx: PathBuf,
    compiled: String,
}

impl Kernel {
    fn is_current(&self) -> bool {
        fs::read_to_string(&self.ptx).is_ok_and(|text| text == self.compiled)
    }
}

/// Compiles every kernel of the workspace at `root`, then compares or writes.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let kernels = compile(root, &sources(&root.join(KERNELS))?)?;
    let stale: Vec<_> = kernels
        .iter()
        .filter(|kernel| !kernel.is_current())
        .collect();
    if args.check {
        ensure!(stale.is_empty(), "{}", stale_message(&stale, root));
    } else {
        for kernel in &stale {
            fs::write(&kernel.ptx, &kernel.compiled)
                .with_context(|| format!("cannot write {}", kernel.ptx.display()))?;
        }
    }
    let (all, old) = (kernels.len(), stale.len());
    writeln!(io::stdout(), "{all} kernels compiled, {old} rewritten")?;
    Ok(())
}

fn stale_message(stale: &[&Kernel], root: &Path) -> String {
    let names: Vec<_> = stale
        .iter()
        .map(|kernel| {
            kernel
                .ptx
                .strip_prefix(root)
                .unwrap_or(&kernel.ptx)
                .display()
                .to_string()
        })
        .collect();
    format!(
        "differ from the compiled kernel.cu in the same folder: {}; run `cargo xtask ptx`",
        names.join(", ")
    )
}

/// Every `kernel.cu` one folder below `folder`, in order of name.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<_> = crate::entries(folder)?
        .into_iter()
        .map(|entry| entry.join("kernel.cu"))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    ensure!(!found.is_empty(), "no kernel.cu under {}", folder.display());
    Ok(found)
}

fn compile(root: &Path, sources: &[PathBuf]) -> Result<Vec<Kernel>> {
    let work = root.join("target/nvrtc");
    let python = python::prepare(&work, &root.join(REQUIREMENTS))?;
    let output = |index: usize| work.join(format!("{index}.ptx"));
    let mut command = Command::new(python);
    command.arg(root.join(SCRIPT)).arg(ARCHITECTURE);
    for (index, source) in sources.iter().enumerate() {
        command.arg(source).arg(output(index));
    }
    python::succeed(&mut command)?;
    let kernel = |(index, source): (usize, &PathBuf)| {
        let compiled = fs::read_to_string(output(index))?;
        Ok(Kernel {
            ptx: source.with_extension("ptx"),
            compiled,
        })
    };
    sources.iter().enumerate().map(kernel).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Kernel, sources, stale_message};

    #[test]
    fn finds_kernels_one_folder_down_in_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b", "a", "empty"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::create_dir(dir.path().join("b/deeper")).unwrap();
        fs::write(dir.path().join("b/deeper/kernel.cu"), "").unwrap();
        fs::write(dir.path().join("lib.rs"), "").unwrap();
        fs::write(dir.path().join("a/kernel.cu"), "").unwrap();
        fs::write(dir.path().join("b/kernel.cu"), "").unwrap();
        let found = sources(dir.path()).unwrap();
        assert_eq!(
            found,
            [
                dir.path().join("a/kernel.cu"),
                dir.path().join("b/kernel.cu")
            ]
        );
    }

    #[test]
    fn no_kernels_at_all_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            sources(dir.path())
                .unwrap_err()
                .to_string()
                .starts_with("no kernel.cu under")
        );
    }

    #[test]
    fn a_changed_or_missing_ptx_is_stale() {
        let dir = tempfile::tempdir().unwrap();
        let ptx = dir.path().join("kernel.ptx");
        let kernel = Kernel {
            ptx: ptx.clone(),
            compiled: "new".into(),
        };
        assert!(!kernel.is_current(), "missing");
        fs::write(&ptx, "old").unwrap();
        assert!(!kernel.is_current(), "changed");
        fs::write(&ptx, "new").unwrap();
        assert!(kernel.is_current());
        assert!(stale_message(&[&kernel], dir.path()).contains(": kernel.ptx; run"));
    }
}
