//! The verb `warploom app`.
//!
//! The program replaces this process: its exit status, its signals and its standard streams are its
//! own, and no process remains when it ends. The runtime library in it notes Ctrl-C and SIGTERM.

mod registers;

use super::run::CheckKind;
use crate::checkpoint_args::CheckpointArgs;
use crate::energy_args::EnergyArgs;
use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::output::{check_outputs, command_line, error_width, note, print};
use crate::timed_args::percentage;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use warploom_app::program::{self, Facts};
use warploom_app::{SETTINGS_VARIABLE, Settings, stub};
use warploom_config::GpuSpec;
use warploom_run::io_reason;

const EXAMPLES: &str = "\
Examples:
  warploom app -- ./hotspot 64 2 2 temp_64 power_64 out.txt
  warploom app --functional -- ./program       outputs only, as fast as possible
  warploom app --gpu qv100-volta --stats result.json -- ./program
  warploom app --launches 10..12 -- ./program  time the launches 10 and 11, execute the others
  warploom app --kernel spmv -- ./program      time kernels whose name has `spmv` in it
  warploom app --kernel 'reduce<256>' -- ./program            one instance of a template
  warploom app --sample-error 2% -- ./program  time some launches, estimate the cycles of all
  warploom app --checkpoint c.ckpt --checkpoint-every 100000000 -- ./program
  warploom app --resume c.ckpt -- ./program    go on from the last checkpoint
  warploom app --energy -- ./program           energy and power by component
  warploom app --stats r.json -- ./program; warploom analyze r.json   what bounds its kernels
  LD_LIBRARY_PATH=$(warploom app --library-path) ./program

Build the program with CUDA's shared runtime and with embedded PTX:
  nvcc -cudart shared -arch=compute_75 program.cu -o program";

/// Variable with the path of our library, if it is not in the folder of this program.
const LIBRARY_VARIABLE: &str = "WARPLOOM_CUDART";

/// Run an unmodified CUDA program: its kernels are simulated, its host code runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Program and its arguments
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "library_path"
    )]
    program: Vec<OsString>,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Execute the kernels without timing
    #[arg(long, conflicts_with = "max_cycles")]
    functional: bool,
    /// Time the launches FIRST to LAST-1, counted from 0, and execute the others without timing
    #[arg(long, value_name = "FIRST..LAST", value_parser = launches, conflicts_with = "functional")]
    launches: Option<Range<u64>>,
    /// Time only kernels with this in their names, mangled or plain, and execute the others without
    /// timing; may be repeated
    #[arg(long = "kernel", value_name = "NAME", conflicts_with = "functional")]
    kernels: Vec<String>,
    /// Time only as many launches as it takes to estimate the cycles of all with an error of at
    /// most this, such as 2%, at 95% confidence, and execute the others without timing. Launches
    /// run one after the other
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = percentage,
        conflicts_with_all = ["functional", "launches", "kernels", "window", "trace"]
    )]
    sample_error: Option<f64>,
    /// Stop the GPU after this many core cycles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_cycles: Option<u64>,
    /// Number of simulator threads; the result is the same for any number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::run::threads)]
    threads: usize,
    /// Size of device memory
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    memory: u64,
    /// Permit accesses to any page of 2 MiB that an allocation touches, as a GPU does; otherwise
    /// every access outside of an allocation is a fault
    #[arg(long)]
    page_protection: bool,
    /// Registers of a thread: KERNEL=N for kernels with KERNEL in their names (the longest match
    /// applies), a file of such lines or the output of `ptxas -v`, or `ptxas` to ask an installed
    /// one about the program's PTX [default: Warploom's estimate]. May be repeated
    #[arg(long, value_name = "KERNEL=N")]
    registers: Vec<String>,
    /// Look for errors that cause no fault, and warn: loads of uninitialised memory, races on
    /// shared memory, barriers that only a part of a warp reaches; or (bounds) place allocations
    /// with gaps, so that an overrun into the next one is a fault
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    check: Vec<CheckKind>,
    /// Compute capability that the program sees [default: the machine's own]
    #[arg(long, value_name = "MAJOR.MINOR", value_parser = capability)]
    capability: Option<u32>,
    /// Write the result to a file, as JSON
    #[arg(long, value_name = "FILE.json")]
    stats: Option<PathBuf>,
    /// Write a timeline of every warp for the Perfetto UI; it grows fast, so select a part to time
    #[arg(long, value_name = "FILE.json", conflicts_with = "functional")]
    trace: Option<PathBuf>,
    /// Write the report to a file instead of to standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Do not print the report
    #[arg(long, conflicts_with = "report")]
    quiet: bool,
    /// Also count in windows of this many core cycles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "functional")]
    window: Option<u64>,
    /// End the program when this process, which started it, ends
    #[arg(long, value_name = "PID", hide = true)]
    ends_with: Option<u32>,
    /// Print the folder for LD_LIBRARY_PATH and run nothing
    #[arg(long)]
    library_path: bool,
    #[command(flatten)]
    energy: EnergyArgs,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
}

/// Parses a range such as `3..7`, `3..` or `..7`.
fn launches(text: &str) -> Result<Range<u64>, String> {
    let wrong = || "write FIRST..LAST, such as 3..7, 3.. or ..7".to_owned();
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str, none: u64| match text {
        "" => Ok(none),
        text => text.parse().map_err(|_| wrong()),
    };
    let range = number(first, 0)?..number(last, u64::MAX)?;
    if range.is_empty() {
        Err(format!("{text} contains no launch; {}", wrong()))
    } else {
        Ok(range)
    }
}

/// Parses a capability, for example `7.5` as 75.
fn capability(text: &str) -> Result<u32, String> {
    let wrong = || "write it like 7.5".to_owned();
    let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
    let digit = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    match (digit(major)?, digit(minor)?) {
        (major @ 1..=99, minor @ 0..=9) => Ok(major * 10 + minor),
        _ => Err(wrong()),
    }
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.library_path {
        print(&format!("{}\n", library_path()?.0.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let outputs = [
        ("--stats", args.stats.as_deref()),
        ("--trace", args.trace.as_deref()),
        ("--report", args.report.as_deref()),
    ];
    let (program, arguments) = args.program.split_first().expect("clap asked for one");
    let inputs = [PathBuf::from(program), PathBuf::from(args.gpu.name(&[]))];
    check_outputs(&outputs, &inputs)?;
    if args.page_protection && args.check.contains(&CheckKind::Bounds) {
        return Err(Failure::Input(
            "--check bounds looks for accesses that --page-protection permits; leave one of them out"
                .to_owned(),
        ));
    }
    let path = find(Path::new(program))?;
    let file = read(&path)?;
    let facts = check(&path, &file)?;
    if facts.is_without_runtime && !args.quiet {
        note(&format!(
            "note: {} does not load CUDA's runtime itself; kernels are simulated if a library that it loads \
             or starts does\n",
            path.display()
        ));
    }
    let settings = settings(args, &file)?;
    let (names, library) = library_path()?;
    let settings = serde_json::to_string(&settings).expect("plain data");
    let mut search = vec![names, library];
    let old = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    search.extend(std::env::split_paths(&old).filter(|path| !path.as_os_str().is_empty()));
    let search = std::env::join_paths(search)
        .map_err(|error| Failure::Input(format!("LD_LIBRARY_PATH cannot be set: {error}")))?;
    let mut command = Command::new(&path);
    command.args(arguments);
    command.env("LD_LIBRARY_PATH", search);
    command.env(SETTINGS_VARIABLE, settings);
    become_it(command, &path)
}

#[cfg(unix)]
fn become_it(mut command: Command, path: &Path) -> Result<ExitCode, Failure> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(Failure::Input(format!(
        "cannot start {}: {error}",
        path.display()
    )))
}

#[cfg(not(unix))]
fn become_it(_: Command, _: &Path) -> Result<ExitCode, Failure> {
    Err(Failure::Input(
        "`warploom app` needs Linux, because it replaces libcudart.so".to_owned(),
    ))
}

/// Settings for a program, whose file is `file`.
fn settings(args: &Args, file: &[u8]) -> Result<Settings, Failure> {
    let mut settings = settings_without_gpu(args)?;
    // Reading a machine's keys takes longer than all else before the program starts.
    let preset = args.gpu.unchanged_preset();
    if let Some(preset) = preset {
        settings.gpu = preset.to_owned();
        if !args.energy.given() && args.registers.is_empty() {
            return Ok(settings);
        }
    }
    let gpu = args.gpu.spec(&[])?;
    if preset.is_none() {
        // The program may change its folder, so files are read now.
        settings.gpu = gpu.to_toml();
    }
    settings.registers = registers::counts(&args.registers, file, capability_of(args, &gpu))?;
    let energy = args.energy.preset(&gpu)?;
    settings.energy = energy.map(|preset| preset.to_toml());
    Ok(settings)
}

/// Settings that do not depend on the machine.
fn settings_without_gpu(args: &Args) -> Result<Settings, Failure> {
    let absolute = |path: &Option<PathBuf>| -> Result<Option<PathBuf>, Failure> {
        let path = path.as_ref().map(std::path::absolute).transpose();
        path.map_err(|error| Failure::Input(format!("there is no current folder: {error}")))
    };
    let [checkpoint, resume] = args.checkpoint.files()?;
    Ok(Settings {
        functional: args.functional,
        threads: args.threads,
        max_cycles: args.max_cycles,
        launches: args.launches.clone(),
        sample_error: args.sample_error,
        kernels: args.kernels.clone(),
        memory_mib: args.memory,
        page_protection: args.page_protection,
        check: args.check.iter().map(CheckKind::of_program).collect(),
        capability: args.capability,
        stats: absolute(&args.stats)?,
        trace: absolute(&args.trace)?,
        report: absolute(&args.report)?,
        quiet: args.quiet,
        width: error_width(),
        window_cycles: args.window,
        command: command_line(),
        checkpoint: absolute(&checkpoint)?,
        checkpoint_every: args.checkpoint.every(),
        resume: absolute(&resume)?,
        fork: args.checkpoint.forks(),
        ends_with: args.ends_with,
        ..Settings::default()
    })
}

/// Path of a program: a path, or a name that is looked up in PATH.
fn find(program: &Path) -> Result<PathBuf, Failure> {
    let shown = program.display();
    if program.components().count() > 1 || program.is_absolute() {
        return if program.is_file() {
            Ok(program.to_owned())
        } else {
            Err(Failure::Input(format!("there is no program {shown}")))
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|path| path.is_file()).ok_or_else(|| {
        Failure::Input(format!(
            "there is no program {shown} in PATH; write ./{shown} for one in this folder"
        ))
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    std::fs::read(path)
        .map_err(|error| Failure::Input(format!("cannot read {shown}: {}", io_reason(&error))))
}

/// Compute capability that the program will see.
fn capability_of(args: &Args, gpu: &GpuSpec) -> u32 {
    let told = args.capability;
    told.unwrap_or_else(|| warploom_app::capability(gpu))
}

fn check(path: &Path, file: &[u8]) -> Result<Facts, Failure> {
    let shown = path.display();
    let facts = program::inspect(file);
    facts.map_err(|error| Failure::Input(format!("{shown} cannot run under Warploom: {error}")))
}

/// The folder with links to our library under the names that programs load, which is created if
/// necessary, and the path of our library.
fn library_path() -> Result<(PathBuf, PathBuf), Failure> {
    let library = library()?;
    let own = library.parent().unwrap_or(Path::new("/")).to_owned();
    let mut places = vec![own.join("cudart")];
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    places.extend(cache.or(home).map(|cache| cache.join("warploom/cudart")));
    let mut last = None;
    for place in &places {
        let made = std::fs::create_dir_all(place).and_then(|()| stub::write_all(place, &library));
        match made {
            Ok(()) => return Ok((place.clone(), own)),
            Err(error) => last = Some(format!("{}: {error}", place.display())),
        }
    }
    let last = last.unwrap_or_default();
    Err(Failure::Input(format!(
        "cannot write the libraries that programs load to {last}; set XDG_CACHE_HOME to a \
         folder that is writable"
    )))
}

/// Path of our library: from the variable, or in the folder of this program.
pub fn library() -> Result<PathBuf, Failure> {
    let given = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
    let beside = || {
        let own = std::env::current_exe().ok()?;
        Some(own.parent()?.join(stub::LIBRARY))
    };
    match given.or_else(beside) {
        Some(path) if path.is_file() => std::path::absolute(&path)
            .map_err(|error| Failure::Input(format!("there is no current folder: {error}"))),
        other => Err(Failure::Input(format!(
            "there is no {}; build it with `cargo build --release -p warploom-cudart` and keep it \
             beside this program, or name it in {LIBRARY_VARIABLE}",
            other.unwrap_or_else(|| stub::LIBRARY.into()).display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::{capability, launches};

    #[test]
    fn ranges_and_capabilities_are_read() {
        assert_eq!(launches("3..7"), Ok(3..7));
        assert_eq!(launches("3.."), Ok(3..u64::MAX));
        assert_eq!(launches("..7"), Ok(0..7));
        for wrong in ["3", "7..3", "a..b", "-1..2"] {
            assert!(launches(wrong).is_err(), "{wrong}");
        }
        assert_eq!(capability("7.5"), Ok(75));
        assert_eq!(capability("10.0"), Ok(100));
        for wrong in ["75", "7.55", "x.y", "0.1"] {
            assert!(capability(wrong).is_err(), "{wrong}");
        }
    }
}
