//! `warploom sweep collect`: the tables and the page of a sweep.

use super::Place;
use crate::experiment::{page_hint, pictures};
use crate::failure::Failure;
use crate::output::{json, note, print, width};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warploom_config::chooser_of;
use warploom_report::page::{Cell, Page, csv_line};
use warploom_report::{
    BarChart, Chart, ColumnType, ParquetEncoder, bar_lines, figures as text_columns, grouped,
    map_table, wrapped,
};
use warploom_sweep::{
    AxisValues, Collector, Folder, NewFile, PageBuilder, Row, Sweep, Worker, typed, write_whole,
};

/// Axis of warp schedulers.
const SCHEDULERS: &str = "sm.warp_scheduler";

/// Number of failures that are told one by one.
const SHOWN: usize = 5;

/// Most bars that are printed.
const MOST_BARS: usize = 48;

/// Most cells of a map that are printed.
const MOST_CELLS: usize = 480;

/// Options of `warploom sweep collect`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let folder = args.place.folder()?;
    let sweep = Sweep::read(&folder)?;
    collect(&folder, &sweep)
}

/// Numbers of rows by their status.
#[derive(Default)]
struct Summary {
    finished: usize,
    missing: usize,
    failed: usize,
    /// Rows of the first failures.
    failures: Vec<Row>,
    /// Lines of the page's notes.
    notes: String,
    /// Number of runs whose outputs nothing compared.
    unchecked: usize,
}

impl Summary {
    fn add(&mut self, row: &Row) {
        self.unchecked += usize::from(row.is_unchecked);
        match row.status {
            "finished" | "sampled" | "cut" | "stopped" => self.finished += 1,
            "missing" => self.missing += 1,
            _ => {
                self.failed += 1;
                if self.failures.len() < SHOWN {
                    self.failures.push(row.clone());
                }
            }
        }
    }
}

/// Writes the tables and the page of a sweep. Exit status 1 tells that runs failed.
pub fn collect(folder: &Folder, sweep: &Sweep) -> Result<ExitCode, Failure> {
    let worker = Worker::register(folder, None)?;
    let written = worker.bury_dead().map_err(Failure::from);
    let written = written.and_then(|()| write(folder, sweep, &worker));
    worker.leave()?;
    let (summary, means, paths) = written?;
    tell(&summary)?;
    print(&means)?;
    print(&summary.notes)?;
    let here = std::env::current_dir().unwrap_or_default();
    let shown = |path: &Path| path.strip_prefix(&here).unwrap_or(path).to_owned();
    for path in paths {
        print(&format!("wrote {}\n", shown(&path).display()))?;
    }
    note(&page_hint(&shown(folder.results())));
    Ok(ExitCode::from(u8::from(summary.failed > 0)))
}

/// The tables that are being written.
struct Tables {
    table: NewFile,
    costs: NewFile,
    parquet: NewFile,
    encoder: ParquetEncoder,
    axes: Vec<ColumnType>,
}

impl Tables {
    fn create(
        folder: &Folder,
        sweep: &Sweep,
        worker: &Worker,
        collector: &Collector<'_>,
        axes: &AxisValues,
    ) -> Result<Self, Failure> {
        let temporary = worker.temporary();
        let create = |ending: &str| NewFile::create(&temporary, &folder.collected(ending));
        let names = header(collector, sweep);
        let text = ColumnType::Text;
        let mut types = vec![text];
        types.extend(axes.types());
        types.push(text);
        types.extend(collector.types());
        types.push(text);
        let mut tables = Self {
            table: create(".csv")?,
            costs: create("-costs.csv")?,
            parquet: create(".parquet")?,
            encoder: ParquetEncoder::new(names.iter().cloned().zip(types).collect()),
            axes: axes.types(),
        };
        put(&mut tables.table, names.into_iter())?;
        put(
            &mut tables.costs,
            COSTS.iter().map(|name| (*name).to_owned()),
        )?;
        Ok(tables)
    }

    fn add(&mut self, row: &Row) -> Result<(), Failure> {
        put(&mut self.table, fields(row))?;
        put(&mut self.costs, cost(row))?;
        let axes = row.values.iter().zip(&self.axes);
        let axes = axes.map(|(value, kind)| typed(value, *kind));
        let first = [Cell::from(row.name.as_str())].into_iter().chain(axes);
        let first = first.chain([Cell::from(row.status)]);
        let cells = first.chain(row.cells.iter().cloned());
        self.encoder
            .row(cells.chain([Cell::from(reason(row))]).collect());
        let bytes = self.encoder.take();
        self.parquet
            .write_all(&bytes)
            .map_err(|error| self.parquet.failed(error))?;
        Ok(())
    }

    /// Completes the tables, and gives their paths.
    fn finish(mut self) -> Result<Vec<PathBuf>, Failure> {
        let last = self.encoder.finish();
        self.parquet
            .write_all(&last)
            .map_err(|error| self.parquet.failed(error))?;
        let files = [self.table, self.parquet, self.costs];
        let finished = files.into_iter().map(NewFile::finish);
        Ok(finished.collect::<Result<_, _>>()?)
    }
}

fn write(
    folder: &Folder,
    sweep: &Sweep,
    worker: &Worker,
) -> Result<(Summary, String, Vec<PathBuf>), Failure> {
    let is_of_scheduler = |axis: &str| {
        axis == SCHEDULERS || chooser_of(axis).is_some_and(|chooser| chooser == SCHEDULERS)
    };
    let collector = Collector::new(folder, sweep, is_of_scheduler)?;
    let axes = AxisValues::read(folder, sweep)?;
    let mut tables = Tables::create(folder, sweep, worker, &collector, &axes)?;
    let mut page = PageBuilder::new(folder, sweep, axes, &collector);
    let mut summary = Summary::default();
    for row in collector.rows()? {
        let row = row?;
        summary.add(&row);
        page.add(&row);
        tables.add(&row)?;
    }
    let mut paths = tables.finish()?;
    let (page, overview) = page.finish();
    let note = |note: &String| wrapped("", &format!("note: {}", shortened(note)), width());
    summary.notes = page.notes.iter().map(note).collect();
    let texts = [(".json", json(&page))].into_iter().chain(pictures(&page));
    for (ending, text) in texts {
        let path = folder.collected(ending);
        write_whole(&worker.temporary(), &path, |out| {
            out.write_all(text.as_bytes())
        })?;
        paths.push(path);
    }
    Ok((summary, figures(&page, overview) + &bounds(&page), paths))
}

/// Columns of the table of bounds.
const OF_BOUNDS: [&str; 4] = ["run", "cycles", "speedup", "bound"];

/// Table of what bound each run of a small sweep, beside its cycles, as text; empty where no run
/// was timed.
fn bounds(page: &Page) -> String {
    let columns = &page.table.columns;
    let at = |name: &str| columns.iter().position(|column| column.name == name);
    let is_told = |row: &Vec<Cell>| at("bound").is_some_and(|bound| row[bound] != Cell::None);
    let rows: Vec<_> = page.table.rows.iter().filter(|row| is_told(row)).collect();
    if rows.is_empty() || rows.len() > MOST_BARS {
        return String::new();
    }
    let shown: Vec<_> = OF_BOUNDS
        .into_iter()
        .filter_map(|name| Some((name, at(name)?)))
        .collect();
    let header: Vec<_> = shown.iter().map(|(name, _)| *name).collect();
    let cells = |row: &&Vec<Cell>| shown.iter().map(|(_, at)| row[*at].shown()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    text_columns(&header, &rows, width())
}

/// Most characters of a note that is printed whole.
const MOST_OF_NOTE: usize = 1200;

/// A note, or the beginning of a long one, which is whole on the page.
fn shortened(note: &str) -> String {
    match note.char_indices().nth(MOST_OF_NOTE) {
        None => note.to_owned(),
        Some((end, _)) => {
            let words = note[..end].rfind(' ').unwrap_or(end);
            format!("{} … (the page has all of it)", &note[..words])
        }
    }
}

/// The pictures of a page as text: the cells of maps, or bars if there are few, otherwise the
/// overview of the page.
fn figures(page: &Page, overview: String) -> String {
    let bars_of = |chart: &BarChart| chart.groups.len() * chart.series.len();
    let (mut cells, mut bars) = (0, 0);
    for chart in &page.charts {
        match chart {
            Chart::Heat(map) => cells += map.rows.len() * map.columns.len(),
            Chart::Bars(chart) => bars += bars_of(chart),
            Chart::Stacks(_) | Chart::Lines(_) | Chart::Effects(_) => {}
        }
    }
    if page.charts.is_empty() || cells > MOST_CELLS || bars > MOST_BARS {
        return overview;
    }
    let texts = page.charts.iter().map(|chart| match chart {
        Chart::Heat(map) => map_table(map, width()),
        Chart::Bars(chart) => bar_lines(chart, width()),
        Chart::Stacks(_) | Chart::Lines(_) | Chart::Effects(_) => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn put(out: &mut NewFile, fields: impl Iterator<Item = String>) -> Result<(), Failure> {
    let mut text = String::new();
    csv_line(&mut text, fields);
    let written = out.write_all(text.as_bytes());
    Ok(written.map_err(|error| out.failed(error))?)
}

/// Names of the table's columns.
fn header(collector: &Collector<'_>, sweep: &Sweep) -> Vec<String> {
    let columns = collector.columns().into_iter().map(|column| column.name);
    let first = ["run".to_owned()]
        .into_iter()
        .chain(sweep.axes.iter().cloned());
    let first = first.chain(["status".to_owned()]);
    first.chain(columns).chain(["reason".to_owned()]).collect()
}

fn fields(row: &Row) -> impl Iterator<Item = String> {
    let first = std::iter::once(row.name.clone()).chain(row.values.iter().cloned());
    let cells = row.cells.iter().map(Cell::to_string);
    first
        .chain([row.status.to_owned()])
        .chain(cells)
        .chain([reason(row).to_owned()])
}

/// First line of the reason of a failure.
fn reason(row: &Row) -> &str {
    row.reason.lines().next().unwrap_or_default()
}

/// Columns of times and places, which differ between equal sweeps.
const COSTS: [&str; 7] = [
    "run",
    "key",
    "status",
    "seconds",
    "memory_bytes",
    "host",
    "command",
];

fn cost(row: &Row) -> impl Iterator<Item = String> {
    let cost = row.cost.clone().unwrap_or_default();
    let known = |text: String| {
        if row.cost.is_some() {
            text
        } else {
            String::new()
        }
    };
    [
        row.name.clone(),
        row.key.clone(),
        row.status.to_owned(),
        known(cost.seconds.to_string()),
        known(cost.memory_bytes.to_string()),
        cost.host,
        row.command.clone(),
    ]
    .into_iter()
}

fn tell(summary: &Summary) -> Result<(), Failure> {
    let count = |number: usize| grouped(number as u64);
    for row in &summary.failures {
        note(&format!(
            "{} {}: {}\n  = help: `{}` runs it alone\n",
            row.name,
            row.status,
            row.reason.trim_end().replace('\n', "\n    "),
            row.command
        ));
    }
    if summary.failed > summary.failures.len() {
        note(&format!(
            "and {} more\n",
            count(summary.failed - summary.failures.len())
        ));
    }
    print(&format!(
        "{} runs finished, {} failed, {} missing\n",
        count(summary.finished),
        count(summary.failed),
        count(summary.missing)
    ))?;
    print(&doubts(summary))
}

/// Line on results whose outputs nothing compared.
fn doubts(summary: &Summary) -> String {
    match summary.unchecked {
        0 => String::new(),
        runs => format!(
            "outputs of {} runs were not checked: a launch file with `[[expect]]` compares them\n",
            grouped(runs as u64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Summary, doubts, shortened};

    #[test]
    fn long_notes_are_whole_on_the_page_alone() {
        assert_eq!(shortened("equal: a; b"), "equal: a; b");
        let told = shortened(&"lrr; ".repeat(1000));
        assert!(told.ends_with("lrr; … (the page has all of it)"), "{told}");
        assert!(told.len() < 1300);
    }

    #[test]
    fn unchecked_runs_are_counted() {
        let mut summary = Summary::default();
        assert_eq!(doubts(&summary), "");
        summary.unchecked = 2;
        assert_eq!(
            doubts(&summary),
            "outputs of 2 runs were not checked: a launch file with `[[expect]]` compares them\n"
        );
    }
}
