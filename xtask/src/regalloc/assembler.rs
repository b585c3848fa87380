//! NVIDIA's assembler, for comparison: `ptxas` of the Python package `nvidia-cuda-nvcc`.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `ptxas -v` says of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    pub registers: u64,
    pub store_bytes: u64,
    pub load_bytes: u64,
}

/// The assembler at a path.
pub struct Assembler {
    path: PathBuf,
}

impl Assembler {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Its version, as it says it.
    pub fn version(&self) -> Result<String> {
        let output = Command::new(&self.path).arg("--version").output();
        let output = output.with_context(|| format!("cannot start {}", self.path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.contains("release"));
        Ok(line.unwrap_or("ptxas").trim().to_owned())
    }

    /// Assembles PTX with at most `limit` registers; the figures of `kernel`.
    pub fn assemble(&self, ptx: &str, kernel: &str, limit: Option<u32>) -> Result<Figures> {
        let folder = std::env::temp_dir().join(format!("warploom-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let input = folder.join("input.ptx");
        std::fs::File::create(&input)?.write_all(ptx.as_bytes())?;
        let mut command = Command::new(&self.path);
        command
            .args(["-v", "-o", "/dev/null", "-arch", architecture(ptx)])
            .arg(&input);
        if let Some(limit) = limit {
            command.arg(format!("--maxrregcount={limit}"));
        }
        let output = command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start {}", self.path.display()))?;
        std::fs::remove_dir_all(&folder)?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("ptxas refuses {kernel}: {text}");
        }
        read(&text, kernel).with_context(|| format!("ptxas says nothing of {kernel}"))
    }
}

/// What the PTX is for.
fn architecture(ptx: &str) -> &str {
    let target = ptx
        .lines()
        .find_map(|line| line.trim().strip_prefix(".target "));
    target
        .and_then(|target| target.split(',').next())
        .map_or("sm_50", str::trim)
}

/// The figures of one kernel in the assembler's report.
fn read(text: &str, kernel: &str) -> Option<Figures> {
    let title = format!("Compiling entry function '{kernel}'");
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains(&title))
        .skip(1);
    let mut figures = Figures::default();
    for line in lines
        .by_ref()
        .take_while(|line| !line.contains("Compiling entry"))
    {
        if line.contains("bytes spill stores") {
            figures.store_bytes = before(line, " bytes spill stores")?;
            figures.load_bytes = before(line, " bytes spill loads")?;
        }
        if line.contains("Used ") {
            figures.registers = before(line, " registers")?;
            return Some(figures);
        }
    }
    None
}

fn before(line: &str, unit: &str) -> Option<u64> {
    line.split_once(unit)?.0.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Figures, architecture, read};

    #[test]
    fn reports_are_read() {
        let text = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_50'\n\
            ptxas info    : Function properties for a\n\
            \x20   8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
            ptxas info    : Used 24 registers, 364 bytes cmem[0]\n\
            ptxas info    : Compiling entry function 'b' for 'sm_50'\n\
            \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 9 registers, 344 bytes cmem[0]\n";
        let figures = |registers, store_bytes, load_bytes| Figures {
            registers,
            store_bytes,
            load_bytes,
        };
        assert_eq!(read(text, "a"), Some(figures(24, 12, 16)));
        assert_eq!(read(text, "b"), Some(figures(9, 0, 0)));
        assert_eq!(read(text, "c"), None);
    }

    #[test]
    fn the_file_says_what_it_is_for() {
        assert_eq!(
            architecture(".version 7.0\n.target sm_61, debug\n"),
            "sm_61"
        );
        assert_eq!(architecture(""), "sm_50");
    }
}
