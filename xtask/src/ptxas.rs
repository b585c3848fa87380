//! `cargo xtask ptxas`: registers and memory of the workloads' kernels as NVIDIA's assembler
//! reports them, into `crates/workloads/src/ptxas.csv`.
//!
//! `ptxas` is not needed to build, test or run: the table is checked in. It comes from a Python
//! package whose version is pinned in `xtask/ptxas-requirements.txt`, and stands in the table's
//! first line. Version 12.9 knows sm_50 and later, and PTX for sm_50 cannot be assembled for
//! anything older, so Fermi and GK104 have no rows.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use warploom_workloads::all;

use crate::python;

/// The architectures of the presets from Maxwell on.
const ARCHITECTURES: &[&str] = &["sm_50", "sm_61", "sm_70", "sm_75", "sm_86"];
const TABLE: &str = "crates/workloads/src/ptxas.csv";
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
    let ptxas = find(&python)?;
    let mut text = format!("# {}\n{HEADER}\n", version(&ptxas)?);
    let mut rows = 0;
    for workload in all() {
        for architecture in ARCHITECTURES {
            let report = assemble(&ptxas, &work, workload.ptx, architecture)
                .with_context(|| format!("{} for {architecture}", workload.name))?;
            for entry in parse(&report)? {
                writeln!(text, "{},{}", workload.name, entry.csv(architecture))?;
                rows += 1;
            }
        }
    }
    let path = root.join(TABLE);
    let current = fs::read_to_string(&path).is_ok_and(|old| old == text);
    if args.check {
        ensure!(current, "{TABLE} is old: run `cargo xtask ptxas`");
    } else if !current {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    writeln!(
        io::stdout(),
        "{rows} rows, {}",
        if current { "as before" } else { "rewritten" }
    )?;
    Ok(())
}

/// The package's assembler.
fn find(python: &Path) -> Result<String> {
    let code = "import nvidia.cuda_nvcc as p; print(list(p.__path__)[0] + '/bin/ptxas')";
    output(Command::new(python).args(["-c", code])).map(|path| path.trim().to_owned())
}

/// The last line that it prints of itself but the build's: `Cuda compilation tools, release ...`.
fn version(ptxas: &str) -> Result<String> {
    let text = output(Command::new(ptxas).arg("--version"))?;
    let line = text.lines().find(|line| line.contains("release"));
    let line = line.context("ptxas does not say its version")?;
    Ok(format!("ptxas: {line}"))
}

/// What `ptxas -v` says of a module.
fn assemble(ptxas: &str, work: &Path, ptx: &str, architecture: &str) -> Result<String> {
    let input = work.join("input.ptx");
    fs::write(&input, ptx)?;
    let mut command = Command::new(ptxas);
    command
        .args(["-v", "-arch", architecture, "-o", "/dev/null"])
        .arg(&input);
    output(&mut command)
}

/// What a command prints, on either stream.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let both = text(&output.stdout) + &text(&output.stderr);
    if !output.status.success() {
        bail!("{program} failed ({}): {both}", output.status);
    }
    Ok(both)
}

/// An entry's figures.
#[derive(Debug, Default, PartialEq, Eq)]
struct Entry {
    name: String,
    registers: u64,
    shared: u64,
    stack: u64,
    spill_stores: u64,
    spill_loads: u64,
    constant: u64,
}

impl Entry {
    fn csv(&self, architecture: &str) -> String {
        let Self {
            name,
            registers,
            shared,
            stack,
            spill_stores,
            spill_loads,
            constant,
        } = self;
        format!(
            "{name},{architecture},{registers},{shared},{stack},{spill_stores},{spill_loads},{constant}"
        )
    }
}

/// The entries of a report, in its order: for each a line that names it, one with its stack and
/// spills, and one that begins with the registers used.
fn parse(report: &str) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or(rest).to_owned();
            entries.push(Entry {
                name,
                ..Entry::default()
            });
            continue;
        }
        let Some(entry) = entries.last_mut() else {
            continue;
        };
        if line.contains("bytes stack frame") {
            entry.stack = number(line, " bytes stack frame")?;
            entry.spill_stores = number(line, " bytes spill stores")?;
            entry.spill_loads = number(line, " bytes spill loads")?;
        } else if line.contains("Used ") {
            entry.registers = number(line, " registers")?;
            entry.shared = number(line, " bytes smem").unwrap_or(0);
            entry.constant = line
                .split(", ")
                .filter_map(|part| number(part, " bytes cmem").ok())
                .sum();
        }
    }
    let empty = entries.iter().find(|entry| entry.registers == 0);
    match empty {
        Some(entry) => bail!("ptxas does not say what {} uses:\n{report}", entry.name),
        None => Ok(entries),
    }
}

/// The number that stands before `unit`.
fn number(line: &str, unit: &str) -> Result<u64> {
    let before = line.split_once(unit).map(|(before, _)| before);
    let digits = before.and_then(|before| before.split(' ').next_back());
    digits
        .and_then(|digits| digits.parse().ok())
        .with_context(|| format!("no number before `{unit}` in `{line}`"))
}

#[cfg(test)]
mod tests {
    use super::{Entry, parse};

    #[test]
    fn reports_are_read() {
        let report = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'first' for 'sm_50'\n\
            ptxas info    : Function properties for first\n    \
            16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 28 registers, 2064 bytes smem, 364 bytes cmem[0], 8 bytes cmem[2]\n\
            ptxas info    : Compile time = 3.0 ms\n\
            ptxas info    : Compiling entry function 'second' for 'sm_50'\n\
            ptxas info    : Function properties for second\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers, used 0 barriers, 344 bytes cmem[0]\n";
        let entries = parse(report).unwrap();
        let first = Entry {
            name: "first".into(),
            registers: 28,
            shared: 2064,
            stack: 16,
            spill_stores: 4,
            spill_loads: 8,
            constant: 372,
        };
        assert_eq!(entries[0], first);
        assert_eq!(entries[1].csv("sm_50"), "second,sm_50,8,0,0,0,0,344");
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn an_entry_without_registers_is_an_error() {
        assert!(parse("Compiling entry function 'f' for 'sm_50'\n").is_err());
    }
}
