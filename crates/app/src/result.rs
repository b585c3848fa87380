//! Output of a run: the result file, the timeline and the report.

use crate::settings::Settings;
use std::path::Path;
use warploom_report::{perfetto, run_report};
use warploom_run::write_whole;
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;

/// Writes the result, the timeline and the report to the files named by the settings, each
/// completely or not at all. Returns the text for standard error.
pub(crate) fn write_results(settings: &Settings, run: &RunReport, trace: Option<&Trace>) -> String {
    let mut messages = String::new();
    if let (Some(path), Some(trace)) = (&settings.trace, trace) {
        messages.push_str(&write(path, &perfetto(trace, run.series.as_ref())));
    }
    if let Some(path) = &settings.stats {
        let mut text = serde_json::to_string_pretty(run).expect("the schema has only string keys");
        text.push('\n');
        messages.push_str(&write(path, &text));
    }
    let report = |width| of_a_program(&run_report(run, width));
    match &settings.report {
        Some(path) => messages.push_str(&write(path, &report(None))),
        None if settings.quiet => {}
        None => messages.push_str(&report(settings.width)),
    }
    messages
}

/// A text about a run without what only concerns programs whose outputs Warploom compares: a CUDA
/// program checks its outputs itself.
pub(crate) fn of_a_program(text: &str) -> String {
    text.replace("; outputs were not checked", "")
}

/// True if the report, with the way in which the run ended, is on standard error.
pub(crate) fn shows_report(settings: &Settings) -> bool {
    settings.report.is_none() && !settings.quiet
}

/// Writes a file completely or not at all. Returns a message if this fails.
fn write(path: &Path, text: &str) -> String {
    match write_whole(path, |out| out.write_all(text.as_bytes())) {
        Ok(()) => String::new(),
        Err(error) => format!("warploom: cannot write {}: {error}\n", path.display()),
    }
}
