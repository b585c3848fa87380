//! Project chores that Cargo has no verb for, as `cargo xtask VERB`. One file a verb.

mod ptx;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

/// Project chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Compile every kernel.cu to the kernel.ptx beside it
    Ptx(ptx::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().verb {
        Verb::Ptx(args) => ptx::run(&args, &root()),
    }
}

/// The workspace's folder: the parent of this crate's.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
