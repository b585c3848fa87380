//! Launches of which the command line leaves parts open: the candidates of `warploom_guess`,
//! executed without timing until one of them makes no fault.

use crate::argument::Typed;
use crate::failure::Failure;
use crate::launch_args::LaunchArgs;
use crate::output::{continued, error_columns, note};
use std::collections::HashMap;
use warploom_config::{GpuSpec, preset};
use warploom_diag::Source;
use warploom_exec::Checks;
use warploom_guess::{Buffer, Ended, Fixed, KernelUses, Parameter, Search, candidates, uses};
use warploom_ptx::ast::{Function, Item, Module};
use warploom_report::{outcome_told, wrapped};
use warploom_run::launch_file::{Access, Element, LaunchFile, Limits, Plan};
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

/// Caveat on the contents of a guess.
const CONTENTS: &str = "Sizes and contents are guesses: a kernel whose work depends on its data \
                        needs its own.";
/// Advice on the sizes of a guess.
const SIZES: &str = "For smaller or larger sizes, give --grid alone, with fewer or more blocks: the \
                     arguments are then guessed for it.";

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
    let function = function(&tree, kernel).expect("a kernel that was compiled is in the tree");
    let fixed = given.fixed();
    let uses = uses(&tree, function);
    let list = candidates(&uses, &fixed).map_err(|open| {
        Failure::Input(format!(
            "{path}: {open}, for which there is no guess; give the arguments up to this one (--arg; a \
             structure is `--arg struct:256,0.5`), or write a launch file (docs/launch-files.md)"
        ))
    })?;
    let gpu = preset(LIMITS_OF)?;
    let (mut search, mut ended) = (Search::new(list), None);
    let (mut first, mut last) = (None, None);
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
                note(&told(&shown, path, kernel, &fixed, first.as_deref()));
                return Ok(options);
            }
            Trial::Unfit(why, reason) => {
                ended = Some(why);
                first = first.or_else(|| reason.clone());
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

/// Executes a launch without timing. Buffers lie apart, so that a guess whose threads overrun one
/// does not pass because the next buffer follows.
fn trial(file: LaunchFile, gpu: &GpuSpec) -> Result<Trial, Failure> {
    let mut program = file.program(Limits::of(gpu))?;
    let options = Options {
        checks: Checks {
            bounds: true,
            ..Checks::default()
        },
        ..Options::default()
    };
    let session = Session::new(gpu.clone(), options);
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
    let (
        number,
        text,
        Buffer {
            element, is_read, ..
        },
    ) = wrong.next()?;
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

/// Notes about buffers on the command line whose elements have another size than those that the
/// kernel accesses there, which then reads other numbers.
pub fn other_sizes(args: &[Typed], module: &Source, kernel: &str) -> String {
    let (tree, _) = warploom_ptx::read(module);
    let Some(function) = function(&tree, kernel) else {
        return String::new();
    };
    let uses = uses(&tree, function);
    let told = |(at, (arg, parameter)): (usize, (&Typed, &Parameter))| {
        let given = Element::find(arg.text.split_once('[')?.0)?;
        let access = access(kernel, parameter)?;
        let subject = format!("--arg number {}", at + 1);
        (!access.has_size_of(given)).then(|| other_size(&subject, given, &access))
    };
    let pairs = args.iter().zip(&uses.parameters).enumerate();
    pairs.filter_map(told).collect()
}

/// The same notes about the buffers of the launch file `target`, each once.
pub fn other_sizes_in(file: &LaunchFile, target: &str) -> String {
    let told = |(name, given, access): (&str, Element, &Access)| {
        other_size(&format!("buffer `{name}` of {target}"), given, access)
    };
    file.other_sizes().map(told).collect()
}

/// Adds to a launch file's plan what the kernels of its module access in its buffers.
pub fn add_accesses(plan: &mut Plan, module: &Source) {
    let (tree, _) = warploom_ptx::read(module);
    let names: Vec<&str> = functions(&tree).map(|f| f.name.node.as_str()).collect();
    let parameters = |kernel: &str| {
        let known = warploom_names::find(kernel, &names);
        let function = known.and_then(|name| function(&tree, name));
        function.map_or_else(Vec::new, |function| uses(&tree, function).parameters)
    };
    let mut known: HashMap<String, Vec<Parameter>> = HashMap::new();
    plan.add_accesses(|kernel, at| {
        let known = known.entry(kernel.to_owned());
        let parameters = known.or_insert_with(|| parameters(kernel));
        access(kernel, parameters.get(at)?)
    });
}

/// Elements that a kernel accesses through a parameter, if it is a buffer.
fn access(kernel: &str, parameter: &Parameter) -> Option<Access> {
    let Parameter::Buffer(buffer) = parameter else {
        return None;
    };
    Some(Access {
        kernel: kernel.to_owned(),
        element: Element::find(buffer.element.text())?,
        ptx_type: buffer.element.text(),
        is_vector: buffer.is_vector,
    })
}

/// The note about a buffer with elements of type `given`, where a kernel accesses another size.
fn other_size(subject: &str, given: Element, access: &Access) -> String {
    let used = access.element;
    let as_it_is = match given.bytes() < used.bytes() {
        true => format!(
            ", and `.view(\"{}\")` takes its bytes as they are",
            used.numpy()
        ),
        false => String::new(),
    };
    let told = format!(
        "{subject} has elements of type {}, and `{}` accesses {} there, which has another size; \
         NumPy's `.astype(\"{}\")` converts an array{as_it_is}",
        given.name(),
        warploom_names::shortened(&access.kernel, warploom_names::WIDTH),
        access.ptx_type,
        used.numpy()
    );
    wrapped("note: ", &told, error_columns())
}

/// The note about a guess. `fault` is what ended the first guess that failed, if one did.
fn told(
    options: &LaunchArgs,
    path: &str,
    kernel: &str,
    fixed: &Fixed,
    fault: Option<&str>,
) -> String {
    let what = match (fixed.grid.is_some(), fixed.block.is_some()) {
        (true, true) => "arguments",
        _ => "launch",
    };
    let width = error_columns();
    let title = format!(
        "guessed the {what} of `{}`; this command, with `--gpu` and your other options, makes the same \
         run, and may be changed",
        warploom_names::shortened(kernel, warploom_names::WIDTH)
    );
    let mut text = wrapped("note: ", &title, width);
    let command = format!("warploom run {}", options.command(path));
    text += &continued("  ", &command, width);
    if let Some(fault) = fault {
        let fault = fault.lines().next().unwrap_or_default();
        let earlier = format!("Other sizes were tried before, and the first ended with {fault}.");
        text += &wrapped("  ", &earlier, width);
    }
    text += &wrapped("  ", CONTENTS, width);
    if fixed.grid.is_none() {
        text += &wrapped("  ", SIZES, width);
    }
    text
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

#[cfg(test)]
mod tests {
    use super::{add_accesses, other_sizes, other_sizes_in};
    use crate::argument::typed;
    use std::path::PathBuf;
    use warploom_diag::Source;
    use warploom_run::launch_file::{LaunchFile, parse};

    const KERNEL: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry k(.param .u64 p, .param .u32 n) {\n.reg .b64 %d<2>;\n\
        .reg .f32 %f;\nld.param.u64 %d0, [p];\ncvta.to.global.u64 %d1, %d0;\n\
        ld.global.f32 %f, [%d1];\nst.global.f32 [%d1], %f;\nret;\n}\n";

    #[test]
    fn buffers_of_a_launch_file_are_told_once() {
        let of = |element: &str, kernel: &str| {
            let launch = "[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\nargs = [\"x\", 4]\n";
            let text = format!(
                "module = \"k.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"{element}\"\n\
                 shape = [4]\n{launch}{launch}"
            );
            let source = Source::new("run.toml", text);
            let mut plan = parse(&source).expect("a launch file");
            let module = Source::new("k.ptx", kernel);
            add_accesses(&mut plan, &module);
            let file = LaunchFile::new(source, plan, PathBuf::new(), module);
            other_sizes_in(&file.expect("a launch file"), "run.toml")
        };
        let told = |element: &str| of(element, KERNEL);
        assert_eq!(told("f32"), "");
        let other = told("f64").replace("\n ", "");
        assert_eq!(other.matches("note: ").count(), 1, "{other}");
        assert!(
            other.contains("buffer `x` of run.toml has elements of type f64, and `k` accesses f32"),
            "{other}"
        );
        assert!(other.contains(".astype(\"float32\")"), "{other}");
        assert!(!other.contains(".view("), "{other}");
        // Bytes may be meant as floats, and four at a time are an access to 16 of them.
        let bytes = told("u8").replace("\n ", "");
        assert!(
            bytes.contains("`.view(\"float32\")` takes its bytes"),
            "{bytes}"
        );
        let vectors = KERNEL
            .replace("ld.global.f32 %f,", "ld.global.v4.f32 {%f, %f, %f, %f},")
            .replace(
                "st.global.f32 [%d1], %f",
                "st.global.v4.f32 [%d1], {%f, %f, %f, %f}",
            );
        assert_eq!(of("u8", &vectors), "");
        assert!(of("f64", &vectors).contains("accesses f32"));
    }

    #[test]
    fn elements_of_another_size_than_the_kernel_accesses_are_told() {
        let module = Source::new("k.ptx", KERNEL);
        let told = |arg: &str| other_sizes(&[typed(arg).expect("an argument")], &module, "k");
        assert_eq!(told("f32[4]=iota"), "");
        assert_eq!(told("u32[4]=iota"), "");
        let other = told("f64[4]=iota");
        assert!(
            other.contains("--arg number 1 has elements of type f64, and `k` accesses f32"),
            "{other}"
        );
    }
}
