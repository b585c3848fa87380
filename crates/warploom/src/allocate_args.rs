//! Registers allocated before a workload runs.

use crate::failure::Failure;
use crate::target::WorkloadArgs;
use warploom_config::GpuSpec;
use warploom_lab::{Allocate, Input};
use warploom_run::HostProgram;

/// How the workload's kernel is allocated, if it is.
#[derive(clap::Args)]
pub struct AllocateArgs {
    /// Allocate the workload's kernel with so many registers a thread before it runs, spills
    /// included (CRAT); its launches take that many
    #[arg(long, value_name = "REGISTERS")]
    allocate: Option<u32>,
    /// With --allocate: spilled values go to shared memory as far as so many bytes of a block hold
    /// them, otherwise to local memory
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "allocate")]
    spill_shared: u32,
    /// With --allocate: keep this register of the kernel in shared memory whatever happens
    #[arg(long, value_name = "REGISTER", requires = "allocate")]
    in_shared: Option<String>,
}

impl AllocateArgs {
    /// The allocated workload, if it is to be allocated.
    pub fn program(
        &self,
        target: &str,
        workload: &WorkloadArgs,
        gpu: &GpuSpec,
    ) -> Result<Option<Box<dyn HostProgram>>, Failure> {
        let Some(registers) = self.allocate else {
            return Ok(None);
        };
        if target.ends_with(".ptx") || target.ends_with(".toml") {
            return Err(Failure::Input(format!(
                "--allocate takes a workload, which `{target}` is not; let `warploom crat` write \
                 allocated PTX and run that"
            )));
        }
        let how = Allocate {
            shared_bytes: self.spill_shared,
            in_shared: self.in_shared.clone(),
            ..Allocate::local(registers)
        };
        let input = Input::allocated(target, workload.size, workload.seed, &how);
        let program = input.and_then(|input| input.program(gpu));
        program.map(Some).map_err(Failure::Input)
    }

    /// It is to be allocated.
    pub fn given(&self) -> bool {
        self.allocate.is_some()
    }
}
