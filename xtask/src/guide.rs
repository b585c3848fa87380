//! `cargo xtask guide`: checks the spelling of the repository, and builds the guide's site.
//!
//! `typos` checks the spelling of all text files; `typos.toml` has the words that it does not know.
//! Without a `typos` in `PATH` a pinned version is installed from its Python package. mdBook makes
//! the site of `docs/SUMMARY.md` in `target/book`, where it is installed. Nothing else needs either
//! tool: tests check the links and the table of contents (`xtask/tests/citations.rs`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::python;

const REQUIREMENTS: &str = "xtask/typos-requirements.txt";

/// Runs both tools in the repository at `root`. A tool that is missing and cannot be installed is
/// named in the output, and fails nothing.
pub fn run(root: &Path) -> Result<()> {
    let mut out = io::stdout();
    match typos(root) {
        Ok(typos) => {
            python::succeed(Command::new(typos).current_dir(root))?;
            writeln!(out, "spelling: no mistake found")?;
        }
        Err(error) => writeln!(out, "spelling: skipped, without typos: {error:#}")?,
    }
    if is_installed("mdbook") {
        python::succeed(Command::new("mdbook").arg("build").current_dir(root))?;
        writeln!(out, "site: target/book/index.html")?;
    } else {
        writeln!(
            out,
            "site: skipped, mdBook is not installed (`cargo install mdbook`)"
        )?;
    }
    Ok(())
}

/// The spelling checker in `PATH`, or the pinned one.
fn typos(root: &Path) -> Result<PathBuf> {
    if is_installed("typos") {
        return Ok("typos".into());
    }
    let python = python::prepare(&root.join("target/typos"), &root.join(REQUIREMENTS))?;
    Ok(python.with_file_name("typos"))
}

/// True if a program of this name runs and can tell its version.
fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    let command = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
