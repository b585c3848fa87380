//! Command-line interface: the verbs and their common parts.

use crate::failure::Failure;
use crate::names::workloads;
use crate::output::{continued, print, width};
use crate::verbs::{
    analyze, app, check, compare, completions, crat, import, install_docs, list, microbench,
    oracle, python, report, reproduce, resources, run, show, slices, sweep, trace,
};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;
use warploom_diag::nearest;
use warploom_report::wrapped;

/// First steps, for somebody who types the program's name alone.
const FIRST_STEPS: &str = "\
Warploom simulates GPUs: it executes CUDA kernels from their PTX, and times
them cycle by cycle.

What do you want to do first?
  warploom run hotspot            see it work: a built-in kernel on a GTX 480
  warploom run hotspot --explain  and say what bound the kernel
  warploom run kernel.cu          a kernel of your own (.cu, .ptx, or a launch
                                  file .toml)
  warploom app -- ./program       a CUDA program, as it is
  warploom compare hotspot --vary sm.warp_scheduler=lrr,gto
                                  schedulers or machines side by side
  warploom reproduce cooperative/fig3 --scale test
                                  a paper's figure again, with small inputs

  warploom --help                 all commands; warploom run --help: the options
                                  of one command
  warploom list gpus              machines; also workloads, policies, stats,
                                  figures
  warploom install-docs           manual pages and completions for your shell
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
    let arguments = joined(std::env::args_os().collect());
    let verb = arguments.get(1).map(|verb| verb.to_string_lossy());
    let verb = verb.unwrap_or_default().into_owned();
    let mut command = command(&verb);
    let matches = command.try_get_matches_from_mut(arguments);
    let read = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    read.unwrap_or_else(|error| {
        let error = error.format(&mut command);
        with_place(suggested(error), &verb).exit()
    })
}

/// Options whose number may be left out, and else follows `=`, so that no target is taken for it.
const WITH_NUMBERS: [&str; 2] = ["--watch", "--lines"];

/// The arguments, in which a number after such an option is its value: `--watch 3` is `--watch=3`,
/// because no target is a number.
fn joined(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut own = true;
    for argument in arguments {
        own &= argument != "--";
        let is_number = argument
            .to_str()
            .is_some_and(|text| text.parse::<u64>().is_ok());
        match joined.last_mut() {
            Some(option) if own && is_number && WITH_NUMBERS.iter().any(|of| *option == *of) => {
                option.push("=");
                option.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

/// A message about an option that `verb` does not have, with the verbs that have it, or with what
/// to do instead.
fn with_place(mut error: clap::Error, verb: &str) -> clap::Error {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(unknown)) if error.kind() == ErrorKind::UnknownArgument => {
            unknown.clone()
        }
        _ => return error,
    };
    let similar = error.get(ContextKind::SuggestedArg).is_some();
    if let Some(advice) = elsewhere(verb, &unknown).filter(|_| !similar) {
        let advice = ContextValue::StyledStrs(vec![StyledStr::from(advice)]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

/// Advice on an argument that `verb` does not take.
fn elsewhere(verb: &str, argument: &str) -> Option<String> {
    let Some(long) = argument.strip_prefix("--") else {
        return (verb == "reproduce" && !argument.starts_with('-'))
            .then(|| format!("paper and figure are one word, such as cooperative/{argument}"));
    };
    if long == "html" && ["compare", "sweep", "reproduce"].contains(&verb) {
        let folder = match verb {
            "compare" => "`-o DIR` keeps the results in a folder",
            _ => "results are in the folder `results`, or that of -o",
        };
        return Some(format!(
            "{folder}, and `warploom report DIR` makes a page of it"
        ));
    }
    if verb == "reproduce" && ["set", "gpu"].contains(&long) {
        return Some(
            "a figure is one of its paper's machine; docs/reproducing.md, \"A figure on another \
             machine\", tells how to make its runs on yours"
                .to_owned(),
        );
    }
    if verb == "reproduce" && long == "figure" {
        return Some("paper and figure are one word, such as cooperative/fig3".to_owned());
    }
    let command = Cli::command();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let has = |verb: &&Command| verb.get_arguments().any(|arg| arg.get_long() == Some(long));
    let names: Vec<_> = verbs
        .filter(has)
        .map(|verb| format!("`{}`", verb.get_name()))
        .collect();
    (!names.is_empty()).then(|| format!("'{argument}' is an option of {}", names.join(", ")))
}

/// The command line's grammar for arguments that begin with `verb`; only that verb is complete, or
/// all are, if there is none of this name. A negative number is a value of the option before it,
/// whose own message then says what it accepts.
fn command(verb: &str) -> Command {
    let command = Cli::command();
    let verbs: Vec<_> = match command.find_subcommand(verb) {
        Some(verb) => vec![verb.get_name().to_owned()],
        None => {
            let all = command.get_subcommands();
            all.map(|verb| verb.get_name().to_owned()).collect()
        }
    };
    let accept = |arg: Arg| match !arg.is_positional() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    let accepting = |command: Command, verb: &String| {
        command.mut_subcommand(verb, |verb| verb.mut_args(accept))
    };
    let command = verbs.iter().fold(command, accepting);
    let width = width().map_or(usize::MAX, usize::from);
    let shown = |command: Command, verb: &String| {
        command.mut_subcommand(verb, |verb| with_examples_in(verb, width))
    };
    verbs.iter().fold(command, shown)
}

/// The verb, with examples that keep to a width.
fn with_examples_in(verb: Command, width: usize) -> Command {
    // Examples have no styles. Looking for some to remove took a quarter of an empty run.
    let examples = verb.get_after_help().map(|text| text.ansi().to_string());
    match examples {
        Some(text) => verb.after_help(narrowed(&text, width)),
        None => verb,
    }
}

/// Indentation of a comment below its example.
const BELOW: &str = "      ";

/// Examples in lines of at most `width` characters: comments for which there is no room beside
/// their commands stand below them.
fn narrowed(examples: &str, width: usize) -> String {
    let is_wide = |line: &&str| line.chars().count() > width;
    if !examples.lines().any(|line| is_wide(&line)) {
        return examples.to_owned();
    }
    let mut text = String::new();
    for line in examples.lines() {
        let indent = line.len() - line.trim_start().len();
        let (command, comment) = match line[indent..].split_once("  ") {
            _ if indent > BELOW.len() => ("", line.trim_start()),
            Some((command, comment)) => (command, comment.trim_start()),
            None => (&line[indent..], ""),
        };
        if indent == 0 {
            text += &wrapped("", command, u16::try_from(width).ok());
        } else if !command.is_empty() {
            text += &continued(&line[..indent], command, u16::try_from(width).ok());
        }
        if !comment.is_empty() {
            text += &wrapped(BELOW, comment, u16::try_from(width).ok());
        }
    }
    text.trim_end().to_owned()
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
    use super::{Cli, FIRST_STEPS, command, elsewhere, narrowed};
    use clap::error::ErrorKind;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_sound() {
        command("").debug_assert();
        for verb in Cli::command().get_subcommands() {
            command(verb.get_name()).debug_assert();
        }
    }

    #[test]
    fn the_first_steps_fit_80_columns() {
        assert!(FIRST_STEPS.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn comments_stand_below_examples_without_room() {
        let examples = "Examples:\n  warploom run bfs     run a workload\n  \
                        warploom run k.ptx   --grid 4 \\\n      --arg 1\n\
                        \u{20}                      and more of it\nKept.";
        assert_eq!(narrowed(examples, 80), examples);
        let below = "Examples:\n  warploom run bfs\n      run a workload\n  warploom run k.ptx\n      \
                     --grid 4 \\\n      --arg 1\n      and more of it\nKept.";
        assert_eq!(narrowed(examples, 30), below);
        for verb in Cli::command().get_subcommands() {
            let text = verb
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let narrow = narrowed(&text, 80);
            // A command without options is not divided.
            let fits = |line: &str| line.chars().count() <= 80 || !line.contains(" --");
            assert!(narrow.lines().all(fits), "{narrow}");
        }
    }

    #[test]
    fn an_option_of_another_verb_is_placed() {
        let told = |verb, argument| elsewhere(verb, argument).unwrap_or_default();
        assert_eq!(told("analyze", "--html"), "'--html' is an option of `run`");
        assert!(told("compare", "--html").contains("`warploom report DIR`"));
        for changed in ["--gpu", "--set"] {
            assert!(told("reproduce", changed).contains("A figure on another machine"));
        }
        assert!(told("reproduce", "--figure").ends_with("such as cooperative/fig3"));
        assert!(told("reproduce", "fig3").ends_with("such as cooperative/fig3"));
        assert_eq!(elsewhere("run", "--nonsense"), None);
        assert_eq!(elsewhere("check", "fig3"), None);
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

    /// A number is no target, but the value of an option before it.
    #[test]
    fn a_number_after_an_option_is_its_value() {
        let joined = |text: &str| {
            let joined = super::joined(text.split(' ').map(Into::into).collect());
            let words = joined
                .into_iter()
                .map(|word| word.into_string().expect("ASCII"));
            words.collect::<Vec<_>>().join(" ")
        };
        let lines = "warploom analyze --lines 20 --watch 3 k.cu";
        assert_eq!(joined(lines), "warploom analyze --lines=20 --watch=3 k.cu");
        for same in [
            "warploom run --watch spmv",
            "warploom run --watch=3 spmv",
            "warploom run spmv --threads 3",
            "warploom app -- ./prog --watch 3",
        ] {
            assert_eq!(joined(same), same);
        }
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
