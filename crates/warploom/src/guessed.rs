//! Launches of which the command line leaves parts open: the candidates of `warploom_guess`,
//! executed without timing until one of them makes no fault.

use crate::failure::Failure;
use crate::launch_args::LaunchArgs;
use crate::output::note;
use warploom_config::{GpuSpec, preset};
use warploom_diag::{Source, nearest};
use warploom_guess::{Buffer, Ended, Fixed, KernelUses, Parameter, Search, candidates, uses};
use warploom_ptx::ast::{Function, FunctionKind, Item, Module};
use warploom_report::outcome_told;
use warploom_run::launch_file::{LaunchFile, Limits};
use warploom_run::{Options, Session, Work};
use warploom_stats::result::Outcome;

/// Work that a launch may make. A guess with more would take long to simulate: where each lane of
/// a warp makes a transaction of its own, these and not the instructions take the time.
const MOST: Work = Work {
    instructions: 8_000_000,
    transactions: 2_000_000,
};
/// Machine whose limits a guess respects, so that a launch does not depend on `--gpu`.
const LIMITS_OF: &str = "qv100-volta";

/// Lines of the reason for which the last guess failed: what happened, and where.
const REASON: usize = 4;

/// Advice on the sizes of a guess.
const SIZES: &str = "  For smaller or larger sizes, give --grid alone, with fewer or more blocks: the \
                     arguments are then guessed for it.\n";

/// How a candidate ended: without success with the reason, if there is one.
enum Trial {
    Ran,
    Unfit(Ended, Option<String>),
}

/// Part of the message of a fault in shared memory.
const IN_SHARED: &str = " bytes at shared address ";

/// Completes the options for a kernel: the first candidate that ends without a fault. A note on
/// standard error says what was guessed.
pub fn complete(
    given: &LaunchArgs,
    path: &str,
    module: &Source,
    kernel: &str,
) -> Result<LaunchArgs, Failure> {
    let (tree, _) = warploom_ptx::read(module);
    let Some(function) = function(&tree, kernel) else {
        return Err(Failure::Input(unknown_kernel(&tree, path, kernel)));
    };
    let fixed = given.fixed();
    let uses = uses(&tree, function);
    let list = candidates(&uses, &fixed).map_err(|open| {
        Failure::Input(format!(
            "{path}: {open}, for which there is no guess; give the arguments up to this one (--arg; a \
             structure is `--arg struct:256,0.5`), or write a launch file (docs/launch-files.md)"
        ))
    })?;
    let gpu = preset(LIMITS_OF)?;
    let (mut search, mut ended, mut last) = (Search::new(list), None, None);
    while let Some(candidate) = search.next(ended) {
        let options = given.with(kernel, &candidate)?;
        match trial(options.described(path, module)?, &gpu)? {
            Trial::Ran => {
                let name = given.kernel.clone();
                let shown = LaunchArgs {
                    // Without a name given, the file has one kernel.
                    kernel: name.or_else(|| Some(warploom_names::plain(kernel).into_owned())),
                    ..options.clone()
                };
                note(&told(&shown, path, kernel, &fixed));
                return Ok(options);
            }
            Trial::Unfit(why, reason) => {
                ended = Some(why);
                last = reason
                    .map(|reason| (options.command(path), reason))
                    .or(last);
            }
        }
    }
    let number = number_for_a_buffer(kernel, &uses, &given.numbers());
    let told = number.unwrap_or_else(|| refusal(kernel, last.as_ref()));
    Err(Failure::Input(told))
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    });
    functions.filter(|function| function.body.is_some())
}

fn function<'a>(module: &'a Module, kernel: &str) -> Option<&'a Function> {
    functions(module).find(|function| function.name.node == kernel)
}

fn unknown_kernel(module: &Module, path: &str, kernel: &str) -> String {
    let kernels = functions(module).filter(|function| function.kind == FunctionKind::Entry);
    let names: Vec<&str> = kernels.map(|kernel| kernel.name.node.as_str()).collect();
    let help = match nearest(kernel, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", names.join(", ")),
    };
    format!("{path} has no kernel `{kernel}`\n  = help: {help}")
}

/// Executes a launch without timing.
fn trial(file: LaunchFile, gpu: &GpuSpec) -> Result<Trial, Failure> {
    let mut program = file.program(Limits::of(gpu))?;
    let session = Session::new(gpu.clone(), Options::default());
    Ok(match session.run_at_most(&mut program, MOST) {
        Ok(Some(Outcome::Finished)) => Trial::Ran,
        Ok(Some(other)) => {
            let told = outcome_told(&other).unwrap_or_default();
            let ended = match told.contains(IN_SHARED) {
                true => Ended::BeyondShared,
                false => Ended::Failed,
            };
            Trial::Unfit(ended, Some(told))
        }
        Ok(None) => Trial::Unfit(Ended::TooLong, None),
        Err(error) => Trial::Unfit(Ended::Failed, Some(error.to_string())),
    })
}

/// The message about an argument that is a number although the kernel reads or writes data there,
/// if there is one among these: the place of each number on the command line, and its text. Zero is
/// a null pointer, which a kernel may take.
fn number_for_a_buffer(
    kernel: &str,
    uses: &KernelUses,
    numbers: &[(usize, &str)],
) -> Option<String> {
    let buffer = |at: usize| match uses.parameters.get(at) {
        Some(Parameter::Buffer(buffer)) => Some(*buffer),
        _ => None,
    };
    let mut wrong = numbers
        .iter()
        .filter(|(_, text)| text.parse() != Ok(0_u64))
        .filter_map(|(at, text)| Some((at + 1, text, buffer(*at)?)));
    let (number, text, Buffer { element, is_read }) = wrong.next()?;
    let does = match is_read {
        true => "reads",
        false => "writes",
    };
    let kernel = warploom_names::shortened(kernel, warploom_names::WIDTH);
    Some(format!(
        "--arg number {number} is the number {text}, but `{kernel}` {does} data at the address that \
         this argument is\n  = help: give a buffer, such as `--arg 'f32[1024]=uniform'`; the \
         kernel's elements are `{}`",
        element.text()
    ))
}

/// The note about a guess.
fn told(options: &LaunchArgs, path: &str, kernel: &str, fixed: &Fixed) -> String {
    let what = match (fixed.grid.is_some(), fixed.block.is_some()) {
        (true, true) => "arguments",
        _ => "launch",
    };
    format!(
        "note: guessed the {what} of `{}`; this command makes the same run, and may be changed\n  \
         warploom run {}\n  Sizes and contents are \
         guesses: a kernel whose work depends on its data needs its own.\n{}",
        warploom_names::shortened(kernel, warploom_names::WIDTH),
        options.command(path),
        match fixed.grid {
            Some(_) => "",
            None => SIZES,
        }
    )
}

/// The refusal, with the command of the last guess that failed and the reason.
fn refusal(kernel: &str, last: Option<&(String, String)>) -> String {
    let Some((command, reason)) = last else {
        return format!(
            "no launch of `{kernel}` could be guessed: each one took too long\n  \
             = help: give --grid, --block and --arg, or write a launch file (docs/launch-files.md)"
        );
    };
    let lines = reason.lines().filter(|line| !line.starts_with("  = "));
    let reason = lines.take(REASON).collect::<Vec<_>>().join("\n    ");
    format!(
        "no launch of `{kernel}` could be guessed: the last one ended with {reason}\n  \
         = help: change it: `warploom run {command}`\n  \
         = help: or write a launch file with data of your own (docs/launch-files.md)"
    )
}
