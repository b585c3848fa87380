//! The verb `warploom analyze`.

use crate::failure::Failure;
use crate::interrupt::{Interrupt, status};
use crate::output::{check_outputs, command_line, print, print_json, width, write_file};
use crate::simulate::simulate;
use crate::target::TargetArgs;
use std::path::PathBuf;
use std::process::ExitCode;
use warploom_analyze::{Machine, analyze};
use warploom_config::GpuSpec;
use warploom_report::{analysis_chart, analysis_report, run_report, svg};
use warploom_run::{Options, Timed};
use warploom_stats::result::RunReport;

const EXAMPLES: &str = "\
Examples:
  warploom analyze spmv --gpu maxwell-duet             what bounds it, and what more warps would do
  warploom analyze hotspot --size paper --svg h.svg    also write a chart
  warploom analyze matrixmul --window 1000 --json      with windows of 1,000 cycles, for programs
  warploom analyze result.json                         a result that `--stats` stored
  warploom analyze my.toml --set noc.flit_bytes=64     a kernel of your own with wider wires
  warploom analyze saxpy.ptx --kernel saxpy --grid 4096 --block 256 \\
      --arg 'f32[1048576]=iota' --arg 1048576 --arg 2.0";

/// Name the bottleneck of a program: the use of each part's throughput, the limit of occupancy, and
/// the effect of more warps
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    subject: TargetArgs,
    /// Stop after this many core cycles, without checking the outputs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4_000_000,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    max_cycles: u64,
    /// Begin with this launch, counted from 0; earlier launches are executed without timing
    /// [default: the first; bfs begins with the launch of its largest frontier]
    #[arg(long, value_name = "N")]
    skip_launches: Option<u64>,
    /// Length of a window of the time series in core cycles
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    window: u64,
    /// Also write the charts as a picture
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print the analysis as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    check_outputs(&[("--svg", args.svg.as_deref())], &args.subject.files())?;
    let (gpu, result) = match args.subject.kept()? {
        Some(kept) => kept,
        None => make(args)?,
    };
    let machine = Machine::new(&gpu, warploom_noc::sustainable(&gpu));
    let Some(analysis) = analyze(&machine, &result) else {
        return nothing_to_analyze(args, &result);
    };
    if args.json {
        print_json(&analysis)?;
    } else {
        print(&analysis_report(&analysis, width()))?;
    }
    if let Some(path) = &args.svg {
        write_file(path, &svg(&analysis_chart(&analysis)))?;
    }
    Ok(status(&result))
}

/// Makes the run to analyse.
fn make(args: &Args) -> Result<(GpuSpec, RunReport), Failure> {
    let (gpu, mut program) = args.subject.load()?;
    let options = Options {
        threads: args.subject.threads,
        max_cycles: Some(args.max_cycles),
        window_cycles: Some(args.window),
        timed: Timed::from(
            args.skip_launches
                .unwrap_or_else(|| program.analysis_start()),
        ),
        command: command_line(),
        ..Options::default()
    };
    let result = simulate(
        gpu.clone(),
        options,
        program.as_mut(),
        args.subject.watch(),
        &Interrupt::new(),
    )?;
    Ok((gpu, result))
}

/// Reports a run that ended before its first launch did, or that has no launch.
fn nothing_to_analyze(args: &Args, result: &RunReport) -> Result<ExitCode, Failure> {
    if result.succeeded() {
        let target = &args.subject.target;
        return Err(Failure::Input(format!(
            "`{target}` has no timed launch: there is nothing to analyse"
        )));
    }
    if args.json {
        print_json(result)?
    } else {
        print(&run_report(result, width()))?
    }
    Ok(status(result))
}
