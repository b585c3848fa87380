//! The verb `warploom report`.

use crate::energy_args::{EnergyArgs, with_energy};
use crate::failure::Failure;
use crate::html_page;
use crate::interrupt::status;
use crate::kept;
use crate::output::{check_outputs, note, print, print_json, width, write_file};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_lab::judge;
use warploom_report::page::Page;
use warploom_report::{Imprint, html, run_report};
use warploom_run::io_reason;
use warploom_stats::result::RunReport;

const EXAMPLES: &str = "\
Examples:
  warploom report results                     write results/index.html for the whole folder
  warploom report results/duet                one paper's figures alone
  warploom report results -o fermi.html --title 'Schedulers on Fermi'
  warploom report result.json                 print the tables of a result that `--stats` stored
  warploom report result.json --energy        print them with energy and power by component
  warploom report result.json -o run.html     write a page of the run
  warploom report results --json              what would be on the page, for programs";

/// Make one self-contained HTML page of the figures and comparisons in a folder or of a stored
/// result, or print the tables of a stored result
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder that `reproduce`, `compare -o` or `sweep` wrote, or the result of a run
    #[arg(value_name = "DIR|RESULT.json")]
    folder: PathBuf,
    /// File for the page [default: DIR/index.html; of a result none]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Title of the page
    #[arg(long, value_name = "TEXT", default_value = "Warploom results")]
    title: String,
    /// Print the contents as JSON instead of writing the page
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    energy: EnergyArgs,
}

#[derive(Serialize)]
struct Contents<'a> {
    #[serde(flatten)]
    imprint: &'a Imprint,
    pages: &'a [Page],
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let is_named_so = args.folder.to_str().is_some_and(kept::is_kept);
    if args.folder.is_file() || is_named_so && !args.folder.is_dir() {
        return kept_run(args);
    }
    if args.energy.given() {
        return Err(Failure::Input(
            "--energy is for the result of a run, not for a folder; leave it out".to_owned(),
        ));
    }
    let pages = pages(&args.folder)?;
    let imprint = html_page::imprint();
    if args.json {
        print_json(&Contents {
            imprint: &imprint,
            pages: &pages,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = args.output.clone();
    let path = path.unwrap_or_else(|| args.folder.join("index.html"));
    write_file(&path, &html(&args.title, &imprint, &pages))?;
    let count = match pages.len() {
        1 => "1 figure".to_owned(),
        count => format!("{count} figures"),
    };
    print(&format!("wrote {}: {count}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the tables of a stored result, or writes its page.
fn kept_run(args: &Args) -> Result<ExitCode, Failure> {
    let output = args.output.as_deref();
    check_outputs(&[("--output", output)], std::slice::from_ref(&args.folder))?;
    let mut result = kept::read(&args.folder)?;
    if args.energy.given() {
        let gpu = kept::machine(&args.folder, &result)?;
        result = with_energy(args.energy.preset(&gpu)?.as_ref(), &gpu, result);
    }
    match (args.json, output) {
        (true, _) => print_json(&result)?,
        (false, None) => print(&run_report(&result, width()))?,
        (false, Some(path)) => {
            let gpu = kept::machine(&args.folder, &result)?;
            write_file(path, &html_page::of_run(&gpu, &result))?;
            print(&format!("wrote {}\n", path.display()))?;
        }
    }
    Ok(status(&result))
}

/// All pages in a folder and in the folders below it, by paper, then by number of the figure. Their
/// claims are judged by the rules of this program.
fn pages(folder: &Path) -> Result<Vec<Page>, Failure> {
    let mut pages = Vec::new();
    let inner = entries(folder)?.into_iter().filter(|path| path.is_dir());
    for folder in std::iter::once(folder.to_owned()).chain(inner) {
        for path in entries(&folder)? {
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                pages.extend(page(&path)?);
            }
        }
    }
    if pages.is_empty() {
        let shown = folder.display();
        return Err(Failure::Input(format!(
            "there is no figure and no comparison in {shown}\n  = help: `warploom reproduce duet -o \
             {shown}` writes some; `warploom list figures` lists what there is"
        )));
    }
    judge(&mut pages);
    pages.sort_by_key(|page| {
        (
            matches!(page.paper.as_str(), "compare" | "sweep"),
            page.paper.clone(),
            order(&page.figure),
        )
    });
    Ok(pages)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder)?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    let mut paths = read().map_err(|error| {
        let shown = folder.display();
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            std::io::ErrorKind::NotADirectory => "it is a file".to_owned(),
            _ => io_reason(&error),
        };
        Failure::Input(format!(
            "cannot read the folder {shown}: {reason}\n  = help: give the folder that `warploom \
             reproduce`, `warploom sweep` or `warploom compare -o` wrote"
        ))
    })?;
    paths.sort();
    Ok(paths)
}

/// Reads a page. A JSON file that is not a page is reported and skipped.
fn page(path: &Path) -> Result<Option<Page>, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Input(format!("cannot read {shown}: {}", io_reason(&error))))?;
    match serde_json::from_str(&text) {
        Ok(page) => Ok(Some(page)),
        Err(error) => {
            let why = match serde_json::from_str::<RunReport>(&text) {
                Ok(_) => format!(
                    "it is the result of a run; `warploom report {shown} -o page.html` makes its page"
                ),
                Err(_) => error.to_string(),
            };
            note(&format!(
                "warning: {shown} is not a figure and was skipped: {why}\n"
            ));
            Ok(None)
        }
    }
}

/// Sort key of a name, which orders `fig10` after `fig9`.
fn order(name: &str) -> (String, u64, String) {
    let is_digit = |c: char| c.is_ascii_digit();
    let at = name.find(is_digit).unwrap_or(name.len());
    let (word, rest) = name.split_at(at);
    let end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
    let number = rest[..end].parse().unwrap_or(0);
    (word.to_owned(), number, rest[end..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn figures_come_by_number() {
        let mut names = ["table3", "fig10", "fig9", "fig3b", "fig3a", "storage"];
        names.sort_by_key(|name| order(name));
        assert_eq!(
            names,
            ["fig3a", "fig3b", "fig9", "fig10", "storage", "table3"]
        );
    }
}
