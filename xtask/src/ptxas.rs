//! `cargo xtask ptxas`: writes the registers and memory of the workloads' kernels, as NVIDIA's
//! assembler reports them, into `crates/workloads/src/ptxas.csv`. The bytes that spills of CFD move
//! at each limit of registers go into `crates/lab/data/ptxas-spills.csv` (CRAT, Fig. 12).
//!
//! `ptxas` is not needed to build, test or run, because the tables are checked in. It comes from a
//! Python package whose version is pinned in `xtask/ptxas-requirements.txt`; the first lines of the
//! tables name it. Version 12.9 supports sm_50 and later, and PTX for sm_50 cannot be assembled for
//! anything older, so Fermi and GK104 have no rows.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use warploom_workloads::all;

use crate::assembler::{Assembler, Entry, output};
use crate::python;

/// Architectures of the presets from Maxwell on.
const ARCHITECTURES: &[&str] = &["sm_50", "sm_61", "sm_70", "sm_75", "sm_86"];
const TABLE: &str = "crates/workloads/src/ptxas.csv";
const SPILLS: &str = "crates/lab/data/ptxas-spills.csv";
/// The kernel whose spills CRAT's Fig. 12 shows.
const SPILLING: (&str, &str) = ("cfd", "compute_flux");
/// Limits of registers, from the fewest that `ptxas` accepts to more than the kernel needs.
const LIMITS: std::ops::RangeInclusive<u32> = 16..=80;
const REQUIREMENTS: &str = "xtask/ptxas-requirements.txt";
const HEADER: &str = "workload,entry,architecture,registers,shared_bytes,stack_bytes,\
                      spill_store_bytes,spill_load_bytes,constant_bytes";

/// Settings of `cargo xtask ptxas`.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail if the table is not what ptxas reports
    #[arg(long)]
    check: bool,
}

/// Assembles everything for every architecture, then compares or writes.
pub fn run(args: &Args, root: &Path) -> Result<()> {
    let work = root.join("target/ptxas");
    let python = python::prepare(&work, &root.join(REQUIREMENTS))?;
    let ptxas = Assembler::new(&find(&python)?);
    let mut text = format!("# ptxas: {}\n{HEADER}\n", ptxas.version()?);
    let mut rows = 0;
    for workload in all() {
        for architecture in ARCHITECTURES {
            let entries = ptxas
                .assemble(workload.ptx, Some(architecture), None)
                .with_context(|| format!("{} for {architecture}", workload.name))?;
            for entry in &entries {
                writeln!(text, "{},{}", workload.name, row(entry, architecture))?;
                rows += 1;
            }
        }
    }
    let current = [
        compare_or_write(args, root, TABLE, &text)?,
        compare_or_write(args, root, SPILLS, &spills(&ptxas)?)?,
    ];
    let state = |current| if current { "as before" } else { "rewritten" };
    let [table, spills] = current.map(state);
    writeln!(io::stdout(), "{rows} rows, {table}; spills, {spills}")?;
    Ok(())
}

/// True if a table is as before. Otherwise writes it, or fails if it was only to be checked.
fn compare_or_write(args: &Args, root: &Path, table: &str, text: &str) -> Result<bool> {
    let path = root.join(table);
    let current = fs::read_to_string(&path).is_ok_and(|old| old == text);
    if args.check {
        ensure!(current, "{table} is old: run `cargo xtask ptxas`");
    } else if !current {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(current)
}

/// Table of the bytes that CFD's spills move at each limit.
fn spills(ptxas: &Assembler) -> Result<String> {
    let (workload, kernel) = SPILLING;
    let found = all().iter().find(|of| of.name == workload);
    let ptx = found
        .with_context(|| format!("no workload {workload}"))?
        .ptx;
    let mut text = format!(
        "# ptxas: {}\n# {workload}: {kernel}\nregisters,stores,loads\n",
        ptxas.version()?
    );
    for limit in LIMITS {
        let entry = ptxas.kernel(ptx, kernel, Some(limit))?;
        let [stores, loads] = [entry.spill_store_bytes, entry.spill_load_bytes];
        writeln!(text, "{limit},{stores},{loads}")?;
    }
    Ok(text)
}

/// Path of the assembler in the package.
fn find(python: &Path) -> Result<PathBuf> {
    let code = "import nvidia.cuda_nvcc as p; print(list(p.__path__)[0] + '/bin/ptxas')";
    output(Command::new(python).args(["-c", code])).map(|path| path.trim().into())
}

/// Cells of an entry's row, without the workload.
fn row(entry: &Entry, architecture: &str) -> String {
    let Entry {
        name,
        registers,
        shared_bytes,
        stack_bytes,
        spill_store_bytes,
        spill_load_bytes,
        constant_bytes,
    } = entry;
    format!(
        "{name},{architecture},{registers},{shared_bytes},{stack_bytes},{spill_store_bytes},\
         {spill_load_bytes},{constant_bytes}"
    )
}

#[cfg(test)]
mod tests {
    use super::{Entry, HEADER, row};

    #[test]
    fn rows_are_in_the_order_of_the_header() {
        let entry = Entry {
            name: "k".into(),
            registers: 1,
            shared_bytes: 2,
            stack_bytes: 3,
            spill_store_bytes: 4,
            spill_load_bytes: 5,
            constant_bytes: 6,
        };
        assert_eq!(row(&entry, "sm_50"), "k,sm_50,1,2,3,4,5,6");
        assert_eq!(
            HEADER,
            "workload,entry,architecture,registers,shared_bytes,stack_bytes,spill_store_bytes,\
             spill_load_bytes,constant_bytes"
        );
    }
}
