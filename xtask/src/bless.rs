//! `cargo xtask bless`: accepts the current results of the tests as expected. Review the difference
//! before you commit it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Settings of `cargo xtask bless`.
#[derive(clap::Args)]
pub struct Args {
    /// Arguments of `cargo test`: which tests to bless [default: --workspace]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    tests: Vec<String>,
}

/// Variables that make tests write their expected results: `insta` for snapshots in files, our own
/// for generated documentation and other expected files.
const SWITCHES: [(&str, &str); 3] = [
    ("INSTA_UPDATE", "always"),
    ("INSTA_FORCE_PASS", "1"),
    ("WARPLOOM_BLESS", "1"),
];

/// Runs the tests so that they write their expected results.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let all = ["--workspace".to_owned()];
    let tests = if args.tests.is_empty() {
        &all[..]
    } else {
        &args.tests
    };
    let mut command = Command::new("cargo");
    command
        .current_dir(root)
        .args(["test", "--no-fail-fast"])
        .args(tests);
    let status = command
        .envs(SWITCHES)
        .status()
        .context("cannot start cargo")?;
    ensure!(
        status.success(),
        "some tests fail for other reasons than their expected results"
    );
    Ok(())
}
