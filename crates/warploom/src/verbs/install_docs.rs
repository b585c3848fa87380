//! The verb `warploom install-docs`.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::{print, write_file};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  warploom install-docs                       for this user, below ~/.local
  sudo warploom install-docs --prefix /usr/local
                                              for all users
  man warploom-run                            then shows the page of a command";

/// Install manual pages for `man`, and completions for bash, zsh and fish
///
/// Files of an earlier version are replaced.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder below which files are written to share/man, share/bash-completion,
    /// share/zsh/site-functions and share/fish [default: ~/.local]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// Shells with the place of their completions below the prefix.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions/warploom"),
    (Shell::Zsh, "share/zsh/site-functions/_warploom"),
    (Shell::Fish, "share/fish/vendor_completions.d/warploom.fish"),
];
/// Place of manual pages below the prefix.
const MANUAL: &str = "share/man/man1";

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let prefix = match &args.prefix {
        Some(prefix) => prefix.clone(),
        None => home()?.join(".local"),
    };
    let pages = manual(&prefix.join(MANUAL))?;
    for (shell, place) in COMPLETIONS {
        let mut script = Vec::new();
        generate(shell, &mut Cli::command(), "warploom", &mut script);
        let path = prefix.join(place);
        make_folder(path.parent().unwrap_or(&prefix))?;
        write_file(&path, &String::from_utf8_lossy(&script))?;
    }
    print(&told(&prefix, pages))?;
    Ok(ExitCode::SUCCESS)
}

fn home() -> Result<PathBuf, Failure> {
    std::env::home_dir().ok_or_else(|| {
        Failure::Input("there is no home folder; choose a folder with --prefix".to_owned())
    })
}

/// Writes a page for the program and for each verb, and returns their number.
fn manual(folder: &Path) -> Result<usize, Failure> {
    make_folder(folder)?;
    // Only the command of the Python package has the verb `python`.
    let mut command = Cli::command()
        .disable_help_subcommand(true)
        .mut_subcommand("python", |verb| verb.hide(true));
    command.build();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let commands: Vec<_> = std::iter::once(&command).chain(verbs).collect();
    for command in &commands {
        let page = clap_mangen::Man::new((*command).clone());
        let mut text = Vec::new();
        page.render(&mut text)
            .map_err(|error| Failure::Output(format!("cannot make a manual page: {error}")))?;
        let path = folder.join(page.get_filename());
        let usage = (*command).clone().render_usage().to_string();
        write_file(&path, &with_usage(&String::from_utf8_lossy(&text), &usage))?;
    }
    Ok(commands.len())
}

/// A manual page whose synopsis is the usage that `--help` prints. That of `clap_mangen` has
/// options without their values.
fn with_usage(page: &str, usage: &str) -> String {
    let usage = usage.trim().trim_start_matches("Usage: ");
    let usage = usage.replace('\\', "\\e").replace('-', "\\-");
    let heading = ".SH SYNOPSIS\n";
    match page.split_once(heading) {
        Some((before, rest)) => {
            let next = rest.find(".SH ").unwrap_or(rest.len());
            format!("{before}{heading}{usage}\n{}", &rest[next..])
        }
        None => page.to_owned(),
    }
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let shown = folder.display();
        Failure::Input(format!(
            "cannot make the folder {shown}: {error}; choose a folder with --prefix"
        ))
    })
}

fn told(prefix: &Path, pages: usize) -> String {
    let place = |place: &str| prefix.join(place).display().to_string();
    let [bash, zsh, fish] = COMPLETIONS.map(|(_, at)| place(at));
    let functions = place("share/zsh/site-functions");
    format!(
        "{pages} manual pages in {}: man warploom, man warploom-run\n\
         bash  {bash}\n\
         zsh   {zsh}\n      \
         add `fpath+=({functions})` to ~/.zshrc before `compinit`, unless the folder is in it\n\
         fish  {fish}\n\
         A new shell knows the completions.\n",
        place(MANUAL)
    )
}
