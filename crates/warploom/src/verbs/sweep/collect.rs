//! `warploom sweep collect`: the tables of a sweep.

use super::Place;
use crate::failure::Failure;
use crate::output::{note, print};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use warploom_report::grouped;
use warploom_report::page::{Cell, csv_line};
use warploom_sweep::{Collector, Folder, Row, Sweep, Worker, write_whole};

/// Number of failures that are told one by one.
const SHOWN: usize = 5;

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
}

impl Summary {
    fn add(&mut self, row: &Row) {
        match row.status {
            "finished" | "cut" => self.finished += 1,
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

/// Writes the tables of a sweep. Exit status 1 tells that runs failed.
pub fn collect(folder: &Folder, sweep: &Sweep) -> Result<ExitCode, Failure> {
    let worker = Worker::register(folder, None)?;
    let written = worker.bury_dead().map_err(Failure::from);
    let written = written.and_then(|()| write(folder, sweep, &worker));
    worker.leave()?;
    let (summary, paths) = written?;
    tell(&summary)?;
    for path in paths {
        print(&format!("wrote {}\n", path.display()))?;
    }
    Ok(ExitCode::from(u8::from(summary.failed > 0)))
}

fn write(
    folder: &Folder,
    sweep: &Sweep,
    worker: &Worker,
) -> Result<(Summary, Vec<PathBuf>), Failure> {
    let collector = Collector::new(folder, sweep)?;
    let temporary = worker.temporary();
    let (table, costs) = (folder.collected(".csv"), folder.collected("-costs.csv"));
    let mut summary = Summary::default();
    let mut problem = None;
    let stopped = || std::io::Error::other("the collection was stopped");
    let written = write_whole(&temporary, &table, |out| {
        let written = write_whole(&temporary, &costs, |costs| {
            let written = rows(&collector, sweep, out, costs, &mut summary);
            written.map_err(|error| {
                problem = Some(error);
                stopped()
            })
        });
        written.map_err(|error| error.error)
    });
    match problem {
        Some(problem) => Err(problem),
        None => written
            .map(|()| (summary, vec![table, costs]))
            .map_err(Failure::from),
    }
}

fn rows(
    collector: &Collector<'_>,
    sweep: &Sweep,
    table: &mut dyn Write,
    costs: &mut dyn Write,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::Output(format!("cannot write the table: {error}"));
    put(table, header(collector, sweep).into_iter()).map_err(failed)?;
    put(costs, COSTS.iter().map(|name| (*name).to_owned())).map_err(failed)?;
    for row in collector.rows()? {
        let row = row?;
        summary.add(&row);
        put(table, fields(&row)).map_err(failed)?;
        put(costs, cost(&row)).map_err(failed)?;
    }
    Ok(())
}

fn put(out: &mut dyn Write, fields: impl Iterator<Item = String>) -> std::io::Result<()> {
    let mut text = String::new();
    csv_line(&mut text, fields);
    out.write_all(text.as_bytes())
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
    let reason = row.reason.lines().next().unwrap_or_default().to_owned();
    first
        .chain([row.status.to_owned()])
        .chain(cells)
        .chain([reason])
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
    ))
}
