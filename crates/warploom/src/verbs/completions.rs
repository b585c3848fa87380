//! The verb `warploom completions`.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::print;
use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  warploom completions bash > ~/.local/share/bash-completion/completions/warploom
  warploom completions zsh > ~/.zfunc/_warploom
  warploom completions fish > ~/.config/fish/completions/warploom.fish";

/// Print a script that completes Warploom's commands in a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of the shell
    shell: Shell,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "warploom", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
