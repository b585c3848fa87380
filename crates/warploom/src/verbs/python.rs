//! The verb `warploom python` in a command that is not that of the Python package. That one handles
//! the verb before it starts this program.

use crate::failure::Failure;
use crate::output::quoted;
use std::ffi::OsString;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  warploom python --gpu rtx3070-ampere -- examples/triton/matmul.py";

/// Run a Python script whose kernels are simulated; of the Python package's command alone
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Options, script and its arguments
    #[arg(
        value_name = "SCRIPT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    script: Vec<OsString>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let words = args.script.iter();
    let words: String = words
        .map(|word| format!(" {}", quoted(&word.to_string_lossy())))
        .collect();
    Err(Failure::Input(format!(
        "`warploom python` is a verb of the Python package, and this command was not installed with \
         it\n  = help: install the package (docs/python.md says how), and run `warploom \
         python{words}` by the command that it brings; a CUDA program needs no Python: `warploom app -- ./program`"
    )))
}
