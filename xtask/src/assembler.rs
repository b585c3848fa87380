//! NVIDIA's assembler, for comparison: `ptxas` from the Python package `nvidia-cuda-nvcc`.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Resources of a kernel as `ptxas -v` reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub registers: u64,
    pub shared_bytes: u64,
    pub stack_bytes: u64,
    pub spill_store_bytes: u64,
    pub spill_load_bytes: u64,
    pub constant_bytes: u64,
}

/// An assembler, called by its path.
pub struct Assembler {
    path: PathBuf,
}

impl Assembler {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// The line of `ptxas --version` that contains the release.
    pub fn version(&self) -> Result<String> {
        let text = output(Command::new(&self.path).arg("--version"))?;
        let line = text.lines().find(|line| line.contains("release"));
        let line = line.context("ptxas does not report its version")?;
        Ok(line.trim().to_owned())
    }

    /// Assembles PTX for an architecture, or for the PTX's own target, with at most `limit`
    /// registers. Returns the resources of its kernels, in the order of the assembler's report.
    pub fn assemble(
        &self,
        ptx: &str,
        architecture: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Vec<Entry>> {
        let ptx = match limit {
            Some(_) => without_own_limits(ptx),
            None => ptx.to_owned(),
        };
        let folder = std::env::temp_dir().join(format!("warploom-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let input = folder.join("input.ptx");
        std::fs::write(&input, &ptx)?;
        let mut command = Command::new(&self.path);
        let architecture = architecture.unwrap_or_else(|| target(&ptx));
        command
            .args(["-v", "-o", "/dev/null", "-arch", architecture])
            .args(limit.map(|limit| format!("--maxrregcount={limit}")))
            .arg(&input)
            .stdin(Stdio::null());
        let report = output(&mut command);
        std::fs::remove_dir_all(&folder)?;
        parse(&report?)
    }

    /// Resources of one kernel of PTX, assembled for the PTX's own target.
    pub fn kernel(&self, ptx: &str, kernel: &str, limit: Option<u32>) -> Result<Entry> {
        let entries = self.assemble(ptx, None, limit)?;
        let mut entries = entries.into_iter();
        entries
            .find(|entry| entry.name == kernel)
            .with_context(|| format!("ptxas does not report {kernel}"))
    }
}

/// PTX without the kernels' own statements about their blocks, from which `ptxas` computes a limit
/// of registers that it prefers to that of the command line.
fn without_own_limits(ptx: &str) -> String {
    let own = [".maxntid", ".minnctapersm", ".reqntid", ".maxnreg"];
    let is_own = |line: &&str| own.iter().any(|word| line.trim_start().starts_with(word));
    let lines = ptx.lines().filter(|line| !is_own(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Output of a command, on both streams.
pub fn output(command: &mut Command) -> Result<String> {
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

/// Target architecture of the PTX.
fn target(ptx: &str) -> &str {
    let target = ptx
        .lines()
        .find_map(|line| line.trim().strip_prefix(".target "));
    target
        .and_then(|target| target.split(',').next())
        .map_or("sm_50", str::trim)
}

/// Parses the entries of a report, in its order. Each has a line that names it, one with its stack
/// and spills, and one that begins with the registers used.
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
            entry.stack_bytes = number(line, " bytes stack frame")?;
            entry.spill_store_bytes = number(line, " bytes spill stores")?;
            entry.spill_load_bytes = number(line, " bytes spill loads")?;
        } else if line.contains("Used ") {
            entry.registers = number(line, " registers")?;
            entry.shared_bytes = number(line, " bytes smem").unwrap_or(0);
            entry.constant_bytes = line
                .split(", ")
                .filter_map(|part| number(part, " bytes cmem").ok())
                .sum();
        }
    }
    let empty = entries.iter().find(|entry| entry.registers == 0);
    match empty {
        Some(entry) => bail!(
            "ptxas does not report the registers of {}:\n{report}",
            entry.name
        ),
        None => Ok(entries),
    }
}

/// The number before `unit` in a line.
fn number(line: &str, unit: &str) -> Result<u64> {
    let before = line.split_once(unit).map(|(before, _)| before);
    let digits = before.and_then(|before| before.split(' ').next_back());
    digits
        .and_then(|digits| digits.parse().ok())
        .with_context(|| format!("no number before `{unit}` in `{line}`"))
}

#[cfg(test)]
mod tests {
    use super::{Entry, parse, target};

    #[test]
    fn reports_are_read() {
        let report = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'first' for 'sm_50'\n\
            ptxas info    : Function properties for first\n    \
            16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 28 registers, 2064 bytes smem, 364 bytes cmem[0], \
            8 bytes cmem[2]\n\
            ptxas info    : Compile time = 3.0 ms\n\
            ptxas info    : Compiling entry function 'second' for 'sm_50'\n\
            ptxas info    : Function properties for second\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers, used 0 barriers, 344 bytes cmem[0]\n";
        let first = Entry {
            name: "first".into(),
            registers: 28,
            shared_bytes: 2064,
            stack_bytes: 16,
            spill_store_bytes: 4,
            spill_load_bytes: 8,
            constant_bytes: 372,
        };
        let second = Entry {
            name: "second".into(),
            registers: 8,
            constant_bytes: 344,
            ..Entry::default()
        };
        assert_eq!(parse(report).unwrap(), [first, second]);
    }

    #[test]
    fn an_entry_without_registers_is_an_error() {
        assert!(parse("Compiling entry function 'f' for 'sm_50'\n").is_err());
    }

    #[test]
    fn the_file_says_what_it_is_for() {
        assert_eq!(target(".version 7.0\n.target sm_61, debug\n"), "sm_61");
        assert_eq!(target(""), "sm_50");
    }
}
