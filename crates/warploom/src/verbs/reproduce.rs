//! `warploom reproduce`.

use crate::failure::Failure;
use crate::output::{json, print, width, write_file};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_diag::nearest;
use warploom_lab::{Cell, Figure, FigureInfo, Request, Scale, UnknownFigure, all, find};
use warploom_report::{figures, listing, svg};

const EXAMPLES: &str = "\
Examples:
  warploom reproduce                          the figures that there are
  warploom reproduce duet/fig3b               a figure: results/duet/fig3b.json, .csv and .svg
  warploom reproduce duet -o out              all figures of a paper
  warploom reproduce duet/fig3b --scale paper --json";

/// Make a paper's figure or table again, with the paper's claims beside what was measured
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Figure, or paper for all of its figures; none lists them
    #[arg(value_name = "PAPER[/FIGURE]")]
    figure: Option<String>,
    /// How much is simulated: test, small or paper
    #[arg(long, value_name = "test|small|paper", default_value_t = Scale::Small)]
    scale: Scale,
    /// Folder for the files; made if it does not exist
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Print the figure as JSON; several as a list
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Some(name) = &args.figure else {
        print(&what_there_is())?;
        return Ok(ExitCode::SUCCESS);
    };
    let infos = find(name).map_err(|unknown| Failure::Input(refusal(&unknown)))?;
    let request = Request { scale: args.scale };
    let mut made = Vec::new();
    for info in infos {
        let figure = (info.make)(&request);
        let files = write_files(&args.output, info, &figure, &request)?;
        if !args.json {
            print(&report(info, &figure, &files))?;
        }
        made.push((info, figure));
    }
    if args.json {
        let pages: Vec<_> = made
            .iter()
            .map(|(info, f)| f.page(info, &request))
            .collect();
        match pages.as_slice() {
            [page] => print(&json(page))?,
            pages => print(&json(&pages))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn what_there_is() -> String {
    let row = |info: &FigureInfo| vec![info.full_name(), info.title.to_owned()];
    let rows: Vec<_> = all().iter().map(row).collect();
    let table = listing(&["figure", "what it shows"], &rows, width());
    format!(
        "{table}\nwarploom reproduce FIGURE makes one; warploom reproduce --help shows examples.\n"
    )
}

fn refusal(unknown: &UnknownFigure) -> String {
    let (name, known) = (&unknown.name, &unknown.known);
    // A figure without its paper, or something near a whole name.
    let of_paper = known
        .iter()
        .find(|full| full.ends_with(&format!("/{name}")));
    let near = nearest(name, known.iter().map(String::as_str));
    let help = match of_paper.map(String::as_str).or(near) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`warploom list figures` lists what there is".to_owned(),
    };
    format!("{unknown}\n  = help: {help}")
}

/// Writes `DIR/PAPER/FIGURE.json`, `.csv` and `.svg`; returns their paths.
fn write_files(
    folder: &Path,
    info: &FigureInfo,
    figure: &Figure,
    request: &Request,
) -> Result<Vec<PathBuf>, Failure> {
    let folder = folder.join(info.paper);
    std::fs::create_dir_all(&folder).map_err(|error| {
        let shown = folder.display();
        Failure::Input(format!(
            "cannot make the folder {shown}: {error}; choose another with -o"
        ))
    })?;
    let contents = [
        ("json", json(&figure.page(info, request))),
        ("csv", figure.table.csv()),
        ("svg", svg(&figure.charts)),
    ];
    let mut paths = Vec::new();
    for (kind, text) in contents {
        let path = folder.join(format!("{}.{kind}", info.name));
        write_file(&path, &text)?;
        paths.push(path);
    }
    Ok(paths)
}

fn report(info: &FigureInfo, figure: &Figure, files: &[PathBuf]) -> String {
    let header: Vec<_> = figure.table.columns.iter().map(|c| c.name).collect();
    let row = |row: &Vec<Cell>| row.iter().map(shown).collect();
    let rows: Vec<Vec<_>> = figure.table.rows.iter().map(row).collect();
    let mut text = format!(
        "{}: {}\n\n{}\n",
        info.full_name(),
        info.title,
        figures(&header, &rows)
    );
    for (name, value) in &figure.summary {
        let _ = writeln!(text, "{name} {}", shown(value));
    }
    for claim in &figure.claims {
        let _ = writeln!(
            text,
            "\nclaim {} ({}): {}\n  paper {} {}, ours {}: holds {}. {}",
            claim.id,
            claim.place,
            claim.claim,
            shown(&claim.paper),
            claim.kind,
            shown(&claim.ours),
            claim.holds.name(),
            claim.note
        );
    }
    text.push('\n');
    for file in files {
        let _ = writeln!(text, "wrote {}", file.display());
    }
    text
}

/// A value with four digits after the point at most.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::None => "-".to_owned(),
        Cell::Number(number) => {
            let text = format!("{number:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        other => other.to_string(),
    }
}
