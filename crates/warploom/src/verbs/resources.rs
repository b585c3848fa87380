//! The verb `warploom resources`.

mod switch_points;

use crate::cuda_source::ptx_of;
use crate::failure::Failure;
use crate::output::{error_style, print, print_json, width};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use switch_points::Context;
use warploom_diag::{Diagnostics, Source};
use warploom_ir::{ModuleIr, Program};
use warploom_ptx::ast::Module;
use warploom_regalloc::{Demand, Options, allocate_kernel, demand};
use warploom_report::{figures, grouped};

const EXAMPLES: &str = "\
Examples:
  warploom resources kernel.ptx
  warploom resources kernel.ptx --registers 32
  warploom resources kernel.ptx --switch-points
  warploom resources kernel.ptx --json";

/// Resources that each kernel of a PTX file needs: registers, memory, spills
///
/// As `ptxas -v` reports them: registers per thread are an estimate of ptxas's number, and at most
/// the kernel's `.maxnreg`. If the limit is lower, spills are those of this program's own register
/// allocator.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Path of the PTX file, or of CUDA source (*.cu), which is compiled
    file: PathBuf,
    /// Largest number of registers per thread, as --maxrregcount of ptxas; Fermi and GK104 have 63
    #[arg(long, value_name = "N", default_value_t = 255)]
    registers: u32,
    /// Where a warp may be switched out (sm.context), and the context that must be saved there
    #[arg(long)]
    switch_points: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    kernels: Vec<Row>,
}

/// Resources that a kernel needs.
#[derive(Serialize)]
struct Row {
    kernel: String,
    /// Estimate of ptxas's number, within the limit.
    registers_per_thread: u32,
    predicates: u32,
    /// Static shared memory of a block.
    shared_bytes: u32,
    /// Local memory of a thread, including spilled values.
    local_bytes: u32,
    /// Parameters, and the file's variables in constant memory.
    constant_bytes: u64,
    /// Bytes that stores of spilled values move, each counted once.
    spill_stores_bytes: u64,
    /// Bytes that their loads move.
    spill_loads_bytes: u64,
    /// Registers in use at the program's worst place, before any allocation.
    pressure: u32,
    /// Registers with which this program's allocator spills nothing.
    max_reg: u32,
    /// Fewest registers with which it can allocate the kernel.
    min_reg: u32,
    /// Contexts of warps that are switched out, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let source = ptx_of(&args.file)?;
    let report = report(&source, args)?;
    if args.json {
        print_json(&report)?;
    } else if args.switch_points {
        print(&switch_points::text(&report))?;
    } else {
        print(&text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(source: &Source, args: &Args) -> Result<Report, Failure> {
    let wrong = |why: Diagnostics| Failure::Ptx(why.render(source, error_style()));
    let (module, _warnings) = warploom_ptx::load(source).map_err(wrong)?;
    let lowered = warploom_lower::lower(&module, source).map_err(wrong)?;
    if let Some((_, why)) = lowered.refused.first() {
        return Err(wrong(why.clone()));
    }
    let rows = lowered.kernels.iter().map(|program| {
        let mut row = row(&module, &lowered, program, args.registers).map_err(wrong)?;
        row.context = args
            .switch_points
            .then(|| Context::new(program, row.registers_per_thread));
        Ok::<_, Failure>(row)
    });
    Ok(Report {
        file: source.name().to_owned(),
        kernels: rows.collect::<Result<_, _>>()?,
    })
}

fn row(
    module: &Module,
    lowered: &ModuleIr,
    program: &Program,
    limit: u32,
) -> Result<Row, Diagnostics> {
    let wanted = demand(module, &program.name, &Options::default())?;
    let constants = lowered.globals.iter().filter(|variable| variable.constant);
    let constants: u64 = constants.map(|variable| variable.bytes).sum();
    let mut row = Row {
        kernel: program.name.clone(),
        registers_per_thread: program.registers_per_thread,
        predicates: wanted.predicates,
        shared_bytes: program.shared_bytes,
        local_bytes: program.local_bytes,
        constant_bytes: constants + u64::from(program.param_bytes),
        spill_stores_bytes: 0,
        spill_loads_bytes: 0,
        pressure: wanted.pressure,
        max_reg: wanted.max_registers,
        min_reg: wanted.min_registers,
        context: None,
    };
    if program.registers_per_thread > limit {
        row.registers_per_thread = limit;
        add_spills(&mut row, module, &wanted, limit)?;
    }
    Ok(row)
}

/// Adds the spills of the allocator at the limit.
fn add_spills(
    row: &mut Row,
    module: &Module,
    wanted: &Demand,
    limit: u32,
) -> Result<(), Diagnostics> {
    let options = Options {
        registers: Some(limit.min(wanted.max_registers)),
        ..Options::default()
    };
    let report = allocate_kernel(module, &row.kernel, &options)?.report;
    row.local_bytes += report.local_bytes;
    row.spill_stores_bytes = report.added.store_bytes;
    row.spill_loads_bytes = report.added.load_bytes;
    Ok(())
}

fn text(report: &Report) -> String {
    if report.kernels.is_empty() {
        return "no kernels\n".to_owned();
    }
    let header = [
        "kernel",
        "registers",
        "predicates",
        "shared",
        "local",
        "constant",
        "spill stores",
        "spill loads",
        "pressure",
        "max_reg",
        "min_reg",
    ];
    let cells = |row: &Row| {
        vec![
            row.kernel.clone(),
            row.registers_per_thread.to_string(),
            row.predicates.to_string(),
            grouped(row.shared_bytes.into()),
            grouped(row.local_bytes.into()),
            grouped(row.constant_bytes),
            grouped(row.spill_stores_bytes),
            grouped(row.spill_loads_bytes),
            row.pressure.to_string(),
            row.max_reg.to_string(),
            row.min_reg.to_string(),
        ]
    };
    let rows: Vec<_> = report.kernels.iter().map(cells).collect();
    figures(&header, &rows, width())
}
