//! Computes figures and a table from runs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use warploom_report::{grouped, listing, percent};
use warploom_workloads::Size;

use super::measure::{Case, Mode, Run};
use crate::fidelity::configuration_of;
use crate::fidelity::counts::{Recorded, recorded};

/// Figures of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of this program.
    pub version: &'static str,
    /// Name of the preset.
    pub gpu: String,
    /// Description of GPGPU-Sim's recorded runs.
    pub gpgpusim: String,
    /// Geometric mean of `ratio_to_gpgpusim` over the rows that have one.
    pub mean_ratio_to_gpgpusim: Option<f64>,
    /// Shortest and longest time in nanoseconds that a cache line took from one core to another,
    /// over the rounds. The gain of further threads depends on it. `None` with one core.
    pub core_hop_ns: Option<[u64; 2]>,
    /// Rows of the table, one for each kernel.
    pub rows: Vec<Row>,
}

/// The figures of one kernel. Rates are those of the median run.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the workload.
    pub kernel: &'static str,
    /// Size of its inputs.
    pub size: &'static str,
    /// Simulated core cycles in which kernels ran.
    pub cycles: u64,
    /// Number of warp instructions.
    pub warp_instructions: u64,
    /// Number of thread instructions.
    pub thread_instructions: u64,
    /// Simulated core cycles per second, with the first number of threads.
    pub cycles_per_second: f64,
    /// Warp instructions per second, with the first number of threads.
    pub warp_instructions_per_second: f64,
    /// Thread instructions per second, with the first number of threads.
    pub thread_instructions_per_second: f64,
    /// Thread instructions per second over GPGPU-Sim's per processor second, where it is recorded.
    pub ratio_to_gpgpusim: Option<f64>,
    /// Warp instructions per second over those of functional execution alone.
    pub ratio_to_functional: f64,
    /// Warp instructions per second of functional execution alone.
    pub functional_warp_instructions_per_second: f64,
    /// Peak memory use in MiB, including inputs, where the operating system reports it.
    pub peak_memory_mib: Option<f64>,
    /// Speeds by number of threads.
    pub threads: Vec<Speed>,
    /// Shares of the time by part of the machine, with one thread.
    pub parts: BTreeMap<&'static str, f64>,
}

/// Speed with a number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    /// Number of simulating threads.
    pub threads: usize,
    /// Median time in seconds, without that of the host program.
    pub seconds: f64,
    /// Standard deviation of the time over its mean. `None` with one run.
    pub variation: Option<f64>,
    /// Speed relative to that with the first number of threads.
    pub speedup: f64,
}

impl Summary {
    /// Summarises the runs of all cases: a kernel's functional case, then its timed ones. `hops`
    /// are times that a cache line took between two cores, one per round.
    pub fn new(gpu: &str, runs: &[(&Case, Vec<Run>)], hops: &[Duration]) -> Result<Self> {
        let hops = || hops.iter().map(|hop| hop.as_nanos() as u64);
        let recorded = recorded()?;
        let of_kernel = |a: &(&Case, Vec<Run>), b: &(&Case, Vec<Run>)| {
            a.0.target.workload.name == b.0.target.workload.name
        };
        let rows: Vec<Row> = runs
            .chunk_by(of_kernel)
            .filter_map(|runs| Row::new(gpu, &recorded, runs))
            .collect();
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            gpu: gpu.to_owned(),
            mean_ratio_to_gpgpusim: geometric_mean(rows.iter().filter_map(|r| r.ratio_to_gpgpusim)),
            gpgpusim: recorded.source,
            core_hop_ns: hops().min().zip(hops().max()).map(<[u64; 2]>::from),
            rows,
        })
    }
}

impl Row {
    /// `None` when only functional execution was measured.
    fn new(gpu: &str, recorded: &Recorded, runs: &[(&Case, Vec<Run>)]) -> Option<Self> {
        let ((_, functional), timed) = runs.split_first()?;
        let (case, first) = timed.first()?;
        let run = first.first()?;
        let per_second = |count: u64, runs: &[Run]| count as f64 / median(runs);
        let functional = per_second(run.warp_instructions, functional);
        let warp_instructions = per_second(run.warp_instructions, first);
        let thread_instructions = per_second(run.thread_instructions, first);
        Some(Self {
            kernel: case.target.workload.name,
            size: case.size.name(),
            cycles: run.cycles,
            warp_instructions: run.warp_instructions,
            thread_instructions: run.thread_instructions,
            cycles_per_second: per_second(run.cycles, first),
            warp_instructions_per_second: warp_instructions,
            thread_instructions_per_second: thread_instructions,
            ratio_to_gpgpusim: gpgpusim_speed(gpu, recorded, case)
                .map(|speed| thread_instructions / speed),
            ratio_to_functional: warp_instructions / functional,
            functional_warp_instructions_per_second: functional,
            peak_memory_mib: first
                .iter()
                .filter_map(|run| run.peak_memory_mib)
                .max_by(f64::total_cmp),
            threads: timed
                .iter()
                .map(|(case, runs)| speed(case, runs, first))
                .collect(),
            // With more threads, the stepping thread does only a part of the work.
            parts: match case.mode {
                Mode::Timed { threads: 1 } => shares(first),
                _ => BTreeMap::new(),
            },
        })
    }
}

/// GPGPU-Sim's thread instructions per processor second on the same kernel and configuration.
fn gpgpusim_speed(gpu: &str, recorded: &Recorded, case: &Case) -> Option<f64> {
    let configuration = configuration_of(gpu)?;
    let same = recorded.runs.iter().find(|run| {
        run.configuration == configuration
            && run.workload == case.target.workload.name
            && case.size == Size::Paper
    });
    same.map(|run| run.counts.thread_instructions as f64 / run.user_seconds)
}

fn speed(case: &Case, runs: &[Run], first: &[Run]) -> Speed {
    let seconds: Vec<_> = runs.iter().map(|run| run.wall.as_secs_f64()).collect();
    Speed {
        threads: match case.mode {
            Mode::Timed { threads } => threads,
            Mode::Functional => 0,
        },
        seconds: median(runs),
        variation: variation(&seconds),
        speedup: median(first) / median(runs),
    }
}

fn median(runs: &[Run]) -> f64 {
    middle(runs.iter().map(|run| run.wall.as_secs_f64()).collect())
}

/// Median of some values, at least one.
pub fn middle(mut sorted: Vec<f64>) -> f64 {
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

/// Geometric mean of some values; `None` of none.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut logs, mut count) = (0.0, 0);
    values.for_each(|value| {
        logs += value.ln();
        count += 1;
    });
    (count > 0).then(|| (logs / f64::from(count)).exp())
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

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "kernel",
            "cycles",
            "kcycles/s",
            "warp kinst/s",
            "thread Minst/s",
            "+-",
            "x GPGPU-Sim",
            "of functional",
            "MiB",
            "more threads",
            "time by part",
        ];
        let cells: Vec<_> = self.rows.iter().map(cells).collect();
        writeln!(
            f,
            "{} of {}, one thread unless said",
            self.gpu, self.version
        )?;
        f.write_str(&listing(&header, &cells, None))?;
        match self.core_hop_ns {
            Some([least, most]) => {
                writeln!(f, "\na cache line from core to core: {least} to {most} ns")?;
            }
            None => writeln!(f, "\non one core")?,
        }
        if let Some(mean) = self.mean_ratio_to_gpgpusim {
            writeln!(
                f,
                "geometric mean over GPGPU-Sim's recorded speed: {mean:.1}"
            )?;
        }
        Ok(())
    }
}

fn cells(row: &Row) -> Vec<String> {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let parts = row.parts.iter();
    let parts = parts.map(|(part, share)| format!("{part} {:.0}%", share * 100.0));
    let more = row.threads.iter().skip(1);
    let more = more.map(|s| format!("{}: {:.2}x", s.threads, s.speedup));
    vec![
        row.kernel.to_owned(),
        grouped(row.cycles),
        format!("{:.1}", row.cycles_per_second / 1e3),
        format!("{:.1}", row.warp_instructions_per_second / 1e3),
        format!("{:.1}", row.thread_instructions_per_second / 1e6),
        percent(row.threads.first().and_then(|s| s.variation)),
        or_dash(row.ratio_to_gpgpusim.map(|r| format!("{r:.1}"))),
        percent(Some(row.ratio_to_functional)),
        or_dash(row.peak_memory_mib.map(|m| format!("{m:.0}"))),
        more.collect::<Vec<_>>().join(", "),
        parts.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::measure::Run;
    use super::{geometric_mean, median, variation};
    use std::time::Duration;

    fn runs(seconds: &[u64]) -> Vec<Run> {
        let run = |s: &u64| Run {
            cycles: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            peak_memory_mib: None,
            wall: Duration::from_secs(*s),
            parts: Default::default(),
        };
        seconds.iter().map(run).collect()
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&runs(&[3, 1, 2])), 2.0);
        assert_eq!(median(&runs(&[4, 1, 2, 3])), 2.5);
    }

    #[test]
    fn variation_is_the_sample_deviation_over_the_mean() {
        assert_eq!(variation(&[5.0]), None);
        let spread = variation(&[9.0, 10.0, 11.0]).unwrap();
        assert!((spread - 0.1).abs() < 1e-12, "{spread}");
    }

    #[test]
    fn ratios_are_averaged_geometrically() {
        assert_eq!(geometric_mean([].into_iter()), None);
        let mean = geometric_mean([50.0, 200.0].into_iter()).unwrap();
        assert!((mean - 100.0).abs() < 1e-9, "{mean}");
    }
}
