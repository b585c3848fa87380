//! What `run` runs: a workload, a launch file, or a PTX file.

use crate::failure::Failure;
use crate::launch_args::LaunchArgs;
use std::path::Path;
use warploom_config::GpuSpec;
use warploom_diag::nearest;
use warploom_run::launch_file::{LaunchFile, Limits};
use warploom_run::{Check, Device, HostAction, HostError, HostProgram};
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
        Ok(target) => Ok(workload(&target, size, seed)),
        Err(unknown) => Err(Failure::Input(format!("{unknown}{}", hint(target)))),
    }
}

/// The program of a workload, with the registers per thread that the paper behind an abbreviation
/// implies.
fn workload(target: &Target, size: Size, seed: u64) -> Box<dyn HostProgram> {
    let program = target.program(size, seed);
    let Some(registers) = target.registers else {
        return program;
    };
    let entries = target.kernel.map(|kernel| kernel.entries);
    Box::new(WithRegisters {
        program,
        entries,
        registers,
    })
}

/// A program whose launches have a given number of registers per thread.
struct WithRegisters {
    program: Box<dyn HostProgram>,
    /// The entries that it holds for; all of them if none.
    entries: Option<&'static [&'static str]>,
    registers: u32,
}

impl HostProgram for WithRegisters {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let mut action = self.program.next(device)?;
        if let HostAction::Launch(launch) = &mut action {
            let meant = |entries: &[&str]| entries.contains(&launch.kernel.as_str());
            if self.entries.is_none_or(meant) {
                launch.registers_per_thread = Some(self.registers);
            }
        }
        Ok(action)
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.program.checks(device)
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
