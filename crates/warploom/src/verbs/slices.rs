//! The verb `warploom slices`.

mod text;

use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::launch_args::LaunchArgs;
use crate::output::{error_style, print, print_json, write_file};
use crate::target;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use warploom_base::{Dim3, Rect};
use warploom_diag::{Diagnostics, Source};
use warploom_exec::{LaunchContext, Observer, StepOut};
use warploom_ir::Program;
use warploom_report::{TouchMap, touch_maps};
use warploom_run::launch_file::read;
use warploom_run::{Options, Session};
use warploom_slices::{Access, Coverage, Footprints, Slices, reason};
use warploom_workloads::Size;

const EXAMPLES: &str = "\
Examples:
  warploom slices kernel.ptx                       every access of global memory, and its slice
  warploom slices hotspot                          with the arrays and blocks of its launches
  warploom slices hotspot --at 0,0 --at 1,0 --svg touches.svg
  warploom slices saxpy.ptx --kernel saxpy --grid 4 --block 256 \\
      --arg 'f32[1024]=iota' --arg 1024 --arg 2.0
  warploom slices kernel.ptx --json";

/// Largest number of arrays of a launch.
const ARRAYS: usize = 16;

/// Show which addresses of a kernel depend only on parameters and indices, and which lines blocks
/// touch
///
/// For every access of global memory it shows the slice (the instructions of the address binary
/// that compute the address without accessing memory), or why there is none. If a launch is known
/// (a workload, a launch file, or a PTX file with --grid and --block), it also shows the arrays,
/// their row pitch, and the rectangles of cache lines that blocks touch, as the locality-aware
/// block scheduler sees them. Of several launches of a kernel, the first is used.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// PTX file, workload or launch file
    target: String,
    /// Size of a workload's inputs: test, small or paper
    #[arg(long, value_name = "test|small|paper", default_value_t = Size::Test)]
    size: Size,
    /// Seed of a workload's inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A block whose rectangles to show, X, X,Y or X,Y,Z; may be repeated [default: the four at the
    /// grid's first corner]
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = place)]
    at: Vec<Dim3>,
    /// Draw which blocks touch which lines into this file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

fn place(text: &str) -> Result<Dim3, String> {
    let parts: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match parts.as_deref() {
        Ok([x]) => Ok(Dim3::new(*x, 0, 0)),
        Ok([x, y]) => Ok(Dim3::new(*x, *y, 0)),
        Ok([x, y, z]) => Ok(Dim3::new(*x, *y, *z)),
        _ => Err("write one to three whole numbers, for example 3 or 0,2".to_owned()),
    }
}

#[derive(Serialize)]
struct Report {
    target: String,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    kernel: String,
    accesses: Vec<AccessRow>,
    /// Text of the address binary, with one instruction per line.
    program: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<Launch>,
}

#[derive(Serialize)]
struct AccessRow {
    /// Line in the PTX file, from 1.
    line: u32,
    column: u32,
    /// Kind of access: `load` or `store`.
    kind: &'static str,
    /// Bytes that a thread accesses.
    bytes: u32,
    /// True if its address can be computed in advance.
    regular: bool,
    coverage: String,
    /// Reason why it is not regular.
    why: Option<String>,
    /// The pointer from which the address starts.
    array: Option<String>,
    /// Instructions of `program` that compute the address.
    slice: Vec<u32>,
}

/// The kernel's first launch.
#[derive(Serialize)]
struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    arrays: Vec<ArrayRow>,
    blocks: Vec<BlockRow>,
}

#[derive(Serialize)]
struct ArrayRow {
    array: String,
    address: u64,
    /// Bytes from one row to the next. `None` for a linear array.
    pitch: Option<u64>,
}

#[derive(Serialize)]
struct BlockRow {
    block: [u32; 3],
    /// Rectangles of lines and rows in each array. Rectangles of one array have no common line.
    rectangles: Vec<Vec<RectRow>>,
}

#[derive(Serialize)]
struct RectRow {
    line: i32,
    row: i32,
    lines: u32,
    rows: u32,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let is_static = args.target.ends_with(".ptx") && args.launch.grid.is_none();
    let report = if is_static {
        of_file(args)?
    } else {
        of_launches(args)?
    };
    if let Some(path) = &args.svg {
        write_file(path, &picture(&report))?;
    }
    if args.json {
        print_json(&report)?
    } else {
        print(&text::text(&report))?
    }
    Ok(ExitCode::SUCCESS)
}

/// Report on the kernels of a PTX file, without a launch.
fn of_file(args: &Args) -> Result<Report, Failure> {
    if args.svg.is_some() || !args.at.is_empty() {
        return Err(Failure::Input(
            "--at and --svg need a launch: give --kernel, --grid, --block and --arg, or name a \
             workload or a launch file"
                .to_owned(),
        ));
    }
    let source = read(Path::new(&args.target))?;
    let programs = lower(&source)?;
    let wanted = |program: &&Program| match &args.launch.kernel {
        Some(name) => program.name == *name,
        None => true,
    };
    let kernels: Vec<_> = programs
        .iter()
        .filter(wanted)
        .map(|program| kernel(program, &Slices::new(program)))
        .collect();
    if let (Some(name), true) = (&args.launch.kernel, kernels.is_empty()) {
        let names: Vec<_> = programs.iter().map(|p| p.name.as_str()).collect();
        return Err(Failure::Input(format!(
            "{} has no kernel `{name}`; it has {}",
            args.target,
            names.join(", ")
        )));
    }
    Ok(Report {
        target: args.target.clone(),
        kernels,
    })
}

fn lower(source: &Source) -> Result<Vec<Program>, Failure> {
    let wrong = |why: Diagnostics| Failure::Ptx(why.render(source, error_style()));
    let (module, _warnings) = warploom_ptx::load(source).map_err(wrong)?;
    let lowered = warploom_lower::lower(&module, source).map_err(wrong)?;
    match lowered.refused.into_iter().next() {
        Some((_, why)) => Err(wrong(why)),
        None => Ok(lowered.kernels),
    }
}

/// Report on the kernels of a host program, with their first launches.
fn of_launches(args: &Args) -> Result<Report, Failure> {
    let gpu = args.gpu.spec(std::slice::from_ref(&args.target))?;
    let mut program = target::program(&args.target, args.size, args.seed, &args.launch, &gpu)?;
    let mut look = Look {
        at: &args.at,
        known: Vec::new(),
        kernels: Vec::new(),
        refusal: None,
    };
    Session::new(gpu, Options::default()).run_observed(program.as_mut(), &mut look)?;
    match look.refusal {
        Some(refusal) => Err(Failure::Input(refusal)),
        None => Ok(Report {
            target: args.target.clone(),
            kernels: look.kernels,
        }),
    }
}

/// Observer of the first launch of every kernel.
struct Look<'a> {
    at: &'a [Dim3],
    known: Vec<Arc<Program>>,
    kernels: Vec<Kernel>,
    refusal: Option<String>,
}

impl Observer for Look<'_> {
    fn begin(&mut self, launch: &LaunchContext) {
        let program = launch.program();
        if self.known.iter().any(|known| Arc::ptr_eq(known, program)) {
            return;
        }
        self.known.push(Arc::clone(program));
        let slices = Arc::new(Slices::new(program));
        let mut row = kernel(program, &slices);
        match of_launch(program, slices, launch, self.at) {
            Ok(launch) => row.launch = launch,
            Err(refusal) => self.refusal = self.refusal.take().or(Some(refusal)),
        }
        self.kernels.push(row);
    }

    fn stepped(&mut self, _: u64, _: u32, _: &StepOut) {}

    fn block_ended(&mut self, _: &LaunchContext, _: u64) {}

    fn end(&mut self, _: &LaunchContext) {}
}

/// The launch's arrays and rectangles. `None` if computing its addresses faults, which the run then
/// reports.
fn of_launch(
    program: &Program,
    slices: Arc<Slices>,
    launch: &LaunchContext,
    at: &[Dim3],
) -> Result<Option<Launch>, String> {
    let grid = launch.grid();
    let outside = |at: &&Dim3| at.x >= grid.x || at.y >= grid.y || at.z >= grid.z;
    if let Some(block) = at.iter().find(outside) {
        return Err(format!(
            "kernel `{}` has no block {block}: its grid is {grid}; choose one inside with --at",
            program.name
        ));
    }
    let Ok(mut footprints) = Footprints::new(slices, launch, ARRAYS) else {
        return Ok(None);
    };
    let arrays = footprints.arrays().iter();
    let arrays = arrays.map(|array| ArrayRow {
        array: array.base.name(program),
        address: array.address,
        pitch: array.pitch,
    });
    let arrays = arrays.collect();
    let mut blocks = Vec::new();
    for block in chosen(at, grid) {
        let Ok(touched) = footprints.rects(block) else {
            return Ok(None);
        };
        let mut rectangles: Vec<Vec<RectRow>> = Vec::new();
        rectangles.resize_with(footprints.arrays().len(), Vec::new);
        for touched in touched {
            rectangles[touched.array].push(touched.rect.into());
        }
        blocks.push(BlockRow {
            block: [block.x, block.y, block.z],
            rectangles,
        });
    }
    let three = |d: Dim3| [d.x, d.y, d.z];
    Ok(Some(Launch {
        grid: three(grid),
        block: three(launch.block()),
        arrays,
        blocks,
    }))
}

/// The requested blocks, or those at the grid's first corner.
fn chosen(at: &[Dim3], grid: Dim3) -> Vec<Dim3> {
    if !at.is_empty() {
        return at.to_vec();
    }
    let corner = [(0, 0), (1, 0), (0, 1), (1, 1)];
    let inside = corner
        .into_iter()
        .filter(|(x, y)| *x < grid.x && *y < grid.y);
    inside.map(|(x, y)| Dim3::new(x, y, 0)).collect()
}

impl From<Rect> for RectRow {
    fn from(rect: Rect) -> Self {
        Self {
            line: rect.x,
            row: rect.y,
            lines: rect.width,
            rows: rect.height,
        }
    }
}

impl From<&RectRow> for Rect {
    fn from(row: &RectRow) -> Self {
        Self {
            x: row.line,
            y: row.row,
            width: row.lines,
            height: row.rows,
        }
    }
}

fn kernel(program: &Program, slices: &Slices) -> Kernel {
    let accesses = slices.accesses.iter().zip(&slices.slice_of);
    let row = |(access, slice): (&Access, &Vec<warploom_base::Pc>)| AccessRow {
        line: access.pos.line,
        column: access.pos.column,
        kind: if access.store { "store" } else { "load" },
        bytes: access.bytes,
        regular: access.is_regular(),
        coverage: access.coverage.to_string(),
        why: match access.coverage {
            Coverage::InFunction => Some("functions that are called are not sliced".to_owned()),
            _ => reason(access, program),
        },
        array: access.base.map(|base| base.name(program)),
        slice: slice.iter().map(|pc| pc.0).collect(),
    };
    Kernel {
        kernel: program.name.clone(),
        accesses: accesses.map(row).collect(),
        program: instructions(&slices.program.to_string()),
        launch: None,
    }
}

/// Lines of a program's listing that are instructions: those that begin with a number.
fn instructions(listing: &str) -> Vec<String> {
    let numbered = |line: &&str| {
        let number = line.split(':').next().unwrap_or_default();
        number.trim().parse::<u32>().is_ok()
    };
    listing
        .lines()
        .filter(numbered)
        .map(str::to_owned)
        .collect()
}

fn picture(report: &Report) -> String {
    let mut maps = Vec::new();
    for kernel in &report.kernels {
        let Some(launch) = &kernel.launch else {
            continue;
        };
        for (index, array) in launch.arrays.iter().enumerate() {
            let rects = |row: &BlockRow| row.rectangles[index].iter().map(Rect::from).collect();
            let blocks = launch.blocks.iter();
            maps.push(TouchMap {
                title: format!("{}: {}", kernel.kernel, array.array),
                is_linear: array.pitch.is_none(),
                blocks: blocks
                    .map(|row| (text::point(row.block), rects(row)))
                    .collect(),
            });
        }
    }
    touch_maps(&maps)
}
