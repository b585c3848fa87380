//! Command-line interface: the verbs and their common parts.

use crate::failure::Failure;
use crate::names::workloads;
use crate::output::print;
use crate::verbs::{
    analyze, app, check, compare, completions, crat, import, install_docs, list, microbench,
    oracle, python, report, reproduce, resources, run, show, slices, sweep, trace,
};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use warploom_diag::nearest;

/// First steps, for somebody who types the program's name alone.
const FIRST_STEPS: &str = "\
Warploom simulates GPUs: it executes CUDA kernels from their PTX, and times them cycle by cycle.

What do you want to do first?
  warploom run hotspot                 see it work: a kernel that is built in, on a GTX 480
  warploom run hotspot --explain       and say what bound the kernel
  warploom run kernel.cu               a kernel of your own (.cu, .ptx, or a launch file .toml)
  warploom app -- ./program            a CUDA program, as it is
  warploom compare hotspot --vary sm.warp_scheduler=lrr,gto
                                       schedulers or machines side by side, with a chart
  warploom reproduce cooperative/fig3  a paper's figure again

  warploom --help                      all commands; warploom run --help: one command's options
  warploom list gpus                   machines; also workloads, policies, stats, figures
  warploom install-docs                manual pages and completions for your shell
";

const EXAMPLES: &str = "\
Examples:
  warploom run                      list what can be run
  warploom run vectoradd            run a workload and check its outputs
  warploom run my.toml              run a kernel of your own from a launch file
  warploom app -- ./program         run a CUDA program as it is, its kernels simulated
  warploom analyze spmv             name a workload's bottleneck
  warploom trace hotspot -o h.json  a timeline of its warps for the Perfetto UI
  warploom compare bfs --vary sm.warp_scheduler=lrr,gto
  warploom sweep study.toml         hundreds of runs, on this machine or on a cluster
  warploom oracle bfs sgemm         the best way for two programs to share the SMs
  warploom reproduce duet           a paper's figures, with its claims beside what is measured
  warploom report results           write an HTML page of them
  warploom resources kernel.ptx     registers, memory and spills of a PTX file's kernels
  warploom slices kernel.ptx        which addresses are known before a kernel runs, and why not
  warploom list policies            list the schedulers and other policies
  warploom show gpu gtx480          a GPU's data sheet; with --keys, everything that can be set
  warploom import gpgpusim.config   a preset from a GPGPU-Sim configuration";

/// A fast GPU simulator for research on thread-level parallelism: runs CUDA kernels from their PTX
/// on a cycle-level model of a GPU.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Run(Box<run::Args>),
    App(Box<app::Args>),
    Analyze(Box<analyze::Args>),
    Trace(Box<trace::Args>),
    Compare(Box<compare::Args>),
    Sweep(Box<sweep::Args>),
    Oracle(Box<oracle::Args>),
    Reproduce(reproduce::Args),
    Report(report::Args),
    Check(check::Args),
    Resources(resources::Args),
    Slices(Box<slices::Args>),
    Crat(Box<crat::Args>),
    List(list::Args),
    Microbench(microbench::Args),
    Show(show::Args),
    Import(import::Args),
    Completions(completions::Args),
    InstallDocs(install_docs::Args),
    #[command(hide = true)]
    Python(python::Args),
}

/// Reads the command line. Help, and what is wrong with it, end the process.
pub fn parse() -> Cli {
    let mut command = command();
    let matches = command.clone().try_get_matches();
    let read = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    read.unwrap_or_else(|error| suggested(error.format(&mut command)).exit())
}

/// The command line's grammar. A negative number is a value of the option before it, whose own
/// message then says what it accepts.
fn command() -> Command {
    let command = Cli::command();
    let verbs = command.get_subcommands();
    let verbs: Vec<_> = verbs.map(|verb| verb.get_name().to_owned()).collect();
    let accept = |arg: Arg| match !arg.is_positional() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    let accepting = |command: Command, verb: &String| {
        command.mut_subcommand(verb, |verb| verb.mut_args(accept))
    };
    verbs.iter().fold(command, accepting)
}

/// A message about an unknown verb, with the verb that was most likely meant: one with a similar
/// name, or `run` for a workload or a file.
fn suggested(mut error: clap::Error) -> clap::Error {
    let ContextValue::String(name) = error
        .get(ContextKind::InvalidSubcommand)
        .cloned()
        .unwrap_or(ContextValue::None)
    else {
        return error;
    };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let command = Cli::command();
    let verbs = command.get_subcommands().map(Command::get_name);
    let is_file = [".cu", ".ptx", ".toml"]
        .iter()
        .any(|end| name.ends_with(end));
    let meant = match nearest(&name, verbs) {
        Some(verb) => Some(verb.to_owned()),
        None if is_file || workloads().contains(&name) => Some(format!("run {name}")),
        None => None,
    };
    if let Some(meant) = meant {
        let meant = ContextValue::Strings(vec![meant]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}

impl Cli {
    /// Runs the chosen verb. Without one, prints what to do first.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let Some(verb) = self.verb else {
            print(FIRST_STEPS)?;
            return Ok(ExitCode::SUCCESS);
        };
        match verb {
            Verb::Run(args) => run::run(&args),
            Verb::App(args) => app::run(&args),
            Verb::Analyze(args) => analyze::run(&args),
            Verb::Trace(args) => trace::run(&args),
            Verb::Compare(args) => compare::run(&args),
            Verb::Sweep(args) => sweep::run(&args),
            Verb::Oracle(args) => oracle::run(&args),
            Verb::Reproduce(args) => reproduce::run(&args),
            Verb::Report(args) => report::run(&args),
            Verb::Check(args) => check::run(&args),
            Verb::Resources(args) => resources::run(&args),
            Verb::Slices(args) => slices::run(&args),
            Verb::Crat(args) => crat::run(&args),
            Verb::List(args) => list::run(&args),
            Verb::Microbench(args) => microbench::run(&args),
            Verb::Show(args) => show::run(&args),
            Verb::Import(args) => import::run(&args),
            Verb::Completions(args) => completions::run(&args),
            Verb::InstallDocs(args) => install_docs::run(&args),
            Verb::Python(args) => python::run(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, command};
    use clap::error::ErrorKind;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_has_examples() {
        let command = Cli::command();
        let verbs: Vec<_> = command.get_subcommands().collect();
        assert!(verbs.len() >= 5);
        for verb in verbs {
            let examples = verb
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                examples.starts_with("Examples:\n"),
                "{} has none",
                verb.get_name()
            );
        }
    }

    /// Commands in a page's code: lines that begin with the program's name, without comments, and
    /// lines that they are continued on.
    fn commands(page: &str) -> Vec<String> {
        let parts: Vec<_> = page.split("\\\n").map(str::trim_start).collect();
        let joined = parts.join(" ");
        let spans = joined.split('`').skip(1).step_by(2);
        let spans = spans.filter(|span| !span.contains('\n')).map(str::to_owned);
        let lines = joined.lines().filter_map(|line| line.strip_prefix("    "));
        let lines = lines.map(|line| line.split("  ").next().unwrap_or_default().to_owned());
        spans
            .chain(lines)
            .filter(|text| text.starts_with("warploom ") && !text.contains("..."))
            .collect()
    }

    /// Words of a command as a shell separates them, up to a redirection.
    fn words(command: &str) -> Vec<String> {
        let command = [" > ", " | "].iter().fold(command, |command, redirection| {
            command.split(redirection).next().unwrap_or_default()
        });
        let (mut words, mut quoted) = (vec![String::new()], false);
        for c in command.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                _ => words.last_mut().expect("a word").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn the_commands_of_all_pages_are_valid() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = std::fs::read_dir(root.join("docs")).expect("the pages");
        let pages = pages.map(|entry| entry.expect("an entry").path());
        let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let mut checked = 0;
        for path in pages.chain([root.join("README.md")]) {
            let page = std::fs::read_to_string(&path).expect("a page");
            for command in commands(&page) {
                let parsed = Cli::try_parse_from(words(&command));
                let kind = parsed.err().map(|error| error.kind());
                let unknown = [ErrorKind::UnknownArgument, ErrorKind::InvalidSubcommand];
                let wrong = kind.is_some_and(|kind| unknown.contains(&kind));
                assert!(!wrong, "{}: {command}: {kind:?}", path.display());
                checked += 1;
            }
        }
        assert!(checked > 100, "{checked} commands");
    }
}
