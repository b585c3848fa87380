//! Sampled programs: a full run of each, many plans for it, and sampled runs.
//!
//! A run with a bound of 0 times every launch and notes its sizes. Any number of plans can then be
//! carried out without a further simulation, with other draws of the launches that are timed. These
//! plans see the cycles of the full run; a sampled run sees those of launches between which others
//! were left out.

use super::{Args, Errors, percent, simulate};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use warploom_base::Digest;
use warploom_config::preset;
use warploom_run::Options;
use warploom_sample::{Plan, Signature};
use warploom_stats::sampling::{Interval, SamplingReport};

/// Workloads of at least [`LAUNCHES`] launches at size small.
const PROGRAMS: [&str; 5] = ["gaussian", "kmeans", "lud", "mergesort", "nw"];
const GPUS: [&str; 6] = [
    "gtx480",
    "gtx480-gpgpusim4",
    "titanx-pascal",
    "qv100-volta",
    "rtx2060-turing",
    "rtx3070-ampere",
];
const LAUNCHES: u64 = 20;
const REQUESTS: &str = "dram.requests";
/// Number of sampled runs of each program on each machine, with different draws.
const RUNS: u64 = 3;

const HEADER: &str = "\
| program | GPU | launches | timed | cycles timed | plans: mean error | worst | mean margin | true \
value in the interval | runs: mean error | worst | mean margin | true value in the interval | DRAM \
requests | caches not warmed: cycles | DRAM requests |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// A program whose launches were all timed: signatures and cycles.
struct Program {
    launches: Vec<(Signature, u64)>,
    cycles: f64,
    requests: f64,
}

/// Result of a plan for a program.
struct Planned {
    timed: u64,
    cycles: u64,
    estimate: Interval,
}

/// Errors of all programs: of plans, of sampled runs, and of runs without warmed caches.
#[derive(Default)]
struct Sums {
    plans: Errors,
    runs: Errors,
    cold: Errors,
}

pub(super) fn table(args: &Args) -> Result<String> {
    let mut text = HEADER.to_owned();
    let mut sums = Sums::default();
    let wanted = |name: &&&str| args.only.is_empty() || args.only.iter().any(|only| only == **name);
    for name in PROGRAMS.iter().filter(wanted) {
        for gpu in GPUS {
            text += &row(args, name, gpu, &mut sums)?;
        }
    }
    let Sums { plans, runs, cold } = &sums;
    let _ = writeln!(
        text,
        "| all | | | | | {} | {} | | | |\n\nWithout warmed caches, errors are {} on average, at most \
         {}, and {} of {}\nintervals contain the true value.",
        plans.cells(),
        runs.cells(),
        percent(cold.mean()),
        percent(cold.worst),
        cold.covered,
        cold.count
    );
    Ok(text)
}

fn row(args: &Args, name: &str, gpu: &str, sums: &mut Sums) -> Result<String> {
    let bound = args.bound / 100.0;
    let program = full(name, gpu)?;
    let mut plans = Errors::default();
    let (mut timed, mut cycles) = (0, 0);
    for draw in 0..args.draws {
        let planned = carry_out(&program, bound, draw);
        plans.add_interval(&planned.estimate, program.cycles);
        timed += planned.timed;
        cycles += planned.cycles;
    }
    sums.plans.join(&plans);
    let (runs, requests) = sampled_runs(name, gpu, bound, &program)?;
    sums.runs.join(&runs);
    let cold = sampling(name, gpu, options(bound, 0, false))?.estimates;
    sums.cold.add_interval(&cold["cycles"], program.cycles);
    let draws = args.draws as f64;
    Ok(format!(
        "| `{name}` | `{gpu}` | {} | {:.0} | {:.0} % | {} | {} | {} | {} | {} |\n",
        program.launches.len(),
        timed as f64 / draws,
        100.0 * cycles as f64 / draws / program.cycles,
        plans.cells(),
        runs.cells(),
        off(requests, program.requests),
        off(cold["cycles"].value, program.cycles),
        off(value_of(&cold, REQUESTS), program.requests),
    ))
}

/// Errors of sampled runs, and the mean of their estimates of DRAM requests.
fn sampled_runs(name: &str, gpu: &str, bound: f64, program: &Program) -> Result<(Errors, f64)> {
    let mut errors = Errors::default();
    let mut requests = 0.0;
    for draw in 0..RUNS {
        let estimates = sampling(name, gpu, options(bound, draw, true))?.estimates;
        errors.add_interval(&estimates["cycles"], program.cycles);
        requests += value_of(&estimates, REQUESTS) / RUNS as f64;
    }
    Ok((errors, requests))
}

fn value_of(estimates: &BTreeMap<String, Interval>, name: &str) -> f64 {
    estimates.get(name).map_or(0.0, |estimate| estimate.value)
}

/// Relative difference of an estimate from the true value.
fn off(estimate: f64, truth: f64) -> String {
    match truth {
        0.0 => "-".to_owned(),
        truth => format!("{:+.2} %", 100.0 * (estimate / truth - 1.0)),
    }
}

fn options(bound: f64, draw: u64, warms_caches: bool) -> Options {
    Options {
        sample_error: Some(bound),
        sample_seed: draw,
        warms_caches,
        ..Options::default()
    }
}

fn sampling(name: &str, gpu: &str, options: Options) -> Result<SamplingReport> {
    let gpu = preset(gpu).map_err(|errors| anyhow::anyhow!("{errors}"))?;
    let report = simulate(name, &gpu, options)?.sampling;
    report.ok_or_else(|| anyhow::anyhow!("{name} was not sampled"))
}

/// Times all launches of a program.
fn full(name: &str, gpu: &str) -> Result<Program> {
    let report = sampling(name, gpu, options(0.0, 0, true))?;
    ensure!(report.launches >= LAUNCHES, "{name} has few launches");
    ensure!(report.timed == report.launches, "{name}: not all timed");
    let launches = report.timed_in_order().into_iter().map(|(at, timed)| {
        let stratum = &report.strata[at];
        let mut kernel = Digest::new();
        kernel.str(&stratum.kernel).str(&stratum.block.to_string());
        let signature = Signature {
            kernel: kernel.finish(),
            sizes: timed.sizes,
        };
        (signature, timed.cycles)
    });
    let launches: Vec<(Signature, u64)> = launches.collect();
    let cycles = launches.iter().map(|(_, cycles)| *cycles as f64).sum();
    Ok(Program {
        launches,
        cycles,
        requests: value_of(&report.estimates, REQUESTS),
    })
}

fn carry_out(program: &Program, bound: f64, draw: u64) -> Planned {
    let mut plan = Plan::new(bound, draw);
    let (mut timed, mut cycles) = (0, 0);
    for (signature, of_launch) in &program.launches {
        let choice = plan.choose(signature);
        if choice.why.is_some() {
            plan.timed(&choice, &signature.sizes, *of_launch as f64);
            timed += 1;
            cycles += of_launch;
        }
    }
    Planned {
        timed,
        cycles,
        estimate: plan.estimate(),
    }
}
