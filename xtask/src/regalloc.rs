//! `cargo xtask regalloc`: tests the register allocator on whole programs, and measures it.
//!
//! The independent checker checks every allocation, which is then printed, parsed again and
//! executed.

mod allocation;
mod execution;
mod page;
mod random;
mod workloads;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;

/// Settings of `cargo xtask regalloc`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Run every workload at every register limit: outputs must be bit-identical
    Workloads {
        /// Only workloads whose name contains this
        #[arg(default_value = "")]
        name: String,
    },
    /// Run generated programs at random limits: outputs must be bit-identical
    Random {
        /// Number of programs to generate
        #[arg(long, default_value_t = 2000)]
        count: u64,
        /// Number of the first program, which seeds it
        #[arg(long, default_value_t = 0)]
        first: u64,
    },
    /// Write docs/regalloc.md: registers, spills and time of every kernel
    Table {
        /// Path of NVIDIA's assembler, to compare with (in the Python package nvidia-cuda-nvcc)
        #[arg(long)]
        ptxas: Option<PathBuf>,
    },
    /// Assemble every workload, allocated at every limit, with NVIDIA's assembler
    Assemble {
        /// Path of the assembler (in the Python package nvidia-cuda-nvcc)
        ptxas: PathBuf,
        /// Only workloads whose name contains this
        #[arg(default_value = "")]
        name: String,
    },
}

/// Runs the chosen subcommand.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    if cfg!(debug_assertions) {
        return super::run_optimised("release", root);
    }
    match &args.part {
        Part::Workloads { name } => {
            let counts = workloads::every_limit(name)?;
            writeln!(
                io::stdout(),
                "{} workloads, {} allocations, {} runs: all outputs bit-identical",
                counts.workloads,
                counts.allocations,
                counts.runs
            )?;
        }
        Part::Random { count, first } => {
            let counts = random::programs(*first..first + count)?;
            writeln!(
                io::stdout(),
                "{} programs, {} with spills to local memory, {} to shared: all agree",
                counts.programs,
                counts.local,
                counts.shared
            )?;
        }
        Part::Table { ptxas } => page::write(root, ptxas.as_deref())?,
        Part::Assemble { ptxas, name } => {
            let count = workloads::assemble(ptxas, name)?;
            writeln!(
                io::stdout(),
                "{count} allocations: ptxas accepts all of them"
            )?;
        }
    }
    Ok(())
}
