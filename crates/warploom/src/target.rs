//! Targets of `run`: a workload, a launch file, or a PTX file.

use crate::cuda_source::{Compiled, is_cuda, no_such_file, similar_file};
use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::guessed::{add_accesses, other_sizes_in};
use crate::kept;
use crate::launch_args::{Described, LaunchArgs};
use crate::names::{Names, workloads};
use crate::output::{error_columns, error_style, note};
use crate::places;
use crate::watch_args::WatchArgs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use warploom_config::GpuSpec;
use warploom_diag::{Source, nearest};
use warploom_lab::Input;
use warploom_report::wrapped;
use warploom_run::HostProgram;
use warploom_run::launch_file::{LaunchFile, Limits, is_source_code, parse, read};
use warploom_stats::result::{CheckReport, Launches, Outcome, RunReport};
use warploom_workloads::{Size, Target, UnknownTarget, architecture, preset_of_paper};

/// Choice of a workload's input.
#[derive(clap::Args)]
pub struct WorkloadArgs {
    /// Size of a workload's inputs: test, small or paper
    #[arg(long, value_name = "test|small|paper", default_value_t = Size::Small)]
    pub size: Size,
    /// Seed of a workload's inputs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
}

impl WorkloadArgs {
    /// Says that a size or seed changes nothing for a file.
    pub fn tell_unused(&self, target: &str) {
        if let Some(told) = self.unused(target) {
            note(&told);
        }
    }

    fn unused(&self, target: &str) -> Option<String> {
        let option = match (self.size, self.seed) {
            (Size::Small, 1) => return None,
            (Size::Small, _) => "--seed",
            _ => "--size",
        };
        let is_file = is_cuda(target) || [".toml", ".ptx"].iter().any(|end| target.ends_with(end));
        is_file.then(|| {
            let told = format!(
                "{option} chooses the input of a built-in workload, and changes nothing for {target}"
            );
            wrapped("note: ", &told, error_columns())
        })
    }
}

/// Parses the seed of inputs.
fn seed(text: &str) -> Result<u64, String> {
    let whole = text.parse();
    whole.map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

/// A target on a machine, for verbs that examine a single run.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Workload (`warploom list workloads`), launch file (*.toml), PTX file (*.ptx) or CUDA source
    /// (*.cu)
    #[arg(value_parser = Names(workloads), hide_possible_values = true)]
    pub target: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Number of simulator threads; the result is the same for any number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::verbs::run::threads)]
    pub threads: usize,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl TargetArgs {
    fn targets(&self) -> &[String] {
        std::slice::from_ref(&self.target)
    }

    /// Time between lines of progress, if these were requested.
    pub fn watch(&self) -> Option<Duration> {
        self.watch.interval()
    }

    /// Files that the command reads.
    pub fn files(&self) -> Vec<PathBuf> {
        files(self.targets(), self.gpu.gpu.as_deref())
    }

    /// The stored result that the target names, if it is one, and its machine.
    pub fn kept(&self) -> Result<Option<(GpuSpec, RunReport)>, Failure> {
        if !kept::is_kept(&self.target) {
            return Ok(None);
        }
        if self.gpu.given() {
            return Err(Failure::Input(format!(
                "{} contains its machine; leave --gpu and --set out",
                self.target
            )));
        }
        let path = Path::new(&self.target);
        let result = kept::read(path)?;
        let spec = kept::machine(path, &result)?;
        Ok(Some((spec, result)))
    }

    /// The machine, and an input that can run on it any number of times.
    pub fn input(&self) -> Result<(GpuSpec, Input), Failure> {
        let gpu = self.gpu.spec(self.targets())?;
        let WorkloadArgs { size, seed } = self.workload;
        self.workload.tell_unused(&self.target);
        let mut compiled = Compiled::default();
        let input = input(&self.target, size, seed, &self.launch, &mut compiled)?;
        Ok((gpu, input))
    }

    /// The machine, and the host program to run on it.
    pub fn load(&self) -> Result<(GpuSpec, Box<dyn HostProgram>), Failure> {
        let gpu = self.gpu.spec(self.targets())?;
        let WorkloadArgs { size, seed } = self.workload;
        self.workload.tell_unused(&self.target);
        let program = program(&self.target, size, seed, &self.launch, &gpu)?;
        Ok((gpu, program))
    }
}

/// Files that the command reads for these targets and this GPU: launch files and the files that
/// they name, PTX files, stored results, and a GPU's file. Names of workloads and presets are
/// included but match no file.
pub fn files(targets: &[String], gpu: Option<&str>) -> Vec<PathBuf> {
    let named = targets.iter().map(String::as_str).chain(gpu);
    let mut files: Vec<PathBuf> = named.map(PathBuf::from).collect();
    for target in targets.iter().filter(|target| target.ends_with(".toml")) {
        let path = Path::new(target);
        let folder = path.parent().unwrap_or(Path::new(""));
        // Loading the file reports its problems.
        let plan = read(path).and_then(|source| parse(&source));
        files.extend(plan.map(|plan| plan.inputs(folder)).unwrap_or_default());
    }
    files
}

/// Files to which a run of a launch file has dumped buffers. A dump that failed is among the
/// checks of its result.
pub fn dumps(target: &str, result: &RunReport) -> Vec<PathBuf> {
    let is_failed = |check: &CheckReport| check.detail.starts_with("the dump");
    let finished = result.outcome == Outcome::Finished;
    if !finished || !target.ends_with(".toml") || result.checks.iter().any(is_failed) {
        return Vec::new();
    }
    let path = Path::new(target);
    let folder = path.parent().unwrap_or(Path::new(""));
    let plan = read(path).and_then(|source| parse(&source));
    let dumps = plan.map(|plan| plan.dumps).unwrap_or_default();
    dumps.iter().map(|dump| folder.join(&dump.path)).collect()
}

/// Makes the same host program as often as it is called.
pub type Maker = Box<dyn Fn() -> Result<Box<dyn HostProgram>, Failure>>;

/// Maker of a target's host program, and the options of its launch that were guessed.
pub fn maker(
    target: &str,
    size: Size,
    seed: u64,
    launch: &LaunchArgs,
    gpu: &GpuSpec,
) -> Result<(Maker, LaunchArgs), Failure> {
    if let Some(described) = launch_file(target, launch, &mut Compiled::default())? {
        let (file, limits) = (described.file, Limits::of(gpu));
        let make: Maker = Box::new(move || Ok(Box::new(file.clone().program(limits)?)));
        return Ok((make, described.guessed));
    }
    let target = Target::resolve(target).map_err(|unknown| refusal(target, &unknown))?;
    let architecture = architecture(&gpu.name);
    let make: Maker = Box::new(move || Ok(target.program_on(size, seed, architecture)));
    Ok((make, LaunchArgs::default()))
}

/// Host program of a target.
pub fn program(
    target: &str,
    size: Size,
    seed: u64,
    launch: &LaunchArgs,
    gpu: &GpuSpec,
) -> Result<Box<dyn HostProgram>, Failure> {
    let (make, _) = maker(target, size, seed, launch, gpu)?;
    make()
}

/// Launches that the program of a target makes, as far as that is known before it runs.
pub fn launches(target: &str, size: Size, seed: u64) -> Launches {
    let exactly = |least: u64| Launches {
        least,
        is_exact: true,
    };
    if target.ends_with(".ptx") || is_cuda(target) {
        return exactly(1);
    }
    if target.ends_with(".toml") {
        let plan = read(Path::new(target)).and_then(|source| parse(&source));
        return plan.map_or_else(
            |_| Launches::default(),
            |plan| exactly(plan.launches.len() as u64),
        );
    }
    let input = Input::workload(target, size, seed);
    input.map_or_else(|_| Launches::default(), |input| input.launches())
}

/// An input that can run any number of times, on any machine. `compiled` has the CUDA source code
/// that the command compiled for other inputs.
pub fn input(
    target: &str,
    size: Size,
    seed: u64,
    launch: &LaunchArgs,
    compiled: &mut Compiled,
) -> Result<Input, Failure> {
    let Some(Described { file, command, .. }) = launch_file(target, launch, compiled)? else {
        return Input::workload(target, size, seed).map_err(|unknown| refusal(target, &unknown));
    };
    let make = {
        let file = file.clone();
        move |gpu: &GpuSpec| {
            let program = file.clone().program(Limits::of(gpu));
            let program = program.map_err(|errors| places::render(&errors, error_style()))?;
            Ok(Box::new(program) as Box<dyn HostProgram>)
        }
    };
    let name = file_name(target, launch.kernel.as_deref());
    let launches = file.launches() as u64;
    Ok(Input::new(name, command, file.digest(), make).with_launches(launches))
}

/// Name of a file among inputs: its folder and its own name, and the kernel if one was chosen.
fn file_name(path: &str, kernel: Option<&str>) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !["", ".", ".."].contains(part))
        .collect();
    let name = parts[parts.len().saturating_sub(2)..].join("/");
    let kernel = kernel.map(|kernel| format!(" {}", warploom_names::plain(kernel)));
    name + &kernel.unwrap_or_default()
}

/// The launch file that a target is or corresponds to. `None` for a workload.
fn launch_file(
    target: &str,
    launch: &LaunchArgs,
    compiled: &mut Compiled,
) -> Result<Option<Described>, Failure> {
    let is_file_name = [".ptx", ".toml"].iter().any(|end| target.ends_with(end)) || is_cuda(target);
    if is_file_name && !Path::new(target).exists() {
        return Err(Failure::Input(no_such_file(Path::new(target))));
    }
    if target.ends_with(".ptx") || is_cuda(target) {
        return launch.launch_file(target, compiled).map(Some);
    }
    if launch.given() {
        return Err(Failure::Input(match target.parse::<u64>() {
            Ok(_) => format!(
                "`{target}` is no target\n  = help: numbers of an option are separated by commas: \
                 --grid 32,32"
            ),
            Err(_) => format!(
                "--kernel, --grid, --block, --arg and --shared describe the launch of a .ptx or .cu \
                 file, which `{target}` is not; leave them out"
            ),
        }));
    }
    if target.ends_with(".toml") {
        let file = load(Path::new(target), compiled)?;
        compiled.note(other_sizes_in(&file, target));
        Ok(Some(Described {
            file,
            command: target.to_owned(),
            guessed: LaunchArgs::default(),
        }))
    } else {
        Ok(None)
    }
}

/// Reads a launch file. A module that is CUDA source is compiled as `run kernel.cu` does.
fn load(path: &Path, compiled: &mut Compiled) -> Result<LaunchFile, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let source = read(path)?;
    if let Ok(mut plan) = parse(&source) {
        let name = folder.join(&plan.module.0);
        if let Some(module) = module(&name, compiled)? {
            add_accesses(&mut plan, &module);
            return Ok(LaunchFile::new(source, plan, folder.to_owned(), module)?);
        }
    }
    // Loading the file reports its problems.
    Ok(LaunchFile::load_compiling(path, |module| {
        let name = module.to_string_lossy();
        is_cuda(&name).then(|| compiled.ptx(&name).ok())?
    })?)
}

/// The PTX of a launch file's module. `None` for a file that cannot be read or is no PTX by its
/// name.
fn module(path: &Path, compiled: &mut Compiled) -> Result<Option<Source>, Failure> {
    let name = path.to_string_lossy();
    match (is_cuda(&name), path.is_file()) {
        (true, true) => compiled.ptx(&name).map(Some),
        (false, true) if !is_source_code(&name) => Ok(read(path).ok()),
        _ => Ok(None),
    }
}

fn refusal(target: &str, unknown: &UnknownTarget) -> Failure {
    Failure::Input(match file_refusal(target) {
        Some(refusal) => refusal,
        None => format!("{}{}", unknown_name(target, unknown), hint(target, unknown)),
    })
}

/// Message about a name that is neither a workload nor a file that exists.
fn unknown_name(target: &str, unknown: &UnknownTarget) -> String {
    let paper = target.split_once('/').map(|(paper, _)| paper);
    match paper.filter(|paper| preset_of_paper(paper).is_none()) {
        Some(_) => format!("there is no file {target}, and no paper's benchmark of this name"),
        None if Path::new(target).extension().is_some() => {
            let near = similar_file(Path::new(target));
            let near = near.map(|near| format!("\n  = help: did you mean `{}`?", near.display()));
            format!(
                "there is neither a file nor a workload {target}{}",
                near.unwrap_or_default()
            )
        }
        None => format!(
            "no {} is called `{}`{}",
            unknown.what,
            unknown.name,
            few(&unknown.known)
        ),
    }
}

/// The known names, where they are few.
fn few(known: &[String]) -> String {
    match known.len() {
        1..=8 => format!("; there are: {}", known.join(", ")),
        _ => String::new(),
    }
}

/// Refusal with a remedy for a file or folder that is not a target, or `None` if it is not a path.
fn file_refusal(target: &str) -> Option<String> {
    let path = Path::new(target);
    let ends = |endings: &[&str]| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| endings.contains(&ending.to_lowercase().as_str()))
    };
    if ends(&["cuh", "cpp", "cc", "c"]) {
        return Some(format!(
            "{target} is source code; Warploom compiles .cu files, and runs PTX\n  \
             = help: a kernel in it: name the file .cu; a whole program: compile it with `nvcc \
             -cudart shared`, then `warploom app ./PROGRAM`"
        ));
    }
    if ends(&["cubin", "fatbin", "o", "a"]) {
        return Some(format!(
            "{target} holds machine code; Warploom runs PTX\n  \
             = help: compile to PTX with `nvcc -ptx`; a linked program runs with `warploom app`"
        ));
    }
    if path.is_dir() {
        return Some(format!(
            "{target} is a folder\n  = help: name a file in it (*.toml, *.ptx), or a workload"
        ));
    }
    path.is_file().then(|| {
        let kinds = "neither a launch file (*.toml) nor a PTX file (*.ptx) nor CUDA source (*.cu)";
        format!("{target} is {kinds}\n  = help: {}", use_of(path, target))
    })
}

/// Advice on a file whose name has none of the known endings, by its first bytes.
fn use_of(path: &Path, target: &str) -> String {
    let mut start = Vec::new();
    // A file that cannot be read gets the general advice.
    let _ = std::fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    let text = String::from_utf8_lossy(&start);
    if start.starts_with(b"\x7fELF") || start.starts_with(b"#!") {
        format!("a CUDA program runs with `warploom app {target}`")
    } else if text.contains(".version") && text.contains(".target") {
        "it looks like PTX: give it a name that ends in .ptx".to_owned()
    } else if text.contains("[[launch]]") || text.contains("[[buffer]]") {
        "it looks like a launch file: give it a name that ends in .toml".to_owned()
    } else if text.contains("__global__") {
        "it looks like CUDA source: give it a name that ends in .cu".to_owned()
    } else {
        "it is none of these by its beginning, either; docs/launch-files.md describes launch files, \
         and `warploom run` lists workloads"
            .to_owned()
    }
}

/// Suggestions for a name that is not a target: files without their endings, and the names that
/// resemble it.
fn hint(target: &str, unknown: &UnknownTarget) -> String {
    let files = ["cu", "ptx", "toml"].map(|ending| format!("{target}.{ending}"));
    let files = files.into_iter().filter(|file| Path::new(file).is_file());
    let mut near: Vec<_> = files.map(|file| format!("`{file}`")).collect();
    near.extend(similar(&unknown.name, &unknown.known));
    let meant = match near.as_slice() {
        [] => String::new(),
        names => format!("\n  = help: did you mean {}?", names.join(" or ")),
    };
    format!("{meant}\n  = help: `warploom run` lists workloads; files end in .toml, .ptx or .cu")
}

/// Most names in a suggestion.
const SUGGESTIONS: usize = 4;

/// Names that are close to `name`, contain it, or are contained in it.
fn similar(name: &str, known: &[String]) -> Vec<String> {
    let folded = name.to_lowercase();
    let contained = |other: &&str| {
        let other = other.to_lowercase();
        let shared = folded.len().min(other.len()) >= 3;
        shared && (other.contains(&folded) || folded.contains(&other))
    };
    let names = || known.iter().map(String::as_str);
    let mut found: Vec<&str> = nearest(name, names()).into_iter().collect();
    for other in names().filter(contained) {
        if !found.contains(&other) {
            found.push(other);
        }
    }
    let shown = found.into_iter().take(SUGGESTIONS);
    shown.map(|name| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Size, WorkloadArgs, file_name, similar, use_of};

    #[test]
    fn kernels_of_a_file_have_names_of_their_own() {
        assert_eq!(
            file_name("../a/./conv.cu", Some("_Z4convILi3EEvPf")),
            "a/conv.cu conv<3>"
        );
        assert_eq!(
            file_name("/data/kernels/scan.ptx", None),
            "kernels/scan.ptx"
        );
        assert_eq!(file_name("scan.toml", None), "scan.toml");
    }

    #[test]
    fn a_file_without_a_known_ending_is_recognised_by_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (text, advice) in [
            ("\x7fELF", "`warploom app file`"),
            ("#!/bin/sh", "`warploom app file`"),
            (".version 7.0\n.target sm_50\n", "ends in .ptx"),
            ("[[launch]]\n", "ends in .toml"),
            ("__global__ void k() {}", "ends in .cu"),
            ("my notes\n", "lists workloads"),
        ] {
            std::fs::write(&path, text).unwrap();
            let told = use_of(&path, "file");
            assert!(told.contains(advice), "{text}: {told}");
        }
    }

    #[test]
    fn a_size_that_changes_nothing_is_told() {
        let unused = |size, seed, target: &str| WorkloadArgs { size, seed }.unused(target);
        assert_eq!(unused(Size::Small, 1, "k.toml"), None);
        assert_eq!(unused(Size::Test, 1, "bfs"), None);
        let told = unused(Size::Test, 1, "k.toml").expect("a note");
        assert!(told.starts_with("note: --size chooses") && told.ends_with("for k.toml\n"));
        assert!(unused(Size::Small, 7, "k.ptx").is_some_and(|told| told.contains("--seed")));
    }

    #[test]
    fn names_that_resemble_are_suggested() {
        let known = ["transpose", "ref-transpose-naive", "spmv", "nn"].map(str::to_owned);
        assert_eq!(similar("spvm", &known), ["`spmv`"]);
        assert_eq!(similar("matrixtranspose", &known), ["`transpose`"]);
        assert_eq!(
            similar("transpos", &known),
            ["`transpose`", "`ref-transpose-naive`"]
        );
        assert!(similar("xyz", &known).is_empty());
    }
}
