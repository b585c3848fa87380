//! Results of runs as texts, for the Python classes that show them.

use pyo3::prelude::*;
use warploom_report::{Axis, BarChart, BarSeries, Chart, perfetto, run_report, svg};
use warploom_stats::result::RunReport;
use warploom_stats::trace::Trace;
use warploom_stats::{METRICS, StatRow, rows};

/// Result of a run.
#[pyclass(frozen)]
pub struct Report {
    pub(crate) report: RunReport,
    /// Events of all warps, if they were recorded.
    pub(crate) trace: Option<Trace>,
}

#[pymethods]
impl Report {
    /// The whole result as JSON, as `warploom run --json` prints it.
    fn json(&self) -> String {
        serde_json::to_string(&self.report).unwrap_or_default()
    }

    /// The report as `warploom run` prints it.
    fn text(&self) -> String {
        run_report(&self.report, None)
    }

    /// Timeline of all warps for Perfetto, as JSON; `None` unless it was recorded.
    fn timeline(&self) -> Option<String> {
        let trace = self.trace.as_ref()?;
        Some(perfetto(trace, self.report.series.as_ref()))
    }

    /// Chart of the shares of scheduler cycles by cause, as SVG: a bar for each launch up to
    /// `most`, or one for the run if there are more.
    fn stall_chart(&self, most: usize) -> String {
        svg(&[Chart::Stacks(stalls(&self.report, most))])
    }
}

fn stalls(run: &RunReport, most: usize) -> BarChart {
    let kernels = run.kernels.iter().enumerate();
    let mut bars: Vec<_> = kernels
        .map(|(at, kernel)| (format!("{at} {}", kernel.name), &kernel.figures.stalls))
        .filter(|(_, stalls)| !stalls.is_empty())
        .collect();
    if bars.is_empty() || bars.len() > most {
        bars = vec![("run".to_owned(), &run.totals.figures.stalls)];
    }
    let causes = run
        .totals
        .figures
        .stalls
        .iter()
        .filter(|(_, share)| **share > 0.0);
    let series = causes.map(|(cause, _)| BarSeries {
        name: cause.clone(),
        values: bars
            .iter()
            .map(|(_, stalls)| stalls.get(cause).copied())
            .collect(),
    });
    BarChart {
        title: "Scheduler cycles by cause".to_owned(),
        axis: Axis {
            label: "share of scheduler cycles".to_owned(),
            percent: true,
            max: Some(1.0),
            ..Axis::default()
        },
        series: series.collect(),
        groups: bars.into_iter().map(|(name, _)| name).collect(),
        marks: Vec::new(),
    }
}

/// All statistics as (name, unit, sentence, name in GPGPU-Sim). The names of arrays contain their
/// labels in braces.
#[pyfunction]
pub fn statistics() -> Vec<(String, &'static str, &'static str, Option<&'static str>)> {
    let mut tables = vec![METRICS];
    tables.extend_from_slice(warploom_gpu::registry::TABLES);
    let row = |row: StatRow| (row.name, row.unit, row.sentence, row.gpgpusim);
    rows(&tables).into_iter().map(row).collect()
}
