//! Options for registers that are allocated before workloads run.

use crate::failure::Failure;
use crate::target::WorkloadArgs;
use warploom_lab::{Allocate, Input};
use warploom_regalloc::Method;

/// Registers of a program, or `-` for a program that runs as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Registers(Option<u32>);

fn registers(text: &str) -> Result<Registers, String> {
    match text {
        "-" => Ok(Registers(None)),
        number => match number.parse() {
            Ok(registers) => Ok(Registers(Some(registers))),
            Err(_) => Err("write a number of registers, or - for a program as it is".to_owned()),
        },
    }
}

/// Allocation of the workloads' kernels, if any.
#[derive(clap::Args)]
pub struct AllocateArgs {
    /// Allocate the workload's kernel with this many registers per thread before it runs, including
    /// spills (CRAT); its launches use that number. Of several programs, one number for each, or -
    /// for a program as it is
    #[arg(long, value_name = "REGISTERS,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = registers)]
    allocate: Vec<Registers>,
    /// With --allocate: keep spilled values in shared memory, as far as this many bytes per block
    /// hold them, and the others in local memory; of several programs, one number for each
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        requires = "allocate"
    )]
    spill_shared: Vec<u32>,
    /// With --allocate and one program: keep this register of the kernel in shared memory
    #[arg(long, value_name = "REGISTER", requires = "allocate")]
    in_shared: Option<String>,
    /// With --allocate: reorder, spill for parts of lives and recompute (full), or spill a variable
    /// around all of its uses, in program order (chaitin-briggs; CRAT, section 5.1)
    #[arg(long, value_enum, value_name = "ALLOCATOR", default_value_t = Allocator::Full, requires = "allocate")]
    allocator: Allocator,
}

/// A rule by which values are spilled. Values have no comments, because those would change the
/// layout of the whole help.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Allocator {
    Full,
    ChaitinBriggs,
}

impl Allocator {
    /// The method of spilling values.
    pub fn method(self) -> Method {
        match self {
            Self::Full => Method::Full,
            Self::ChaitinBriggs => Method::ChaitinBriggs,
        }
    }
}

impl AllocateArgs {
    /// Refuses lists that do not match the number of programs.
    pub fn check(&self, programs: usize) -> Result<(), Failure> {
        let lists = [
            ("--allocate", self.allocate.len()),
            ("--spill-shared", self.spill_shared.len()),
        ];
        for (option, numbers) in lists {
            if numbers != 0 && numbers != programs {
                return Err(Failure::Input(format!(
                    "{option} names {numbers} numbers for {programs} programs; write one for each"
                )));
            }
        }
        match &self.in_shared {
            Some(_) if programs > 1 => Err(Failure::Input(
                "--in-shared names a register of one kernel; leave it out, or run one program"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// The `nth` program with its kernel allocated, if this was requested.
    pub fn input(
        &self,
        nth: usize,
        target: &str,
        workload: &WorkloadArgs,
    ) -> Result<Option<Input>, Failure> {
        let Some(Registers(Some(registers))) = self.allocate.get(nth) else {
            return Ok(None);
        };
        let file = [".ptx", ".toml", ".cu"]
            .iter()
            .any(|end| target.ends_with(end));
        if file {
            return Err(Failure::Input(format!(
                "--allocate needs a workload, and `{target}` is not one; let `warploom crat` write \
                 allocated PTX and run that"
            )));
        }
        let how = Allocate {
            shared_bytes: self.spill_shared.get(nth).copied().unwrap_or(0),
            in_shared: self.in_shared.clone(),
            method: self.allocator.method(),
            ..Allocate::local(*registers)
        };
        let input = Input::allocated(target, workload.size, workload.seed, &how);
        input.map(Some).map_err(Failure::Input)
    }

    /// True if kernels are to be allocated.
    pub fn given(&self) -> bool {
        !self.allocate.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Registers, registers};

    #[test]
    fn a_dash_leaves_a_program_as_it_is() {
        assert_eq!(registers("24"), Ok(Registers(Some(24))));
        assert_eq!(registers("-"), Ok(Registers(None)));
        assert!(registers("-3").is_err() && registers("").is_err());
    }
}
