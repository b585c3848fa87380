//! The verb `warploom crat`.

mod explore;
mod text;

use crate::allocate_args::Allocator;
use crate::cuda_source::ptx_of;
use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::output::{error_style, print, print_json, write_file};
use explore::{Choice, choose};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use warploom_crat::{Candidate, Kernel, Refusal};
use warploom_diag::{Diagnostics, Source, Style};
use warploom_ptx::ast::{FunctionDirective, Item, Module};
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{
    Allocation, Demand, Options, Report, Typing, allocate_kernel, demand, kernels,
};

const EXAMPLES: &str = "\
Examples:
  warploom crat kernel.ptx -o small.ptx --registers 24
  warploom crat kernel.ptx -o small.ptx --registers 24 --spill shared --block 256
  warploom crat kernel.ptx -o best.ptx --gpu fermi-crat --block 256
  warploom crat kernel.ptx -o best.ptx --gpu fermi-crat --block 16,16 --opt-tlp 3 --json
  warploom crat kernel.ptx -o best.ptx --gpu fermi-crat --block 256 --opt-tlp static";

/// Allocate a kernel's registers, from PTX to PTX
///
/// With --registers the limit is given. Otherwise it is the point of registers and blocks on an SM
/// with the best score for the GPU and block size (CRAT, Xie et al., MICRO 2015). A value without a
/// register is recomputed for every use if it is a constant, an index or a parameter; otherwise it
/// is spilled to local or shared memory.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Path of the PTX file, or of CUDA source (*.cu), which is compiled
    file: PathBuf,
    /// File for the allocated PTX
    #[arg(short, long, value_name = "OUT.ptx")]
    output: Option<PathBuf>,
    /// Name of the kernel; optional if the file has only one
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Registers per thread; a 64-bit register counts as two, and predicates do not count
    #[arg(long, value_name = "N")]
    registers: Option<u32>,
    /// Threads of a block: X, X,Y or X,Y,Z [default: the kernel's .reqntid, if it has one]
    #[arg(long, value_name = "X[,Y[,Z]]", value_delimiter = ',', num_args = 1)]
    block: Vec<u32>,
    /// Memory for spilled values
    #[arg(long, value_enum, default_value_t = Spill::Auto)]
    spill: Spill,
    /// With --registers: shared memory for spilled values, in bytes per block
    #[arg(long, value_name = "BYTES")]
    spare: Option<u32>,
    /// Best number of blocks on an SM: a number, for example from
    /// `warploom compare --vary gpu.max_blocks_per_sm=...`, or `static` for an estimate from the
    /// code [default: the largest number that fits]
    #[arg(long, value_name = "BLOCKS|static")]
    opt_tlp: Option<TlpArg>,
    /// With --opt-tlp static: hit rate of loads in L1D with the largest number of blocks that fit
    #[arg(long, value_name = "0..1", default_value_t = 0.5, value_parser = ratio)]
    hit_ratio: f64,
    /// With --opt-tlp static: cache lines that a warp touches with one load or store, on average
    #[arg(long, value_name = "1..32", default_value_t = 1.0, value_parser = lines)]
    lines: f64,
    /// Shared memory that the launch adds to each block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    dynamic_shared: u32,
    /// Reorder, spill for parts of lives and recompute (full), or spill a variable around all of
    /// its uses, in program order (chaitin-briggs; CRAT, section 5.1)
    #[arg(long, value_enum, default_value_t = Allocator::Full)]
    allocator: Allocator,
    /// Let floats and integers share registers (bits), or keep them apart (kinds)
    #[arg(long, value_enum, default_value_t = Types::Bits)]
    types: Types,
    /// Check the result with the independent checker before it is written
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Spill {
    /// Shared memory if the block size is known and there is space, otherwise local memory
    Auto,
    /// Local memory for all spilled values
    Local,
    /// Shared memory as far as there is space; needs the block size
    Shared,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Types {
    Bits,
    Kinds,
}

impl Types {
    fn typing(self) -> Typing {
        match self {
            Self::Bits => Typing::Bits,
            Self::Kinds => Typing::Kinds,
        }
    }
}

/// Source of the best number of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TlpArg {
    Blocks(u32),
    Static,
}

impl FromStr for TlpArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("static", _) => Ok(Self::Static),
            (_, Ok(blocks @ 1..)) => Ok(Self::Blocks(blocks)),
            _ => Err("write a number of blocks, or `static`"),
        }
    }
}

fn ratio(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(ratio @ 0.0..=1.0) => Ok(ratio),
        _ => Err("write a number from 0 to 1"),
    }
}

fn lines(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(lines @ 1.0..=32.0) => Ok(lines),
        _ => Err("write a number from 1 to 32"),
    }
}

/// Output of the command.
#[derive(Serialize)]
struct Output {
    kernel: String,
    /// Number of registers that avoids all spills, by colouring.
    max_reg: u32,
    /// Number of registers below which no more threads fit an SM.
    min_reg: u32,
    /// Fewest registers with which the kernel can be allocated.
    fewest_registers: u32,
    /// Largest number of registers in use at any instruction.
    pressure: u32,
    max_tlp: Option<u32>,
    opt_tlp: Option<u32>,
    candidates: Vec<Candidate>,
    chosen: explore::Chosen,
    allocation: AllocationSummary,
}

/// The allocation that was written.
#[derive(Serialize)]
struct AllocationSummary {
    registers: u32,
    predicates: u32,
    local_bytes: u32,
    shared_bytes: u32,
    spill_stores_bytes: u64,
    spill_loads_bytes: u64,
    local_accesses: u64,
    shared_accesses: u64,
    other_instructions: u64,
    removed_instructions: u32,
    verified: bool,
    spilled: Vec<text::SpilledRow>,
}

/// A file and one of its kernels.
struct Subject {
    source: Source,
    module: Module,
    kernel: String,
    block: Option<[u32; 3]>,
    /// Shared memory that the launch adds to each block, in bytes.
    dynamic_shared: u32,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let subject = subject(args)?;
    let choice = choose(args, &subject)?;
    let allocation = subject.allocate(&choice.options)?;
    if args.verify {
        verify(&subject, &allocation, &choice.options)?;
    }
    if let Some(path) = &args.output {
        let registers = allocation.report.registers;
        let limited = limited(allocation.module, &subject.kernel, registers);
        write_file(path, &warploom_ptx::print(&limited))?;
    }
    let output = output(args, &subject, choice, &allocation.report);
    if args.json {
        print_json(&output)?
    } else {
        print(&text::render(&output, args.output.as_deref()))?
    }
    Ok(ExitCode::SUCCESS)
}

/// The module with `.maxnreg` for the kernel, so that a run gives its threads the registers that
/// were allocated, and not an estimate.
fn limited(mut module: Module, kernel: &str, registers: u32) -> Module {
    for item in &mut module.items {
        if let Item::Function(function) = item
            && function.name.node == kernel
        {
            let is_other =
                |of: &FunctionDirective| !matches!(of, FunctionDirective::MaxRegisters(_));
            function.directives.retain(is_other);
            let limit = FunctionDirective::MaxRegisters(registers.max(1));
            function.directives.push(limit);
        }
    }
    module
}

fn subject(args: &Args) -> Result<Subject, Failure> {
    let source = ptx_of(&args.file)?;
    let (module, _warnings) = warploom_ptx::load(&source)
        .map_err(|why| Failure::Ptx(why.render(&source, error_style())))?;
    let names = kernels(&module);
    let kernel = match (&args.kernel, &names[..]) {
        (Some(kernel), _) => kernel.clone(),
        (None, [only]) => (*only).to_owned(),
        (None, []) => return Err(Failure::Input(format!("{} has no kernel", source.name()))),
        (None, several) => {
            return Err(Failure::Input(format!(
                "{} has {} kernels; choose one with --kernel: {}",
                source.name(),
                several.len(),
                several.join(", ")
            )));
        }
    };
    let block = block(args, &module, &kernel)?;
    Ok(Subject {
        source,
        module,
        kernel,
        block,
        dynamic_shared: args.dynamic_shared,
    })
}

/// The block's shape, from the options or from the kernel's requirement.
fn block(args: &Args, module: &Module, kernel: &str) -> Result<Option<[u32; 3]>, Failure> {
    if args.block.is_empty() {
        let mut functions = module.items.iter().filter_map(|item| match item {
            Item::Function(f) if f.name.node == kernel && f.body.is_some() => Some(f),
            _ => None,
        });
        let directives = functions.next().map(|f| f.directives.iter());
        let required = directives.into_iter().flatten().find_map(|d| match d {
            FunctionDirective::RequiredThreads(block) => Some(*block),
            _ => None,
        });
        return Ok(required);
    }
    let mut block = [1_u32; 3];
    for (place, extent) in block.iter_mut().zip(&args.block) {
        *place = *extent;
    }
    let threads = block
        .iter()
        .try_fold(1_u32, |product, extent| product.checked_mul(*extent));
    match threads {
        Some(1..=1024) if args.block.len() <= 3 => Ok(Some(block)),
        _ => Err(Failure::Input(
            "--block takes one to three extents of 1 to 1024 threads together, for example 16,16"
                .to_owned(),
        )),
    }
}

impl Subject {
    fn error(&self, why: &Diagnostics) -> Failure {
        Failure::Ptx(why.render(&self.source, error_style()))
    }

    fn refusal(&self, why: Refusal) -> Failure {
        match why {
            Refusal::Program(why) => self.error(&why),
            why => Failure::Input(why.to_string()),
        }
    }

    /// The kernel with its block, if that is known.
    fn kernel(&self) -> Result<Option<Kernel>, Failure> {
        let kernel = |block| {
            let kernel = Kernel::new(self.module.clone(), &self.source, &self.kernel, block)?;
            Ok(kernel.with_dynamic_shared(self.dynamic_shared))
        };
        let kernel = self.block.map(kernel).transpose();
        kernel.map_err(|why| self.refusal(why))
    }

    fn demand(&self, args: &Args) -> Result<Demand, Failure> {
        demand(&self.module, &self.kernel, &options(args)).map_err(|why| self.error(&why))
    }

    fn allocate(&self, options: &Options) -> Result<Allocation, Failure> {
        let made = allocate_kernel(&self.module, &self.kernel, options);
        made.map_err(|why| self.error(&why))
    }
}

impl Args {
    /// Memory for spilled values, given the block's shape.
    fn spills(&self) -> warploom_crat::Spill {
        match self.spill {
            Spill::Local => warploom_crat::Spill::Local,
            Spill::Auto | Spill::Shared => warploom_crat::Spill::Shared(self.spare),
        }
    }
}

/// Options of the allocator without a limit.
fn options(args: &Args) -> Options {
    Options {
        method: args.allocator.method(),
        typing: args.types.typing(),
        ..Options::default()
    }
}

/// Parses the text that will be written, and checks the allocation.
fn verify(subject: &Subject, allocation: &Allocation, options: &Options) -> Result<(), Failure> {
    let text = warploom_ptx::print(&allocation.module);
    let written = Source::new("the allocated program", text);
    let (module, _) = warploom_ptx::load(&written)
        .map_err(|why| Failure::Output(why.render(&written, Style::Plain)))?;
    for (function, steps) in &allocation.steps {
        let claim = Claim {
            original: &subject.module,
            allocated: &module,
            function,
            steps,
            block: options.shared.map_or([1; 3], |shared| shared.block),
            limit: options.registers,
            typing: options.typing,
        };
        check(&claim).map_err(|refusal| {
            Failure::Output(format!(
                "the allocation of `{function}` is wrong, nothing was written: {refusal}; \
                 please report this with the PTX file"
            ))
        })?;
    }
    Ok(())
}

fn output(args: &Args, subject: &Subject, choice: Choice, report: &Report) -> Output {
    let demand = choice.demand;
    Output {
        kernel: subject.kernel.clone(),
        max_reg: demand.max_registers,
        min_reg: choice.min_reg,
        fewest_registers: demand.min_registers,
        pressure: demand.pressure,
        max_tlp: choice.max_tlp,
        opt_tlp: choice.opt_tlp,
        candidates: choice.candidates,
        chosen: choice.chosen,
        allocation: AllocationSummary {
            registers: report.registers,
            predicates: report.classes[warploom_regalloc::Class::Pred],
            local_bytes: report.local_bytes,
            shared_bytes: report.shared_bytes,
            spill_stores_bytes: report.added.store_bytes,
            spill_loads_bytes: report.added.load_bytes,
            local_accesses: report.added.local.count,
            shared_accesses: report.added.shared.count,
            other_instructions: report.added.others.count,
            removed_instructions: report.removed,
            verified: args.verify,
            spilled: text::spilled_rows(report, &subject.source),
        },
    }
}
