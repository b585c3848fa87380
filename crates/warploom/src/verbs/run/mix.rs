//! `warploom run A B`: several programs at once.

use super::Args;
use crate::cuda_source::Compiled;
use crate::energy_args::with_energy;
use crate::failure::Failure;
use crate::gpu::told_spec;
use crate::interrupt::{Interrupt, is_interrupted, status};
use crate::output::{command_line, json, note, width};
use crate::simulate::{printing, shown};
use crate::target::{self, WorkloadArgs};
use std::path::Path;
use std::process::ExitCode;
use warploom_config::GpuSpec;
use warploom_lab::Input;
use warploom_report::run_report;
use warploom_run::launch_file::{ProcessPlan, processes, read};
use warploom_run::{Again, Options, Participant, Session};
use warploom_stats::result::{Outcome, ProcessReport, RunReport};

/// Largest number of programs; identifiers of address spaces have 8 bits.
const MOST_PROGRAMS: usize = 256;

/// Options for programs that run at once.
#[derive(clap::Args)]
#[command(next_help_heading = "Several programs")]
pub struct MixArgs {
    /// Policy by which kernels share the SMs (`warploom list policies`): gpu.multiprogram
    #[arg(long, value_name = "POLICY")]
    multiprogram: Option<String>,
    /// First run each program alone for this many core cycles; its instructions in them are its
    /// target in the mix, and slowdowns are relative to that run
    #[arg(long, value_name = "N", conflicts_with_all = ["instructions", "again"],
        value_parser = clap::value_parser!(u64).range(1..))]
    alone_cycles: Option<u64>,
    /// Thread instructions of each program, after which it is halted and its resources go to the
    /// others; programs that end earlier restart
    #[arg(long = "targets", value_name = "N,M,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u64).range(1..))]
    instructions: Vec<u64>,
    /// Restart programs that end, until --max-cycles
    #[arg(long, requires = "max_cycles", conflicts_with = "instructions")]
    again: bool,
    /// Core cycle in which each program starts [default: 0]
    #[arg(long, value_name = "CYCLE,...", value_delimiter = ',')]
    arrive: Vec<u64>,
}

impl MixArgs {
    /// True if an option was given that applies only to a mix, which may consist of one program.
    pub fn given(&self) -> bool {
        self.again
            || self.alone_cycles.is_some()
            || !(self.instructions.is_empty() && self.arrive.is_empty())
    }

    /// The GPU with the policy.
    pub fn spec(&self, args: &Args) -> Result<GpuSpec, Failure> {
        let mut sets = args.gpu.sets.clone();
        match self.multiprogram.as_deref() {
            Some("oracle") => {
                return Err(Failure::Input(
                    "the oracle is the best of many runs, not a policy of one\n  \
                     = help: `warploom oracle A B` makes them"
                        .to_owned(),
                ));
            }
            Some(policy) => sets.push(format!("gpu.multiprogram={policy}")),
            None => {}
        }
        told_spec(&args.gpu.name(&args.targets), &sets)
    }

    /// Refuses options that a file with a list of programs specifies itself.
    fn refuse_lists(&self, plans: &[ProcessPlan]) -> Result<(), Failure> {
        let targets = (!self.instructions.is_empty()).then_some("--targets");
        let arrive = (!self.arrive.is_empty()).then_some("--arrive");
        let alone = self.alone_cycles.map(|_| "--alone-cycles");
        let instead = alone.or(self.again.then_some("--again"));
        let has_targets = plans.iter().any(|plan| plan.instructions.is_some());
        if let (Some(option), true) = (instead, has_targets) {
            return Err(Failure::Input(format!(
                "{option} contradicts the file, which says `instructions` for \
                 them; leave out one of the two"
            )));
        }
        match targets.or(arrive) {
            Some(option) => Err(Failure::Input(format!(
                "{option} is for programs on the command line; the file specifies it for each program"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses lists whose length does not match the number of programs.
    fn check(&self, programs: usize) -> Result<(), Failure> {
        let targets = self.instructions.len();
        if targets != 0 && targets != programs {
            return Err(Failure::Input(format!(
                "--targets names {targets} numbers for {programs} programs; write one for each"
            )));
        }
        if self.arrive.len() > programs {
            return Err(Failure::Input(format!(
                "--arrive names {} cycles for {programs} programs; write at most one for each",
                self.arrive.len()
            )));
        }
        Ok(())
    }
}

/// Refuses options that cannot be combined with a mix: those whose answer is about one program, or
/// about times that an execution without timing does not have.
fn refuse(args: &Args, plans: &[ProcessPlan]) -> Result<(), Failure> {
    let timed = plans
        .iter()
        .any(|plan| plan.arrives_at > 0 || plan.instructions.is_some());
    if args.functional && (timed || args.mix.again || args.mix.alone_cycles.is_some()) {
        return Err(Failure::Input(
            "--functional has no time, and so neither targets nor arrivals nor restarts; leave out \
             one of the two"
                .to_owned(),
        ));
    }
    let sharing = args.sharing.then_some("--sharing");
    let lines = args.stats.gpgpusim_stats.then_some("--gpgpusim-stats");
    match sharing.or(lines).or(args.timed.given()) {
        Some(option) => Err(Failure::Input(format!(
            "{option} takes one program that runs once; leave it out, or run the programs one by one"
        ))),
        None => Ok(()),
    }
}

/// The programs on the command line, or those in the file that it names.
pub(super) fn meant(args: &Args) -> Result<Vec<ProcessPlan>, Failure> {
    if let [target] = args.targets.as_slice()
        && let Some(plans) = listed(target)?
    {
        args.mix.refuse_lists(&plans)?;
        return Ok(plans);
    }
    named(args)
}

fn named(args: &Args) -> Result<Vec<ProcessPlan>, Failure> {
    if args.targets.iter().any(|target| target == "all") {
        return Err(Failure::Input(
            "`all` runs every workload, one by one, and takes neither other programs nor options \
             for several; name the programs"
                .to_owned(),
        ));
    }
    args.mix.check(args.targets.len())?;
    let plan = |(at, target): (usize, &String)| ProcessPlan {
        target: target.clone(),
        arrives_at: args.mix.arrive.get(at).copied().unwrap_or(0),
        instructions: args.mix.instructions.get(at).copied(),
    };
    Ok(args.targets.iter().enumerate().map(plan).collect())
}

/// The programs that a file lists, if it does. Paths in the file are relative to its folder.
pub(super) fn listed(target: &str) -> Result<Option<Vec<ProcessPlan>>, Failure> {
    if !target.ends_with(".toml") {
        return Ok(None);
    }
    let path = Path::new(target);
    let plans = processes(&read(path)?)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let placed = |plan: ProcessPlan| ProcessPlan {
        target: if plan.target.ends_with(".toml") {
            folder.join(&plan.target).display().to_string()
        } else {
            plan.target
        },
        ..plan
    };
    Ok(plans.map(|plans| plans.into_iter().map(placed).collect()))
}

/// Runs the programs at once.
pub(super) fn run(args: &Args, gpu: &GpuSpec, plans: &[ProcessPlan]) -> Result<ExitCode, Failure> {
    refuse(args, plans)?;
    args.allocate.check(plans.len())?;
    let targets: Vec<String> = plans.iter().map(|plan| plan.target.clone()).collect();
    let mut files = target::files(&args.targets, args.gpu.gpu.as_deref());
    files.extend(target::files(&targets, None));
    args.stats.check(args.functional, args.json, &files)?;
    if plans.len() > MOST_PROGRAMS {
        return Err(Failure::Input(format!(
            "{} programs are too many; at most {MOST_PROGRAMS} run at once, each with an address \
             space of its own",
            plans.len()
        )));
    }
    let mut compiled = Compiled::default();
    let input = |(nth, plan): (usize, &ProcessPlan)| {
        let allocated = args.allocate.input(nth, &plan.target, &args.workload)?;
        let WorkloadArgs { size, seed } = args.workload;
        let own = || target::input(&plan.target, size, seed, &args.launch, &mut compiled);
        allocated.map_or_else(own, Ok)
    };
    let inputs: Vec<Input> = plans
        .iter()
        .enumerate()
        .map(input)
        .collect::<Result<_, _>>()?;
    let interrupt = Interrupt::new();
    let alone = match args.mix.alone_cycles {
        None => Vec::new(),
        Some(cycles) => alone(args, gpu, &inputs, cycles, &interrupt)?,
    };
    let targets: Vec<u64> = match alone.as_slice() {
        [] => plans.iter().filter_map(|plan| plan.instructions).collect(),
        alone => alone.iter().map(|run| run.thread_instructions).collect(),
    };
    let again = args.mix.again || !targets.is_empty();
    let programs = inputs.iter().enumerate().map(|(at, input)| {
        Ok(Participant {
            target: targets.get(at).copied(),
            arrives_at: plans[at].arrives_at,
            ..participant(input, gpu, again)?
        })
    });
    let programs = programs.collect::<Result<_, Failure>>()?;
    let options = args.checkpoint.add_to(options(args, args.max_cycles))?;
    let mut result = simulate(args, gpu, programs, options, &interrupt)?;
    if !alone.is_empty() && result.outcome == Outcome::Finished {
        result.compare_with_alone(&alone);
    }
    let energy = args.energy.preset(gpu)?;
    let result = with_energy(energy.as_ref(), gpu, result);
    let status = status(&result);
    args.stats.hand_out(gpu, result, |result| {
        if args.json {
            json(result)
        } else {
            run_report(result, width()) + &super::explained(args, gpu, None, result)
        }
    })?;
    Ok(status)
}

/// Runs each program alone for `cycles` cycles.
fn alone(
    args: &Args,
    gpu: &GpuSpec,
    inputs: &[Input],
    cycles: u64,
    interrupt: &Interrupt,
) -> Result<Vec<ProcessReport>, Failure> {
    let of = |input: &Input| {
        let program = participant(input, gpu, true)?;
        let options = options(args, Some(cycles));
        let mut report = simulate(args, gpu, vec![program], options, interrupt)?;
        if is_interrupted(&report.outcome) {
            note(&run_report(&report, None));
            let name = input.name();
            return Err(Failure::Interrupted(format!(
                "{name} ran alone, and the programs had not begun to run at once; the same command \
                 begins again"
            )));
        }
        if !report.succeeded() {
            note(&run_report(&report, None));
            let name = input.name();
            return Err(Failure::Input(format!(
                "{name} fails alone, so the mix cannot be compared with it"
            )));
        }
        match report.processes[0].thread_instructions {
            0 => Err(Failure::Input(format!(
                "{} executes nothing in its first {cycles} cycles alone, so there is no target for \
                 it\n  = help: more `--alone-cycles`; a launch alone takes hundreds",
                input.name()
            ))),
            _ => Ok(report.processes.swap_remove(0)),
        }
    };
    inputs.iter().map(of).collect()
}

fn participant<'a>(
    input: &'a Input,
    gpu: &'a GpuSpec,
    again: bool,
) -> Result<Participant<'a>, Failure> {
    let program = input.program(gpu).map_err(Failure::Input)?;
    Ok(Participant {
        again: again.then(|| Box::new(move || input.program(gpu)) as Again<'a>),
        ..Participant::new(input.name(), program)
    })
}

fn options(args: &Args, max_cycles: Option<u64>) -> Options {
    Options {
        threads: args.threads,
        max_cycles,
        functional: args.functional,
        checks: super::checks(&args.check),
        parts: args.stats.parts(),
        window_cycles: args.stats.window_cycles(args.functional),
        command: command_line(),
        ..Options::default()
    }
}

fn simulate(
    args: &Args,
    gpu: &GpuSpec,
    programs: Vec<Participant<'_>>,
    options: Options,
    interrupt: &Interrupt,
) -> Result<RunReport, Failure> {
    let session = Session::new(gpu.clone(), printing(options));
    shown(args.watch.interval(), interrupt, |progress| {
        session.run_mix(programs, progress)
    })
}
