//! A kernel on its way through the allocator.

use warploom_config::{BlockNeeds, GpuSpec};
use warploom_diag::{Diagnostics, Source};
use warploom_ptx::ast::{Function, Item, Module};
use warploom_regalloc::{Allocation, Options, allocate_kernel, fewest_registers, max_registers};

/// Why nothing can be chosen or allocated.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The program or the limit, with their places.
    #[error("{}", .0.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "))]
    Program(Diagnostics),
    /// The block is too large for the machine.
    #[error(
        "not one block of {threads} threads fits an SM of `{gpu}` with {registers} registers a \
         thread; use smaller blocks or another --gpu"
    )]
    NoRoom {
        /// Threads of a block.
        threads: u32,
        /// The fewest registers that are worth considering.
        registers: u32,
        /// The machine.
        gpu: String,
    },
}

impl From<Diagnostics> for Refusal {
    fn from(why: Diagnostics) -> Self {
        Self::Program(why)
    }
}

/// A kernel of a module, and the block that it is launched with.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The module.
    pub module: Module,
    /// Name of the `.entry`.
    pub name: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Shared memory of a block without spilled values, in bytes.
    pub shared_bytes: u32,
    /// Registers that a compiler such as `ptxas` would take: an estimate.
    pub default_registers: u32,
}

impl Kernel {
    /// A kernel of a module that was read from `source`, without dynamic shared memory.
    ///
    /// # Errors
    /// Instructions that cannot be executed, with their places.
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

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// MaxReg: the registers that spare all spills.
    ///
    /// # Errors
    /// As [`max_registers`].
    pub fn max_registers(&self, options: &Options) -> Result<u32, Refusal> {
        Ok(max_registers(&self.module, &self.name, options)?)
    }

    /// The fewest registers, from `least` on, with which it can be allocated.
    ///
    /// # Errors
    /// As [`fewest_registers`].
    pub fn fewest_registers(&self, options: &Options, least: u32) -> Result<u32, Refusal> {
        Ok(fewest_registers(&self.module, &self.name, options, least)?)
    }

    /// Allocates it.
    ///
    /// # Errors
    /// As [`allocate_kernel`].
    pub fn allocate(&self, options: &Options) -> Result<Allocation, Refusal> {
        Ok(allocate_kernel(&self.module, &self.name, options)?)
    }

    /// Blocks that fit an SM with so many registers a thread.
    pub fn blocks_per_sm(&self, registers: u32, gpu: &GpuSpec) -> u32 {
        let needs = BlockNeeds::new(self.threads(), registers, self.shared_bytes, &gpu.sm);
        needs.blocks_per_sm(u64::MAX, &gpu.sm, &gpu.gpu).0
    }

    /// Shared memory that each of `tlp` blocks may use beyond its own without there being fewer
    /// (section 5.3).
    pub fn spare_shared(&self, tlp: u32, gpu: &GpuSpec) -> u32 {
        let each = gpu.sm.shared_bytes / tlp.max(1);
        let most = each.min(gpu.sm.max_shared_bytes_per_block);
        most.saturating_sub(self.shared_bytes)
    }

    /// Share of an SM's registers that `tlp` blocks hold.
    pub fn register_share(&self, registers: u32, tlp: u32, gpu: &GpuSpec) -> f64 {
        let needs = BlockNeeds::new(self.threads(), registers, self.shared_bytes, &gpu.sm);
        f64::from(needs.registers * tlp) / f64::from(gpu.sm.registers)
    }

    /// Its text in the module.
    pub(crate) fn function(&self) -> Option<&Function> {
        let mut functions = self.module.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        });
        functions.find(|f| f.name.node == self.name && f.body.is_some())
    }
}
