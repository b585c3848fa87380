//! What `run` runs: a workload, a launch file, or a PTX file.

use crate::failure::Failure;
use crate::launch_args::LaunchArgs;
use std::path::Path;
use warploom_config::GpuSpec;
use warploom_diag::nearest;
use warploom_run::HostProgram;
use warploom_run::launch_file::{LaunchFile, Limits};
use warploom_workloads::{Size, Target, all};

/// The host program of a target.
pub fn program(
    target: &str,
    size: Size,
    seed: u64,
    launch: &LaunchArgs,
    gpu: &GpuSpec,
) -> Result<Box<dyn HostProgram>, Failure> {
    if target.ends_with(".ptx") {
        let file = launch.launch_file(target)?;
        return Ok(Box::new(file.program(Limits::of(gpu))?));
    }
    if launch.given() {
        return Err(Failure::Input(format!(
            "--kernel, --grid, --block, --arg and --shared describe the launch of a .ptx file, \
             which `{target}` is not; leave them out"
        )));
    }
    if target.ends_with(".toml") {
        let file = LaunchFile::load(Path::new(target))?;
        return Ok(Box::new(file.program(Limits::of(gpu))?));
    }
    match Target::resolve(target) {
        Ok(target) => Ok(target.program(size, seed)),
        Err(unknown) => Err(Failure::Input(format!("{unknown}{}", hint(target)))),
    }
}

/// What was probably meant by a name that is no target.
fn hint(target: &str) -> String {
    let name = target.split([':', '@']).next().unwrap_or(target);
    match nearest(name, all().iter().map(|workload| workload.name)) {
        Some(near) => format!("\n  = help: did you mean `{near}`?"),
        None => "\n  = help: `warploom run` lists what can be run; files end in .toml or .ptx"
            .to_owned(),
    }
}
