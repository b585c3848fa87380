//! Choice of the point of registers and blocks for the allocation.

use super::{Args, Spill, Subject, TlpArg, options};
use crate::failure::Failure;
use serde::Serialize;
use warploom_config::GpuSpec;
use warploom_crat::{
    CacheAssumption, Candidate, Costs, Kernel, Point, Search, estimate_tlp, explore,
};
use warploom_microbench::spill_costs;
use warploom_regalloc::space::min_registers;
use warploom_regalloc::{Demand, Options};

/// The point for which the kernel is allocated.
#[derive(Clone, Copy, Serialize)]
pub struct Chosen {
    pub registers: u32,
    /// Number of blocks on an SM; unknown without a block size.
    pub tlp: Option<u32>,
}

/// Facts about the design space, and the chosen point.
pub struct Choice {
    pub demand: Demand,
    pub min_reg: u32,
    pub max_tlp: Option<u32>,
    pub opt_tlp: Option<u32>,
    pub candidates: Vec<Candidate>,
    pub chosen: Chosen,
    pub options: Options,
}

/// Chooses a point of the design space. Without a block size there is only the requested point.
pub fn choose(args: &Args, subject: &Subject) -> Result<Choice, Failure> {
    let gpu = args.gpu.spec(&[])?;
    let Some(kernel) = subject.kernel()? else {
        return without_block(args, subject, &gpu);
    };
    let costs = spill_costs(&gpu).map_err(|why| Failure::Input(why.to_string()))?;
    let mut search = Search {
        opt_tlp: None,
        spill: args.spills(),
        method: args.allocator.method(),
        typing: args.types.typing(),
        costs: Costs {
            local: costs.local,
            shared: costs.shared,
            other: 1.0,
        },
        default_registers: kernel.default_registers,
    };
    search.opt_tlp = match args.opt_tlp {
        None => None,
        Some(TlpArg::Blocks(blocks)) => Some(blocks),
        Some(TlpArg::Static) => Some(guessed(args, subject, &kernel, &gpu, &search)?),
    };
    let space = explore(&kernel, &gpu, &search).map_err(|why| subject.refusal(why))?;
    let point = match args.registers {
        None => space.best,
        Some(registers) => Point {
            registers,
            tlp: kernel.blocks_per_sm(registers, &gpu).min(space.opt_tlp),
        },
    };
    Ok(Choice {
        demand: subject.demand(args)?,
        min_reg: space.min_reg,
        max_tlp: Some(space.max_tlp),
        opt_tlp: Some(space.opt_tlp),
        candidates: space.candidates,
        chosen: Chosen {
            registers: point.registers,
            tlp: Some(point.tlp),
        },
        options: search.options(&kernel, point, &gpu),
    })
}

/// The best number of blocks by static analysis of the code that runs by default: with the estimate
/// of a compiler's registers, and spills in local memory.
fn guessed(
    args: &Args,
    subject: &Subject,
    kernel: &Kernel,
    gpu: &GpuSpec,
    search: &Search,
) -> Result<u32, Failure> {
    let registers = kernel.fewest_registers(&search.unlimited(), kernel.default_registers);
    let registers = registers.map_err(|why| subject.refusal(why))?;
    let max_tlp = kernel.blocks_per_sm(registers.min(gpu.sm.max_registers_per_thread), gpu);
    let cache = CacheAssumption {
        hit_ratio: args.hit_ratio,
        at_tlp: max_tlp,
        lines_per_load: args.lines,
        lines_per_store: args.lines,
    };
    let options = Options {
        registers: Some(registers),
        ..search.unlimited()
    };
    let code = kernel.allocated(&options);
    let code = code.map_err(|why| subject.refusal(why))?;
    Ok(estimate_tlp(&code, gpu, max_tlp, &cache))
}

fn without_block(args: &Args, subject: &Subject, gpu: &GpuSpec) -> Result<Choice, Failure> {
    let Some(registers) = args.registers else {
        return Err(Failure::Input(
            "the best number of registers depends on the block's shape: give --block, or --registers"
                .to_owned(),
        ));
    };
    if matches!(args.spill, Spill::Shared) {
        return Err(Failure::Input(
            "spilling to shared memory depends on the block's shape; give it with --block"
                .to_owned(),
        ));
    }
    Ok(Choice {
        demand: subject.demand(args)?,
        min_reg: min_registers(gpu.sm.registers, gpu.sm.max_threads),
        max_tlp: None,
        opt_tlp: None,
        candidates: Vec::new(),
        chosen: Chosen {
            registers,
            tlp: None,
        },
        options: Options {
            registers: Some(registers),
            ..options(args)
        },
    })
}
