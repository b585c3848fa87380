//! Runs cases on Warploom's functional executor.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use warploom_base::Dim3;
use warploom_diag::{Source, Style};
use warploom_exec::{DeviceMemory, FunctionalOptions, LaunchContext, LaunchSpec, run_grid};
use warploom_ir::Program;

use super::case::{BLOCK, Case, TUPLES};
use super::machine::Machine;

/// Size of device memory, for the operands and results of one case.
const MEMORY_BYTES: u64 = 1 << 22;
/// Shared memory per block that every GPU supports.
const SHARED_BYTES: u32 = 48 << 10;

/// Kernels of the loaded module. A refused kernel has the reason in its place.
#[derive(Default)]
pub struct Simulated {
    kernels: Vec<(String, Result<Arc<Program>, String>)>,
}

impl Machine for Simulated {
    fn load(&mut self, text: &str) -> Result<()> {
        let source = Source::new("module.ptx", text);
        let module = warploom_run::compile(&source)?;
        let kernels = module.kernels.into_iter();
        self.kernels = kernels
            .map(|program| (program.name.clone(), Ok(Arc::new(program))))
            .collect();
        let refused = module.refused.iter().map(|(name, why)| {
            let said = why.render(&source, Style::Plain);
            (name.clone(), Err(said))
        });
        self.kernels.extend(refused);
        Ok(())
    }

    fn run(&mut self, number: usize, case: &Case, input: &[u8]) -> Result<Vec<u8>> {
        let name = format!("k{number}");
        let found = self.kernels.iter().find(|(kernel, _)| *kernel == name);
        let program = match found {
            Some((_, Ok(program))) => Arc::clone(program),
            Some((_, Err(why))) => bail!("{why}"),
            None => bail!("the module has no kernel {name}"),
        };
        execute(program, case, input)
    }
}

fn execute(program: Arc<Program>, case: &Case, input: &[u8]) -> Result<Vec<u8>> {
    let mut memory = DeviceMemory::new(MEMORY_BYTES);
    let bytes = case.output_bytes();
    let from = memory.alloc(0, input.len().max(1) as u64)?;
    let to = memory.alloc(0, bytes as u64)?;
    memory.write(0, from, input)?;
    memory.fill(0, to, 0, bytes as u64)?;
    let params = [from, to].into_iter().flat_map(u64::to_le_bytes);
    let spec = LaunchSpec {
        grid: Dim3::linear((TUPLES / BLOCK) as u32),
        block: Dim3::linear(BLOCK as u32),
        params: params.collect(),
        max_shared_bytes: SHARED_BYTES,
        ..LaunchSpec::default()
    };
    let context = LaunchContext::new(program, spec).context("cannot launch a generated kernel")?;
    let end = run_grid(&context, &mut memory, FunctionalOptions::default());
    end.map_err(|error| anyhow!("{error}"))?;
    let mut output = vec![0; bytes];
    memory.read(0, to, &mut output)?;
    Ok(output)
}
