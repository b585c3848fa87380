//! Targets of `run`: a workload, a launch file, or a PTX file.

use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::kept;
use crate::launch_args::LaunchArgs;
use crate::output::error_style;
use std::path::{Path, PathBuf};
use warploom_config::GpuSpec;
use warploom_diag::nearest;
use warploom_lab::Input;
use warploom_run::HostProgram;
use warploom_run::launch_file::{LaunchFile, Limits, parse, read};
use warploom_stats::result::RunReport;
use warploom_workloads::{Size, Target, UnknownTarget, all, architecture};

/// Choice of a workload's input.
#[derive(clap::Args)]
pub struct WorkloadArgs {
    /// Size of a workload's inputs: test, small or paper
    #[arg(long, value_name = "test|small|paper", default_value_t = Size::Small)]
    pub size: Size,
    /// Seed of a workload's inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// A target on a machine, for verbs that examine a single run.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Workload (`warploom list workloads`), launch file (*.toml) or PTX file (*.ptx)
    pub target: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Number of simulator threads; the result is the same for any number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::verbs::run::threads)]
    pub threads: usize,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl TargetArgs {
    fn targets(&self) -> &[String] {
        std::slice::from_ref(&self.target)
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

    /// The machine, and the host program to run on it.
    pub fn load(&self) -> Result<(GpuSpec, Box<dyn HostProgram>), Failure> {
        let gpu = self.gpu.spec(self.targets())?;
        let WorkloadArgs { size, seed } = self.workload;
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

/// Host program of a target.
pub fn program(
    target: &str,
    size: Size,
    seed: u64,
    launch: &LaunchArgs,
    gpu: &GpuSpec,
) -> Result<Box<dyn HostProgram>, Failure> {
    if let Some(file) = launch_file(target, launch)? {
        return Ok(Box::new(file.program(Limits::of(gpu))?));
    }
    match Target::resolve(target) {
        Ok(target) => Ok(target.program_on(size, seed, architecture(&gpu.name))),
        Err(unknown) => Err(refusal(target, &unknown)),
    }
}

/// An input that can run any number of times, on any machine.
pub fn input(target: &str, size: Size, seed: u64, launch: &LaunchArgs) -> Result<Input, Failure> {
    let Some(file) = launch_file(target, launch)? else {
        return Input::workload(target, size, seed).map_err(|unknown| refusal(target, &unknown));
    };
    let make = {
        let file = file.clone();
        move |gpu: &GpuSpec| {
            let program = file.clone().program(Limits::of(gpu));
            let program = program.map_err(|errors| errors.render(error_style()))?;
            Ok(Box::new(program) as Box<dyn HostProgram>)
        }
    };
    Ok(Input::new(
        target,
        launch.command(target),
        file.digest(),
        make,
    ))
}

/// The launch file that a target is or corresponds to, unless it is a workload.
fn launch_file(target: &str, launch: &LaunchArgs) -> Result<Option<LaunchFile>, Failure> {
    if target.ends_with(".ptx") {
        return launch.launch_file(target).map(Some);
    }
    if launch.given() {
        return Err(Failure::Input(format!(
            "--kernel, --grid, --block, --arg and --shared describe the launch of a .ptx file, \
             which `{target}` is not; leave them out"
        )));
    }
    if target.ends_with(".toml") {
        Ok(Some(LaunchFile::load(Path::new(target))?))
    } else {
        Ok(None)
    }
}

fn refusal(target: &str, unknown: &UnknownTarget) -> Failure {
    Failure::Input(match file_refusal(target) {
        Some(refusal) => refusal,
        None => format!("{unknown}{}", hint(target)),
    })
}

/// Refusal with a remedy for a file or folder that is not a target, or `None` if it is not a path.
fn file_refusal(target: &str) -> Option<String> {
    let path = Path::new(target);
    let ends = |endings: &[&str]| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| endings.contains(&ending.to_lowercase().as_str()))
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if ends(&["cu", "cuh", "cpp", "cc", "c"]) {
        return Some(format!(
            "{target} is source code; Warploom runs PTX\n  \
             = help: one kernel: `nvcc -ptx -arch=compute_75 {target} -o {stem}.ptx`, then \
             `warploom run {stem}.ptx --grid 16 --block 256 --arg ...`\n  \
             = help: a whole program: `nvcc -cudart shared {target} -o {stem}`, then `warploom app \
             ./{stem}`"
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
        format!(
            "{target} is neither a launch file (*.toml) nor a PTX file (*.ptx)\n  \
             = help: a CUDA program runs with `warploom app {target}`"
        )
    })
}

/// Suggestion for a name that is not a target.
fn hint(target: &str) -> String {
    let name = target.split([':', '@']).next().unwrap_or(target);
    match nearest(name, all().iter().map(|workload| workload.name)) {
        Some(near) => format!("\n  = help: did you mean `{near}`?"),
        None => "\n  = help: `warploom run` lists what can be run; files end in .toml or .ptx"
            .to_owned(),
    }
}
