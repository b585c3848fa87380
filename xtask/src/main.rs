//! Project chores that are not built into Cargo: `cargo xtask VERB`. Each verb has a file of its
//! own.

mod assembler;
mod bench;
mod bless;
mod ci;
mod correlate;
mod costs;
mod cuda_programs;
mod docs;
mod energy;
mod fidelity;
mod guide;
mod hardware;
mod ptx;
mod ptxas;
mod python;
mod regalloc;
mod results;
mod sampling;
mod slices;
mod workloads;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// The allocator of `warploom`, so that runs timed here are comparable.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Project chores that are not built into Cargo.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure the speed of the simulator on workloads, and where its time goes
    Bench(bench::Args),
    /// Accept the current results of tests as expected: snapshots and generated files
    Bless(bless::Args),
    /// Run all checks that must pass before a change is merged
    Ci(ci::Args),
    /// Compare the presets of today's machines with published figures, into docs/hardware-timing.md
    Correlate(correlate::Args),
    /// Tabulate what the stored figures cost, from the times of their runs in stores
    Costs(costs::Args),
    /// Build the test programs of cudart with NVIDIA's nvcc
    CudaPrograms,
    /// Write docs/generated from the program's own tables
    Docs,
    /// Compare the power of kernels with GPGPU-Sim's and with a real GPU's, into docs/energy.md
    Energy(energy::Args),
    /// Run the reference kernels and write docs/fidelity.md: our figures next to GPGPU-Sim's
    Fidelity(fidelity::Args),
    /// Check the spelling of the repository, and build the site of the guide with mdBook
    Guide,
    /// Compare every instruction form without side effects with a GPU, bit by bit
    Hardware(hardware::Args),
    /// Compile every kernel.cu to the kernel.ptx in its folder
    Ptx(ptx::Args),
    /// Assemble every workload's PTX with NVIDIA's ptxas and tabulate registers and memory
    Ptxas(ptxas::Args),
    /// Summarise the stored figures of all papers in docs/results/README.md and README.md
    Results,
    /// Compare estimates of sampled runs with full runs, in docs/sampling.md
    Sampling(sampling::Args),
    /// Compare computed and issued addresses of every workload, into docs/slices.md
    Slices(slices::Args),
    /// Measure every workload into docs/workloads.md, or check all outputs
    Workloads(workloads::Args),
    /// Test the register allocator on whole programs, and measure it
    Regalloc(regalloc::Args),
}

fn main() -> Result<()> {
    match Cli::parse().verb {
        Verb::Bench(args) => bench::run(&args, &root()),
        Verb::Bless(args) => bless::run(&args, &root()),
        Verb::Ci(args) => ci::run(&args, &root()),
        Verb::Correlate(args) => correlate::run(&args, &root()),
        Verb::Costs(args) => costs::run(&args, &root()),
        Verb::CudaPrograms => cuda_programs::run(&root()),
        Verb::Docs => docs::run(&root()),
        Verb::Energy(args) => energy::run(&args, &root()),
        Verb::Fidelity(args) => fidelity::run(&args, &root()),
        Verb::Guide => guide::run(&root()),
        Verb::Hardware(args) => hardware::run(&args, &root()),
        Verb::Ptx(args) => ptx::run(&args, &root()),
        Verb::Ptxas(args) => ptxas::run(&args, &root()),
        Verb::Results => results::run(&root()),
        Verb::Sampling(args) => sampling::run(&args, &root()),
        Verb::Slices(args) => slices::run(&args, &root()),
        Verb::Workloads(args) => workloads::run(&args, &root()),
        Verb::Regalloc(args) => regalloc::run(&args, &root()),
    }
}

/// The workspace's folder, which is the parent of this crate's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Paths of a folder's entries, in no order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot list {}", folder.display()))?;
    Ok(entries)
}

/// Builds this program with optimisation, by the profile `release` or `dist`, and runs it with the
/// same arguments.
fn run_optimised(profile: &str, root: &Path) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--profile", profile]);
    command.args(["--package", "xtask", "--"]);
    let status = command
        .args(std::env::args().skip(1))
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the run failed");
    Ok(())
}
