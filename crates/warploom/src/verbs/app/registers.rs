//! Registers per thread of a program's kernels: from the command line, from a file, or from an
//! installed `ptxas`.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use warploom_app::program;
use warploom_run::io_reason;

/// Numbers of registers by names of kernels, or by parts of names.
type Counts = BTreeMap<String, u32>;

/// Largest number of registers of a thread on any GPU.
const MOST: u32 = 255;
/// Value that requests the installed assembler.
const ASSEMBLER: &str = "ptxas";
/// Variable with the path of the assembler.
const VARIABLE: &str = "WARPLOOM_PTXAS";
/// Architectures that assemblers stop supporting, oldest first. Each assembler supports some of
/// these.
const KNOWN: [u32; 4] = [50, 75, 80, 90];

/// Registers from all options; a later option overrides. `file` is the program, which provides PTX
/// for a GPU of compute capability `capability`.
pub fn counts(options: &[String], file: &[u8], capability: u32) -> Result<Counts, Failure> {
    let mut all = Counts::new();
    for option in options {
        if option == ASSEMBLER {
            all.extend(assembled(file, capability)?);
        } else if let Some((kernel, number)) = option.rsplit_once('=') {
            all.insert(kernel.to_owned(), count(number)?);
        } else {
            let text = fs::read_to_string(option).map_err(|error| {
                Failure::Input(format!("cannot read {option}: {}", io_reason(&error)))
            })?;
            all.extend(read(&text).map_err(|why| Failure::Input(format!("{option}: {why}")))?);
        }
    }
    Ok(all)
}

fn count(text: &str) -> Result<u32, Failure> {
    let number = text.trim().parse().ok();
    number
        .filter(|number| (1..=MOST).contains(number))
        .ok_or_else(|| {
            Failure::Input(format!(
                "--registers: `{text}` is not a number of registers; write KERNEL=N with N from 1 to \
                 {MOST}, the name of a file, or {ASSEMBLER}"
            ))
        })
}

/// Parses a file with one `KERNEL=N` per line and comments after `#`, or the output of `ptxas -v`.
fn read(text: &str) -> Result<Counts, String> {
    let report = reported(text);
    if !report.is_empty() {
        return Ok(report);
    }
    let mut all = Counts::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let pair = line.rsplit_once('=').and_then(|(kernel, number)| {
            let number = number.trim().parse().ok()?;
            (1..=MOST).contains(&number).then_some((kernel, number))
        });
        let (kernel, number) = pair.ok_or_else(|| {
            let line_number = at + 1;
            format!(
                "line {line_number} is not KERNEL=N with N from 1 to {MOST}: `{line}`; write one \
                 such line for each kernel, or give what `ptxas -v` prints"
            )
        })?;
        all.insert(kernel.trim().to_owned(), number);
    }
    Ok(all)
}

/// Registers in a report of `ptxas -v`.
fn reported(report: &str) -> Counts {
    let mut all = Counts::new();
    let mut kernel = None;
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next();
        } else if let Some((_, rest)) = line.split_once(" Used ")
            && let Some((number, _)) = rest.split_once(" registers")
            && let (Some(name), Ok(number)) = (kernel, number.parse())
        {
            all.insert(name.to_owned(), number);
        }
    }
    all
}

/// Registers of the program's PTX from the first installed assembler that supports it.
fn assembled(file: &[u8], capability: u32) -> Result<Counts, Failure> {
    let texts = program::ptx(file, capability);
    if texts.is_empty() {
        return Err(Failure::Input(
            "--registers ptxas: the program's own file has no PTX; give a file of KERNEL=N"
                .to_owned(),
        ));
    }
    let mut first = None;
    for assembler in installed()? {
        let all = texts
            .iter()
            .map(|(arch, text)| assemble(&assembler, *arch, text));
        match all.collect::<Result<Vec<Counts>, Failure>>() {
            Ok(counts) => return Ok(counts.into_iter().flatten().collect()),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    Err(first.unwrap_or_else(none_installed))
}

fn none_installed() -> Failure {
    Failure::Input(format!(
        "--registers ptxas: there is no ptxas in PATH or in the packages of python3; install one \
         (pip install nvidia-cuda-nvcc-cu12), or name it in {VARIABLE}"
    ))
}

/// Paths of assemblers: the one in the variable, or those in PATH and in Python packages.
fn installed() -> Result<Vec<PathBuf>, Failure> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Ok(vec![path.into()]);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&folders).map(|folder| folder.join(ASSEMBLER));
    let mut found: Vec<PathBuf> = in_path.filter(|path| path.is_file()).collect();
    found.extend(in_packages());
    if found.is_empty() {
        Err(none_installed())
    } else {
        Ok(found)
    }
}

/// Paths of the assemblers in all installed releases of the package `nvidia-cuda-nvcc`.
fn in_packages() -> Vec<PathBuf> {
    let code = "import nvidia, pathlib\n\
                for p in nvidia.__path__:\n    \
                    for f in pathlib.Path(p).glob('*/bin/ptxas'): print(f)";
    let mut command = Command::new("python3");
    command.args(["-c", code]).stdin(Stdio::null());
    let told = command.output().map(|output| output.stdout);
    let told = String::from_utf8(told.unwrap_or_default()).unwrap_or_default();
    told.lines().map(PathBuf::from).collect()
}

/// Assembles PTX for its own target or, if the assembler no longer supports that, for the next
/// target that it supports.
fn assemble(assembler: &Path, arch: u32, text: &str) -> Result<Counts, Failure> {
    let later = KNOWN.into_iter().filter(|known| *known > arch);
    let mut told = String::new();
    for arch in std::iter::once(arch).chain(later) {
        let output = run(assembler, arch, text)?;
        let report =
            String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            return Ok(reported(&report));
        }
        if told.is_empty() {
            told = report.into_owned();
        }
    }
    let shown = assembler.display();
    Err(Failure::Input(format!(
        "--registers ptxas: {shown} does not assemble the program's PTX: {}",
        told.trim_end()
    )))
}

fn run(assembler: &Path, arch: u32, text: &str) -> Result<Output, Failure> {
    let wrong = |what: &str, error: std::io::Error| {
        Failure::Input(format!("--registers ptxas: cannot {what}: {error}"))
    };
    let folder = std::env::temp_dir().join(format!("warploom-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| wrong("make a folder for it", error))?;
    let input = folder.join("input.ptx");
    let mut command = Command::new(assembler);
    command
        .args(["-v", "-o", "/dev/null", &format!("-arch=sm_{arch}")].map(OsStr::new))
        .arg(&input)
        .stdin(Stdio::null());
    let output = fs::write(&input, text)
        .and_then(|()| command.output())
        .map_err(|error| wrong(&format!("run {}", assembler.display()), error));
    let gone = fs::remove_dir_all(&folder);
    let output = output?;
    gone.map_err(|error| wrong("remove its folder", error))?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::{Counts, counts, read};

    fn pairs(pairs: &[(&str, u32)]) -> Counts {
        let pairs = pairs.iter();
        pairs
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn files_are_lists_or_reports() {
        let list = "# by hand\nspmv = 40\n\n_Z3addPii=12 # one\n";
        assert_eq!(read(list), Ok(pairs(&[("spmv", 40), ("_Z3addPii", 12)])));
        let report = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'first' for 'sm_50'\n\
            ptxas info    : Function properties for first\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 10 registers, 320 bytes cmem[0]\n\
            ptxas info    : Compiling entry function 'second' for 'sm_50'\n\
            ptxas info    : Used 255 registers, used 1 barriers\n";
        assert_eq!(read(report), Ok(pairs(&[("first", 10), ("second", 255)])));
        for wrong in ["spmv", "spmv=0", "spmv=256", "spmv=x"] {
            assert!(read(wrong).unwrap_err().contains("line 1"), "{wrong}");
        }
        assert_eq!(read(""), Ok(Counts::new()));
    }

    #[test]
    fn the_last_option_wins() {
        let options = ["k=8", "other=9", "k=10"].map(str::to_owned);
        let found = counts(&options, &[], 75).unwrap_or_default();
        assert_eq!(found, pairs(&[("k", 10), ("other", 9)]));
        for wrong in ["k=0", "k=", "no/such/file"] {
            assert!(counts(&[wrong.to_owned()], &[], 75).is_err(), "{wrong}");
        }
    }
}
