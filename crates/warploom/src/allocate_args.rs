//! Options for registers that are allocated before a workload runs.

use crate::failure::Failure;
use crate::target::WorkloadArgs;
use warploom_config::GpuSpec;
use warploom_lab::{Allocate, Input};
use warploom_run::HostProgram;

/// Allocation of the workload's kernel, if any.
#[derive(clap::Args)]
pub struct AllocateArgs {
    /// Allocate the workload's kernel with this many registers per thread before it runs, including
    /// spills (CRAT); its launches use that number
    #[arg(long, value_name = "REGISTERS")]
    allocate: Option<u32>,
    /// With --allocate: keep spilled values in shared memory, as far as this many bytes per block
    /// hold them, and the others in local memory
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "allocate")]
    spill_shared: u32,
    /// With --allocate: keep this register of the kernel in shared memory
    #[arg(long, value_name = "REGISTER", requires = "allocate")]
    in_shared: Option<String>,
}

impl AllocateArgs {
    /// The workload with its kernel allocated, if this was requested.
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
                "--allocate needs a workload, and `{target}` is not one; let `warploom crat` write \
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

    /// True if the kernel is to be allocated.
    pub fn given(&self) -> bool {
        self.allocate.is_some()
    }
}
