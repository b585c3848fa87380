//! Allocates whole modules and checks every result.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use warploom_diag::{Diagnostics, Source, Style};
use warploom_ptx::ast::Module;
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{Demand, Options, Report, allocate_kernel, demand, kernels};

/// PTX and its syntax tree.
pub struct Program {
    pub source: Source,
    pub module: Module,
}

impl Program {
    /// Parses PTX that must be valid.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        let source = Source::new(name, text);
        match warploom_ptx::load(&source) {
            Ok((module, _)) => Ok(Self { source, module }),
            Err(problems) => bail!("{}", problems.render(&source, Style::Plain)),
        }
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> Vec<String> {
        kernels(&self.module)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// Registers of a launch that does not specify any, by kernel.
    pub fn estimates(&self) -> Result<BTreeMap<String, u32>> {
        let lowered = warploom_lower::lower(&self.module, &self.source);
        let lowered = lowered.map_err(|why| self.error(&why))?;
        let of = |kernel: warploom_ir::Program| (kernel.name, kernel.registers_per_thread);
        Ok(lowered.kernels.into_iter().map(of).collect())
    }

    /// Register demand of a kernel.
    pub fn demand(&self, kernel: &str) -> Result<Demand> {
        demand(&self.module, kernel, &Options::default()).map_err(|why| self.error(&why))
    }

    /// Allocates one kernel. The result is printed, parsed again, and checked.
    pub fn allocate(&self, kernel: &str, options: &Options) -> Result<(Self, Report)> {
        let allocation =
            allocate_kernel(&self.module, kernel, options).map_err(|why| self.error(&why))?;
        let text = warploom_ptx::print(&allocation.module);
        let made = Self::read(self.source.name(), &text)?;
        for (function, steps) in &allocation.steps {
            let claim = Claim {
                original: &self.module,
                allocated: &made.module,
                function,
                steps,
                block: options.shared.map_or([1; 3], |shared| shared.block),
                limit: options.registers,
                typing: options.typing,
            };
            if let Err(refusal) = check(&claim) {
                bail!("{kernel} with {:?} registers: {refusal}", options.registers);
            }
        }
        let report = allocation.report;
        let within = options
            .registers
            .is_none_or(|limit| report.registers <= limit);
        ensure!(
            within,
            "{kernel} takes {} of {:?}",
            report.registers,
            options.registers
        );
        Ok((made, report))
    }

    fn error(&self, why: &Diagnostics) -> anyhow::Error {
        anyhow::anyhow!("{}", why.render(&self.source, Style::Plain))
    }
}
