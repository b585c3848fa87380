//! `cargo xtask bench --growth`: measures whether a simulated cycle costs more on a larger machine,
//! or later in a run.
//!
//! The first measurement uses kernels whose grids fill the largest machine, the second a kernel
//! that runs long, all at size `paper`. Times are measured between calls of the progress function,
//! so that they include neither start-up nor the host program. The shortest of several rounds is
//! used, because disturbances only add time.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_report::figures;
use warploom_run::{Options, Session};
use warploom_workloads::{Size, Target};

/// Default kernel for the comparison of machines. Memory bounds it on none of them.
const WIDE: &str = "dxtc";
/// Kernel of the long run.
const LONG: &str = "ref-matmul-naive";
/// Seed of the kernels' inputs.
const SEED: u64 = 1;
/// Numbers of SMs of the machines.
const SMS: [u32; 5] = [4, 15, 30, 60, 132];
/// Cycles that are timed on each machine. The machine is full, and the first blocks are still
/// running.
const WINDOW: [u64; 2] = [8_000, 24_000];
/// Number of cycles in a part of the long run.
const STRETCH: u64 = 50_000;

/// Cost of a cycle, by number of SMs and by simulated time.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// Name of the preset.
    gpu: String,
    /// Costs by kernel and number of SMs.
    by_sms: Vec<OfMachine>,
    /// Costs by simulated time, of one kernel.
    by_time: Vec<OfStretch>,
}

/// Cost of a cycle of one machine.
#[derive(Clone, Debug, Serialize)]
struct OfMachine {
    kernel: String,
    sms: u32,
    /// Warp instructions per cycle, up to the end of the timed cycles.
    warp_instructions_per_cycle: f64,
    microseconds_per_cycle: f64,
    /// Cost of a cycle, divided by the number of SMs.
    microseconds_per_sm_cycle: f64,
}

/// Cost of a cycle in a part of the long run.
#[derive(Clone, Debug, Serialize)]
struct OfStretch {
    first_cycle: u64,
    end_cycle: u64,
    microseconds_per_cycle: f64,
}

/// Times at which a run reached its cycles.
struct Timed {
    marks: Vec<(u64, Instant)>,
    warp_instructions: u64,
}

/// Makes both measurements on a preset, the first with the given kernels.
pub fn measure(gpu: &str, kernels: &[String], rounds: usize) -> Result<Growth> {
    let wide = [WIDE.to_owned()];
    let kernels = if kernels.is_empty() { &wide } else { kernels };
    let machines = kernels
        .iter()
        .flat_map(|kernel| SMS.map(|sms| of_machine(gpu, kernel, sms, rounds)));
    let by_sms = machines.collect::<Result<_>>()?;
    let runs = repeat(rounds, LONG, &machine(gpu, None)?, None)?;
    Ok(Growth {
        gpu: gpu.to_owned(),
        by_sms,
        by_time: stretches(&runs),
    })
}

fn machine(gpu: &str, sms: Option<u32>) -> Result<GpuSpec> {
    let base = Base::Preset(gpu.to_owned());
    let settings: Vec<String> = sms
        .map(|sms| format!("gpu.sms={sms}"))
        .into_iter()
        .collect();
    resolve(&base, &settings).map_err(|errors| anyhow!("{errors}"))
}

fn of_machine(gpu: &str, kernel: &str, sms: u32, rounds: usize) -> Result<OfMachine> {
    let [from, to] = WINDOW;
    // The progress function must be called once after the timed cycles.
    let end = to + 8_192;
    let runs = repeat(rounds, kernel, &machine(gpu, Some(sms))?, Some(end))?;
    let microseconds = least(&runs, from, to)
        .with_context(|| format!("`{kernel}` ends on {sms} SMs before it is timed"))?;
    Ok(OfMachine {
        kernel: kernel.to_owned(),
        sms,
        warp_instructions_per_cycle: runs[0].warp_instructions as f64 / end as f64,
        microseconds_per_cycle: microseconds,
        microseconds_per_sm_cycle: microseconds / f64::from(sms),
    })
}

fn repeat(
    rounds: usize,
    kernel: &str,
    spec: &GpuSpec,
    max_cycles: Option<u64>,
) -> Result<Vec<Timed>> {
    let rounds = 0..rounds.max(1);
    rounds.map(|_| run(kernel, spec, max_cycles)).collect()
}

fn run(kernel: &str, spec: &GpuSpec, max_cycles: Option<u64>) -> Result<Timed> {
    let mut program = Target::resolve(kernel)?.program(Size::Paper, SEED);
    let options = Options {
        threads: 1,
        max_cycles,
        ..Options::default()
    };
    let mut marks = Vec::new();
    let session = Session::new(spec.clone(), options);
    let report = session.run(program.as_mut(), &mut |progress| {
        marks.push((progress.cycles, Instant::now()));
        ControlFlow::Continue(())
    })?;
    Ok(Timed {
        marks,
        warp_instructions: report.totals.figures.warp_instructions,
    })
}

impl Timed {
    /// Microseconds per cycle between the first marks at or after two cycles.
    fn between(&self, from: u64, to: u64) -> Option<f64> {
        let mark = |cycle| self.marks.iter().find(|(at, _)| *at >= cycle);
        let ((first, began), (end, ended)) = (mark(from)?, mark(to)?);
        let micros = ended.duration_since(*began).as_secs_f64() * 1e6;
        (end > first).then(|| micros / (end - first) as f64)
    }
}

fn least(runs: &[Timed], from: u64, to: u64) -> Option<f64> {
    let each = runs.iter().filter_map(|run| run.between(from, to));
    each.min_by(f64::total_cmp)
}

fn stretches(runs: &[Timed]) -> Vec<OfStretch> {
    let stretch = |n: u64| {
        let (first_cycle, end_cycle) = (n * STRETCH, (n + 1) * STRETCH);
        Some(OfStretch {
            first_cycle,
            end_cycle,
            microseconds_per_cycle: least(runs, first_cycle, end_cycle)?,
        })
    };
    (0..).map_while(stretch).collect()
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, one thread\n", self.gpu)?;
        let rows = self.by_sms.iter().map(|row| {
            vec![
                row.kernel.clone(),
                row.sms.to_string(),
                format!("{:.1}", row.warp_instructions_per_cycle),
                format!("{:.2}", row.microseconds_per_cycle),
                format!("{:.3}", row.microseconds_per_sm_cycle),
            ]
        });
        let header = [
            "kernel",
            "SMs",
            "warp inst/cycle",
            "us/cycle",
            "us/SM cycle",
        ];
        writeln!(f, "{}", figures(&header, &rows.collect::<Vec<_>>(), None))?;
        let rows = self.by_time.iter().map(|row| {
            vec![
                format!("{} to {}", row.first_cycle, row.end_cycle),
                format!("{:.2}", row.microseconds_per_cycle),
            ]
        });
        let header = [format!("{LONG}, cycles"), "us/cycle".to_owned()];
        let header = header.each_ref().map(String::as_str);
        f.write_str(&figures(&header, &rows.collect::<Vec<_>>(), None))
    }
}

#[cfg(test)]
mod tests {
    use super::{Timed, least, stretches};
    use std::time::{Duration, Instant};

    /// A run with a mark every 4,096 cycles. A cycle takes one microsecond, and two after cycle
    /// `slow`.
    fn timed(slow: u64, end: u64) -> Timed {
        let began = Instant::now();
        let at = |cycle: u64| began + Duration::from_micros(cycle + cycle.saturating_sub(slow));
        let marks = (0..=end / 4_096).map(|n| (n * 4_096, at(n * 4_096)));
        Timed {
            marks: marks.collect(),
            warp_instructions: 0,
        }
    }

    #[test]
    fn the_least_of_the_rounds_counts() {
        let runs = [timed(0, 40_000), timed(20_000, 40_000)];
        let close = |value: Option<f64>, to: f64| value.is_some_and(|v| (v - to).abs() < 1e-6);
        assert!(close(least(&runs, 4_000, 16_000), 1.0));
        assert!(close(least(&runs, 24_000, 36_000), 2.0));
        assert_eq!(least(&runs, 24_000, 41_000), None, "after the end");
    }

    #[test]
    fn stretches_end_with_the_run() {
        assert_eq!(stretches(&[timed(0, 120_000)]).len(), 2);
    }
}
