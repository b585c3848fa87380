//! Options of `run` that choose which statistics are recorded, for which parts, and where they are
//! written.

use crate::failure::Failure;
use crate::html_page;
use crate::output::{check_outputs, json, print, write_file, wrote};
use serde::Serialize;
use std::path::{Path, PathBuf};
use warploom_config::GpuSpec;
use warploom_report::{Rows, series_csv, statistics_csv};
use warploom_stats::result::{Figures, Gpu, Program, RunReport, Series};

/// Default length of a window in core cycles.
const WINDOW_CYCLES: u64 = 10_000;
/// Length of the windows of a page or an analysis as long as the run is short, in core cycles.
pub const SHORT_WINDOW_CYCLES: u64 = 100;
/// Number of windows of a page or an analysis at which pairs are joined, so that it has at least
/// half as many.
pub const MOST_WINDOWS: usize = 128;

/// Options for destinations of statistics.
#[derive(clap::Args)]
#[command(next_help_heading = "Statistics")]
pub struct StatsArgs {
    /// Also write the result to a file: as CSV if its name ends in .csv, otherwise as JSON
    #[arg(long, value_name = "FILE.json|FILE.csv")]
    stats: Option<PathBuf>,
    /// Write the statistics as CSV: a line for each kernel and one for the whole run, and those of
    /// --per
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Also write statistics for each SM, or for each memory partition (L2 banks and channels)
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    per: Vec<Per>,
    /// Write the counters of each window of core cycles: as JSON if the file's name ends in .json,
    /// otherwise as CSV
    #[arg(long, value_name = "FILE.csv|FILE.json")]
    series: Option<PathBuf>,
    /// Write a page for a browser: launches, what bounds them, charts of the schedulers' cycles and
    /// over time, and the machine
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Length of the windows in core cycles (10000 for --series, and by the length of the run for
    /// --html); without these options, the result contains the windows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,
    /// Print the lines that GPGPU-Sim 4.2 prints after each kernel and at its end, for scripts that
    /// read them
    #[arg(long, conflicts_with = "json")]
    pub gpgpusim_stats: bool,
}

/// Parts with statistics of their own.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Per {
    Kernel,
    Sm,
    Partition,
}

/// A time series with the data on its origin that a result file contains.
#[derive(Serialize)]
struct SeriesFile<'a> {
    program: &'a Program,
    command: &'a str,
    gpu: &'a Gpu,
    config_digest: &'a str,
    input_digest: &'a str,
    #[serde(flatten)]
    series: &'a Series,
}

impl StatsArgs {
    /// Refuses options that apply to the statistics of a single run.
    pub fn refuse(&self, target: &str) -> Result<(), Failure> {
        let asked = [
            ("--stats", self.stats.is_some()),
            ("--csv", self.csv.is_some()),
            ("--per", !self.per.is_empty()),
            ("--series", self.series.is_some()),
            ("--html", self.html.is_some()),
            ("--window", self.window.is_some()),
            ("--gpgpusim-stats", self.gpgpusim_stats),
        ];
        match asked.iter().find(|(_, asked)| *asked) {
            Some((option, _)) => Err(Failure::Input(format!(
                "{option} is for one run, and `{target}` makes many; leave it out or name a workload"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses options that a run without timing cannot fulfil, and options without effect.
    /// `inputs` are the files that the command reads; outputs must not overwrite them.
    pub fn check(&self, functional: bool, json: bool, inputs: &[PathBuf]) -> Result<(), Failure> {
        let outputs = [
            ("--stats", self.stats.as_deref()),
            ("--csv", self.csv.as_deref()),
            ("--series", self.series.as_deref()),
            ("--html", self.html.as_deref()),
        ];
        check_outputs(&outputs, inputs)?;
        let shown = json || self.stats.is_some() || self.csv.is_some() || self.series.is_some();
        if !self.per.is_empty() && !shown {
            return Err(Failure::Input(
                "--per is for tables and files; add --json, --stats FILE, --csv FILE or --series FILE"
                    .to_owned(),
            ));
        }
        let asked = [
            ("--per", !self.per.is_empty()),
            ("--series", self.series.is_some()),
            ("--window", self.window.is_some()),
            ("--gpgpusim-stats", self.gpgpusim_stats),
        ];
        match asked.iter().find(|(_, asked)| *asked && functional) {
            Some((option, _)) => Err(Failure::Input(format!(
                "{option} needs timing, which --functional leaves out; leave out one of them"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses tables of counters, which cannot state that they are for a part of the blocks.
    pub fn refuse_parts(&self, option: &str) -> Result<(), Failure> {
        let csv = |path: &PathBuf| has_extension(path, "csv");
        let asked = [
            ("--stats FILE.csv", self.stats.as_ref().is_some_and(csv)),
            ("--csv", self.csv.is_some()),
            ("--series", self.series.is_some()),
            ("--html", self.html.is_some()),
            ("--gpgpusim-stats", self.gpgpusim_stats),
        ];
        match asked.iter().find(|(_, asked)| *asked) {
            Some((table, _)) => Err(Failure::Input(format!(
                "{table} cannot state that its counters are for a part of the run; leave out \
                 {option}, or write --stats FILE.json"
            ))),
            None => Ok(()),
        }
    }

    /// True if counters are recorded by part.
    pub fn parts(&self) -> bool {
        let rows = self.rows();
        rows.sms || rows.partitions || self.gpgpusim_stats
    }

    /// Length of the windows to record, in a run with timing or without.
    pub fn window_cycles(&self, functional: bool) -> Option<u64> {
        let default = match (&self.series, &self.html) {
            (Some(_), _) => Some(WINDOW_CYCLES),
            (None, Some(_)) if !functional => Some(SHORT_WINDOW_CYCLES),
            (None, _) => None,
        };
        self.window.or(default)
    }

    /// Number of windows at which pairs are joined, where the length of a window follows that of
    /// the run.
    pub fn most_windows(&self) -> Option<usize> {
        let by_length = self.window.is_none() && self.series.is_none();
        by_length.then_some(MOST_WINDOWS)
    }

    fn rows(&self) -> Rows {
        Rows {
            sms: self.per.contains(&Per::Sm),
            partitions: self.per.contains(&Per::Partition),
        }
    }

    /// Prints the result of a run on `gpu` as rendered by `shown`, and writes the requested files.
    /// The result is printed even if a file cannot be written.
    pub fn hand_out(
        &self,
        gpu: &GpuSpec,
        mut result: RunReport,
        shown: impl FnOnce(&RunReport) -> String,
    ) -> Result<(), Failure> {
        let rows = self.rows();
        let kernels = result.kernels.iter_mut().map(|kernel| &mut kernel.figures);
        kernels.for_each(|figures| keep_parts(figures, rows));
        keep_parts(&mut result.totals.figures, rows);
        let page = (self.html.as_deref()).map(|path| (path, html_page::of_run(gpu, &result)));
        // A file has the windows, or nobody asked for them beside the page.
        let series = match (&self.series, &self.html, self.window) {
            (Some(_), ..) | (None, Some(_), None) => result.series.take(),
            _ => None,
        };
        let printed = print(&shown(&result));
        let written = self.write(&result, series.as_ref());
        let page = page.map_or(Ok(()), |(path, text)| write_file(path, &text));
        printed.and(written).and(page)?;
        let files = [&self.series, &self.csv, &self.stats, &self.html];
        files.into_iter().flatten().for_each(|path| wrote(path));
        Ok(())
    }

    fn write(&self, result: &RunReport, series: Option<&Series>) -> Result<(), Failure> {
        let rows = self.rows();
        if let (Some(path), Some(series)) = (&self.series, series) {
            write_file(path, &series_text(path, result, series))?;
        }
        if let Some(path) = &self.csv {
            write_file(path, &statistics_csv(result, rows))?;
        }
        if let Some(path) = &self.stats {
            let text = if has_extension(path, "csv") {
                statistics_csv(result, rows)
            } else {
                json(result)
            };
            write_file(path, &text)?;
        }
        Ok(())
    }
}

fn keep_parts(figures: &mut Figures, rows: Rows) {
    let Some(parts) = &mut figures.parts else {
        return;
    };
    if !rows.sms {
        parts.sms.clear();
    }
    if !rows.partitions {
        parts.banks.clear();
        parts.channels.clear();
        parts.networks.clear();
    }
    if !rows.sms && !rows.partitions {
        figures.parts = None;
    }
}

fn series_text(path: &Path, result: &RunReport, series: &Series) -> String {
    if has_extension(path, "json") {
        json(&SeriesFile {
            program: &result.program,
            command: &result.command,
            gpu: &result.gpu,
            config_digest: &result.config_digest,
            input_digest: &result.input_digest,
            series,
        })
    } else {
        series_csv(series)
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
}
