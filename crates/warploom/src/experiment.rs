//! Common parts of `reproduce` and `compare`: the store, threads, progress, files, failed runs.

use crate::failure::Failure;
use crate::interrupt::{Interrupt, KeptRuns};
use crate::output::{json, note, quoted, write_file};
use crate::progress::RunsDisplay;
use crate::watch_args::WatchArgs;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use warploom_base::Digest;
use warploom_lab::{Event, Failed, FigureJob, FigureOutcome, Runner, Store, make};
use warploom_report::page::Page;
use warploom_report::svg;

/// Name of the store's file in a results folder.
const STORE: &str = "runs.redb";

/// Options for making runs.
#[derive(clap::Args)]
pub struct RunnerArgs {
    /// Number of simultaneous runs, each on one thread [default: one per core]; the result is the
    /// same for any number
    #[arg(long, value_name = "N", value_parser = crate::verbs::run::threads)]
    threads: Option<usize>,
    #[command(flatten)]
    watch: WatchArgs,
}

impl RunnerArgs {
    /// Number of simultaneous runs.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores)
    }

    /// Time between lines of progress, if these were requested.
    pub fn watch(&self) -> Option<Duration> {
        self.watch.interval()
    }
}

/// Ways to keep the runs of a command that a signal ends.
#[derive(Clone, Copy)]
pub enum Keeping<'a> {
    /// Runs are stored in a folder, and found again.
    Folder(&'a Path),
    /// The figures are made of the runs that have ended.
    Ended(&'a Interrupt),
    /// Nothing keeps the runs.
    Nothing,
}

impl<'a> Keeping<'a> {
    fn folder(self) -> Option<&'a Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Ended(_) | Self::Nothing => None,
        }
    }

    /// True if the figures should be made of the runs that have ended.
    fn is_interrupted(self) -> bool {
        match self {
            Self::Ended(interrupt) => interrupt.go_on().is_break(),
            Self::Folder(_) | Self::Nothing => false,
        }
    }

    /// Counter of runs that tells of them when a signal ends the process.
    fn counter(self) -> Option<Arc<KeptRuns>> {
        match self {
            Self::Folder(_) => Some(KeptRuns::new()),
            Self::Nothing => Some(KeptRuns::without_folder()),
            Self::Ended(_) => None,
        }
    }
}

/// Makes figures and their runs.
pub fn experiment(
    wanted: &[FigureJob<'_>],
    args: &RunnerArgs,
    keeping: Keeping<'_>,
) -> Result<Vec<FigureOutcome>, Failure> {
    let display = RunsDisplay::new(args.watch());
    let counter = keeping.counter();
    let runner = Runner {
        store: keeping.folder().map(open_store).transpose()?,
        threads: args.threads(),
        observer: &|event| {
            match (&counter, &event) {
                (Some(runs), Event::Planned { runs: all, stored }) => {
                    runs.add(*stored, all + stored);
                }
                (Some(runs), Event::Ended { .. }) => runs.add(1, 0),
                _ => {}
            }
            display.tell(&event);
        },
        interrupted: &|| keeping.is_interrupted(),
    };
    let made = make(wanted, &runner);
    display.finish();
    Ok(made?)
}

/// True if a folder of results has a store of runs.
pub fn has_store(folder: &Path) -> bool {
    folder.join(STORE).is_file()
}

/// Opens the store of runs in a folder of results.
pub fn open_store(folder: &Path) -> Result<Store, Failure> {
    make_folder(folder)?;
    Ok(Store::open(&folder.join(STORE), &build()?)?)
}

/// Identifies this program by its version and its own bytes, so that runs of other builds are not
/// used.
fn build() -> Result<String, Failure> {
    Ok(format!("{} {}", env!("CARGO_PKG_VERSION"), own_digest()?))
}

/// Number of bytes of this program's file that are in memory at a time.
const PIECE: usize = 1 << 18;

/// Digest of the bytes of this program's own file.
pub fn own_digest() -> Result<String, Failure> {
    let digest = copy_own(&mut std::io::sink());
    digest.map_err(|error| {
        Failure::Input(format!(
            "cannot read the program's own file, which identifies stored runs: {error}; run \
             it from a file that you may read"
        ))
    })
}

/// Writes the bytes of this program's own file, and gives their digest.
pub fn copy_own(out: &mut dyn Write) -> std::io::Result<String> {
    let mut file = File::open(std::env::current_exe()?)?;
    let (mut digest, mut piece) = (Digest::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digest.hex()),
            length => {
                digest.bytes(&piece[..length]);
                out.write_all(&piece[..length])?;
            }
        }
    }
}

/// Endings of files that a folder of results is easily taken for.
const FILE_ENDINGS: [&str; 6] = ["html", "csv", "json", "svg", "png", "md"];

/// Makes a folder of results.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    let ending = folder.extension().and_then(|ending| ending.to_str());
    let is_file_name = ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending));
    if folder.is_file() || (is_file_name && !folder.exists()) {
        return Err(Failure::Input(format!(
            "-o names a folder, and {shown} is the name of a file\n  = help: give a folder; \
             `warploom report FOLDER` then makes an HTML page of its contents"
        )));
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::Input(format!(
            "cannot make the folder {shown}: {error}; choose another with -o"
        ))
    })
}

/// Pictures of a page with the ends of their files' names: its charts, and those of causes.
pub fn pictures(page: &Page) -> Vec<(&'static str, String)> {
    let all = [(".svg", &page.charts), ("-why.svg", &page.further_charts)];
    let drawn = all.into_iter().filter(|(_, charts)| !charts.is_empty());
    drawn.map(|(end, charts)| (end, svg(charts))).collect()
}

/// Writes a page as `DIR/PAPER/FIGURE.json`, `.csv` and its pictures. Returns their paths.
pub fn write_page(folder: &Path, page: &Page) -> Result<Vec<PathBuf>, Failure> {
    let folder = folder.join(&page.paper);
    make_folder(&folder)?;
    let texts = [(".json", json(page)), (".csv", page.table.csv())];
    let contents = texts.into_iter().chain(pictures(page));
    let mut paths = Vec::new();
    for (end, text) in contents {
        let path = folder.join(format!("{}{end}", page.figure));
        write_file(&path, &text)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Reports figures whose runs failed, on standard error.
pub fn tell_failures(name: &str, runs: &[Failed]) {
    note(&format!(
        "error: {name} was not made: {} of its runs failed\n",
        runs.len()
    ));
    for run in runs {
        let reason = run.reason.trim_end().replace('\n', "\n    ");
        note(&format!(
            "  {}: {reason}\n  = help: `{}` runs it alone\n",
            run.label, run.command
        ));
    }
}

/// Line that says how to see a folder of results in a browser.
pub fn page_hint(folder: &Path) -> String {
    let folder = quoted(&folder.to_string_lossy());
    format!("`warploom report {folder}` makes a page of it for a browser\n")
}

#[cfg(test)]
mod tests {
    use super::make_folder;

    #[test]
    fn a_folder_that_is_named_like_a_file_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("notes");
        std::fs::write(&file, "").unwrap();
        for path in [file, home.path().join("page.html")] {
            let refused = make_folder(&path).map_err(|failure| failure.text());
            let told = refused.expect_err("a file's name");
            assert!(told.contains("-o names a folder"), "{told}");
        }
        assert!(make_folder(&home.path().join("results.v2")).is_ok());
    }
}
