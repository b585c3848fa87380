//! A kernel with the block size with which it is launched.

use warploom_config::{BlockNeeds, GpuSpec};
use warploom_diag::{Diagnostics, Source};
use warploom_ptx::ast::{Function, Item, Module};
use warploom_regalloc::{Allocation, Options, allocate_kernel, fewest_registers, max_registers};

/// The reason for which a kernel cannot be allocated or no point can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The program has errors or the limit of registers is too low.
    #[error("{}", .0.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "))]
    Program(Diagnostics),
    /// A thread block does not fit on the GPU.
    #[error(
        "not one block of {threads} threads fits an SM of `{gpu}` with {registers} registers a \
         thread; use smaller blocks or another --gpu"
    )]
    NoRoom {
        /// The number of threads of a block.
        threads: u32,
        /// The lowest number of registers per thread that was considered.
        registers: u32,
        /// The name of the GPU.
        gpu: String,
    },
}

impl From<Diagnostics> for Refusal {
    fn from(why: Diagnostics) -> Self {
        Self::Program(why)
    }
}

/// A kernel of a module, with the block size with which it is launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The module that contains the kernel.
    pub module: Module,
    /// The name of the `.entry` function.
    pub name: String,
    /// The size of a thread block, in threads along x, y and z.
    pub block: [u32; 3],
    /// The shared memory of a block in bytes, static and dynamic, without spilled values.
    pub shared_bytes: u32,
    /// An estimate of the registers per thread that a compiler such as `ptxas` would use.
    pub default_registers: u32,
}

impl Kernel {
    /// Describes a kernel of a module that was parsed from `source`, without dynamic shared memory
    /// ([`Kernel::with_dynamic_shared`] adds it).
    ///
    /// # Errors
    /// Returns diagnostics for instructions of the kernel that cannot be executed.
    pub fn new(
        module: Module,
        source: &Source,
        name: &str,
        block: [u32; 3],
    ) -> Result<Self, Refusal> {
        let lowered = warploom_lower::lower(&module, source)?;
        let mut refused = lowered.refused.into_iter();
        if let Some((_, why)) = refused.find(|(refused, _)| refused == name) {
            return Err(Refusal::Program(why));
        }
        let mut programs = lowered.kernels.iter();
        let program = programs.find(|program| program.name == name);
        Ok(Self {
            shared_bytes: program.map_or(0, |program| program.shared_bytes),
            default_registers: program.map_or(0, |program| program.registers_per_thread),
            module,
            name: name.to_owned(),
            block,
        })
    }

    /// Returns the kernel with shared memory that its launch adds to every block, in bytes.
    #[must_use]
    pub fn with_dynamic_shared(self, bytes: u32) -> Self {
        Self {
            shared_bytes: self.shared_bytes.saturating_add(bytes),
            ..self
        }
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the lowest number of registers per thread that requires no spills (MaxReg).
    ///
    /// # Errors
    /// Returns the errors of [`max_registers`].
    pub fn max_registers(&self, options: &Options) -> Result<u32, Refusal> {
        Ok(max_registers(&self.module, &self.name, options)?)
    }

    /// Returns the lowest number of registers per thread, at least `least`, with which the kernel
    /// can be allocated. The result is never higher than the number that requires no spills.
    ///
    /// # Errors
    /// Returns the errors of [`fewest_registers`].
    pub fn fewest_registers(&self, options: &Options, least: u32) -> Result<u32, Refusal> {
        Ok(fewest_registers(&self.module, &self.name, options, least)?)
    }

    /// Allocates the registers of the kernel.
    ///
    /// # Errors
    /// Returns the errors of [`allocate_kernel`].
    pub fn allocate(&self, options: &Options) -> Result<Allocation, Refusal> {
        Ok(allocate_kernel(&self.module, &self.name, options)?)
    }

    /// Returns the kernel with its registers allocated, as it runs.
    ///
    /// # Errors
    /// Returns the errors of [`allocate_kernel`].
    pub fn allocated(&self, options: &Options) -> Result<Self, Refusal> {
        let module = self.allocate(options)?.module;
        Ok(Self {
            module,
            ..self.clone()
        })
    }

    /// Returns the number of blocks that fit on an SM with the given number of registers per
    /// thread.
    pub fn blocks_per_sm(&self, registers: u32, gpu: &GpuSpec) -> u32 {
        let needs = BlockNeeds::new(self.threads(), registers, self.shared_bytes, &gpu.sm);
        needs.blocks_per_sm(u64::MAX, &gpu.sm, &gpu.gpu).0
    }

    /// Returns the shared memory in bytes that each of `tlp` blocks may use in addition to its own
    /// without reducing the number of blocks (CRAT, section 5.3).
    pub fn spare_shared(&self, tlp: u32, gpu: &GpuSpec) -> u32 {
        let each = gpu.sm.shared_bytes / tlp.max(1);
        let most = each.min(gpu.sm.max_shared_bytes_per_block);
        most.saturating_sub(self.shared_bytes)
    }

    /// Returns the share of an SM's registers that `tlp` blocks occupy, from 0 to 1.
    pub fn register_share(&self, registers: u32, tlp: u32, gpu: &GpuSpec) -> f64 {
        let needs = BlockNeeds::new(self.threads(), registers, self.shared_bytes, &gpu.sm);
        f64::from(needs.registers * tlp) / f64::from(gpu.sm.registers)
    }

    /// Returns the kernel's function in the module.
    pub(crate) fn function(&self) -> Option<&Function> {
        let mut functions = self.module.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        });
        functions.find(|f| f.name.node == self.name && f.body.is_some())
    }
}
