//! From runs to figures and a table.

use std::collections::BTreeMap;

use serde::Serialize;
use warploom_report::{grouped, listing, percent};

use super::measure::{Case, Mode, Run};

/// The figures of one case. Rates are of the median run.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Workload.
    pub workload: &'static str,
    /// Its size.
    pub size: &'static str,
    /// `functional` or the number of threads.
    pub mode: String,
    /// Simulated core cycles in which kernels ran; 0 without timing.
    pub cycles: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Median time in seconds, without the host program's.
    pub seconds: f64,
    /// Standard deviation of the time over its mean; none with one run.
    pub variation: Option<f64>,
    /// Thousands of simulated core cycles per second.
    pub kilocycles_per_second: f64,
    /// Thousands of warp instructions per second.
    pub kilo_warp_instructions_per_second: f64,
    /// Shares of the time by part of the machine, on the thread that steps it.
    pub parts: BTreeMap<&'static str, f64>,
}

impl Row {
    /// Sums up the runs of a case, at least one.
    pub fn new(case: &Case, runs: &[Run]) -> Self {
        let seconds: Vec<_> = runs.iter().map(|run| run.wall.as_secs_f64()).collect();
        let median = median(&seconds);
        let first = &runs[0];
        Self {
            workload: case.target.workload.name,
            size: case.size.name(),
            mode: case.mode.to_string(),
            cycles: first.cycles,
            warp_instructions: first.warp_instructions,
            seconds: median,
            variation: variation(&seconds),
            kilocycles_per_second: first.cycles as f64 / median / 1e3,
            kilo_warp_instructions_per_second: first.warp_instructions as f64 / median / 1e3,
            // With more threads the stepping thread's time is not the machine's.
            parts: match case.mode {
                Mode::Timed { threads: 1 } => shares(runs),
                _ => BTreeMap::new(),
            },
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

fn variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (n > 1.0).then(|| (squares / (n - 1.0)).sqrt() / mean)
}

fn shares(runs: &[Run]) -> BTreeMap<&'static str, f64> {
    let mut counts = BTreeMap::new();
    for (part, count) in runs.iter().flat_map(|run| &run.parts) {
        *counts.entry(*part).or_insert(0.0) += *count as f64;
    }
    let all: f64 = counts.values().sum();
    counts.values_mut().for_each(|count| *count /= all);
    counts
}

/// The rows as text.
pub fn table(rows: &[Row]) -> String {
    let header = [
        "workload",
        "size",
        "mode",
        "cycles",
        "warp inst",
        "seconds",
        "+-",
        "kcycles/s",
        "kinst/s",
        "time by part",
    ];
    let cells: Vec<_> = rows.iter().map(cells).collect();
    listing(&header, &cells, None)
}

fn cells(row: &Row) -> Vec<String> {
    let timed = |text: String| if row.cycles > 0 { text } else { "-".to_owned() };
    let parts = row
        .parts
        .iter()
        .map(|(part, share)| format!("{part} {:.0}%", share * 100.0));
    vec![
        row.workload.to_owned(),
        row.size.to_owned(),
        row.mode.clone(),
        timed(grouped(row.cycles)),
        grouped(row.warp_instructions),
        format!("{:.3}", row.seconds),
        percent(row.variation),
        timed(format!("{:.1}", row.kilocycles_per_second)),
        format!("{:.1}", row.kilo_warp_instructions_per_second),
        parts.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::{median, variation};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn variation_is_the_sample_deviation_over_the_mean() {
        assert_eq!(variation(&[5.0]), None);
        let spread = variation(&[9.0, 10.0, 11.0]).unwrap();
        assert!((spread - 0.1).abs() < 1e-12, "{spread}");
    }
}
