//! The verb `warploom check`.

use crate::cuda_source::{compile, is_cuda, no_such_file};
use crate::failure::Failure;
use crate::output::{error_style, print, print_json, width};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_diag::{Severity, Source, Style};
use warploom_ir::Program;
use warploom_report::{grouped, listing};
use warploom_run::launch_file::read;
use warploom_run::{Device, Options};

/// Code of diagnostics for features that the simulator does not support.
const NOT_SUPPORTED: &str = "not-supported";

const EXAMPLES: &str = "\
Examples:
  warploom check kernel.ptx
  warploom check kernel.cu      compiled by `nvcc` first
  warploom check kernel.ptx --json";

/// Read a PTX file, report its errors, and list its kernels
///
/// Exit status 0: every kernel can run; 1: some kernel uses an unsupported feature; 2: the file or
/// one of its kernels has errors.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Path of the PTX file, `-` for standard input, or of CUDA source (*.cu), which `nvcc`
    /// compiles
    file: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    /// Text of warnings, and of errors in functions that no kernel reaches.
    warnings: String,
    /// Whether a function that no kernel reaches has an error, and whether one has an error on
    /// every GPU.
    #[serde(skip)]
    unreached: (bool, bool),
    kernels: Vec<KernelRow>,
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct KernelRow {
    name: String,
    instructions: usize,
    parameters: usize,
    /// Estimated from the pressure of live ranges.
    registers_per_thread: u32,
    shared_bytes: u32,
    local_bytes: u32,
}

#[derive(Serialize)]
struct Refused {
    kernel: String,
    /// Text of all places that cannot run.
    reason: String,
    /// True if no GPU could run the kernel.
    #[serde(skip)]
    wrong: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let source = source(&args.file)?;
    let report = report(&source)?;
    if args.json {
        print_json(&report)?
    } else {
        print(&text(&report))?
    }
    let (unsupported, invalid) = report.unreached;
    let wrong = invalid || report.refused.iter().any(|refused| refused.wrong);
    Ok(ExitCode::from(
        if report.refused.is_empty() && !unsupported {
            0
        } else {
            1 + u8::from(wrong)
        },
    ))
}

/// The PTX to check: a file, or what `nvcc` makes of CUDA source.
fn source(file: &Path) -> Result<Source, Failure> {
    let name = file.to_string_lossy();
    if is_cuda(&name) {
        return compile(&name);
    }
    if name.ends_with(".toml") {
        return Err(Failure::Input(format!(
            "{name} is a launch file, and `check` reads PTX\n  = help: `warploom run {name} \
             --functional` checks it and its module"
        )));
    }
    if name != "-" && !file.exists() {
        return Err(Failure::Input(no_such_file(file)));
    }
    Ok(read(file)?)
}

/// Parses, checks and lowers a file.
fn report(source: &Source) -> Result<Report, Failure> {
    let (module, warnings) = warploom_lower::compile(source)
        .map_err(|problems| Failure::Ptx(problems.render(source, error_style())))?;
    let rows = module.kernels.iter().map(kernel_row).collect();
    let refused = module.refused.iter().map(|(kernel, why)| Refused {
        kernel: kernel.clone(),
        reason: why.render(source, Style::Plain),
        wrong: why.iter().any(|problem| problem.code != NOT_SUPPORTED),
    });
    let has = |known: fn(&str) -> bool| {
        let mut errors = warnings.iter().filter(|w| w.severity == Severity::Error);
        errors.any(|error| known(error.code))
    };
    let report = Report {
        file: source.name().to_owned(),
        unreached: (has(|_| true), has(|code| code != NOT_SUPPORTED)),
        warnings: warnings.render(source, Style::Plain),
        kernels: rows,
        refused: refused.collect(),
    };
    // A run loads the module before any launch, so its variables must fit memory.
    let mut device = Device::new(Options::default().memory_bytes, 0);
    let loaded = device.load(source.name(), module, Vec::new());
    loaded.map_err(|error| Failure::Input(error.to_string()))?;
    Ok(report)
}

fn kernel_row(kernel: &Program) -> KernelRow {
    KernelRow {
        name: kernel.name.clone(),
        instructions: kernel.insts.len(),
        parameters: kernel.params.len(),
        registers_per_thread: kernel.registers_per_thread,
        shared_bytes: kernel.shared_bytes,
        local_bytes: kernel.local_bytes,
    }
}

fn text(report: &Report) -> String {
    let header = [
        "kernel",
        "instructions",
        "parameters",
        "registers",
        "shared",
        "local",
    ];
    let row = |kernel: &KernelRow| {
        vec![
            kernel.name.clone(),
            grouped(kernel.instructions as u64),
            kernel.parameters.to_string(),
            kernel.registers_per_thread.to_string(),
            grouped(kernel.shared_bytes.into()),
            grouped(kernel.local_bytes.into()),
        ]
    };
    let rows: Vec<_> = report.kernels.iter().map(row).collect();
    let mut text = if rows.is_empty() {
        String::new()
    } else {
        listing(&header, &rows, width())
    };
    if !report.warnings.is_empty() {
        text.push_str(&format!("\n{}", report.warnings));
    }
    for refused in &report.refused {
        text.push_str(&format!(
            "\nkernel {} cannot run:\n{}",
            refused.kernel, refused.reason
        ));
    }
    if report.kernels.is_empty() && report.refused.is_empty() {
        text.push_str("no kernels\n");
    }
    text
}
