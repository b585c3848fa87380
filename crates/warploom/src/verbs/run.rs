//! The verb `warploom run`.

mod all;
mod mix;

use crate::allocate_args::AllocateArgs;
use crate::checkpoint_args::CheckpointArgs;
use crate::energy_args::{EnergyArgs, with_energy};
use crate::failure::Failure;
use crate::gpu::GpuArgs;
use crate::interrupt::{Interrupt, status};
use crate::launch_args::LaunchArgs;
use crate::lines::LineCounter;
use crate::names::{Names, workloads};
use crate::output::{command_line, json, note, print, width, wrote};
use crate::simulate::simulate;
use crate::stats_args::StatsArgs;
use crate::target::{self, Maker, WorkloadArgs};
use crate::timed_args::TimedArgs;
use crate::watch_args::WatchArgs;
use std::process::ExitCode;
use warploom_analyze::{IssuedLine, Machine, analyze, analyze_with_lines, explain_mix};
use warploom_config::GpuSpec;
use warploom_report::{
    ended_early_told, explanation_report, gpgpusim_report, list, mix_report, run_report, unchecked,
    wrapped,
};
use warploom_run::{Checks, Options, Session};
use warploom_stats::result::{Launches, Outcome, RunReport};
use warploom_workloads::all;

const EXAMPLES: &str = "\
Examples:
  warploom run                                     list what can be run
  warploom run bfs                                 run a workload
  warploom run bfs --explain                       and say what bound it
  warploom run kernel.cu                           a kernel of your own, its launch guessed
  warploom run bfs --size paper                    with the paper's data set
  warploom run all --size test                     every workload, functionally and timed
  warploom run matrixmul --set sm.warp_scheduler=lrr --set sm.max_blocks=4
  warploom run hotspot --gpu my-gpu.toml --json    the result for programs
  warploom run bfs --size paper --functional       outputs only, without timing
  warploom run hotspot --functional --sharing      cache lines that blocks share
  warploom run bfs --skip-launches 4               begin timing with the fifth launch
  warploom run bfs --max-launches 2                stop after the first two launches
  warploom run gaussian --time-kernel Fan2         launches of Fan2 timed, the others executed
  warploom run duet/CONV --size paper --sample 10  one of ten blocks timed, cycles of all estimated
  warploom run lud --sample-error 2%               time some launches, estimate all
  warploom run hotspot --blocks 0..120             time the first 120 blocks
  warploom run crat/GAU --size paper --checkpoint gau.ckpt --checkpoint-every 10000000
  warploom run crat/GAU --size paper --resume gau.ckpt
                                                   go on from the last checkpoint
  warploom run crat/CFD --allocate 42 --gpu fermi-crat
                                                   with 42 registers per thread, spills included
  warploom run my.toml --check shared-races,uninitialised,bounds
  warploom run my.toml --stats result.json         a launch file; the result kept
  warploom run bfs --csv bfs.csv --per sm          counters of every kernel and SM as a table
  warploom run bfs --series ipc.csv --window 5000  counters of every 5,000 core cycles
  warploom run bfs --energy --html bfs.html        a page with charts, for a browser
  warploom run bfs --energy                        energy and power by component
  warploom run bfs --gpgpusim-stats                as GPGPU-Sim 4.2 prints statistics
  warploom run slicer/IMG slicer/NN --gpu fermi-slicer --multiprogram warped-slicer
  warploom run bfs sgemm --multiprogram even --alone-cycles 50000
                                                   STP, ANTT and slowdowns for that much work
  warploom run bfs sgemm --multiprogram fcfs --arrive 0,20000
  warploom run crat/CFD sgemm --allocate 42,- --multiprogram even
  warploom run mix.toml                            programs listed as [[process]] in a file
  warploom run saxpy.ptx --kernel saxpy --grid 4 --block 256 \\
      --arg 'f32[1024]=iota' --arg 1024 --arg 2.0
  warploom run saxpy.ptx --arg 'f32[1024]=x.npy'   with data that numpy saved";

/// Simulate a workload, a launch file or a PTX file, and check its outputs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Workload (`warploom list workloads`), launch file (*.toml), PTX file (*.ptx) or CUDA
    /// source (*.cu, compiled by `nvcc`); `all` runs
    /// and checks every workload; several run at once, each with an address space of its own
    /// [default: list what can be run]
    #[arg(
        value_name = "TARGET",
        value_parser = Names(workloads),
        hide_possible_values = true
    )]
    targets: Vec<String>,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    allocate: AllocateArgs,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Stop after this many core cycles, without checking the outputs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_cycles: Option<u64>,
    /// Number of simulator threads; the result is the same for any number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    threads: usize,
    /// Execute without timing: checks outputs as fast as possible
    #[arg(long, conflicts_with = "max_cycles")]
    functional: bool,
    /// With --functional: count the cache lines that blocks of a launch share, by the distance of
    /// the blocks in the grid
    #[arg(long, requires = "functional")]
    sharing: bool,
    /// Look for errors that cause no fault, and warn: loads of uninitialised memory, races on
    /// shared memory, barriers and warp operations that the lanes of a warp do not reach together;
    /// or (bounds) place buffers with gaps, so that an overrun into the next one is a fault
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    check: Vec<CheckKind>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Explain in five sentences what bound the kernel that took the most cycles; of several
    /// programs, what bound them together, what they shared, and what each of them did
    #[arg(long, conflicts_with_all = ["functional", "json"])]
    explain: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    timed: TimedArgs,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
    #[command(flatten)]
    mix: mix::MixArgs,
    #[command(flatten)]
    stats: StatsArgs,
    #[command(flatten)]
    energy: EnergyArgs,
    #[command(flatten)]
    launch: LaunchArgs,
}

/// Kinds of errors that `--check` looks for.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CheckKind {
    #[value(alias = "uninitialized")]
    Uninitialised,
    #[value(aliases = ["races", "race", "shared-race"])]
    SharedRaces,
    #[value(alias = "barrier")]
    Barriers,
    #[value(alias = "bound")]
    Bounds,
}

impl CheckKind {
    /// Name of the kind on the command line.
    const fn name(&self) -> &'static str {
        match self {
            Self::Uninitialised => "uninitialised",
            Self::SharedRaces => "shared-races",
            Self::Barriers => "barriers",
            Self::Bounds => "bounds",
        }
    }

    /// The kind as a setting of a program under Warploom.
    pub(crate) fn of_program(&self) -> warploom_app::CheckKind {
        match self {
            Self::Uninitialised => warploom_app::CheckKind::Uninitialised,
            Self::SharedRaces => warploom_app::CheckKind::SharedRaces,
            Self::Barriers => warploom_app::CheckKind::Barriers,
            Self::Bounds => warploom_app::CheckKind::Bounds,
        }
    }
}

fn checks(kinds: &[CheckKind]) -> Checks {
    Checks {
        uninitialised: kinds.contains(&CheckKind::Uninitialised),
        shared_races: kinds.contains(&CheckKind::SharedRaces),
        barrier_divergence: kinds.contains(&CheckKind::Barriers),
        bounds: kinds.contains(&CheckKind::Bounds),
    }
}

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("write a number from 1 to 1024".to_owned()),
    }
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let gpu = args.mix.spec(args)?;
    let target = match args.targets.as_slice() {
        [] => {
            print(&what_can_be_run())?;
            return Ok(ExitCode::SUCCESS);
        }
        [target] if !args.mix.given() => target,
        _ => return mix::run(args, &gpu, &mix::meant(args)?),
    };
    if target == "all" && args.allocate.given() {
        return Err(Failure::Input(
            "--allocate takes workloads by name, and `all` means many; name them".to_owned(),
        ));
    }
    if let Some(plans) = mix::listed(target)? {
        return mix::run(args, &gpu, &plans);
    }
    if target == "all" {
        args.stats.refuse("all")?;
        if let Some(option) = args.timed.given().or(args.checkpoint.given()) {
            return Err(Failure::Input(format!(
                "{option} needs one target, and `all` means many; leave it out"
            )));
        }
        return all::run(args, &gpu);
    }
    let inputs = target::files(&args.targets, args.gpu.gpu.as_deref());
    args.stats.check(args.functional, args.json, &inputs)?;
    if let Some(option) = args.timed.by_parts() {
        args.stats.refuse_parts(option)?;
    }
    args.allocate.check(1)?;
    let (make, guessed) = maker(args, target, &gpu)?;
    let mut program = make()?;
    let options = Options {
        threads: args.threads,
        max_cycles: args.max_cycles,
        max_launches: args.timed.max_launches(),
        functional: args.functional,
        sharing: args.sharing,
        timed: args.timed.timed(),
        sample_error: args.timed.sample_error(),
        checks: checks(&args.check),
        parts: args.stats.parts(),
        window_cycles: args.stats.window_cycles(args.functional),
        most_windows: args.stats.most_windows(),
        command: command_line() + &guessed.words(),
        ..Options::default()
    };
    let options = args.checkpoint.add_to(options)?;
    let energy = args.energy.preset(&gpu)?;
    let result = simulate(
        gpu.clone(),
        options,
        program.as_mut(),
        args.watch.interval(),
        &Interrupt::new(),
    )?;
    let result = with_energy(energy.as_ref(), &gpu, result);
    args.timed.check(&result)?;
    let lines = args.stats.gpgpusim_stats.then(|| gpgpusim_report(&result));
    let status = status(&result);
    let dumped = target::dumps(target, &result);
    args.stats.hand_out(&gpu, result, |result| match lines {
        Some(lines) => lines,
        None if args.json => json(result),
        None => told(args, target, &gpu, &make, result),
    })?;
    dumped.iter().for_each(|path| wrote(path));
    if let Some(told) = guessed.too_few(&args.launch) {
        note(&told);
    }
    Ok(status)
}

/// Maker of the target's program, and the options of its launch that were guessed.
fn maker(args: &Args, target: &str, gpu: &GpuSpec) -> Result<(Maker, LaunchArgs), Failure> {
    if let Some(input) = args.allocate.input(0, target, &args.workload)? {
        let gpu = gpu.clone();
        let make: Maker = Box::new(move || input.program(&gpu).map_err(Failure::Input));
        return Ok((make, LaunchArgs::default()));
    }
    let WorkloadArgs { size, seed } = args.workload;
    args.workload.tell_unused(target);
    target::maker(target, size, seed, &args.launch, gpu)
}

/// Text of a result for a terminal.
fn told(args: &Args, target: &str, gpu: &GpuSpec, make: &Maker, result: &RunReport) -> String {
    let searched: Vec<&str> = args.check.iter().map(CheckKind::name).collect();
    let report = run_report(result, width()) + &unchecked(result, &searched, width());
    report + &lacking(args, target, result) + &explained(args, gpu, Some(make), result)
}

/// Notes on what the result of a run lacks that a limit ended.
fn lacking(args: &Args, target: &str, result: &RunReport) -> String {
    if args.timed.by_parts().is_some() {
        return String::new();
    }
    let WorkloadArgs { size, seed } = args.workload;
    let launches = match args.timed.given() {
        None | Some("--max-launches") => target::launches(target, size, seed),
        Some(_) => Launches::default(),
    };
    let told = ended_early_told(result, launches);
    let notes = told
        .iter()
        .map(|told| wrapped("", &format!("note: {told}"), width()));
    notes.collect()
}

/// The explanation of a run, if it was requested and the run has timed instructions.
fn explained(args: &Args, gpu: &GpuSpec, make: Option<&Maker>, result: &RunReport) -> String {
    if !args.explain || result.is_cut_at_start() {
        return String::new();
    }
    let machine = Machine::new(gpu, warploom_noc::sustainable(gpu));
    let of_several = explain_mix(&machine, result).map(|explanation| mix_report(&explanation));
    let of_one = || {
        let analysis = analyze(&machine, result)?;
        let counts = analysis.longest().0.issues_too_much && is_whole(args, result);
        let lines = make.filter(|_| counts).map(|make| issued_lines(gpu, make));
        let with_lines = lines.and_then(|lines| analyze_with_lines(&machine, result, &lines));
        Some(explanation_report(&with_lines.unwrap_or(analysis)))
    };
    of_several.or_else(of_one).unwrap_or_default()
}

/// True if all launches of the program were timed, so that its lines are those of the result.
fn is_whole(args: &Args, result: &RunReport) -> bool {
    let is_part = args.timed.given().is_some() || args.checkpoint.given().is_some();
    result.outcome == Outcome::Finished && !is_part
}

/// Lines of the program with the issue slots that they take, from an execution without timing; none
/// if that fails.
fn issued_lines(gpu: &GpuSpec, make: &Maker) -> Vec<IssuedLine> {
    let mut counter = LineCounter::new(gpu);
    let session = Session::new(gpu.clone(), Options::default());
    let observed = make().map(|mut program| session.run_observed(program.as_mut(), &mut counter));
    match observed {
        Ok(Ok(_)) => counter.issued(),
        _ => Vec::new(),
    }
}

fn what_can_be_run() -> String {
    let row = |workload: &warploom_workloads::WorkloadInfo| {
        vec![workload.name.to_owned(), workload.sentence.to_owned()]
    };
    let rows: Vec<_> = all().iter().map(row).collect();
    let table = list(&["workload", "what it computes"], &rows, width());
    let told = wrapped(
        "",
        "warploom run WORKLOAD runs one; a launch file (*.toml), a PTX file (*.ptx) or CUDA source \
         (*.cu) runs a kernel of your own.",
        width(),
    );
    format!("{table}\n{told}warploom run --help shows examples.\n")
}
