//! The verb `warploom analyze`.

use crate::failure::Failure;
use crate::interrupt::{Interrupt, status};
use crate::lines::{LineCounter, LineCounts, table};
use crate::output::{check_outputs, command_line, print, print_json, width, write_file, wrote};
use crate::simulate::simulate;
use crate::stats_args::{MOST_WINDOWS, SHORT_WINDOW_CYCLES};
use crate::target::TargetArgs;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use warploom_analyze::{Analysis, IssuedLine, Machine, analyze_with_lines};
use warploom_config::{ContextChoice, GpuSpec};
use warploom_report::{analysis_chart, analysis_report, run_report, svg};
use warploom_run::{HostProgram, Options, Session, Timed};
use warploom_stats::result::{Outcome, RunReport};

const EXAMPLES: &str = "\
Examples:
  warploom analyze spmv --gpu maxwell-duet             what bounds it, and what more warps would do
  warploom analyze hotspot --size paper --svg h.svg    also write a chart
  warploom analyze matrixmul --window 1000 --json      with windows of 1,000 cycles, for programs
  warploom analyze kernel.cu --lines                   also the lines with most work
  warploom analyze spmv --gpu maxwell-duet --duet      also what GPUDuet would do
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
    /// Length of a window of the time series in core cycles [default: by the length of the run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,
    /// Also list this many lines of the source [default: 10]: instructions, transactions of loads
    /// and stores, bank conflicts. For this, the program is executed once more without timing
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    lines: Option<u32>,
    /// Also print the category and class of the kernel by the paper of GPUDuet, and whether
    /// GPUDuet, which runs more blocks than fit, would act [default: only where `sm.context` is
    /// `duet`]
    #[arg(long)]
    duet: bool,
    /// Also write the charts as a picture
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print the analysis as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    check_outputs(&[("--svg", args.svg.as_deref())], &args.subject.files())?;
    let Made {
        gpu,
        result,
        lines,
        issued,
    } = match args.subject.kept()? {
        Some(_) if args.lines.is_some() => return Err(no_lines(&args.subject.target)),
        Some((gpu, result)) => Made {
            gpu,
            result,
            lines: Vec::new(),
            issued: Vec::new(),
        },
        None => make(args)?,
    };
    let machine = Machine::new(&gpu, warploom_noc::sustainable(&gpu));
    let analysis = analyze_with_lines(&machine, &result, &issued);
    let analysis = analysis.filter(|_| !result.is_cut_at_start());
    let Some(analysis) = analysis else {
        return nothing_to_analyze(args, &result);
    };
    let most = args.lines.unwrap_or(0) as usize;
    match (args.json, most) {
        (true, 0) => print_json(&analysis)?,
        (true, most) => print_json(&WithLines {
            analysis: &analysis,
            lines: &lines[..most.min(lines.len())],
        })?,
        (false, most) => {
            let duet = args.duet || matches!(gpu.sm.context, ContextChoice::Duet(_));
            let report = analysis_report(&analysis, duet, width());
            let lines = match most {
                0 => String::new(),
                most => table(&lines, most, width()),
            };
            print(&format!("{}\n{lines}", report.trim_end()))?;
        }
    }
    if let Some(path) = &args.svg {
        write_file(path, &svg(&analysis_chart(&analysis)))?;
        wrote(path);
    }
    Ok(status(&result))
}

/// An analysis with lines of the source.
#[derive(Serialize)]
struct WithLines<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    lines: &'a [LineCounts],
}

/// The run that the command analyses.
struct Made {
    gpu: GpuSpec,
    result: RunReport,
    /// Counts by line, if they were requested and the run was not cut short by an error.
    lines: Vec<LineCounts>,
    /// Issue slots by line, under the same conditions.
    issued: Vec<IssuedLine>,
}

fn no_lines(target: &str) -> Failure {
    Failure::Input(format!(
        "{target} has no counts of lines; give --lines with the program itself"
    ))
}

/// Makes the run to analyse, and counts the lines if they were requested.
fn make(args: &Args) -> Result<Made, Failure> {
    if args.lines.is_none() {
        let (gpu, program) = args.subject.load()?;
        let result = time(args, &gpu, program)?;
        return Ok(Made {
            gpu,
            result,
            lines: Vec::new(),
            issued: Vec::new(),
        });
    }
    let (gpu, input) = args.subject.input()?;
    let program = || input.program(&gpu).map_err(Failure::Input);
    let result = time(args, &gpu, program()?)?;
    let (mut lines, mut issued) = (Vec::new(), Vec::new());
    if matches!(
        result.outcome,
        Outcome::Finished | Outcome::CycleLimit { .. }
    ) {
        let mut counter = LineCounter::new(&gpu);
        // The timed run has printed what kernels print.
        let session = Session::new(gpu.clone(), Options::default());
        session.run_observed(program()?.as_mut(), &mut counter)?;
        (lines, issued) = (counter.lines(), counter.issued());
    }
    Ok(Made {
        gpu,
        result,
        lines,
        issued,
    })
}

/// Runs the program with timing.
fn time(
    args: &Args,
    gpu: &GpuSpec,
    mut program: Box<dyn HostProgram>,
) -> Result<RunReport, Failure> {
    let options = Options {
        threads: args.subject.threads,
        max_cycles: Some(args.max_cycles),
        window_cycles: args.window.or(Some(SHORT_WINDOW_CYCLES)),
        most_windows: args.window.is_none().then_some(MOST_WINDOWS),
        timed: Timed::from(
            args.skip_launches
                .unwrap_or_else(|| program.analysis_start()),
        ),
        command: command_line(),
        ..Options::default()
    };
    simulate(
        gpu.clone(),
        options,
        program.as_mut(),
        args.subject.watch(),
        &Interrupt::new(),
    )
}

/// Reports a run that ended before its first launch did or issued an instruction, or that has no
/// launch.
fn nothing_to_analyze(args: &Args, result: &RunReport) -> Result<ExitCode, Failure> {
    if result.succeeded() && !result.is_cut_at_start() {
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
