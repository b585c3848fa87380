//! The verb `warploom oracle`.

use crate::cuda_source::Compiled;
use crate::experiment::{Keeping, RunnerArgs, experiment, tell_failures, write_page};
use crate::failure::Failure;
use crate::gpu::{GpuArgs, base};
use crate::launch_args::LaunchArgs;
use crate::output::{command_line, print, print_json, width};
use crate::target::{self, WorkloadArgs};
use std::path::PathBuf;
use std::process::ExitCode;
use warploom_lab::{FigureJob, FigureOutcome, OracleRequest, oracle, page};
use warploom_report::page_report;

const EXAMPLES: &str = "\
Examples:
  warploom oracle slicer/IMG slicer/NN --gpu fermi-slicer --alone-cycles 200000
  warploom oracle sgemm spmv --gpu fermi-slicer -o results --json
  warploom oracle bfs sgemm spmv --size test --alone-cycles 20000 --threads 8
  warploom oracle slicer/IMG slicer/NN --gpu fermi-slicer --first-pass 50000
With -o, runs are kept: stopped at any moment, the same command goes on where it was.";

/// Run all ways in which programs can share the SMs, and name the best: each combination of blocks
/// that fits an SM, left-over and spatial
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Two to four workloads or launch files
    #[arg(num_args = 2..=4, required = true, value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Core cycles that each program runs alone; its instructions in them are its target in the mix
    #[arg(long, value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u64).range(1..))]
    alone_cycles: u64,
    /// Run every way for N cycles first, and to the targets only those whose estimate is near the
    /// best. The best way may be missed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first_pass: Option<u64>,
    /// Folder for the data and the stored runs
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    runner: RunnerArgs,
    #[command(flatten)]
    launch: LaunchArgs,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let inputs = args.targets.iter();
    let WorkloadArgs { size, seed } = args.workload;
    let mut compiled = Compiled::default();
    let inputs = inputs.map(|name| target::input(name, size, seed, &args.launch, &mut compiled));
    let gpu = args.gpu.name(&args.targets);
    let request = OracleRequest {
        inputs: inputs.collect::<Result<_, _>>()?,
        base: base(&gpu)?,
        gpu: gpu.clone(),
        sets: args.gpu.sets.clone(),
        alone_cycles: args.alone_cycles,
        first_pass: args.first_pass,
    };
    request.check()?;
    let command = command_line();
    let title = format!("The oracle of {}", args.targets.join(" + "));
    let name = args.targets.join("+").replace(['/', ':'], "-");
    let wanted = FigureJob {
        name: title.clone(),
        make: Box::new(|runs| oracle(&request, runs)),
        page: Box::new(|figure, used| page(figure, used, "oracle", &name, &title, &command)),
    };
    let folder = args.output.as_deref();
    let keeping = folder.map_or(Keeping::Nothing, Keeping::Folder);
    for made in experiment(&[wanted], &args.runner, keeping)? {
        match made {
            FigureOutcome::Page(page) => {
                if let Some(folder) = &args.output {
                    write_page(folder, &page)?;
                }
                if args.json {
                    print_json(&page)?
                } else {
                    print(&page_report(&page, width()))?
                }
            }
            FigureOutcome::Failed { name, runs } => {
                tell_failures(&name, &runs);
                return Ok(ExitCode::from(1));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
