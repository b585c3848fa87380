//! The verb `warploom compare`.

mod columns;

use crate::allocate_args::AllocateArgs;
use crate::cuda_source::Compiled;
use crate::energy_args::EnergyArgs;
use crate::experiment::{Keeping, RunnerArgs, experiment, page_hint, tell_failures, write_page};
use crate::failure::Failure;
use crate::gpu::{GpuArgs, base, spec};
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::launch_args::LaunchArgs;
use crate::names::{Names, workloads};
use crate::output::{
    check_outputs, command_line, note, print, print_json, width, write_file, wrote,
};
use crate::target::{self, WorkloadArgs};
use crate::timed_args::percentage;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_lab::{
    Comparison, FigureJob, FigureOutcome, Input, Programs, Vary, check_keys, measured_columns,
    sampled_columns,
};
use warploom_report::page::Page;
use warploom_report::{page_report, svg};

const EXAMPLES: &str = "\
Examples:
  warploom compare bfs --vary sm.warp_scheduler=lrr,gto
  warploom compare spmv --gpu maxwell-duet --vary noc.flit_bytes=16,32,64 --svg spmv.svg
  warploom compare hotspot --vary sm.warp_scheduler=lrr,gto --vary gpu.max_blocks_per_sm=1,2,4
  warploom compare matrixmul --size paper --vary gpu.sms=8,16,32 -o results
  warploom compare bfs --vary gpu.sms=10,15 --columns cycles,speedup,bound
  warploom compare spmv --vary l1d.sets=16,64 --explain  and why one is faster
  warploom compare bfs --vary gpu.sms=10,15 --energy     power, energy and energy-delay product too
  warploom compare slicer/IMG slicer/NN --alone-cycles 50000 --vary gpu.multiprogram=left-over,even
  warploom compare gaussian --vary sm.warp_scheduler=lrr,gto --sample-error 2%   a part is timed
  warploom compare my.toml --vary sm.warp_scheduler=gto,oldest --csv my.csv --json
  warploom compare spmv --vary sm.warp_scheduler=gto,static-limit --best static-limit.warps=2,4,8
With -o, runs are kept: stopped at any moment, the same command goes on where it was.";

/// Text below the options: examples, and what the columns mean.
fn examples_and_columns() -> String {
    let column = |(name, about)| format!("\n  {name}: {about}");
    let columns: String = measured_columns().map(column).collect();
    let sampled: String = sampled_columns().map(column).collect();
    format!(
        "{EXAMPLES}\nColumns (from `launch` on: with --max-cycles):{columns}\nColumns with \
         --sample-error:{sampled}"
    )
}

/// Run a target, or several at once, on machines that differ in some keys: a table and chart with
/// one row per value and speedups over the first
#[derive(clap::Args)]
#[command(
    after_help = examples_and_columns(),
    override_usage = "warploom compare [OPTIONS] --vary <KEY=V1,V2,...> <TARGET>..."
)]
pub struct Args {
    /// Workload (`warploom list workloads`), launch file (*.toml), PTX file (*.ptx) or CUDA source
    /// (*.cu); several run at once, each with an address space of its own
    #[arg(required = true, value_name = "TARGET", value_parser = Names(workloads), hide_possible_values = true)]
    targets: Vec<String>,
    /// Key and its values; if repeated, all combinations run
    #[arg(long, value_name = "KEY=V1,V2,...", value_parser = vary)]
    vary: Vec<Vary>,
    /// Key and values to search: all of them run, and each row shows its fastest run; if repeated,
    /// all combinations run
    #[arg(long, value_name = "KEY=V1,V2,...", value_parser = vary)]
    best: Vec<Vary>,
    /// Say why the fastest row is faster than the first one: cycles that its schedulers lose, hits,
    /// traffic, warps on an SM and bounds, with a step
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    allocate: AllocateArgs,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    gpu: GpuArgs,
    /// Stop each run after this many core cycles, without checking the outputs; speedups are then
    /// ratios of IPC
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_cycles: Option<u64>,
    /// Stop each run after this many launches of the program, without checking the outputs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_launches: Option<u64>,
    /// Time only as many launches of each run as it takes to estimate its cycles with an error of
    /// at most this, such as 2%, at 95% confidence, and execute the others without timing, once for
    /// all machines that agree. Values are estimates with margins
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    sample_error: Option<f64>,
    /// Folder for data, picture and stored runs, as for `reproduce`; `report` makes a page of it
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Columns of the printed table and of --csv, after those of the keys, in this order [default:
    /// all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Write the table as CSV
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Write the chart as a picture
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    runner: RunnerArgs,
    #[command(flatten)]
    energy: EnergyArgs,
    #[command(flatten)]
    launch: LaunchArgs,
}

/// Heading of the options for programs that run at once.
const SEVERAL: &str = "Several programs";

/// Options for programs that run at once.
#[derive(clap::Args)]
struct MixArgs {
    /// First run each program alone for this many core cycles on the machine of the first row; its
    /// instructions in them are its target in all rows
    #[arg(long, value_name = "N", help_heading = SEVERAL, conflicts_with_all = ["instructions", "again"],
        value_parser = clap::value_parser!(u64).range(1..))]
    alone_cycles: Option<u64>,
    /// Thread instructions of each program, after which it is halted and its resources go to the
    /// others; programs that end earlier restart
    #[arg(long = "targets", value_name = "N,M,...", help_heading = SEVERAL, value_delimiter = ',',
        value_parser = clap::value_parser!(u64).range(1..))]
    instructions: Vec<u64>,
    /// Restart programs that end, until --max-cycles
    #[arg(long, help_heading = SEVERAL, requires = "max_cycles", conflicts_with = "instructions")]
    again: bool,
}

impl MixArgs {
    fn given(&self) -> bool {
        self.again || self.alone_cycles.is_some() || !self.instructions.is_empty()
    }

    /// The programs after the first, if there are several or an option for several was given.
    fn programs(&self, others: Vec<Input>) -> Result<Option<Programs>, Failure> {
        let programs = 1 + others.len();
        if programs == 1 && !self.given() {
            return Ok(None);
        }
        let targets = self.instructions.len();
        if targets != 0 && targets != programs {
            return Err(Failure::Input(format!(
                "--targets names {targets} numbers for {programs} programs; write one for each"
            )));
        }
        Ok(Some(Programs {
            others,
            targets: self.instructions.clone(),
            again: self.again,
            alone_cycles: self.alone_cycles,
        }))
    }
}

impl Args {
    /// Refuses a comparison without keys that vary.
    fn refuse_nothing_varied(&self) -> Result<(), Failure> {
        if self.vary.is_empty() {
            return Err(Failure::Input(
                "nothing varies: `compare` runs the same programs on machines that differ in a key\n  \
                 = help: name a key and its values: --vary sm.warp_scheduler=lrr,gto\n  \
                 = help: to compare programs, write a file with `[axes]` and `target = [\"a.toml\", \
                 \"b.toml\"]`, and run it by `warploom sweep FILE` (docs/sweeps.md)"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Refuses a limit of launches for several programs.
    fn refuse_launches_of_several(&self) -> Result<(), Failure> {
        if self.max_launches.is_some() && (self.targets.len() > 1 || self.mix.given()) {
            return Err(Failure::Input(
                "--max-launches is for one program; --max-cycles cuts several".to_owned(),
            ));
        }
        Ok(())
    }

    /// Refuses what a sampled comparison cannot have.
    fn refuse_sampled(&self) -> Result<(), Failure> {
        if self.sample_error.is_none() {
            return Ok(());
        }
        let refused = [
            (
                self.targets.len() > 1 || self.mix.given(),
                "several programs at once: how their kernels overlap is not known of launches that are \
                 not timed",
                "compare each program alone",
            ),
            (
                self.max_cycles.is_some(),
                "--max-cycles: a run that is cut has no estimates",
                "leave one of the two out",
            ),
            (
                self.max_launches.is_some(),
                "--max-launches: the plan chooses which launches are timed",
                "leave one of the two out",
            ),
            (
                self.explain,
                "--explain: each row has the cycles of its own timed launches",
                "compare whole runs, or leave one of the two out",
            ),
            (
                self.energy.given(),
                "--energy: the parts of the energy are known of timed launches only",
                "`warploom run --sample-error PERCENT --energy` estimates that of one machine",
            ),
        ];
        match refused.iter().find(|(given, ..)| *given) {
            Some((_, what, help)) => Err(Failure::Input(format!(
                "--sample-error cannot be had with {what}\n  = help: {help}"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses an explanation of what has no causes of its own.
    fn refuse_explained(&self) -> Result<(), Failure> {
        let several = self.targets.len() > 1 || self.mix.given();
        match self.explain && several {
            true => Err(Failure::Input(
                "--explain is for one program: of several at once no cause is known for each\n  \
                 = help: `warploom run A B --explain` tells what they share"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// True if several programs share the machine although nothing that is compared is about that.
    fn share_by_accident(&self, others: usize) -> bool {
        let mut keys = self.vary.iter().chain(&self.best).map(|vary| &vary.key);
        others > 0 && !self.mix.given() && !keys.any(|key| key == "gpu.multiprogram")
    }
}

/// The programs of the command line.
fn inputs(args: &Args) -> Result<Vec<Input>, Failure> {
    args.allocate.check(args.targets.len())?;
    let WorkloadArgs { size, seed } = args.workload;
    let mut compiled = Compiled::default();
    let input = |(nth, name): (usize, &String)| {
        let allocated = args.allocate.input(nth, name, &args.workload)?;
        args.workload.tell_unused(name);
        let own = || target::input(name, size, seed, &args.launch, &mut compiled);
        let made = allocated.map_or_else(own, Ok);
        made.map_err(|failure| match failure {
            Failure::Input(told) if told.starts_with("no workload") && name.contains(',') => {
                Failure::Input(format!(
                    "{told}\n  = help: names of programs are separated by spaces: {}; they then run \
                     at the same time, and `warploom sweep` runs programs one after the other \
                     (docs/sweeps.md)",
                    name.replace(',', " ")
                ))
            }
            Failure::Input(told) if nth > 0 && told.starts_with("no workload") => Failure::Input(
                told + "\n  = help: values of --vary are separated by commas, without spaces",
            ),
            other => other,
        })
    };
    args.targets.iter().enumerate().map(input).collect()
}

fn vary(text: &str) -> Result<Vary, String> {
    let wrong = || "write KEY=V1,V2, for example sm.warp_scheduler=lrr,gto".to_owned();
    let (key, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<_> = values.split(',').map(str::to_owned).collect();
    if key.is_empty() || values.iter().any(String::is_empty) {
        return Err(wrong());
    }
    let twice = |value: &String| values.iter().filter(|other| *other == value).count() > 1;
    match values.iter().find(|value| twice(value)) {
        Some(value) => Err(format!("`{value}` occurs twice; leave one out")),
        None => Ok(Vary {
            key: key.to_owned(),
            values,
        }),
    }
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    refuse_twice(args)?;
    refuse_machines(args)?;
    let outputs = [
        ("--csv", args.csv.as_deref()),
        ("--svg", args.svg.as_deref()),
    ];
    let gpu = args.gpu.name(&args.targets);
    check_outputs(&outputs, &target::files(&args.targets, Some(&gpu)))?;
    args.refuse_nothing_varied()?;
    args.refuse_launches_of_several()?;
    args.refuse_sampled()?;
    args.refuse_explained()?;
    check_machines(args, &gpu)?;
    let mut inputs = inputs(args)?;
    let others = inputs.split_off(1);
    if args.share_by_accident(others.len()) {
        note(&format!(
            "note: these {} programs run at the same time and share the GPU\n  = help: `warploom \
             sweep` with them as the values of `target` compares each alone (docs/sweeps.md)\n",
            1 + others.len()
        ));
    }
    let comparison = Comparison {
        input: inputs.swap_remove(0),
        programs: args.mix.programs(others)?,
        base: base(&gpu)?,
        gpu: gpu.clone(),
        sets: args.gpu.sets.clone(),
        vary: args.vary.clone(),
        best: args.best.clone(),
        max_cycles: args.max_cycles,
        max_launches: args.max_launches,
        energy: match args.energy.choice()? {
            Some(choice) => Some(choice.of(&spec(&gpu, &[])?)?),
            None => None,
        },
        explain: args.explain,
        sample_error: args.sample_error,
    };
    columns::check(&args.columns, &comparison.columns())?;
    let specs = comparison.runs();
    let specs = specs.map_err(|errors| errors.of_option(option(args)))?;
    let command = command_line();
    let interrupt = args.output.is_none().then(Interrupt::new);
    let is_interrupted = || interrupt.as_ref().is_some_and(|of| of.go_on().is_break());
    let wanted = FigureJob {
        name: comparison.name(),
        make: Box::new(|runs| match is_interrupted() {
            true => comparison.make_of_ended(&specs, runs),
            false => comparison.make(&specs, runs),
        }),
        page: Box::new(|figure, used| comparison.page(figure, used, &command)),
    };
    let folder = args.output.as_deref().map(Keeping::Folder);
    let ended = interrupt.as_ref().map(Keeping::Ended);
    let keeping = folder.or(ended).unwrap_or(Keeping::Nothing);
    let made = experiment(&[wanted], &args.runner, keeping)?.pop();
    let page = match made {
        Some(FigureOutcome::Failed { name, runs }) => {
            tell_failures(&name, &runs);
            return Ok(ExitCode::from(1));
        }
        Some(FigureOutcome::Page(page)) if page.table.rows.len() == comparison.rows() => {
            give(args, &page)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(FigureOutcome::Page(page)) => Some(page),
        None => None,
    };
    let page = page.filter(|page| !page.table.rows.is_empty());
    interrupted(args, page, comparison.rows())
}

/// Options whose keys are varied, for messages.
fn option(args: &Args) -> &'static str {
    match args.best.is_empty() {
        true => "--vary",
        false => "--vary or --best",
    }
}

/// Checks all machines before an input is compiled or a launch is guessed. Problems of the machine
/// itself are not problems of what is varied.
fn check_machines(args: &Args, gpu: &str) -> Result<(), Failure> {
    spec(gpu, &args.gpu.sets)?;
    let keys = [args.vary.as_slice(), &args.best].concat();
    let checked = check_keys(gpu, &base(gpu)?, &args.gpu.sets, &keys);
    Ok(checked.map_err(|errors| errors.of_option(option(args)))?)
}

/// Refuses a key that is named twice.
fn refuse_twice(args: &Args) -> Result<(), Failure> {
    let varied = || args.vary.iter().chain(&args.best);
    let keys = || varied().map(|vary| vary.key.as_str());
    if let Some(key) = keys().find(|key| keys().filter(|other| other == key).count() > 1) {
        return Err(Failure::Input(format!(
            "`{key}` is named twice; write all its values after one --vary or one --best"
        )));
    }
    Ok(())
}

/// Refuses several machines, which are values of an axis of a sweep.
fn refuse_machines(args: &Args) -> Result<(), Failure> {
    let varied = args.vary.iter().chain(&args.best);
    let varied = varied.filter(|vary| vary.key == "gpu");
    let is_list = |gpu: &&String| gpu.contains(',') && !Path::new(gpu).exists();
    let listed = args.gpu.gpu.iter().filter(is_list);
    let listed = listed.flat_map(|gpu| gpu.split(','));
    let machines = varied.flat_map(|vary| vary.values.iter().map(String::as_str));
    let machines: Vec<_> = machines.chain(listed).collect();
    if machines.is_empty() {
        return Ok(());
    }
    // A preset that does not exist would not do in a sweep, either.
    let is_file = |gpu: &str| [".toml", ".config"].iter().any(|end| gpu.ends_with(end));
    for machine in machines.iter().filter(|gpu| !is_file(gpu)) {
        spec(machine, &[])?;
    }
    let quoted = |words: &[&str]| {
        let words = words.iter().map(|word| format!("{word:?}"));
        words.collect::<Vec<_>>().join(", ")
    };
    let targets: Vec<_> = args.targets.iter().map(String::as_str).collect();
    Err(Failure::Input(format!(
        "a comparison varies keys of one machine, and these are machines: {}\n  \
         = help: `warploom sweep FILE.toml` compares machines, with this in the file \
         (docs/sweeps.md):\n    [axes]\n    target = [{}]\n    gpu = [{}]",
        machines.join(", "),
        quoted(&targets),
        quoted(&machines)
    )))
}

/// Gives the rows of a comparison whose runs had ended when a signal came.
fn interrupted(args: &Args, page: Option<Box<Page>>, all: usize) -> Result<ExitCode, Failure> {
    let help = "-o DIR keeps each run that ends, and the same command then goes on";
    let Some(mut page) = page else {
        return Err(Failure::Interrupted(format!(
            "none of the {all} rows had ended\n  = help: {help}"
        )));
    };
    let rows = page.table.rows.len();
    page.title += &format!(" (interrupted: {rows} of {all} rows)");
    give(args, &page)?;
    note(&format!(
        "interrupted: {rows} of {all} rows had ended, and the result has these\n  = help: {help}\n"
    ));
    Ok(ExitCode::from(INTERRUPTED))
}

fn give(args: &Args, page: &Page) -> Result<(), Failure> {
    let keys = args.vary.len() + args.best.len();
    let table = columns::chosen(&page.table, keys, &args.columns);
    if args.json {
        print_json(page)?;
    } else {
        let shown = Page {
            table: table.clone(),
            ..page.clone()
        };
        print(&page_report(&shown, width()))?;
    }
    if let Some(path) = &args.csv {
        write_file(path, &table.csv())?;
        wrote(path);
    }
    if let Some(path) = &args.svg {
        write_file(path, &svg(&page.charts))?;
        wrote(path);
    }
    if let Some(folder) = &args.output {
        write_page(folder, page)?
            .iter()
            .for_each(|path| wrote(path));
        note(&page_hint(folder));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::vary;

    #[test]
    fn values_are_a_list_behind_a_key() {
        let read = vary("sm.warp_scheduler=lrr,gto").unwrap();
        assert_eq!(
            (read.key.as_str(), read.values.len()),
            ("sm.warp_scheduler", 2)
        );
        for wrong in ["gto", "=lrr", "key=", "key=a,,b", "key=a,b,a"] {
            assert!(vary(wrong).is_err(), "{wrong}");
        }
    }
}
